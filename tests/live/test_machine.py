"""What ``halfreal doctor`` reads of a computer, on made-up ones, and what it measures on this one."""

import ctypes
import errno
import json
import resource
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from halfreal.cli import app
from halfreal.kernels.loop import Loop
from halfreal.links.pace import pace
from halfreal.live import machine, network
from halfreal.live.wake_up import WakeUp, measure

CPU = "sys/devices/system/cpu"
LABORATORY = {
    "proc/version": "Linux version 6.1 #1 SMP PREEMPT_RT Debian",
    "proc/cpuinfo": "flags : fpu vme tsc",
    "proc/swaps": "Filename Type Size Used Priority",
    "proc/sys/kernel/sched_rt_runtime_us": "950000",
    "proc/sys/kernel/sched_rt_period_us": "1000000",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
    f"{CPU}/isolated": "3",
    "proc/irq/7/smp_affinity_list": "0-2",
    **{f"{CPU}/cpu{i}/cpufreq/scaling_governor": "performance" for i in range(4)},
    **{f"{CPU}/cpu{i}/cpuidle/state0/name": "POLL" for i in range(4)},
    **{f"{CPU}/cpu{i}/cpuidle/state0/latency": "0" for i in range(4)},
    **{f"{CPU}/cpu{i}/topology/thread_siblings_list": str(i) for i in range(4)},
}


def computer(folder: Path, changes: dict[str, str]) -> Path:
    for name, text in {**LABORATORY, **changes}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{text}\n")
    return folder


def to_change(root: Path, cpu: int | None = 3, step: float = 1e-3) -> dict[str, str]:
    rights = {one.topic for one in machine.limits()}
    return {one.topic: one.remedy for one in machine.examine(step, cpu, root) if one.remedy and one.topic not in rights}


def test_a_computer_made_for_real_time_needs_no_change(tmp_path):
    assert to_change(computer(tmp_path, {})) == {}


@pytest.mark.parametrize(
    ("changes", "topic", "remedy"),
    [
        ({"proc/version": "Linux version 6.1 #1 SMP PREEMPT_DYNAMIC"}, "kernel", "linux-image-rt-amd64"),
        ({"proc/cpuinfo": "flags : fpu hypervisor tsc"}, "machine", "dedicated computer"),
        (
            {"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet"},
            "clock",
            "dmesg",
        ),
        ({f"{CPU}/cpu3/cpufreq/scaling_governor": "powersave"}, "processor frequency", "-g performance"),
        (
            {f"{CPU}/cpu3/cpuidle/state1/name": "C6", f"{CPU}/cpu3/cpuidle/state1/latency": "133"},
            "idle states",
            "idle-set -D 50",
        ),
        ({f"{CPU}/isolated": "2-3"}, None, ""),
        ({f"{CPU}/isolated": "1"}, "isolated processor", "real_time.cpu = 1"),
        ({f"{CPU}/isolated": ""}, "isolated processor", "isolcpus=3"),
        ({f"{CPU}/cpu3/topology/thread_siblings_list": "1,3"}, "hyper-threading", "keep that one free"),
        ({"proc/irq/9/smp_affinity_list": "0-3"}, "interrupts", "9"),
    ],
)
def test_what_delays_a_loop_is_named_with_its_remedy(tmp_path, changes, topic, remedy):
    found = to_change(computer(tmp_path, changes))
    assert list(found) == ([] if topic is None else [topic])
    assert topic is None or remedy in found[topic]


def test_a_loop_without_a_processor_gets_every_line_too(tmp_path):
    root = computer(tmp_path, {})
    for governor in root.glob(f"{CPU}/cpu*/cpufreq/scaling_governor"):  # as in a virtual machine
        governor.unlink()
    found = {one.topic: one.found for one in machine.examine(1e-3, None, root)}
    assert found["kernel"] == "6.1 with PREEMPT_RT"
    assert "no governor is reported" in found["processor frequency"]
    assert "lists the interrupts to move" in to_change(root, None)["interrupts"]


def test_an_idle_state_that_is_switched_off_or_fast_enough_for_the_step_is_no_trouble(tmp_path):
    slow = {f"{CPU}/cpu3/cpuidle/state1/latency": "133"}
    assert to_change(computer(tmp_path / "a", {**slow, f"{CPU}/cpu3/cpuidle/state1/disable": "1"})) == {}
    assert to_change(computer(tmp_path / "b", slow), step=10e-3) == {}


def test_what_cannot_be_read_is_left_out(tmp_path):
    assert to_change(tmp_path, None) == {}


@given(st.sets(st.integers(0, 300)))
def test_lists_of_processors_are_read(chosen):
    assert machine.numbers(",".join(str(one) for one in sorted(chosen))) == chosen


def test_ranges_of_processors_are_read():
    assert machine.numbers("0-2,5,8-9") == {0, 1, 2, 5, 8, 9}


# --- network ----------------------------------------------------------------------------------------------------------

ROUTES = """Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT
eth0 00000000 0100A8C0 0003 0 0 0 00000000 0 0 0
rig0 0002A8C0 00000000 0001 0 0 0 00FFFFFF 0 0 0
"""


