"""Runs on disk come back bit for bit, and bad files are told apart."""

from __future__ import annotations

import errno
import json
import resource
import string
from dataclasses import fields, replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from h5py import h5f
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halfreal.contracts.axes import Axes
from halfreal.records import RunFileError, definition_hash, load_run, save
from halfreal.runs.run import (
    Accepted,
    Computer,
    DelayEquation,
    Event,
    Property,
    Run,
    Signal,
    SpecimenMet,
    Stability,
    Stalls,
)
from halfreal.stability.loci import Loci

LINES = np.geomspace(0.1, 500.0, 70)
LOCI = Loci(
    LINES,
    np.exp(-0.01j * LINES)[:, None] * [1.0, 0.2],
    *(np.array(one) for one in ([7.1], [17.6], [True], [42.0, 116.0], [18.7, -3.0])),
    text="stable up to a delay of 6.9 ms",
)


def small_run(samples: int = 200) -> Run:
    time = 1e-3 * np.arange(samples)
    target = 1e-3 * np.sin(2 * np.pi * 1.5 * time)
    return Run(
        title="spring–mass, 1.5 Hz",
        kind="rehearsal",
        definition={"virtual": {"mass": 2.2, "stiffness": [2250.0]}, "step": 1e-3},
        definition_text='step = "1 ms"\n',
        step=1e-3,
        time=time,
        signals={"target": Signal("m", target), "measured.force": Signal("N", 2250 * target)},
        events=(Event(0.05, "guard.mode", "tripped"),),
        outcome="tripped",
        reason="displacement 12 mm above its limit of 10 mm",
        seed=2**100 + 1,
        started="2026-11-15T12:00:00+00:00",
        stability=Stability(
            0.999,
            True,
            "Stable.",
            np.array([5.1, 5.1]),
            np.array([0.1, 0.1]),
            np.array([0.99, 0.99]),
            1e-3,
            7e-3,
            40.0,
            continuous=DelayEquation("Stable.", "stable", complex(-3.4, 45.0), 6.9e-3),
            find_open_loop=lambda: LOCI,
        ),
        references=("newmark1959",),
        versions={"numpy": "2.4.0", "python": "3.11"},
        host={"system": "Linux"},
    )


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def assert_equal(x: object, y: object) -> None:
    assert same_bits(x, y) if isinstance(x, np.ndarray) else x == y


def assert_same(a: Run, b: Run) -> None:
    for field in fields(Run):
        one, other = getattr(a, field.name), getattr(b, field.name)
        if field.name == "time":
            assert same_bits(one, other)
        elif field.name == "signals":
            assert list(one) == list(other), "channels and their order"
            assert all(one[k].unit == other[k].unit and same_bits(one[k].values, other[k].values) for k in one)
        elif field.name == "stability" and one is not None:
            for part in (*(part.name for part in fields(Stability) if part.name != "find_open_loop"), "open_loop"):
                x, y = getattr(one, part), getattr(other, part)
                if isinstance(x, Loci):
                    for inner in fields(Loci):
                        assert_equal(getattr(x, inner.name), getattr(y, inner.name))
                else:
                    assert_equal(x, y)
        else:
            assert one == other, field.name


words = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=12)
channel_names = st.one_of(
    words,
    st.sampled_from([".", "..", "...", "", "a/b", "/", "%", "%2F", "%2E", "measured.force.1", "žluť.é", "变位.1"]),
)
NAMES = st.sampled_from([("1",), ("1", "2"), ("x", "rz"), ("žluť", "变位")])
AXES = NAMES.flatmap(
    lambda names: st.builds(Axes, st.just(names), st.booleans(), st.tuples(*[st.booleans()] * len(names)))
)
any_float = st.floats(allow_nan=True, allow_infinity=True, width=64)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), words),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=3)),
    max_leaves=6,
)


