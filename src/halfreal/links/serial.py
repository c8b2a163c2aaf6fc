"""A rig at the other end of a serial line: its settings, and both ends of the link.

A byte has ten bits on the line: 8 bits, no parity, one start and one stop bit; no flow control.  How datagrams are kept
apart is in ``kernels/stream.py``.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import stat
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import ValidationInfo, field_validator

from ..contracts.link import Link
from ..kernels.datagram import HEADER
from ..kernels.siphash import TAG
from ..kernels.stream import DATAGRAM, FRAME, GONE, HEARD, LINE, stream_receive, stream_send
from ..kernels.wire import STREAM
from ..settings import fault, folder, stored
from .secret import key_path, read_secret
from .wires import LinkError, reason

if TYPE_CHECKING:
    from ..definition.definition import Definition

RATES = {
    int(name[1:]): int(code)
    for name, code in vars(termios).items()
    if name[:1] == "B" and name[1:].isdecimal() and int(name[1:]) >= 9600
}
"""What this system can set, by baud."""
BITS = 10
"""Of a byte on the line."""
PSEUDO = "pty"
LOOK = 0.01
"""Seconds between two looks at a port that is closed."""


class Serial(Link):
    """A rig at the other end of a serial line, such as a microcontroller or a gateway."""

    kind: Literal["serial"] = "serial"
    port: str
    """Serial port of the controller, e.g. "/dev/ttyUSB0", or a link to one, relative to the definition's folder."""
    baud: int = 1_000_000
    """Baud rate, the same at both ends."""
    rig: str = ""
    """Port of the rig end, for 'halfreal rig'; default: the same name on another computer. "pty" creates a
    pseudo-terminal linked from ``port``, for testing on one computer without a cable.
    """
    key: str = ""
    """File with the secret shared by both ends ('halfreal key'), relative to the definition's folder. Optional for a
    direct line between two ports; recommended for a line that is carried over radio or a network.
    """

    @field_validator("port", "rig")
    @classmethod
    def _a_file(cls, port: str, info: ValidationInfo) -> str:
        if info.field_name == "rig" and port in ("", PSEUDO):
            return port
        if not port or "\0" in port:
            raise fault(f"{port!r} is not a serial port; give its device file, e.g. '/dev/ttyUSB0'")
        return port if stored(info) else str((folder(info) / port).absolute())

    @field_validator("baud")
    @classmethod
    def _settable(cls, baud: int) -> int:
        if baud not in RATES:
            raise fault(f"{baud} baud cannot be set here; choose one of {', '.join(map(str, sorted(RATES)))}")
        return baud

    @field_validator("key")
    @classmethod
    def _from_the_definition(cls, key: str, info: ValidationInfo) -> str:
        return key_path(key, info)

    def secret(self) -> bytes:
        return read_secret(Path(self.key)) if self.key else super().secret()

    @property
    def guarded(self) -> str:
        return "authenticated by a shared secret" if self.key else "not authenticated: a dedicated serial line"

    def fits_test(self, test: Definition) -> None:
        """The line must carry a measurement in a period, unless the test waits for each of them."""
        channels = 2 * test.virtual.axes + len(test.auxiliary)
        size = HEADER + 8 * channels + TAG
        size += size // 254 + 3
        takes = BITS * size / self.baud
        if test.real_time.pacing == "clock" and takes > test.period:
            faster = [baud for baud in sorted(RATES) if BITS * size / baud <= test.period]
            remedy = f"give both ends {faster[0]} baud or more, or" if faster else "no rate is fast enough:"
            raise fault(
                f"at {self.baud} baud a measurement of {size} bytes takes {1e3 * takes:.3g} ms, longer than a period "
                f"of {1e3 * test.period:g} ms; {remedy} lengthen it, or use the rig's clock "
                '(real_time.pacing = "rig")',
                "link",
                "baud",
            )

    def to_rig(self) -> SerialWire:
        """The controller's end."""
        return SerialWire(opened(Path(self.port), self.baud, "link.port"), self.port, self.baud)

    def listen(self) -> SerialWire:
        """The rig's end."""
        if self.rig == PSEUDO:
            return PseudoTerminal(Path(self.port), self.baud)
        port = self.rig or self.port
        return SerialWire(opened(Path(port), self.baud, "link.rig" if self.rig else "link.port"), port, self.baud)