def test_the_card_on_the_way_to_the_rig_is_found(tmp_path):
    root = computer(tmp_path, {"proc/net/route": ROUTES})
    assert network.interface("192.168.2.7", root) == "rig0"
    assert network.interface("10.1.2.3", root) == "eth0"
    assert network.interface("10.1.2.3", tmp_path / "none") is None


def test_remarks_on_the_network(tmp_path):
    root = computer(tmp_path, {"proc/net/route": ROUTES})
    (here,) = network.examine("127.0.0.1", 1e-3, root)
    assert here.level == "good"
    (none,) = network.examine("192.168.2.7", 1e-3, tmp_path / "none")
    assert "no route to 192.168.2.7" in none.found and none.level == "change"
    (root / "sys/class/net/rig0/wireless").mkdir(parents=True)
    (air,) = network.examine("192.168.2.7", 1e-3, root)
    assert "cable" in air.remedy


def reporting(monkeypatch, card: str, microseconds: int, adaptive: int = 0) -> None:
    """One card's driver reports its interrupt coalescing, as the kernel passes it on; those of others do not."""

    def ioctl(open_socket, number, request):
        words = (ctypes.c_uint32 * 23).from_address(request.data)
        assert (number, words[0]) == (0x8946, 0x0E)  # SIOCETHTOOL, ETHTOOL_GCOALESCE
        if request.name != card.encode():
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")
        words[1], words[10] = microseconds, adaptive

    monkeypatch.setattr(network.fcntl, "ioctl", ioctl)


@pytest.mark.parametrize(
    ("microseconds", "adaptive", "remedy"),
    [(30, 0, ""), (200, 0, "ethtool -C rig0 rx-usecs 0"), (0, 1, "ethtool -C rig0 adaptive-rx off rx-usecs 0")],
)
def test_a_card_that_delays_datagrams_is_named_with_its_remedy(tmp_path, monkeypatch, microseconds, adaptive, remedy):
    root = computer(tmp_path, {"proc/net/route": ROUTES})
    reporting(monkeypatch, "rig0", microseconds, adaptive)
    (found,) = network.examine("192.168.2.7", 1e-3, root)
    assert found.remedy == remedy and "interrupt coalescing" in found.found
    assert ("30 µs" in found.found) == (microseconds == 30)
    (other,) = network.examine("10.1.2.3", 1e-3, root)
    assert "eth0" in other.found and "is not known" in other.found and other.level == "good"


def test_without_a_rig_all_cards_in_use_are_examined(tmp_path, monkeypatch):
    names = ("eth0", "eth1", "lo", "rig0")
    states = {f"sys/class/net/{name}/operstate": "down" if name == "eth1" else "up" for name in names}
    devices = {f"sys/class/net/{name}/device/vendor": "0x8086" for name in names if name != "lo"}
    root = computer(tmp_path, {**states, **devices})
    reporting(monkeypatch, "rig0", 200)
    first, second = network.cards(1e-3, root)
    assert "eth0" in first.found and first.level == "good"
    assert "rig0" in second.found and second.level == "change"
    assert list(network.cards(1e-3, tmp_path / "none")) == []


# --- measured ---------------------------------------------------------------------------------------------------------


def test_the_clock_of_a_run_is_measured():
    found = measure(1e-3, 0.0, 0.05, 80, None)
    assert found.ticks == 50
    assert 0.0 <= found.lateness[0] <= found.lateness[1] <= found.lateness[2]
    assert found.latest > 0.0
    assert set(found.rights) >= {"realtime memory", "realtime scheduling"}


@pytest.mark.parametrize(("lateness", "overruns", "fits"), [(99e-6, 0, True), (101e-6, 0, False), (1e-6, 1, False)])
def test_a_loop_fits_if_no_tick_is_missed_and_nearly_all_are_woken_soon(lateness, overruns, fits):
    assert WakeUp(1e-3, 1000, (0.0, 0.0, lateness), 1.0, overruns, 0, 0, {}).fits == fits


def test_the_thread_of_a_loop_has_no_page_fault_once_it_runs():
    """Also while it sleeps and is woken: all it uses was touched in its first ticks."""
    loop = Loop([pace(1e-4, 0.0, "hold", waits=True)], dt=1e-4)
    faults = []

    def work() -> None:
        loop.run(10)
        before = resource.getrusage(resource.RUSAGE_THREAD)
        loop.run(1000)
        after = resource.getrusage(resource.RUSAGE_THREAD)
        faults.append(after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert faults == [0]


def test_the_command_answers_in_words_and_in_json():
    run = CliRunner().invoke(app, ["doctor", "--step", "5 ms", "--duration", "0.1 s"])
    assert run.exit_code in (0, 1)  # as this computer is
    assert "latency of 20 ticks" in run.output
    run = CliRunner().invoke(app, ["doctor", "--step", "5 ms", "--duration", "0.1 s", "--json"])
    answer = json.loads(run.output)
    assert answer["wake_up"]["step"] == 5e-3 and answer["fits"] == (run.exit_code == 0)
    assert np.all(np.isfinite(answer["wake_up"]["lateness"]))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--step", "3"], "has no unit"),
        (["--step", "-1 ms"], "is not a time above zero"),
        (["--duration", "1 ms"], "shorter than ten steps"),
        (["--duration", "2 h"], "at most"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, told):
    run = CliRunner().invoke(app, ["doctor", *options])
    assert run.exit_code == 2 and told in run.output