numbers = st.floats(allow_nan=False, allow_infinity=False)
TEXTS, JUDGED = st.lists(words, max_size=2).map(tuple), st.sampled_from(["ACCEPTED", "NOT ACCEPTED"])
STALLS = st.lists(st.builds(Stalls, words, st.integers(1), numbers, numbers), max_size=2).map(tuple)
COMPUTERS = st.builds(Computer, st.none() | st.booleans(), words, TEXTS, STALLS)
PROPERTIES = st.builds(
    Property,
    words,
    st.lists(words, max_size=2).map(tuple),
    words,
    *[numbers] * 5,
    differs=st.booleans(),
)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    samples = draw(st.sampled_from([0, 1, 5, 64, 70]))
    values = st.lists(any_float, min_size=samples, max_size=samples).map(lambda v: np.array(v, dtype=np.float64))
    poles = st.lists(any_float, min_size=2, max_size=2).map(np.array)
    named = st.dictionaries(st.text(string.ascii_letters + "._-é", min_size=1, max_size=8), words, max_size=12)
    return Run(
        title=draw(words),
        kind=draw(st.sampled_from(["rehearsal", "run"])),
        definition=draw(st.dictionaries(words, json_values, max_size=3)),
        definition_text=draw(words),
        step=draw(st.floats(1e-6, 1)),
        time=draw(values),
        signals={
            name: Signal(draw(words), draw(values)) for name in draw(st.lists(channel_names, max_size=6, unique=True))
        },
        events=tuple(
            draw(st.lists(st.builds(Event, st.floats(allow_nan=False), words, words), max_size=3)),
        ),
        outcome=draw(st.sampled_from(["completed", "stopped", "tripped", "failed"])),
        reason=draw(words),
        seed=draw(st.integers(0, 2**128)),
        started=draw(words),
        interface=draw(AXES),
        stability=draw(st.none() | st.builds(Stability, st.floats(0, 2), st.booleans(), words, poles, poles, poles)),
        references=tuple(draw(st.lists(words, max_size=3))),
        versions=draw(named),
        host=draw(named),
        rig=draw(named),
        about=draw(named),
        specimen_met=draw(st.none() | st.builds(SpecimenMet, st.lists(PROPERTIES, max_size=2).map(tuple), words)),
        accepted=draw(st.none() | st.builds(Accepted, JUDGED, TEXTS, JUDGED, st.none() | COMPUTERS)),
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(run=runs())
def test_a_run_comes_back_bit_for_bit(run: Run, tmp_path: Path) -> None:
    save(run, tmp_path / "run.h5", overwrite=True)
    assert_same(load_run(tmp_path / "run.h5"), run)


def test_the_bits_of_a_nan_survive(tmp_path: Path) -> None:
    odd = np.full(200, np.nan)
    odd.view(np.uint64)[:100] = 0x7FF800000000BEEF  # a NaN with a payload
    run = replace(small_run(), signals={"x": Signal("m", odd)})
    save(run, tmp_path / "run.h5")
    assert same_bits(load_run(tmp_path / "run.h5").signals["x"].values, odd)


def test_plain_h5py_reads_what_the_layout_promises(tmp_path: Path) -> None:
    run = small_run()
    save(run, tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5") as file:
        assert file.attrs["format"] == "halfreal run" and file.attrs["format_version"] == 2
        assert np.array_equal(file["channels/target"][:], run.signals["target"].values)
        assert file["channels/measured.force"].attrs["unit"] == "N"
        assert file["time"].attrs["unit"] == "s"
        assert json.loads(file["definition/json"][()]) == run.definition
        assert file["definition/toml"].asstr()[()] == run.definition_text
        assert file["events/text"].asstr()[0] == "tripped"
        assert file.attrs["seed"] == str(2**100 + 1)


def test_arrays_in_the_definition_become_lists(tmp_path: Path) -> None:
    run = replace(small_run(), definition={"k": np.array([[1.0, 2.0]]), "n": np.int64(3)})
    save(run, tmp_path / "run.h5")
    assert load_run(tmp_path / "run.h5").definition == {"k": [[1.0, 2.0]], "n": 3}


def test_an_existing_file_is_kept_unless_overwriting_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    save(small_run(), path)
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="already exists"):
        save(replace(small_run(), title="other"), path)
    assert path.read_bytes() == before
    save(replace(small_run(), title="other"), path, overwrite=True)
    assert load_run(path).title == "other"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("present", [False, True])
def test_a_failed_save_leaves_nothing_and_harms_nothing(tmp_path: Path, present: bool) -> None:
    path = tmp_path / "run.h5"
    if present:
        save(small_run(), path)
    before = sorted((p.name, p.read_bytes()) for p in tmp_path.iterdir())
    with pytest.raises(RunFileError, match="not a number, text, list or table"):
        save(replace(small_run(), definition={"callback": object()}), path, overwrite=True)
    with pytest.raises(RunFileError, match="zero character"):
        save(replace(small_run(), reason="a\0b"), path, overwrite=True)
    assert sorted((p.name, p.read_bytes()) for p in tmp_path.iterdir()) == before


@pytest.mark.parametrize("largest", [0, 1000, 20_000, 60_000])
def test_a_disk_without_room_is_an_error_after_which_hdf5_has_let_go_of_the_file(tmp_path: Path, largest: int) -> None:
    """HDF5 would try again when the program ends, and crash."""
    path, opened = tmp_path / "run.h5", h5f.get_obj_count(h5f.OBJ_ALL, h5f.OBJ_FILE)
    noise = np.random.default_rng(1).standard_normal(20_000)
    run = replace(small_run(noise.size), signals={"target": Signal("m", noise)})
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, usual[1]))
    try:
        with pytest.raises(OSError) as raised:
            save(run, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert (raised.value.errno, raised.value.filename) == (errno.EFBIG, str(path))
    assert h5f.get_obj_count(h5f.OBJ_ALL, h5f.OBJ_FILE) == opened and not list(tmp_path.iterdir())
    save(run, path)
    assert same_bits(load_run(path).signals["target"].values, noise)


def test_a_channel_of_another_length_is_refused(tmp_path: Path) -> None:
    run = replace(small_run(), signals={"x": Signal("m", np.zeros(7))})
    with pytest.raises(RunFileError, match=r"'x' has the shape \(7,\) where \(200,\)"):
        save(run, tmp_path / "run.h5")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="create it first"):
        save(small_run(), tmp_path / "none" / "run.h5")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match="does not exist"):
        load_run(tmp_path / "none.h5")


