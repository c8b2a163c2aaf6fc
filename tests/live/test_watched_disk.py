"""Room on the disk is watched while a test is recorded."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from halfreal.live import recording


def test_a_disk_that_something_else_fills_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    record = recording.Recording(tmp_path / "run.h5", 1, 1e-3, restarts=0, silence=1.0, on_message=said.append)
    free = [1e12, 1e7, 1e7]
    monkeypatch.setattr(recording.shutil, "disk_usage", lambda folder: SimpleNamespace(free=free.pop(0)))
    record._watch_disk(0.0)
    record._watch_disk(0.5 * recording.DISK_EVERY)  # not yet due
    assert not said and len(free) == 2
    record._watch_disk(2.0 * recording.DISK_EVERY)
    record._watch_disk(4.0 * recording.DISK_EVERY)
    assert len(said) == 1 and "the disk of 'run.h5' has 10 MB left" in said[0]
    record.close()
