"""Histories from files as laboratories write them, and what is refused of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfreal.models.excitations import Record
from halfreal.models.excitations.record_file import RecordFileError, read_history

G = 9.80665
STEP = 0.005
VALUES = np.round(0.3 * np.sin(0.7 * np.arange(60)), 6)
PEER = (
    "PEER NGA STRONG MOTION DATABASE RECORD\nX\nACCELERATION TIME SERIES IN UNITS OF G\nNPTS=  60, DT=   .00500 SEC\n"
)


def written(path, heading, columns, separator=",", comma=False):
    rows = [separator.join(f"{value:.6f}" for value in row) for row in zip(*columns, strict=True)]
    text = "\n".join(rows).replace(".", ",") if comma else "\n".join(rows)
    path.write_text(heading + text + "\n", encoding="utf-8")
    return path


def times(count=60, step=STEP, start=0.0):
    return start + step * np.arange(count)


@settings(max_examples=80, deadline=None)
@given(
    values=st.lists(st.floats(-50.0, 50.0), min_size=3, max_size=40),
    separator=st.sampled_from([",", ", ", ";", "; ", "\t", "  ", " "]),
    step=st.sampled_from([0.002, 0.005, 0.01, 0.02]),
    start=st.sampled_from([0.0, -1.0, 3.5]),
    heading=st.sampled_from(["", "# {0}{1}{2}\n", "{0}{1}{2}\n", "Station 7, somewhere (1999)\n\n{0}{1}{2}\n"]),
    name=st.sampled_from(["acc_g", "Acceleration (g)", "a [g]"]),
    time=st.sampled_from(["time", "t", "time [s]", "Time (s)", "t_s"]),
    comma=st.booleans(),
    windows=st.booleans(),
)
def test_time_and_one_column_however_they_are_written(
    tmp_path_factory, values, separator, step, start, heading, name, time, comma, windows
):
    path = tmp_path_factory.mktemp("r") / "quake.csv"
    comma &= separator.strip() != ","
    title = heading.format(time, separator if separator.strip() else "  ", name)
    values = np.round(values, 6)
    written(path, title, (times(len(values), step, start), values), separator, comma)
    if windows:
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    for column in (None, 2):
        found = read_history(path, column)
        np.testing.assert_allclose(found.values, values, atol=1e-9)
        assert found.step == pytest.approx(step, rel=1e-3)
        assert (found.unit, found.column) == ("g_0" if title else None, 2)
    with pytest.raises(RecordFileError, match=r"column 1 is the time, and is not taken .*2.*from"):
        read_history(path, 1)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="0123456789.,;-eE#\t \nabnNT=", max_size=120))
def test_any_text_is_read_or_refused_in_words(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("r") / "any.txt"
    path.write_text(text)
    try:
        found = read_history(path)
    except RecordFileError as error:
        assert "any.txt" in str(error)
    else:
        assert found.values.size >= 2 and np.all(np.isfinite(found.values))


def test_one_column_is_read_though_it_rises_evenly_and_needs_a_step(tmp_path):
    path = written(tmp_path / "ramp.txt", "", (times(),))
    found = read_history(path)
    assert found.step is None and found.column == 1
    named = written(tmp_path / "named.txt", "Time series of acceleration\n", (times(),))
    np.testing.assert_array_equal(read_history(named).values, found.values)
    assert Record(file=path, time_step=0.1, displacement=1.0).step == 0.1
    with pytest.raises(ValueError, match="has no times; give the time between its samples"):
        Record(file=path, displacement=1.0)


def test_columns_without_times_or_names_are_as_they_have_always_been(tmp_path):
    path = written(tmp_path / "two.txt", "", (VALUES, 2 * VALUES))
    np.testing.assert_array_equal(read_history(path).values, VALUES)
    np.testing.assert_array_equal(read_history(path, 2).values, 2 * VALUES)
    counted = written(tmp_path / "counted.txt", "", (np.arange(60.0), VALUES))
    found = read_history(counted, 2)
    assert found.step is None  # 0, 1, 2 … are no seconds
    np.testing.assert_array_equal(read_history(counted).values, VALUES)


def test_columns_are_chosen_by_name_and_listed_where_any_may_be_meant(tmp_path):
    path = written(tmp_path / "many.csv", "time [s],North (g),East (g)\n", (times(), VALUES, 2 * VALUES))
    for name in ("East (g)", "east", " East (g) "):
        np.testing.assert_array_equal(read_history(path, name).values, 2 * VALUES)
    listed = r"1 'time \[s\]' \(time\), from 0 on; 2 'North \(g\)', from 0 on; 3 'East \(g\)', from 0 on"
    for column, told in ((None, "which column is meant"), ("Up", "no column of that name"), (4, "no column 4")):
        with pytest.raises(RecordFileError, match=f"{told}.*{listed}"):
            read_history(path, column)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "0.0,1\n0.1,2\n0.3,3\n0.4,1\n" + "".join(f"{0.5 + 0.1 * i:.1f},0\n" for i in range(20)),
            "line 2 to 3 .* 0.2 s",
        ),
        ("0.0,1\n0.1,2\n0.2,nan\n", "line 3 of .*: sample 3 of 3 is nan; fill gaps"),
        ("0.0,1\n0.1,\n0.2,3\n", "line 2 of .* has nothing in column 2"),
        ("0.0 1\n0.1 x\n0.2 3\n", "line 2 of .* has 'x' in column 2"),
        ("0.0 1\n0.1 1 2\n0.2 3\n", r"line 2 of .* has 3 column\(s\), and others 2"),
        ("0,005\n0,007\n-0,010\n", "decimals with a comma, or two columns"),
        ("time,acc\n", "contains 0 number"),
        ("time,acc\n0.0,1\n", r"contains 1 number\(s\); at least 2"),
        ("time [s]\n0.0\n0.1\n0.2\n", r"a time column and no history; .* 1 'time \[s\]' \(time\)"),
        ("0.0 0\n0.1 2\n0.3 1\n0.7 0\n", "which column is meant"),
        ("", "contains 0 number"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(tmp_path, text, told):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(RecordFileError, match=told):
        read_history(path)


def test_a_peer_record_tells_step_and_unit_and_contradictions_are_refused(tmp_path):
    words = [f"{value: .7E}" for value in VALUES]
    path = tmp_path / "QUAKE.AT2"
    path.write_text(PEER + "\n".join(" ".join(words[i : i + 5]) for i in range(0, 60, 5)) + "\n")
    found = Record(file=path)
    assert (found.step, found.acceleration, found.quantity) == (STEP, pytest.approx(G), "acceleration")
    assert Record(file=path, time_step=STEP, acceleration=0.4 * G).amplitude == pytest.approx(0.4 * G)
    for more, told in (
        ({"time_step": 0.01}, r"0\.01 s is given, but the samples of .* are 0\.005 s apart"),
        ({"acceleration": 1.0}, r"defined as 1 m/s\^2 \(acceleration\), but its heading states .* in g_0"),
        ({"force": 1.0}, r"defined as 1 N \(force\), but its heading states an acceleration in g_0"),
        ({"column": 2}, "one history over all its columns; omit column"),
    ):
        with pytest.raises(ValueError, match=told):
            Record(file=path, **more)


def test_an_acceleration_is_neither_a_velocity_nor_without_a_unit(tmp_path):
    fast = written(tmp_path / "v.csv", "t,v [m/s]\n", (times(), VALUES))
    with pytest.raises(ValueError, match="states a velocity, in m/s"):
        Record(file=fast, acceleration=1.0)
    plain = written(tmp_path / "a.csv", "t,a\n", (times(), VALUES))
    with pytest.raises(ValueError, match="no amplitude given"):
        Record(file=plain)
    late = written(tmp_path / "ms.csv", "time [ms],acc [g]\n", (1e3 * times(), VALUES))
    assert Record(file=late).step == pytest.approx(STEP)


def test_times_of_few_digits_are_even(tmp_path):
    """1/256 s, written to a tenth of a millisecond; and the same with a sample missing."""
    rows = [f"{i / 256:.4f} {value}" for i, value in enumerate(VALUES)]
    path = tmp_path / "few.txt"
    path.write_text("\n".join(rows))
    assert read_history(path).step == pytest.approx(1 / 256, rel=1e-3)
    path.write_text("\n".join(rows[:30] + rows[31:]))
    with pytest.raises(RecordFileError, match="resample the record uniformly"):
        read_history(path)


def test_what_the_file_told_stays_with_the_definition(tmp_path):
    path = written(tmp_path / "quake.csv", "# time,acc_g\n", (times(), VALUES))
    again = Record.model_validate(Record(file=path).model_dump(mode="json"), context={"stored": True})
    assert (again.time_step, again.column, again.acceleration) == (pytest.approx(STEP), 2, pytest.approx(G))
    assert again.block("e").parameters["count"] == 60.0


def test_a_tdms_channel_with_its_waveform_and_unit(tmp_path):
    nptdms = pytest.importorskip("nptdms", reason="needs the extra records")
    path = tmp_path / "quake.tdms"
    waveform = {"wf_increment": STEP, "unit_string": "g"}
    with nptdms.TdmsWriter(str(path)) as file:
        file.write_segment(
            [
                nptdms.ChannelObject("table", "acceleration", VALUES, waveform),
                nptdms.ChannelObject("table", "other", 2.0 * VALUES, {"wf_increment": STEP}),
                nptdms.ChannelObject("clock", "time", STEP * np.arange(60)),
                nptdms.ChannelObject("clock", "valve", -VALUES),
            ]
        )
    found = read_history(path, "acceleration")
    np.testing.assert_array_equal(found.values, VALUES)
    assert (found.step, found.unit, found.column) == (STEP, "g_0", 3)  # groups in the order of their names
    assert read_history(path, "valve").step == pytest.approx(STEP, rel=1e-12)  # from the times
    np.testing.assert_array_equal(read_history(path, 4).values, 2.0 * VALUES)
    with pytest.raises(RecordFileError, match="which column is meant"):
        read_history(path)
    with pytest.raises(RecordFileError, match="column 1 is the time"):
        read_history(path, "time")
    path.write_text("no")
    with pytest.raises(RecordFileError, match="has no channel with numbers"):
        read_history(path, 1)
