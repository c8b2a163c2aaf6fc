"""Compiled code kept on disk: found again, and compiled anew where it is not as it was written."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from numba import float64, njit

from halfreal.kernels import disk_cache, numba_cache


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv(disk_cache.TOLD, raising=False)
    monkeypatch.setattr(disk_cache, "folder", disk_cache.folder.__wrapped__)
    monkeypatch.setattr(disk_cache, "_make_room", disk_cache._make_room.__wrapped__)
    return tmp_path / "halfreal"


def compiled(factor: float = 2.0) -> Any:
    """A small function, as a new process would compile it or find it."""

    def scaled(x: float) -> float:
        return factor * x

    dispatcher = numba_cache.keep(njit(scaled), f"scaled by {factor}")
    dispatcher.compile(float64(float64))
    assert dispatcher(3.0) == 3.0 * factor
    return dispatcher


def found(dispatcher: Any) -> bool:
    return sum(dispatcher.stats.cache_hits.values()) == 1


def test_what_was_compiled_is_found_again_in_a_private_folder(there: Path) -> None:
    assert not found(compiled()) and found(compiled())
    (entry,) = there.iterdir()
    assert there.stat().st_mode & 0o777 == 0o700 and entry.stat().st_mode & 0o777 == 0o600
    assert not found(compiled(4.0)) and len(list(there.iterdir())) == 2


@pytest.mark.parametrize("seed", range(6))
def test_a_damaged_entry_is_compiled_anew_and_told_once(there: Path, seed: int, capfd: Any) -> None:
    compiled()
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
    assert not found(compiled()) and found(compiled())  # repaired
    entry.write_bytes(data)
    compiled()
    assert capfd.readouterr().err == "note: the compiled code on disk was damaged and is compiled again\n"


def test_an_entry_in_the_place_of_another_is_not_taken_for_it(there: Path, capfd: Any) -> None:
    compiled(2.0)
    (two,) = there.iterdir()
    compiled(4.0)
    (four,) = set(there.iterdir()) - {two}
    two.write_bytes(four.read_bytes())
    assert not found(compiled(2.0)) and "damaged" in capfd.readouterr().err


def test_without_a_place_everything_is_compiled_and_told_once(there: Path, capfd: Any) -> None:
    there.write_text("a file where a folder belongs")
    assert not found(compiled()) and not found(compiled())
    told = capfd.readouterr().err
    assert told.count("\n") == 1 and "compiled code cannot be stored in" in told and str(there) in told


def test_a_disk_without_room_is_told(there: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(disk_cache.os, "open", full)
        compiled()
    assert "No space left on device" in capfd.readouterr().err and not list(there.iterdir())


def test_the_folder_does_not_grow_without_end(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(2.0)
    size = sum(entry.stat().st_size for entry in there.iterdir())
    monkeypatch.setattr(disk_cache, "FULL", int(1.5 * size))
    for factor in (3.0, 4.0, 5.0, 6.0):
        compiled(factor)
    assert len(list(there.iterdir())) <= 3
