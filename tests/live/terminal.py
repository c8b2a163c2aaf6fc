"""``halfreal run`` at a terminal of its own."""

from __future__ import annotations

import os
import pty
from pathlib import Path

from live.processes import Process, wait_for, written


def fill(name: str) -> None:
    """Write to a terminal until it is full."""
    slave = os.open(name, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        while True:
            os.write(slave, b"." * 256)
    except BlockingIOError:
        os.close(slave)


class Terminal(Process):
    """``halfreal run`` at a terminal of its own; what it shows is read as it comes."""

    # a terminal opened by the first process of a session is the one whose closing tells it to hang up
    code = f"import os; os.open(os.ttyname(0), os.O_RDWR); {Process.code}"

    def __init__(self, folder: Path, port: int, *changes: dict[str, object], options: tuple[str, ...] = ()) -> None:
        self.master, slave = pty.openpty()
        self._name = os.ttyname(slave)
        os.set_blocking(self.master, False)
        self._shown = b""
        file = written(folder / "test.toml", {"link.rig": f"127.0.0.1:{port}"}, *changes)
        streams = {"stdin": slave, "stdout": slave, "stderr": slave, "start_new_session": True}
        super().__init__(folder, "run", "run", str(file), "--output", str(folder / "run.h5"), *options, **streams)
        os.close(slave)

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.hang_up()

    @property
    def said(self) -> str:
        try:
            while self.master >= 0 and (data := os.read(self.master, 65536)):
                self._shown += data
        except OSError:  # nothing new, or the other end has closed it
            pass
        return self._shown.decode(errors="replace")

    def ends(self) -> int:
        wait_for(lambda: self.said is not None and self.process.poll() is not None, "it to end")
        return self.process.returncode

    def press(self, key: str) -> None:
        os.write(self.master, key.encode())

    def fill(self) -> None:
        """Let it take no further byte: nobody reads what it shows, and it is full."""
        fill(self._name)

    def hang_up(self) -> None:
        if self.master >= 0:
            os.close(self.master)
            self.master = -1