def test_a_text_file_is_no_run(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    path.write_text("time,target\n0,0\n")
    with pytest.raises(RunFileError, match=r"\(16 bytes\) is not an HDF5 file"):
        load_run(path)


def test_an_hdf5_file_of_something_else_is_no_run(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["data"] = np.arange(5)
    with pytest.raises(RunFileError, match=r"HDF5 file, but not a run file.*'halfreal run' is expected"):
        load_run(tmp_path / "other.h5")


def test_a_newer_format_asks_for_an_update(tmp_path: Path) -> None:
    save(small_run(), tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        file.attrs["format_version"] = 3
    with pytest.raises(RunFileError, match=r"format version 3 .* up to 2; update halfreal"):
        load_run(tmp_path / "run.h5")


def test_a_file_of_the_first_format_has_numbered_axes(tmp_path: Path) -> None:
    run = small_run()
    target = run.signals["target"]
    save(replace(run, signals={"target.1": target, "target.2": target}), tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        del file.attrs["axes"], file.attrs["drives"], file.attrs["rotations"]
        file.attrs["format_version"], file.attrs["interface"] = 1, 2
    found = load_run(tmp_path / "run.h5")
    assert found.interface == Axes.numbered(2)
    assert np.array_equal(found.vector("target"), np.column_stack([target.values, target.values]))


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_a_file_cut_short_is_noticed(tmp_path: Path, part: float) -> None:
    path = tmp_path / "run.h5"
    save(small_run(), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(part * len(whole))])
    with pytest.raises(RunFileError, match="truncated") as caught:
        load_run(path)
    assert "Traceback" not in str(caught.value) and "errno" not in str(caught.value)


def test_a_changed_byte_in_the_data_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    noise = np.random.default_rng(1).normal(size=4096)
    save(replace(small_run(4096), signals={"x": Signal("m", noise)}), path)
    with h5py.File(path) as file:
        chunk = file["channels/x"].id.get_chunk_info(0)
    data = bytearray(path.read_bytes())
    data[chunk.byte_offset + chunk.size // 2] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(RunFileError, match="damaged"):
        load_run(path)


@pytest.mark.parametrize("lost", ["time", "channels", "events/text", "definition/json"])
def test_a_file_without_one_of_its_parts_is_noticed(tmp_path: Path, lost: str) -> None:
    save(small_run(), tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        del file[lost]
    with pytest.raises(RunFileError, match="damaged or truncated"):
        load_run(tmp_path / "run.h5")


def test_the_hash_of_a_definition_is_that_of_its_content() -> None:
    assert definition_hash({"a": 1.0, "b": [2]}) == definition_hash({"b": np.array([2]), "a": 1.0})
    assert definition_hash({"a": 1.0}) != definition_hash({"a": 1.0000000000000002})


def test_what_is_not_known_of_a_specimen_stays_so(tmp_path: Path) -> None:
    unknown = Property("mass", ("x",), "kg", np.nan, np.nan, 1.0, 0.1, np.nan, False)
    save(replace(small_run(), specimen_met=SpecimenMet((unknown,), "it stood still")), tmp_path / "run.h5")
    found = load_run(tmp_path / "run.h5").specimen_met
    assert found is not None and found.reason == "it stood still"
    assert np.isnan(found.properties[0].met) and found.properties[0].model == 1.0


def test_a_file_from_before_rigs_were_asked_is_read(tmp_path: Path) -> None:
    save(replace(small_run(), rig={"nature": "real"}), tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "a") as file:
        del file["rig"], file["about"]
    old = load_run(tmp_path / "run.h5")
    assert old.rig == {} and old.about == {} and old.specimen_met is None and old.accepted is None
