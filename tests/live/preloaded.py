"""Commands as processes that begin with every module loaded and the blocks of BASE in memory.

Loading them takes longer than most tests of processes do.  One process loads them and forks at each request; a command
then runs as the main program of the fork, with streams, environment and session of its own, and ends as any program
does.  What a command does from nothing on is tested in tests/cli and by ``make demo``.

``python preloaded.py FD DEFINITION`` is the process that forks; ``Forked`` has what tests use of ``subprocess.Popen``.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

LONGEST = 1 << 17
"""Bytes of a request: arguments and environment."""
READY = b"ready"


class Server:
    """The process that forks."""

    def __init__(self, definition: Path, environment: dict[str, str]) -> None:
        self.requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (self.requests, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * LONGEST)
        command = [sys.executable, __file__, str(theirs.fileno()), str(definition)]
        self.process = subprocess.Popen(
            command, env=environment, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True
        )
        theirs.close()
        assert self.requests.recv(len(READY)) == READY, "it ended while it loaded what commands need"

    def close(self) -> None:
        self.requests.close()
        self.process.wait()


class Forked:
    """A program, ``code`` with arguments, that a server has forked."""

    def __init__(
        self,
        server: Server,
        code: str,
        arguments: Sequence[str],
        env: dict[str, str],
        stdin: int | IO[Any],
        stdout: int | IO[Any],
        stderr: int | IO[Any],
        start_new_session: bool = False,
    ) -> None:
        request = {"code": code, "arguments": list(arguments), "environment": env, "folder": str(Path.cwd())}
        request["new session"] = start_new_session
        self._ended, theirs = os.pipe()
        with Path(os.devnull).open("r+b") as nothing:
            streams = [nothing if one == subprocess.DEVNULL else one for one in (stdin, stdout, stderr)]
            numbers = [one if isinstance(one, int) else one.fileno() for one in streams]
            socket.send_fds(server.requests, [json.dumps(request).encode()], [*numbers, theirs])
        os.close(theirs)
        self.pid = int(server.requests.recv(32))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._look(0.0)

    def wait(self, timeout: float | None = None) -> int:
        if self._look(timeout) is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._ended], [], [], timeout)[0]:
            self.returncode = int(os.read(self._ended, 32))
            os.close(self._ended)
        return self.returncode


def forked(requests: socket.socket) -> dict[str, Any]:
    """Fork at each request; returns in the forks alone, with what was asked for."""
    children: dict[
        int, tuple[int, int]
    ] = {}  # by the file that shows its end: its process, where to write its exit code
    while True:
        ready = select.select([requests, *children], [], [])[0]
        for watch in set(ready) & set(children):
            pid, answer = children.pop(watch)
            os.write(answer, str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
            os.close(answer)
            os.close(watch)
        if requests not in ready:
            continue
        data, files, _, _ = socket.recv_fds(requests, LONGEST, 4)
        if not data:
            sys.exit()
        pid = os.fork()
        if pid == 0:
            break
        for stream in files[:3]:
            os.close(stream)
        children[os.pidfd_open(pid)] = pid, files[3]
        requests.send(str(pid).encode())
    for number, stream in enumerate(files[:3]):
        os.dup2(stream, number)
    for file in (*files, *children, *(answer for _, answer in children.values())):
        os.close(file)
    requests.close()
    return dict(json.loads(data))


def main() -> None:
    import halfreal.cli
    import halfreal.live.session

    definition = halfreal.load(sys.argv[2])
    halfreal.check(definition)
    requests = socket.socket(fileno=int(sys.argv[1]))
    requests.send(READY)
    asked = forked(requests)
    if asked["new session"]:
        os.setsid()
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = ["-c", *asked["arguments"]]
    exec(asked["code"], {"__name__": "__main__"})


if __name__ == "__main__":
    main()
