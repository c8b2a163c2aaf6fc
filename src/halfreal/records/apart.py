"""Run files that nothing is known of, read in a process of their own: HDF5 may crash on a damaged one, or not end.

A file with an intact seal (``seal.py``) is as halfreal wrote it, and is read in this process.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from ..runs.run import Run
from . import seal
from .bounded_file import time_limit
from .run_file import RunFileError, damaged, load_run


def load_apart(path: str | Path) -> Run:
    """Like ``load_run``, for any file: one that crashes HDF5 is an error like others."""
    path = Path(path)
    try:
        known = seal.look(path) is not seal.Seal.MISSING
    except OSError:
        known = True  # its absence crashes nothing, and is reported as usual
    if known:
        return load_run(path)
    with tempfile.TemporaryFile() as result:
        command = [sys.executable, "-m", __name__, str(path), str(result.fileno())]
        environment = {**os.environ, "PYTHONWARNINGS": "ignore", "OPENBLAS_NUM_THREADS": "1"}
        try:
            child = subprocess.run(
                command,
                check=False,
                pass_fds=[result.fileno()],
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=(limit := 2.0 * time_limit(path.stat().st_size)),
            )
        except subprocess.TimeoutExpired as error:
            raise damaged(path, f"; reading it did not end within {limit:.0f} s") from error
        result.seek(0)
        try:
            found = pickle.load(result)
        except Exception as error:  # cut off anywhere
            how = f"with {signal.Signals(-child.returncode).name}" if child.returncode < 0 else "without a response"
            raise damaged(path, f"; reading it ended {how}") from error
    if isinstance(found, Run):
        return found
    raise RunFileError(found)


def main(path: str, result: str) -> None:
    try:
        found: Run | str = load_run(path)
    except RunFileError as error:
        found = str(error)
    with os.fdopen(int(result), "wb") as file:
        pickle.dump(found, file, protocol=5)


if __name__ == "__main__":
    main(*sys.argv[1:])