def opened(port: Path, baud: int, setting: str) -> int:
    """An open serial port that carries bytes as they are."""
    try:
        file = os.open(port, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise LinkError(
            f"there is no serial port '{port}' ({setting}); is it plugged in and connected to a rig?"
        ) from None
    except OSError as error:
        what = "it is in use; close the other program" if error.errno == errno.EBUSY else reason(error)
        if error.errno == errno.EACCES:
            what += "; join the group with access to it, usually dialout"
        raise LinkError(f"the serial port '{port}' ({setting}) cannot be opened: {what}") from None
    try:
        if not (stat.S_ISCHR(os.fstat(file).st_mode) and os.isatty(file)):
            raise LinkError(f"'{port}' ({setting}) is not a serial port; give one, e.g. /dev/ttyUSB0")
        if not locked(file):
            raise LinkError(f"the serial port '{port}' ({setting}) is in use; close the other program")
        plain(file, baud)
    except termios.error as error:
        os.close(file)
        raise LinkError(
            f"the serial port '{port}' ({setting}) does not support {baud} baud: {error.args[1]}; "
            "choose another link.baud"
        ) from None
    except BaseException:
        os.close(file)
        raise
    return file


def locked(file: int) -> bool:
    """Whether no other end has the port: by a lock, which ends with its process."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def plain(file: int, baud: int) -> None:
    """Bytes as they are, 8 bits, no parity, one stop bit, no flow control; what waits there is forgotten."""
    special = [b"\0"] * 32
    special[termios.VMIN] = b"\1"
    as_they_are = termios.CS8 | termios.CREAD | termios.CLOCAL
    wanted: list[int | list[bytes]] = [0, 0, as_they_are, 0, RATES[baud], RATES[baud], special]
    termios.tcsetattr(file, termios.TCSANOW, wanted)
    if termios.tcgetattr(file)[4:6] != [RATES[baud]] * 2:
        raise termios.error(errno.EINVAL, "it uses another rate")
    termios.tcflush(file, termios.TCIOFLUSH)


class SerialWire:
    """An open serial port; at the rig's end the listener is the session's wire too."""

    hears_others = False

    def __init__(self, file: int, port: str, baud: int) -> None:
        self._file, self._baud = file, baud
        self.address, self.speaker = f"serial port '{port}', {baud} baud", None
        self._line, self._frame = np.zeros(LINE, dtype=np.uint8), np.zeros(FRAME, dtype=np.uint8)
        _kept.append((self._line, self._frame))
        self._words = self._line.view(np.int64)

    def private(self) -> SerialWire:
        return self

    def way(self) -> np.ndarray:
        return np.array([STREAM, float(self._file), float(self._line.ctypes.data), float(self._frame.ctypes.data)])

    def taken(self) -> float:
        return 0.0

    def send(self, data: bytes) -> None:
        if self._file >= 0:
            stream_send(self._file, self._frame.ctypes.data, np.frombuffer(data, dtype=np.uint8).ctypes.data, len(data))

    def receive(self, seconds: float) -> bytes | None:
        deadline = time.monotonic() + seconds
        while True:
            length = int(stream_receive(self._file, self._line.ctypes.data))
            if length >= 0:
                return self._line[DATAGRAM : DATAGRAM + length].tobytes()
            left = deadline - time.monotonic()
            if left <= 0.0:
                return None
            if self._words[GONE // 8]:  # its file is ready for ever, and brings nothing
                time.sleep(min(left, LOOK))
            else:
                select.select([self._file], [], [], left)

    def remark(self) -> str:
        heard = int(self._words[HEARD // 8])
        if not heard:
            return "No byte was received: check the cable, the port and the power of the rig"
        return (
            f"{heard} bytes were received, but no response among them: give both ends the same rate "
            f"(link.baud is {self._baud})"
        )

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


_kept: list[tuple[np.ndarray, np.ndarray]] = []
"""What compiled code has the addresses of: a loop's blocks may outlive their wire."""


class PseudoTerminal(SerialWire):
    """A rig's end without a cable: a pair of ports of the system's own, to one of which the controller's port leads."""

    def __init__(self, port: Path, baud: int) -> None:
        file, self._other = os.openpty()  # the other one stays open, so that ours is there without a controller too
        try:
            plain(self._other, baud)
            os.set_blocking(file, False)
            if port.is_symlink() and not port.exists():  # of a rig that was killed
                port.unlink()
            port.symlink_to(os.ttyname(self._other))
        except OSError as error:
            os.close(file)
            os.close(self._other)
            what = (
                "a file of that name exists; if no rig uses it, remove it"
                if error.errno == errno.EEXIST
                else reason(error)
            )
            raise LinkError(
                f"the rig's pseudo-terminal cannot be given the name '{port}' (link.port): {what}"
            ) from None
        self._port = port
        super().__init__(file, str(port), baud)

    def close(self) -> None:
        if self._file >= 0:
            self._port.unlink(missing_ok=True)
            os.close(self._other)
        super().close()
