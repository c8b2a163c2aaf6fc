"""Private folders and files: what others could have written or read is refused, and nothing of it is repaired."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Thread

import pytest

from halfreal import user_folders


@pytest.fixture
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "halfreal/secret"


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o720, 0o702, 0o1777])
def test_a_folder_that_others_could_have_written_is_refused_and_left_as_it_is(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(PermissionError, match=rf"other users could write to '.*cache' \(mode {mode:o}.*remove it"):
        user_folders.made_private(folder)
    assert folder.stat().st_mode & 0o7777 == mode


def test_a_folder_that_others_could_only_read_is_closed_and_a_new_one_is_private(tmp_path: Path) -> None:
    read = tmp_path / "read"
    read.mkdir()
    read.chmod(0o755)
    for folder in (read, tmp_path / "new/one"):
        assert user_folders.made_private(folder).stat().st_mode & 0o777 == 0o700


def test_what_belongs_to_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("theirs")
    another = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: another)
    for refused in (lambda: user_folders.made_private(tmp_path), lambda: user_folders.read_private(tmp_path / "file")):
        with pytest.raises(PermissionError, match="belongs to another user"):
            refused()


def test_a_link_and_a_pipe_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("elsewhere")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("link", "pipe"):
        with pytest.raises(OSError):
            user_folders.read_private(tmp_path / name)
    with pytest.raises(OSError):
        user_folders.append_private(tmp_path / "link", "more")
    assert (tmp_path / "target").read_text() == "elsewhere"


def test_the_secret_is_made_once_and_private(secret: Path) -> None:
    found: list[bytes] = []
    threads = [Thread(target=lambda: found.append(user_folders.secret())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and set(found) == {user_folders.secret()} and len(found[0]) == user_folders.SECRET_BYTES
    assert secret.stat().st_mode & 0o777 == 0o600 and [one.name for one in secret.parent.iterdir()] == ["secret"]


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o660, 0o602])
def test_a_secret_that_others_could_have_read_is_none(secret: Path, mode: int) -> None:
    user_folders.secret()
    secret.chmod(mode)
    with pytest.raises(PermissionError, match=rf"secret' \(mode {mode:o}, expected 600\); remove it"):
        user_folders.secret()


def test_a_secret_that_was_cut_off_is_refused(secret: Path) -> None:
    before = user_folders.secret()
    secret.write_bytes(before[:5])
    with pytest.raises(OSError, match="has 5 bytes where 32 are expected; remove it"):
        user_folders.secret()
