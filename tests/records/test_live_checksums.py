"""Files that were not sealed: what was changed, exchanged or cut off is noticed, and reading them always ends."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from typer.testing import CliRunner

from halfreal.cli import app
from halfreal.live.resumption import ResumptionError, resume
from halfreal.records import RunFileError, apart, bounded_file, live_checksums, live_file, load_run, save
from halfreal.records import live_layout as layout
from halfreal.records.bounded_file import BoundedFile
from halfreal.records.live_writer import LiveWriter
from halfreal.runs.run import Integrity
from recording import create, holds, rows

ENDS = (500, 700, 1000, 1300, 5000)
DATA = rows(5000, 3)
EVENTS = np.array([[1e-4, 0, 5.0]])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a recorder that was killed."""
    create(tmp_path / "first.h5", 3, watched=["channel 0"])
    writer = LiveWriter(tmp_path / "first.h5")
    for upto in ENDS:
        part = DATA[writer.rows : upto]
        writer.append(upto, part[:, 0], list(part[:, 1:].T), EVENTS if upto == 700 else EVENTS[:0])
    shutil.copy(tmp_path / "first.h5", tmp_path / "run.h5")
    writer.close({"ended": layout.LOOP_ENDED})
    return tmp_path / "run.h5"


def place_of(data: bytes, row: int, column: int = 0) -> int:
    """Where the values of a column from a row on are in a file."""
    found = data.index(DATA[row : row + 16, 1 + column].tobytes())
    assert data.find(DATA[row : row + 16, 1 + column].tobytes(), found + 1) < 0
    return found


def info(path: Path) -> str:
    return CliRunner().invoke(app, ["info", str(path)]).output


def test_what_was_recorded_is_verified_and_stated(path: Path, tmp_path: Path) -> None:
    run = load_run(path)
    assert holds(run, DATA) and run.integrity == Integrity(5000, 5000) and len(run.events) == 1
    line = "not sealed: rows 0 to 4999 verified\n"
    assert line in info(path)
    given = json.loads(CliRunner().invoke(app, ["info", str(path), "--json"]).output)
    assert given["integrity"] == line.strip()
    exported = CliRunner().invoke(app, ["export", str(path), "--to", str(tmp_path / "run.csv")])
    assert line in exported.output


def test_a_sealed_file_says_nothing_of_it(path: Path) -> None:
    save(load_run(path), path, overwrite=True)
    run = load_run(path)
    assert run.integrity is None and holds(run, DATA) and "sealed" not in info(path)


@pytest.mark.parametrize(("first", "second"), [(100, 300), (800, 1500), (1500, 3900)])
def test_two_stretches_that_were_exchanged_are_noticed(path: Path, first: int, second: int) -> None:
    data = bytearray(path.read_bytes())
    one, other = place_of(data, first), place_of(data, second)
    data[one : one + 1024], data[other : other + 1024] = data[other : other + 1024], data[one : one + 1024]
    path.write_bytes(data)
    run = load_run(path)
    intact = max(end for end in (0, *ENDS) if end <= first)
    assert run.integrity == Integrity(5000, intact) and holds(run, DATA[:intact])
    assert f"the {5000 - intact} rows after them do not match their checksums and are left out" in info(path)
    assert len(run.events) == int(intact >= 700)


def test_stretches_exchanged_with_their_checksums_are_noticed(path: Path) -> None:
    """Rows 700 to 1000 and 1000 to 1300: each has the checksum that would be right in the other's place."""
    with h5py.File(path.with_name("first.h5"), "r+") as file:
        for dataset in (file["time"], *file["channels"].values()):
            dataset[700:1000], dataset[1000:1300] = dataset[1000:1300], dataset[700:1000]
        entries = file[live_checksums.NAME][()]
        entries[[3, 4], 2:] = entries[[4, 3], 2:]
        file[live_checksums.NAME][...] = entries
    assert load_run(path.with_name("first.h5")).integrity == Integrity(5000, 700)


