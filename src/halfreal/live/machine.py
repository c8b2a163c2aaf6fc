"""What of this computer matters to a real-time loop: its kernel, processors, clock, limits and network, as text.

Each finding says what was found, whether it suits a real-time loop, and what to change if not.  Everything is read from
files of the system below ``root``; nothing is changed.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

GOOD_CLOCKS = ("tsc", "arch_sys_counter")
GOOD_GOVERNORS = ("performance",)
WAKE_SHARE = 0.05
"""Of a step, that waking from an idle state may take."""


@dataclass(frozen=True)
class Remark:
    """What was found about a topic; ``remedy`` is empty where nothing need be changed."""

    topic: str
    found: str
    remedy: str = ""

    @property
    def level(self) -> Literal["good", "change"]:
        return "change" if self.remedy else "good"


def examine(step: float, cpu: int | None = None, root: Path = Path("/")) -> list[Remark]:
    """Everything that can be read of this machine, for a loop of ``step`` [s] on processor ``cpu`` (None: any)."""
    return [
        *kernel(root),
        *hypervisor(root),
        *clock_source(root),
        *governor(root, cpu),
        *idle_states(root, cpu, step),
        *isolation(root, cpu),
        *siblings(root, cpu),
        *interrupts(root, cpu),
        *throttling(root),
        *swap(root),
        *limits(),
    ]


def text(path: Path) -> str | None:
    """A file of the system, or None where it cannot be read."""
    try:
        return path.read_text().strip()
    except OSError:
        return None


def numbers(listed: str) -> set[int]:
    """Processors of a list such as ``0-2,5``."""
    found: set[int] = set()
    for part in filter(None, listed.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def processors(root: Path, cpu: int | None) -> list[Path]:
    """Folders of the processor of the loop, or of all."""
    folder = root / "sys/devices/system/cpu"
    if cpu is not None:
        return [folder / f"cpu{cpu}"]
    return sorted(folder.glob("cpu[0-9]*"), key=lambda one: int(one.name[3:]))


# --- kernel and machine -----------------------------------------------------------------------------------------------


def kernel(root: Path) -> Iterator[Remark]:
    version = text(root / "proc/version")
    if version is None:
        return
    release = version.removeprefix("Linux version ").partition(" ")[0]
    if "PREEMPT_RT" in version or text(root / "sys/kernel/realtime") == "1":
        yield Remark("kernel", f"{release} with PREEMPT_RT")
    else:
        yield Remark(
            "kernel",
            f"{release} without PREEMPT_RT: it may occasionally delay the loop by milliseconds",
            "install a PREEMPT_RT kernel (on Debian the package linux-image-rt-amd64), or start with preempt=full",
        )


def hypervisor(root: Path) -> Iterator[Remark]:
    flags = text(root / "proc/cpuinfo")
    if flags is None:
        return
    if " hypervisor" in flags:
        yield Remark(
            "machine",
            "virtual machine: the host may suspend it for milliseconds, regardless of its settings",
            "run tests with a real specimen on a dedicated computer",
        )
    else:
        yield Remark("machine", "not a virtual machine")


def clock_source(root: Path) -> Iterator[Remark]:
    source = text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource")
    if source is None:
        return
    good = source in GOOD_CLOCKS or "kvm" in source
    remedy = "" if good else "find out why the kernel does not use the processor's counter (dmesg | grep clocksource)"
    slow = "" if good else ": reading it may take microseconds"
    yield Remark("clock", f"{source}{slow}", remedy)


# --- processors -------------------------------------------------------------------------------------------------------


def governor(root: Path, cpu: int | None) -> Iterator[Remark]:
    found = {text(one / "cpufreq/scaling_governor") for one in processors(root, cpu)} - {None}
    names = sorted(str(one) for one in found)
    if not names:
        if processors(root, cpu):
            yield Remark("processor frequency", "no governor is reported: the host or the firmware sets the frequency")
        return
    bad = [one for one in names if one not in GOOD_GOVERNORS]
    yield Remark(
        "processor frequency",
        f"governor {', '.join(names)}" + (": the clock frequency drops while the loop sleeps" if bad else ""),
        "set the governor to performance: cpupower frequency-set -g performance" if bad else "",
    )


def idle_states(root: Path, cpu: int | None, step: float) -> Iterator[Remark]:
    deepest = ("", 0.0)
    known = False
    for processor in processors(root, cpu):
        for state in sorted(processor.glob("cpuidle/state[0-9]*")):
            latency = text(state / "latency")
            known = known or latency is not None
            if latency is not None and text(state / "disable") != "1" and float(latency) > deepest[1]:
                deepest = (text(state / "name") or state.name, float(latency))
    if not known:
        return
    slow = 1e-6 * deepest[1] > WAKE_SHARE * step
    yield Remark(
        "idle states",
        f"the deepest, {deepest[0]}, takes {deepest[1]:g} µs to wake from" if deepest[0] else "none but polling",
        f"switch off states slower than {1e6 * WAKE_SHARE * step:.3g} µs: cpupower idle-set -D "
        f"{max(int(1e6 * WAKE_SHARE * step), 1)}"
        if slow
        else "",
    )


def isolation(root: Path, cpu: int | None) -> Iterator[Remark]:
    listed = text(root / "sys/devices/system/cpu/isolated")
    if listed is None:
        return
    isolated = numbers(listed)
    if cpu is not None and cpu in isolated:
        yield Remark("isolated processor", f"processor {cpu} is isolated from other programs")
    elif isolated:
        some = ", ".join(str(one) for one in sorted(isolated))
        yield Remark(
            "isolated processor",
            f"processor {some} is isolated but not used by the loop",
            f"set real_time.cpu = {min(isolated)}",
        )
    else:
        count = len(processors(root, None))
        yield Remark(
            "isolated processor",
            "none is isolated from other programs",
            f"start the kernel with isolcpus={count - 1} nohz_full={count - 1} and set real_time.cpu = {count - 1}"
            if count > 1
            else "use a computer with more than one processor core",
        )


def siblings(root: Path, cpu: int | None) -> Iterator[Remark]:
    if cpu is None:
        return
    listed = text(processors(root, cpu)[0] / "topology/thread_siblings_list")
    if listed is None:
        return
    others = sorted(numbers(listed) - {cpu})
    if others:
        yield Remark(
            "hyper-threading",
            f"processor {cpu} shares its core with {', '.join(map(str, others))}",
            "keep that one free, or disable hyper-threading in the BIOS",
        )
    else:
        yield Remark("hyper-threading", f"processor {cpu} shares its core with no other")


def interrupts(root: Path, cpu: int | None) -> Iterator[Remark]:
    if not (root / "proc/irq").is_dir():
        return
    if cpu is None:
        yield Remark(
            "interrupts",
            "any may delay the loop, which may run on any processor",
            "set real_time.cpu; this command then lists the interrupts to move to other processors",
        )
        return
    here = []
    for folder in (root / "proc/irq").glob("[0-9]*"):
        allowed = text(folder / "effective_affinity_list") or text(folder / "smp_affinity_list")
        if allowed and cpu in numbers(allowed):
            here.append(int(folder.name))
    yield Remark(
        "interrupts",
        f"{len(here)} may be served by processor {cpu}",
        f"move them to other processors (/proc/irq/NUMBER/smp_affinity_list): {', '.join(map(str, sorted(here)))}"
        if here
        else "",
    )


# --- limits -----------------------------------------------------------------------------------------------------------


def throttling(root: Path) -> Iterator[Remark]:
    allowed, of = (text(root / f"proc/sys/kernel/sched_rt_{name}_us") for name in ("runtime", "period"))
    if allowed is None or of is None:
        return
    if int(allowed) < 0:
        yield Remark("throttling", "off: a loop that never sleeps could block this computer")
    else:
        yield Remark("throttling", f"real-time threads get at most {100 * int(allowed) / int(of):.3g} % of a processor")


def swap(root: Path) -> Iterator[Remark]:
    listed = text(root / "proc/swaps")
    if listed is not None:
        used = len(listed.splitlines()) > 1
        yield Remark("swap", "on; the loop's memory is locked" if used else "off")


def limits() -> Iterator[Remark]:
    """What this user is allowed."""
    if os.geteuid() == 0:
        yield Remark("rights", "root: real-time priority and locked memory are allowed")
        return
    priority, memory = (resource.getrlimit(one)[0] for one in (resource.RLIMIT_RTPRIO, resource.RLIMIT_MEMLOCK))
    endless = resource.RLIM_INFINITY
    yield Remark(
        "real-time priority",
        "allowed" if priority in (endless, *range(1, 100)) else "not allowed: ulimit -r is 0",
        "" if priority != 0 else "add '@realtime - rtprio 90' to /etc/security/limits.conf, and the user to that group",
    )
    yield Remark(
        "locked memory",
        "any amount" if memory == endless else f"{memory / 2**20:.3g} MiB at most",
        "" if memory == endless else "add '@realtime - memlock unlimited' to /etc/security/limits.conf",
    )
