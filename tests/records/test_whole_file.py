"""Files that are whole or not there, and what is left of them."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from halfreal.records.kept_file import identity
from halfreal.records.whole_file import whole_file

KILLED = """if True:
    import os, sys
    from halfreal.records.whole_file import whole_file
    with whole_file(sys.argv[1]) as temporary:
        temporary.write_text("half of it")
        os.kill(os.getpid(), 9)
"""


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    code = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "one.txt"]).returncode
    assert code == -signal.SIGKILL and len(list(tmp_path.glob(".*.part"))) == 1
    (tmp_path / ".not-ours.part").write_text("of somebody else")
    with whole_file(tmp_path / "other.txt") as temporary:
        temporary.write_text("whole")
        with whole_file(tmp_path / "third.txt") as third:  # does not take the first, which is being written
            third.write_text("whole")
    assert {path.name for path in tmp_path.iterdir()} == {"other.txt", "third.txt", ".not-ours.part"}


def test_only_the_file_that_is_meant_is_replaced(tmp_path: Path) -> None:
    path, other = tmp_path / "a.txt", tmp_path / "b.txt"
    path.write_text("ours")
    ours = identity(path.stat())
    with whole_file(path, overwrite=True, instead_of=ours) as temporary:
        temporary.write_text("packed")
    assert path.read_text() == "packed"
    ours = identity(path.stat())
    other.write_text("theirs")
    with (
        pytest.raises(FileExistsError, match="another file took its place"),
        whole_file(path, overwrite=True, instead_of=ours) as temporary,
    ):
        temporary.write_text("ours")
        other.replace(path)
    assert path.read_text() == "theirs"
    with (
        pytest.raises(FileExistsError, match="it was removed"),
        whole_file(path, overwrite=True, instead_of=identity(path.stat())) as temporary,
    ):
        temporary.write_text("ours")
        path.unlink()
    assert not list(tmp_path.iterdir())
