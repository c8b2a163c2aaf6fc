"""A file that is being recorded: made, cut short anywhere, finished, packed."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halfreal.presentation.verdict import verdict
from halfreal.records import RunFileError, live_file, load_run, save, superblock
from halfreal.records import live_layout as layout
from halfreal.records.live_writer import LiveWriter
from halfreal.records.recorder import room_for
from halfreal.runs.run import Event, Integrity, Signal
from recording import create, header, holds, names, plain_lengths, rows

DATA = rows(1000, 3)
ENDS = (0, 100, 300, 301, 1000)
"""Rows after each stretch."""
NO_EVENTS = np.zeros((0, 3))


def append(writer: LiveWriter, upto: int, events: np.ndarray = NO_EVENTS) -> None:
    part = DATA[writer.rows : upto]
    writer.append(upto, part[:, 0], list(part[:, 1:].T), events)


def written(path: Path, *ends: int, ended: str = layout.LOOP_ENDED) -> None:
    create(path, 3)
    writer = LiveWriter(path)
    for upto in ends:
        append(writer, upto)
    writer.close({"ended": ended})


def as_if_killed(writer: LiveWriter, path: Path, copy: Path) -> None:
    """What a writer killed now would leave."""
    copy.write_bytes(path.read_bytes())


# --- made -----------------------------------------------------------------------------------------------------------


def test_a_new_file_holds_all_but_the_rows(tmp_path: Path) -> None:
    before = replace(header(names(3)), events=(Event(0.0, "reference", "no reference"),), limits_used={"gap": 0.5})
    live_file.create(before, tmp_path / "run.h5", columns=names(3))
    run = load_run(tmp_path / "run.h5")
    assert (run.title, run.definition, run.definition_text) == (before.title, before.definition, before.definition_text)
    assert (run.verdict, run.reasons, run.events, run.limits_used) == ("GO", ("stable",), before.events, {"gap": 0.5})
    assert {name: signal.unit for name, signal in run.signals.items()} == dict.fromkeys(names(3), "m")
    assert len(run.time) == 0 and run.outcome == "recording" and run.reason.startswith("recording has not begun")
    assert "has no rows yet: recording has not begun" in verdict(run).outcome


def test_a_recorder_that_was_killed_before_its_first_row_had_begun(tmp_path: Path) -> None:
    create(tmp_path / "run.h5", 3)
    writer = LiveWriter(tmp_path / "run.h5")
    as_if_killed(writer, tmp_path / "run.h5", tmp_path / "copy.h5")
    run = load_run(tmp_path / "copy.h5")
    assert run.outcome == "failed" and "interrupted before its first row" in run.reason
    writer.close({"ended": layout.LOOP_ENDED})


def test_an_existing_file_is_kept_unless_overwriting_is_asked_for(tmp_path: Path) -> None:
    create(tmp_path / "run.h5", 3)
    with pytest.raises(FileExistsError, match="already exists"):
        create(tmp_path / "run.h5", 3)
    create(tmp_path / "run.h5", 3, overwrite=True)


def test_an_unknown_channel_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        RunFileError, match=r"'gap' is to be recorded or watched but is not a column .* channel 0, channel 1"
    ):
        create(tmp_path / "run.h5", 2, watched=["gap"])
    with pytest.raises(RunFileError, match=r"record\.every = 0"):
        create(tmp_path / "run.h5", 2, every=0)


# --- read -----------------------------------------------------------------------------------------------------------


def test_rows_come_back_bit_for_bit(tmp_path: Path) -> None:
    written(tmp_path / "run.h5", 1, 300, 301, 1000)
    assert holds(load_run(tmp_path / "run.h5"), DATA)
    assert plain_lengths(tmp_path / "run.h5") == {1000}


def test_events_have_the_words_they_were_given(tmp_path: Path) -> None:
    texts = {"channel 1": {1.0: "running", 2.0: ""}, "not a channel of this loop": {0.0: "never"}}
    create(tmp_path / "run.h5", 3, watched=["channel 0", "channel 1"], texts=texts)
    writer = LiveWriter(tmp_path / "run.h5")
    append(writer, 10, np.array([[1e-4, 1, 1.0], [2e-4, 1, 2.0], [3e-4, 1, 3.5], [3e-4, 0, np.nan]]))
    writer.close({"ended": layout.LOOP_ENDED, "dropped": 7})
    assert load_run(tmp_path / "run.h5").events == (
        Event(1e-4, "channel 1", "running"),
        Event(3e-4, "channel 1", "channel 1 is now 3.5"),
        Event(3e-4, "channel 0", "channel 0 is now nan"),
        Event(DATA[9, 0], "recorder", "7 rows were lost because the ring was full"),
    )


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (
            {"ended": "recording"},
            "was interrupted at 0.0999 s: controller and recorder were both killed, or the power failed",
        ),
        ({"ended": "controller lost"}, "the controller was lost at 0.0999 s"),
        (
            {"ended": "loop ended"},
            "the controller was lost after its loop had ended at 0.0999 s; the record is complete",
        ),
        (
            {"ended": "disk full", "message": "No space"},
            r"the disk was full and the recording ended at 0.0999 s \(No sp",
        ),
        ({"ended": "write error", "message": "I/O"}, r"ended at 0.0999 s with a write error \(I/O\)"),
        ({"ended": "something unheard of"}, "was interrupted at 0.0999 s"),
    ],
)
def test_the_file_says_how_it_ended(tmp_path: Path, ending: dict[str, str], said: str) -> None:
    create(tmp_path / "run.h5", 3)
    writer = LiveWriter(tmp_path / "run.h5")
    append(writer, 1000)
    writer.close(ending)
    run = load_run(tmp_path / "run.h5")
    assert run.outcome == "failed" and holds(run, DATA)
    with pytest.raises(AssertionError, match=said):
        raise AssertionError(run.reason)


def test_an_ending_cut_off_in_the_middle_is_none(tmp_path: Path) -> None:
    written(tmp_path / "run.h5", 1000)
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        file["ending"][20:] = ord(" ")
    assert "was interrupted" in load_run(tmp_path / "run.h5").reason


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lengths=st.lists(st.integers(0, 1500), min_size=4, max_size=4), counted=st.sampled_from(ENDS))
def test_a_file_cut_off_between_any_two_writes_loads(tmp_path: Path, lengths: list[int], counted: int) -> None:
    path = tmp_path / "run.h5"
    path.unlink(missing_ok=True)
    written(path, *ENDS[1:], ended=layout.RECORDING)
    with h5py.File(path, "r+") as file:
        for dataset, length in zip((file["time"], *file["channels"].values()), lengths, strict=True):
            dataset.resize((length,))
        file["live/written"][:] = [counted, counted, 0, 0]
    run = load_run(path)
    whole = max(end for end in ENDS if end <= min(counted, *lengths))  # of a stretch that is there in part, nothing
    assert holds(run, DATA[:whole])
    assert run.integrity == Integrity(min(counted, *lengths), whole)
    assert run.outcome == "failed" and "was interrupted" in run.reason


@pytest.mark.parametrize("flagged", [False, True])
def test_a_copy_that_lost_its_end_is_noticed(tmp_path: Path, flagged: bool) -> None:
    path, copy = tmp_path / "run.h5", tmp_path / "copy.h5"
    create(path, 3)
    writer = LiveWriter(path)
    append(writer, 1000)
    if not flagged:
        writer.close({"ended": layout.LOOP_ENDED})
    whole = path.read_bytes()
    copy.write_bytes(whole[: len(whole) - 2000])
    with pytest.raises(RunFileError, match="truncated"):
        load_run(copy)


def test_json_of_the_ending_is_plain_for_other_programs(tmp_path: Path) -> None:
    written(tmp_path / "run.h5", 1000)
    with h5py.File(tmp_path / "run.h5") as file:
        ending = json.loads(bytes(file["ending"][:]))
        assert len(ending.pop("sha256")) == 64 and ending == {"ended": "loop ended", "time": DATA[-1, 0]}
        assert file["ending"].id.get_offset() is not None, "it has one fixed place in the file"


# --- gone on with ---------------------------------------------------------------------------------------------------


def test_hash_is_that_of_jenkins() -> None:
    # the values that lookup3.c itself prints
    assert superblock.lookup3(b"") == 0xDEADBEEF
    assert superblock.lookup3(b"Four score and seven years ago") == 0x17770551


def test_hash_is_that_of_hdf5(tmp_path: Path) -> None:
    create(tmp_path / "run.h5", 3)
    head = (tmp_path / "run.h5").read_bytes()[: superblock.SIZE]
    assert superblock.lookup3(head[:44]) == struct.unpack("<I", head[44:])[0]


def test_a_killed_writers_file_can_be_written_to_again_once_released(tmp_path: Path) -> None:
    path, copy = tmp_path / "run.h5", tmp_path / "copy.h5"
    create(path, 3)
    writer = LiveWriter(path)
    append(writer, 700)
    as_if_killed(writer, path, copy)
    with pytest.raises(OSError, match="already open for write"):
        h5py.File(copy, "r+")
    with pytest.raises(OSError, match="already open for write"):
        h5py.File(copy, "r")
    assert holds(load_run(copy), DATA[:700])
    fd = os.open(copy, os.O_RDWR)
    superblock.release(fd)
    superblock.release(fd)  # a second time it has nothing to do
    os.close(fd)
    with h5py.File(copy, "r+") as file:
        assert np.array_equal(file["channels/channel 2"][:], DATA[:700, 3])
    writer.close({"ended": layout.LOOP_ENDED})


def test_a_damaged_superblock_is_not_touched(tmp_path: Path) -> None:
    path, copy = tmp_path / "run.h5", tmp_path / "copy.h5"
    create(path, 3)
    writer = LiveWriter(path)
    damaged = bytearray(path.read_bytes())
    damaged[30] ^= 1
    copy.write_bytes(damaged)
    fd = os.open(copy, os.O_RDWR)
    with pytest.raises(OSError, match="checksum does not match"):
        superblock.release(fd)
    os.close(fd)
    assert copy.read_bytes() == damaged
    writer.close({"ended": layout.LOOP_ENDED})


def test_a_next_writer_takes_no_room_twice(tmp_path: Path) -> None:
    """Killed before the last header was written: its index knows a chunk that reaches beyond the end of the file."""
    path, copy = tmp_path / "run.h5", tmp_path / "copy.h5"
    live_file.create(header(names(3), step=1e-2), path, columns=names(3))  # in chunks of 256 rows
    writer = LiveWriter(path)
    append(writer, 200)
    early = path.read_bytes()
    append(writer, 300)
    times = writer._file["time"]
    where = h5py.h5o.get_info(times.id)
    last, place = times.id.get_chunk_info(1).byte_offset, writer._file["live/written"].id.get_offset()
    left = bytearray(path.read_bytes()[: last + 8 * (300 - 256)])
    old = [(0, superblock.SIZE), (where.addr, where.hdr.space.total), (place, 32)]
    for start, length in old:
        left[start : start + length] = early[start : start + length]
    copy.write_bytes(left)
    writer.close({"ended": layout.LOOP_ENDED})
    assert plain_lengths(copy, swmr=True) == {200, 300}
    second = LiveWriter(copy)
    append(second, 1000)
    second.close({"ended": layout.LOOP_ENDED})
    assert holds(load_run(copy), DATA)


@pytest.mark.parametrize("begun", [0, 1, 299, 700])
def test_a_next_writer_goes_on_where_the_last_one_ended(tmp_path: Path, begun: int) -> None:
    path, copy = tmp_path / "run.h5", tmp_path / "copy.h5"
    create(path, 3, watched=["channel 0", "channel 1"])
    writer = LiveWriter(path)
    append(writer, begun, np.array([[0.0, 0, 5.0], [0.0, 1, 6.0], [1e-4, 0, 7.0]])[: 3 * (begun > 0)])
    for dataset in (writer._file["time"], writer._file["channels/channel 1"]):  # an append that was cut off
        dataset.resize((begun + 40,))
    writer._file.flush()
    as_if_killed(writer, path, copy)
    writer.close({"ended": layout.LOOP_ENDED})
    second = LiveWriter(copy)
    assert second.rows == begun and list(second.watched) == ([7.0, 6.0] if begun else [0.0, 0.0])
    append(second, 1000)
    second.close({"ended": layout.LOOP_ENDED})
    assert holds(load_run(copy), DATA) and plain_lengths(copy) == {1000}


def test_two_recorders_at_one_file_are_refused(tmp_path: Path) -> None:
    create(tmp_path / "run.h5", 3)
    writer = LiveWriter(tmp_path / "run.h5")
    second = "import sys; from halfreal.records.live_writer import LiveWriter; LiveWriter(sys.argv[1])"
    answer = subprocess.run([sys.executable, "-c", second, tmp_path / "run.h5"], capture_output=True, text=True)
    assert "BlockingIOError" in answer.stderr
    append(writer, 1000)
    writer.close({"ended": layout.LOOP_ENDED})
    assert holds(load_run(tmp_path / "run.h5"), DATA)


# --- finished and packed --------------------------------------------------------------------------------------------


def test_the_controllers_word_is_added_to_the_ending(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    written(path, 1000)
    live_file.finish(path, outcome="stopped", reason="by the operator", verdict="NO-GO", limits_used={"gap": 0.25})
    run = load_run(path)
    assert (run.outcome, run.reason) == ("stopped", "by the operator")
    assert (run.verdict, run.reasons, run.limits_used) == ("NO-GO", ("stable",), {"gap": 0.25})
    live_file.finish(path, outcome="completed", reasons=["a", "b"], remedies=["c"])
    run = load_run(path)
    assert (run.outcome, run.reason, run.reasons, run.remedies) == ("completed", "", ("a", "b"), ("c",))


def test_how_the_recording_ended_stays_beside_the_controllers_word(tmp_path: Path) -> None:
    path, copy = tmp_path / "run.h5", tmp_path / "copy.h5"
    create(path, 3)
    writer = LiveWriter(path)
    append(writer, 1000)
    as_if_killed(writer, path, copy)
    writer.close({"ended": layout.DISK_FULL, "message": "No space left on device"})
    live_file.finish(path, outcome="tripped", reason="the record fails")
    assert load_run(path).reason.startswith("the record fails; the disk was full and the recording ended at 0.0999 s")
    live_file.finish(copy, outcome="tripped", reason="the record fails")
    assert "the recording was interrupted at 0.0999 s: the recorder was killed" in load_run(copy).reason
    assert plain_lengths(copy) == {1000}, "its flags are cleared"


def test_an_ending_that_does_not_fit_is_refused_and_the_old_one_kept(tmp_path: Path) -> None:
    written(tmp_path / "run.h5", 1000)
    with pytest.raises(ValueError, match=r"more than 65536; shorten its reasons"):
        live_file.finish(tmp_path / "run.h5", outcome="tripped", reason="x" * 70000)
    assert "the record is complete" in load_run(tmp_path / "run.h5").reason


def test_an_ordinary_file_has_no_ending_to_be_written(tmp_path: Path) -> None:
    save(replace(header([]), signals={}), tmp_path / "run.h5")
    with pytest.raises(RunFileError, match="not a recording"):
        live_file.finish(tmp_path / "run.h5", outcome="tripped")


def test_packing_keeps_the_run_and_makes_an_ordinary_file(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    written(path, 1000)
    live_file.finish(path, outcome="tripped", reason="too far")
    before = load_run(path)
    assert live_file.pack(path)
    after = load_run(path)
    assert holds(after, DATA)
    assert replace(after, time=0, signals={}) == replace(before, time=0, signals={}, integrity=None)
    with h5py.File(path) as file:
        assert "live" not in file and "ending" not in file
        assert file["channels/channel 0"].compression == "gzip" and file.attrs["outcome"] == "tripped"
    assert list(tmp_path.iterdir()) == [path]


def test_a_recording_too_large_for_memory_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    written(path, 1000)
    before = path.read_bytes()
    with patch.object(live_file, "LARGEST", len(before) - 1):
        assert not live_file.pack(path)
    with patch.object(live_file, "room_for", lambda path, size: "no room"):
        assert not live_file.pack(path)
    assert path.read_bytes() == before


def test_a_file_that_is_being_recorded_is_neither_finished_nor_packed(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    create(path, 3)
    writer = LiveWriter(path)  # a process does not see its own lock: another has to ask
    ask = """if True:
        import sys
        from halfreal.records import live_file, load_run
        for act in (live_file.pack, lambda path: live_file.finish(path, outcome="completed")):
            try:
                act(sys.argv[1])
            except ValueError as error:
                print(error)
        print(load_run(sys.argv[1]).reason)
    """
    answer = subprocess.run([sys.executable, "-c", ask, path], capture_output=True, text=True, check=True)
    assert answer.stdout.count("still being recorded; wait for the recorder to end") == 2
    assert answer.stdout.splitlines()[-1] == "still recording; state before its first row"
    writer.close({"ended": layout.LOOP_ENDED})


def test_room_is_asked_for_before_the_test(tmp_path: Path) -> None:
    assert room_for(tmp_path / "run.h5", 1e3) is None
    message = room_for(tmp_path / "run.h5", 1e18)
    assert message is not None and "needs 1e+09 GB" in message and "record.every" in message
    with patch("resource.getrlimit", lambda which: (1000, 1000)):
        message = room_for(tmp_path / "run.h5", 2000)
    assert message is not None and "ulimit -f" in message


def test_a_signal_keeps_its_exact_name(tmp_path: Path) -> None:
    odd = ["a/b", "..", "%", "žluť.1"]
    run = replace(header([]), signals={name: Signal("N", np.zeros(0)) for name in odd})
    live_file.create(run, tmp_path / "run.h5", columns=odd)
    assert list(load_run(tmp_path / "run.h5").signals) == odd