@pytest.mark.parametrize("seed", range(12))
def test_a_changed_bit_gives_an_error_or_right_numbers_only(path: Path, seed: int) -> None:
    chance, data = random.Random(seed), bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)
    try:
        run = load_run(path)
    except RunFileError:
        return
    assert run.integrity is not None and holds(run, DATA[: run.integrity.verified])
    assert (run.title, run.definition) == ("recorded", {"mass": 2.2})


def test_a_header_that_was_changed_is_an_error(path: Path) -> None:
    data = path.read_bytes()
    assert data.count(b'{"mass": 2.2}') == 1
    path.write_bytes(data.replace(b'{"mass": 2.2}', b'{"mass": 2.3}'))
    with pytest.raises(RunFileError, match="its header does not match its checksum"):
        load_run(path)


def test_an_ending_that_was_changed_is_not_believed(path: Path) -> None:
    whole = path.with_name("first.h5")
    live_file.finish(whole, outcome="tripped", reason="force 31 kN")
    whole.write_bytes(whole.read_bytes().replace(b"force 31 kN", b"force 13 kN"))
    run = load_run(whole)
    assert run.outcome == "failed" and "how it ended was damaged later" in run.reason and holds(run, DATA)


def test_a_file_of_an_earlier_version_is_read_and_said_to_be_unverified(path: Path) -> None:
    old = path.with_name("first.h5")
    with h5py.File(old, "r+") as file:
        del file[live_checksums.NAME]
        ending = file["ending"]
        ending[...] = np.frombuffer(json.dumps({"ended": "loop ended"}).encode().ljust(ending.size), np.uint8)
    run = load_run(old)
    assert holds(run, DATA) and run.integrity == Integrity(5000, 0, has_checksums=False)
    assert "not sealed: without checksums, none of its 5000 rows verified" in info(old)


def test_the_next_writer_continues_the_checksums(path: Path) -> None:
    writer = LiveWriter(path)
    part = DATA[:100].copy()
    part[:, 0] += 1.0
    writer.append(5100, part[:, 0], list(part[:, 1:].T), EVENTS)
    writer.close({"ended": layout.LOOP_ENDED})
    run = load_run(path)
    assert run.integrity == Integrity(5100, 5100) and len(run.events) == 2


def test_a_damaged_record_is_not_packed_over(path: Path) -> None:
    whole = path.with_name("first.h5")
    data = bytearray(whole.read_bytes())
    data[place_of(data, 3000) + 5] ^= 1
    whole.write_bytes(data)
    before = hashlib.sha256(whole.read_bytes()).digest()
    assert not live_file.pack(whole) and hashlib.sha256(whole.read_bytes()).digest() == before


def test_a_damaged_record_is_not_resumed(path: Path) -> None:
    from types import SimpleNamespace

    data = bytearray(path.read_bytes())
    data[place_of(data, 3000) + 5] ^= 1
    path.write_bytes(data)
    slow = SimpleNamespace(slow=object())
    with pytest.raises(ResumptionError, match="the rig was moved further than it shows"):
        resume(slow, load_run(path))  # type: ignore[arg-type]


READ = "import sys, halfreal\ntry: halfreal.load_run(sys.argv[1])\nexcept halfreal.HalfrealError as error: print(error)"


@pytest.mark.parametrize("flagged", [True, False])
@pytest.mark.parametrize("share", [0.001, 0.05, 0.1, 0.2, 0.4, 0.9])
def test_reading_a_file_that_was_cut_off_ends(path: Path, flagged: bool, share: float) -> None:
    data = (path if flagged else path.with_name("first.h5")).read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    answer = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, timeout=120.0)
    assert "is damaged or truncated" in answer.stdout or "is not an HDF5 file" in answer.stdout, answer.stderr


def test_a_file_that_takes_too_long_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_file, "LEAST_SECONDS", -10.0)
    with path.open("rb") as file, pytest.raises(TimeoutError):
        BoundedFile(file.fileno()).readinto(bytearray(8))
    with pytest.raises(RunFileError, match="is damaged or truncated"):
        load_run(path)


def test_a_process_that_does_not_end_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "time_limit", lambda size: 0.0)
    with pytest.raises(RunFileError, match="reading it did not end within 0 s"):
        apart.load_apart(path)
