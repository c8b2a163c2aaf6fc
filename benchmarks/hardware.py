"""Figures of the doors to hardware: memory of the rig's end on microcontrollers, and the EtherCAT cycle.

    python benchmarks/hardware.py [--write]

Memory: docs/link/halfreal_rig.c as Debian's gcc-arm-none-eabi compiles it.  EtherCAT: the driver against the simulated
slaves of the tests on a virtual cable (needs root and pysoem); the slaves are a process in Python, so that this is an
upper bound of what the driver takes, and no figure of a bus.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from hardware_page import show

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

LINK = ROOT / "docs" / "link"
CORES = ("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m33")
SIZES = ((1, 0), (6, 16), (64, 64))
FLAGS = ["-mthumb", "-Os", "-std=c99", "-ffreestanding", "-ffp-contract=off"]
CYCLES = 2000


def size(folder: Path, core: str, axes: int, auxiliary: int) -> tuple[int, int, int]:
    """Bytes of code, of a rig (hr_rig) and of its buffers (answer, frame, line)."""
    probe = folder / "probe.c"
    probe.write_text(
        '#include "halfreal_rig.h"\nhr_rig rig;\n'
        "struct { hr_unframed line; uint8_t answer[HR_LONGEST], frame[HR_FRAMED(HR_LONGEST)]; } buffers;\n"
    )
    for source in (LINK / "halfreal_rig.c", probe):
        made = folder / "made.o"
        macros = [f"-DHR_AXES={axes}", f"-DHR_AUXILIARY={auxiliary}", f"-I{LINK}"]
        subprocess.run(["arm-none-eabi-gcc", f"-mcpu={core}", *FLAGS, *macros, "-c", source, "-o", made], check=True)
        if source == probe:
            listed = subprocess.run(["arm-none-eabi-nm", "-S", made], check=True, capture_output=True, text=True).stdout
        else:
            told = subprocess.run(["arm-none-eabi-size", made], check=True, capture_output=True, text=True).stdout
    code = int(told.splitlines()[1].split()[0])
    rig, buffers = (
        int(re.search(rf"^\S+ (\S+) \w {name}$", listed, re.M)[1], 16)  # type: ignore[index]
        for name in ("rig", "buffers")
    )
    return code, rig, buffers


def whole(folder: Path) -> tuple[int, int]:
    """Bytes of flash and of memory, without the stack, of the program in docs/link/microbit, as its head builds it."""
    head = (LINK / "microbit" / "main.c").read_text().split("arm-none-eabi-gcc ")[1].split("rig.elf")[0]
    command = head.replace("\\\n *", "").split()
    made = folder / "rig.elf"
    subprocess.run(["arm-none-eabi-gcc", *command, made], check=True, cwd=LINK / "microbit")
    told = subprocess.run(["arm-none-eabi-size", made], check=True, capture_output=True, text=True).stdout
    code, data, zeros = (int(part) for part in told.splitlines()[1].split()[:3])
    return code + data, data + zeros


def footprint() -> list[str]:
    lines = [
        "`docs/link/halfreal_rig.c`, `gcc-arm-none-eabi -Os`, in bytes, without the arithmetic of doubles, which",
        "a program has once.",
        "",
        "| processor | axes | auxiliary channels | code | a rig | buffers of a serial line |",
        "|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as name:
        for core in CORES:
            for axes, auxiliary in SIZES:
                code, rig, buffers = size(Path(name), core, axes, auxiliary)
                lines.append(f"| {core} | {axes} | {auxiliary} | {code:,} | {rig:,} | {buffers:,} |")
        flash, memory = whole(Path(name))
    whole_ = f"The whole program for a micro:bit, of one axis: {flash:,} bytes of flash and {memory:,} of memory."
    return [*lines, "", whole_]


def ethercat() -> list[str]:
    import pysoem

    from drivers.test_ethercat import Cable, opening
    from halfreal.drivers.ethercat import EtherCatDriver

    pysoem.settings.timeouts.ret = 50_000  # microseconds: the slaves are a process on a busy machine
    cable = Cable()
    try:
        cable.begin()
        driver = EtherCatDriver()
        driver.open(opening(cable.near))
        read, write = np.zeros(CYCLES), np.zeros(CYCLES)
        for i in range(CYCLES):
            before = time.perf_counter()
            at = driver.read()[1]
            between = time.perf_counter()
            driver.write([float(i), at, 0.0])
            read[i], write[i] = between - before, time.perf_counter() - between
        driver.close()
        cable.end()
    finally:
        subprocess.run(["ip", "link", "del", cable.near], check=True)
    lines = [
        "The driver against simulated slaves, a terminal and a drive, on a virtual pair of Ethernet devices,",
        f"{CYCLES:,} cycles. The slaves are a process in Python: an upper bound for the driver, not of a bus.",
        "",
        "| | least | median | 99 % |",
        "|---|---|---|---|",
    ]
    for what, times in (("read", read), ("write", write), ("a tick", read + write)):
        least, median, most = 1e6 * np.min(times), 1e6 * np.median(times), 1e6 * np.percentile(times, 99)
        lines.append(f"| {what} | {least:.0f} µs | {median:.0f} µs | {most:.0f} µs |")
    return lines


if __name__ == "__main__":
    write = "--write" in sys.argv
    show("Memory of the rig side on a microcontroller", footprint(), write)
    show("EtherCAT cycle", ethercat(), write)
