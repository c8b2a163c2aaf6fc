"""The rig's end for microcontrollers (docs/link/microbit) on the board that QEMU emulates, for tests."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import socket
import subprocess
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from links.test_framing import framed, unframed

LINK = Path(__file__).parents[2] / "docs" / "link"
PARTS = [LINK / "microbit" / "main.c", LINK / "halfreal_rig.c", LINK / "simulated.c"]
TARGET = ["-mcpu=cortex-m0", "-mthumb", "-Os", "-std=c99", "-ffreestanding", "-ffp-contract=off"]
TARGET += ["-fno-tree-loop-distribute-patterns", "-ffunction-sections", "-nostdlib", "-Wl,--gc-sections"]
STRICT = ["-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
COMPILER, EMULATOR = "arm-none-eabi-gcc", "qemu-system-arm"


def is_installed() -> bool:
    return shutil.which(COMPILER) is not None and shutil.which(EMULATOR) is not None


def build(folder: Path, *settings: str) -> Path:
    """The program of the board, with settings of main.c."""
    elf = folder / "rig.elf"
    layout = LINK / "microbit" / "microbit.ld"
    command = [COMPILER, *TARGET, *STRICT, "-DHR_AXES=1", *settings, *PARTS, "-T", layout, "-lgcc", "-o", elf]
    built = subprocess.run(command, text=True, capture_output=True, check=False)
    assert (built.returncode, built.stderr) == (0, "")
    return elf


@contextmanager
def emulated(elf: Path) -> Iterator[tuple[str, int]]:
    """The board: its serial port, and the emulator's process."""
    emulate = [EMULATOR, *["-M", "microbit", "-nographic", "-monitor", "none", "-serial", "pty", "-kernel"], str(elf)]
    with subprocess.Popen(emulate, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as machine:
        try:
            assert machine.stdout is not None
            port = re.search(r"/dev/pts/\d+", line := machine.stdout.readline())
            assert port is not None, line
            yield port[0], machine.pid
        finally:
            machine.kill()


@contextmanager
def bridge(terminal: str) -> Iterator[int]:
    """Hands datagrams on between a UDP port, whose number it gives, and a serial line."""
    line = os.open(terminal, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    tty.setraw(line)
    end, (ended, wake) = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socketpair()
    end.bind(("127.0.0.1", 0))

    def serve() -> None:
        speaker, heard = None, b""
        while ended not in (ready := select.select([end, line, ended], [], [])[0]):
            if end in ready:
                data, speaker = end.recvfrom(65536)
                with contextlib.suppress(BlockingIOError):  # a line that takes no more loses bytes
                    os.write(line, framed(data))
            if line in ready:
                whole, zero, heard = (heard + os.read(line, 65536)).rpartition(b"\0")
                for datagram in unframed(whole + zero):
                    if isinstance(datagram, bytes) and speaker is not None:
                        with contextlib.suppress(ConnectionRefusedError):
                            end.sendto(datagram, speaker)

    thread = threading.Thread(target=serve, name="bridge")
    thread.start()
    try:
        yield int(end.getsockname()[1])
    finally:
        wake.close()
        thread.join()
        for one in (end, ended):
            one.close()
        os.close(line)
