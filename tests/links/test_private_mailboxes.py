"""Shared memory of one user: what stands under its name and is not theirs is neither used nor touched."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from halfreal.links.shared_memory import FOLDER, SIZE, MailboxWire
from halfreal.links.wires import LinkError

BOTH = pytest.mark.parametrize("rig", [True, False])


@pytest.fixture
def path() -> Iterator[Path]:
    name = FOLDER / f"halfreal-{uuid.uuid4().hex}"
    yield name
    name.unlink(missing_ok=True)


def opened(path: Path, rig: bool) -> MailboxWire:
    return MailboxWire(path.name.removeprefix("halfreal-"), rig=rig)


def test_a_mailbox_is_its_users_alone(path: Path) -> None:
    with closing(opened(path, rig=True)):
        assert path.stat().st_mode & 0o777 == 0o600
    assert not path.exists()


@BOTH
def test_a_link_to_another_file_is_not_followed(path: Path, tmp_path: Path, rig: bool) -> None:
    other = tmp_path / "precious"
    other.write_bytes(b"x" * SIZE)
    path.symlink_to(other)
    with pytest.raises(LinkError, match="it is a symbolic link"):
        opened(path, rig)
    assert other.read_bytes() == b"x" * SIZE and path.is_symlink()


@BOTH
def test_a_second_name_of_another_file_is_refused(path: Path, rig: bool) -> None:
    other = path.with_name(f"{path.name}-other")
    other.write_bytes(b"x" * SIZE)
    try:
        path.hardlink_to(other)
        with pytest.raises(LinkError, match="several names"):
            opened(path, rig)
        assert other.read_bytes() == b"x" * SIZE
    finally:
        other.unlink()


@BOTH
def test_a_file_that_others_may_write_is_refused(path: Path, rig: bool) -> None:
    path.write_bytes(bytes(SIZE))
    path.chmod(0o666)
    with pytest.raises(LinkError, match=r"other users may read or write it \(mode 666\)"):
        opened(path, rig)


@BOTH
def test_a_file_of_another_user_is_refused(path: Path, rig: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    path.touch(0o600)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(LinkError, match="belongs to another user"):
        opened(path, rig)


@BOTH
def test_a_pipe_or_a_folder_is_refused(path: Path, rig: bool) -> None:
    os.mkfifo(path, 0o600)
    with pytest.raises(LinkError, match="not a regular file"):
        opened(path, rig)


def test_what_a_killed_rig_left_is_told_and_cleared(path: Path, capfd: Any) -> None:
    path.write_bytes(b"x" * SIZE)
    path.chmod(0o600)
    with closing(opened(path, rig=True)):
        assert path.read_bytes() == bytes(SIZE)
        assert f"{path} was left by a rig that was killed" in capfd.readouterr().err
        with pytest.raises(LinkError, match="already has a rig"):
            opened(path, rig=True)
