"""What is kept on disk: found again, and made anew where it is not as it was written."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from halfreal.kernels import disk_cache

CONTENT = bytes(range(256)) * 20


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv(disk_cache.TOLD, raising=False)
    monkeypatch.setattr(disk_cache, "folder", disk_cache.folder.__wrapped__)
    monkeypatch.setattr(disk_cache, "_make_room", disk_cache._make_room.__wrapped__)
    return tmp_path / "halfreal"


def found(name: str = "scaled") -> bool:
    """Whether an entry is there; made if it is not."""
    kept = disk_cache.kept(name)
    if kept is None:
        disk_cache.put(name, CONTENT)
    return kept == CONTENT


def test_what_was_kept_is_found_again_in_a_private_folder(there: Path) -> None:
    assert not found() and found()
    (entry,) = there.iterdir()
    assert there.stat().st_mode & 0o777 == 0o700 and entry.stat().st_mode & 0o777 == 0o600
    assert not found("other") and len(list(there.iterdir())) == 2


@pytest.mark.parametrize("seed", range(6))
def test_a_damaged_entry_is_made_anew_and_told_once(there: Path, seed: int, capfd: Any) -> None:
    found()
    (entry,) = there.iterdir()
    whole, chance = entry.read_bytes(), random.Random(seed)
    data = bytearray(whole)
    if seed % 3 == 0:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif seed % 3 == 1:
        del data[chance.randrange(len(data)) :]
    else:
        data[: len(data) // 2] = bytes(len(data) // 2)
    entry.write_bytes(data)
    assert not found() and found()  # repaired
    entry.write_bytes(data)
    found()
    assert capfd.readouterr().err == "note: the compiled code on disk was damaged and is compiled again\n"


def test_an_entry_in_the_place_of_another_is_not_taken_for_it(there: Path, capfd: Any) -> None:
    found("two")
    found("four")
    (there / "two").write_bytes((there / "four").read_bytes())
    assert not found("two") and "damaged" in capfd.readouterr().err


def test_without_a_place_nothing_is_kept_and_told_once(there: Path, capfd: Any) -> None:
    there.write_text("a file where a folder belongs")
    assert not found() and not found()
    told = capfd.readouterr().err
    assert told.count("\n") == 1 and "compiled code cannot be stored in" in told and str(there) in told


def test_a_disk_without_room_is_told(there: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(disk_cache.os, "open", full)
        found()
    assert "No space left on device" in capfd.readouterr().err and not list(there.iterdir())


def test_the_folder_does_not_grow_without_end(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found()
    size = sum(entry.stat().st_size for entry in there.iterdir())
    monkeypatch.setattr(disk_cache, "FULL", int(1.5 * size))
    for name in ("three", "four", "five", "six"):
        found(name)
    assert len(list(there.iterdir())) <= 3


def test_an_entry_that_was_signed_with_another_secret_is_not_taken(
    there: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever can write to the folder, but cannot read the secret, adds no code."""
    with monkeypatch.context() as patch:
        patch.setattr(disk_cache, "_key", lambda: bytes(32))
        found()
    assert not found() and "damaged" in capfd.readouterr().err
    assert found()


def test_without_a_secret_nothing_is_kept(there: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> bytes:
        raise PermissionError("other users could read 'secret'")

    monkeypatch.setattr(disk_cache, "_key", refuse)
    assert not found() and not found()
    assert not there.exists() and "other users could read 'secret'" in capfd.readouterr().err
