import numpy as np
import pytest
import scipy.io

from halfreal.benchmark.ground_motion import GroundMotionError, UnknownUnitError, read_ground_motion
from halfreal.kernels.loop import Loop

STEP = 0.02
VALUES = 0.6 * np.sin(np.arange(41) * 0.7)
G = 9.80665


def text(path, header, rows):
    path.write_text(header + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def columns(values=VALUES, time=None):
    time = STEP * np.arange(len(values)) if time is None else time
    return [f"{t:.6g},{a!r}" for t, a in zip(time, values.tolist(), strict=True)]


@pytest.mark.parametrize(
    ("header", "factor"),
    [
        ("t_s,a_m_per_s2\n", 1.0),
        ("# a site of 760 m/s\n# time [s], acc [g]\n", G),
        ("time;a in cm/s^2\n", 0.01),
        ("time;a in m/sec/sec\n", 1.0),
    ],
)
def test_columns_with_a_heading_that_tells_the_unit(tmp_path, header, factor):
    motion = read_ground_motion(text(tmp_path / "quake.csv", header, columns()))
    assert motion.step == pytest.approx(STEP)
    assert motion.duration == pytest.approx(40 * STEP)
    np.testing.assert_allclose(motion.acceleration, factor * VALUES, rtol=1e-12)


def test_peers_format_with_its_header_and_five_numbers_a_line(tmp_path):
    header = "PEER NGA STRONG MOTION DATABASE RECORD\nSomewhere, 1/1/2000\nACCELERATION TIME SERIES IN UNITS OF G\n"
    words = [f"{value: .7E}" for value in VALUES]
    rows = [" ".join(words[i : i + 5]) for i in range(0, 41, 5)]
    motion = read_ground_motion(text(tmp_path / "RSN1.AT2", header + "NPTS=     41, DT=   .0200 SEC,\n", rows))
    assert motion.step == pytest.approx(STEP)
    np.testing.assert_allclose(motion.acceleration, G * VALUES, rtol=1e-6)
    with pytest.raises(GroundMotionError, match="40 samples, but its header states 41"):
        read_ground_motion(text(tmp_path / "cut.at2", header + "NPTS= 41, DT= .02 SEC\n", words[:-1]))


def test_matlabs_format_with_rows_of_time_and_acceleration(tmp_path):
    scipy.io.savemat(tmp_path / "quake.mat", {"Accel": np.vstack([STEP * np.arange(41), VALUES])})
    motion = read_ground_motion(tmp_path / "quake.mat", unit="m/s^2")
    np.testing.assert_allclose(motion.acceleration, VALUES)
    scipy.io.savemat(tmp_path / "two.mat", {"a": np.zeros((2, 9)), "b": np.zeros((2, 9))})
    with pytest.raises(GroundMotionError, match="contains a, b; one array"):
        read_ground_motion(tmp_path / "two.mat", unit="m/s^2")


def test_an_unknown_unit_is_asked_for_with_what_either_would_mean(tmp_path):
    path = text(tmp_path / "quake.txt", "", columns())
    with pytest.raises(GroundMotionError, match=r"is 0\.597 m/s² or 5\.8\d m/s² if it is in g; give the unit"):
        read_ground_motion(path)
    np.testing.assert_allclose(read_ground_motion(path, unit="g_0").acceleration, G * VALUES)


def test_a_unit_that_no_earthquake_reaches_is_refused(tmp_path):
    path = text(tmp_path / "quake.csv", "t, acc [g]\n", columns(1000 * VALUES))
    with pytest.raises(GroundMotionError, match="more than any earthquake's 40 m/s²; give another unit"):
        read_ground_motion(path)


@pytest.mark.parametrize(("heading", "factor"), [("t, a in m/s^2\n", 0.5), ("t, acc [g]\n", 6.0)])
def test_a_unit_that_the_size_makes_doubtful_is_asked_about(tmp_path, heading, factor):
    """0.3 m/s² are more likely 0.3 g, and 3.6 g more likely 3.6 m/s²; who says the unit himself is believed."""
    path = text(tmp_path / "quake.csv", heading, columns(factor * VALUES))
    with pytest.raises(UnknownUnitError, match="as usual for records; give the unit"):
        read_ground_motion(path)
    for unit, size in (("m/s^2", 1.0), ("g_0", G)):
        np.testing.assert_allclose(read_ground_motion(path, unit=unit).acceleration, size * factor * VALUES)


def test_a_unit_that_contradicts_the_record_is_refused(tmp_path):
    path = text(tmp_path / "quake.csv", "t_s,a_m_per_s2\n", columns())
    np.testing.assert_allclose(read_ground_motion(path, unit="m/s^2").acceleration, VALUES)
    with pytest.raises(GroundMotionError, match=r"states m/s\^2, but the given unit is g_0; omit"):
        read_ground_motion(path, unit="g_0")
    with pytest.raises(GroundMotionError, match=r"the unit 'banana' of ground motions has an unknown unit"):
        read_ground_motion(path, unit="banana")


@pytest.mark.parametrize("heading", ["t, v [m/s]\n", "t_s,v_m_per_s\n", "t, v in cm/sec\n", "t, v in mm/s\n"])
def test_a_velocity_is_not_taken_for_an_acceleration(tmp_path, heading):
    path = text(tmp_path / "quake.csv", heading, columns())
    for unit in (None, "m/s^2"):
        with pytest.raises(GroundMotionError, match="states a velocity"):
            read_ground_motion(path, unit=unit)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (columns(time=np.r_[np.arange(20) * STEP, np.arange(21, 42) * STEP]), "0.04 s where others are 0.02 s apart"),
        ([*columns()[:9], "0.18,nan", *columns()[10:]], "sample 10 of 41 is nan; fill gaps"),
        ([*columns()[:9], "0.18,", *columns()[10:]], "line 11 of .* has nothing in column 2"),
        ([*columns()[:9], "0.18,missing"], "line 11 of .* where numbers are expected"),
    ],
)
def test_gaps_and_uneven_sampling_are_told_with_their_place(tmp_path, rows, told):
    with pytest.raises(GroundMotionError, match=told):
        read_ground_motion(text(tmp_path / "quake.csv", "t_s,a_m_per_s2\n", rows))


def test_a_column_without_times_needs_the_step(tmp_path):
    path = text(tmp_path / "quake.txt", "# acc [g]\n", [repr(value) for value in VALUES.tolist()])
    with pytest.raises(GroundMotionError, match="give the time step"):
        read_ground_motion(path)
    with pytest.raises(GroundMotionError, match=r"a time step of -0.02 s; give one above 0"):
        read_ground_motion(path, step=-STEP)
    assert read_ground_motion(path, step=STEP).step == STEP


def test_the_excitation_is_the_record_scaled_at_its_samples(tmp_path):
    motion = read_ground_motion(text(tmp_path / "quake.csv", "t_s,a_m_per_s2\n", columns()))
    loop = Loop([motion.excitation(tmp_path, 0.4).block("excitation.virtual")], dt=STEP)
    log = loop.run(41, record=["excitation.virtual"]).log
    np.testing.assert_allclose(log[:, 1], 0.4 * VALUES, rtol=1e-9, atol=1e-12)
