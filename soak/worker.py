"""Commands of halfreal in a child process: exit codes, what they write, crashes, and those that take too long."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import traceback
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any


def judge(arguments: list[str]) -> tuple[Any, str]:
    """The exit code of a command and what it wrote."""
    import typer

    from halfreal.cli import app

    heard = io.StringIO()
    with redirect_stdout(heard), redirect_stderr(heard), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", module="scipy")  # as the command line does with all
        try:
            code: Any = app(arguments, standalone_mode=False) or 0
        except typer.Exit as ended:
            code = ended.exit_code
        except SystemExit as ended:
            code = ended.code
        except BaseException as error:
            code = f"{type(error).__name__}: {error}"
            heard.write(traceback.format_exc())
    return code, heard.getvalue()


def work(pipe: Any) -> None:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with contextlib.suppress(EOFError):  # nobody asks any more
        while True:
            pipe.send(judge(pipe.recv()))


def fault_of(code: Any, text: str) -> str:
    """What is wrong with an answer; empty if nothing is."""
    for sign in ("Traceback", "Warning:", "internal error"):
        if sign in text:
            line = next(line for line in text.splitlines() if sign in line)
            return line[:400]
    return "" if code in (0, 1, 2) else f"exit code {code}: {text[-300:]}"


class Worker:
    def __init__(self) -> None:
        self.pipe, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        self.process = context.Process(target=work, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def worked(self) -> float:
        """Processor time that it has had so far [s]: on a busy machine time passes without work."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has crashed, which its pipe tells
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def ask(self, arguments: list[str], seconds: float) -> tuple[Any, str]:
        """The answer of a command; its code is None if it crashed or worked too long, and the worker is gone then."""
        self.pipe.send(arguments)
        begun = self.worked()
        while not self.pipe.poll(1.0):
            if self.worked() - begun > seconds:
                self.process.kill()
                return None, f"took longer than {seconds:g} s"
        try:
            answer: tuple[Any, str] = self.pipe.recv()
            return answer
        except EOFError:
            self.process.join()
            return None, f"crashed with {self.process.exitcode}"
