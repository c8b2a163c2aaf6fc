"""Small tests that once had a wrong answer, in ``cases``: what should come out of each."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.kernels.loop import Loop
from halfreal.records.fmu import export_fmu

CASES = Path(__file__).parent / "cases"
GALLERY = Path(__file__).parents[2] / "examples" / "spring_mass_damper"
GROUND_STEP, SAMPLES = 5e-3, 4000


def ground_motion():
    """Noise of some seconds, in g."""
    time = GROUND_STEP * np.arange(SAMPLES)
    noise = np.convolve(np.random.default_rng(1).standard_normal(SAMPLES), np.ones(8) / 8.0, "same")
    shaken = noise * np.exp(-(((time - 6.0) / 4.0) ** 2))
    return time, 0.3 * shaken / np.abs(shaken).max()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A copy of the cases, with the files that they read."""
    place = tmp_path_factory.mktemp("cases")
    shutil.copytree(CASES, place, dirs_exist_ok=True)
    np.savetxt(place / "motion.csv", np.column_stack(ground_motion()), delimiter=",", header="time,acc_g", fmt="%.6f")
    return place


def checked(folder, name):
    return halfreal.check(halfreal.load(folder / f"{name}.toml"), remedies=False)


def told(found):
    """All that a check says, in lines."""
    return "\n".join((found.verdict, *found.reasons))


@pytest.mark.parametrize(
    ("name", "verdict", "texts"),
    [
        ("runs_away", "NO-GO", ("in motion, the motion runs away",)),
        ("clearance_diverges", "NO-GO", ("in motion, ", "the test diverges as it is defined")),
        ("soft_core", "MARGINAL", ("gain margin in motion", "stiffer or heavier, the motion runs away")),
        (
            "held_by_the_specimen",
            "MARGINAL",
            ("lower gain margin in motion", "softer or lighter, the motion runs away"),
        ),
        ("uncertain_worst_case", "NO-GO", ("in the worst case of the stated uncertainty, the motion runs away",)),
        ("slow_no_gain_margin", "MARGINAL", ("gain margin 0.4", "% stiffer makes the loop unstable")),
        ("load_cell_range", "MARGINAL", ("lower gain margin in motion 0.5", "softer or lighter, the motion runs away")),
        ("settle_tolerance", "NO-GO", ("in motion, the motion grows",)),
        ("force_gain_direction", "MARGINAL", ("a specimen 22 % stiffer or heavier makes the loop unstable",)),
        ("noise_at_the_limit", "NO-GO", ("in 16 rehearsals with other noise",)),
        ("desk_shaker", "NO-GO", ("of damping", "by sampling and hold with a step of 1 ms")),
        ("slow_actuator", "MARGINAL", ("the rig's lag of 12.4", "is 500 µs, but the loop has 976.6 µs")),
        ("late_actuator", "MARGINAL", ("the rig's lag of 12 ms",)),
        ("slow_actuator_unstable", "NO-GO", ("unstable: spectral radius 1.0",)),
        ("law_with_memory", "GO", ("stable: spectral radius 0.99",)),
        ("badly_scaled", "MARGINAL", ("stable: spectral radius 0.995",)),  # the rig follows a twentieth of its command
    ],
)
def test_cases_have_their_verdicts_and_reasons(folder, name, verdict, texts):
    found = checked(folder, name)
    assert found.verdict == verdict, told(found)
    for text in texts:
        assert text in told(found)


def test_the_delay_margin_of_a_specimen_that_hardens_is_that_in_motion(folder):
    """Deviations grow from 6.3 ms on, to a motion that is bounded up to 7.9 ms: simulations of "verdicts"."""
    found = checked(folder, "hardening_margin")
    assert found.stability.margin.critical_delay > 30e-3
    assert 6.0e-3 < found.motion.margins.delay < 8.0e-3


@pytest.mark.parametrize("name", ["decays_1", "decays_2"])
def test_free_motion_that_decays_is_no_reason(folder, name):
    assert "neither grows nor decays" not in told(checked(folder, name))


def test_an_exported_rig_keeps_its_delay(folder):
    export_fmu(halfreal.load(GALLERY / "forward_prediction.toml"), folder / "rig.fmu")
    assert checked(folder, "fmu_delay").verdict == "NO-GO"


def test_an_unstable_loop_on_a_slow_actuator_has_remedies(folder):
    remedies = " ".join(halfreal.check(halfreal.load(folder / "slow_actuator_unstable.toml")).remedies)
    assert "forward prediction" in remedies
    assert "halfreal tune" in remedies


def test_a_mass_is_felt_without_a_hidden_step(folder):
    """10 kg and 0.9 kg, 6.19 N s/m: ζ of the emulated system."""
    found = checked(folder, "mass_by_prediction")
    poles = found.stability.linearisation
    slowest = np.argmin(np.abs(poles.frequency_hz - np.sqrt(9577.6 / 10.9) / (2 * np.pi)))
    assert poles.damping[slowest] == pytest.approx(6.19 / (2.0 * np.sqrt(9577.6 * 10.9)), rel=0.01)
    assert found.verdict == "GO"


@pytest.mark.parametrize("kind", ["rls", "lms"])
def test_ten_tones_converge_or_are_no_go(folder, kind):
    time = np.arange(200_002) * 1e-3
    np.savetxt(folder / "tones200.csv", sum(np.cos(2 * np.pi * hz * time) for hz in range(5, 51, 5)), fmt="%.9g")
    found = checked(folder, f"ten_{kind}")
    gap = found.rehearsal.signals["gap"].values[-2000:]
    target = found.rehearsal.signals["target"].values[-2000:]
    closed = np.sqrt(np.mean(gap**2)) < 0.05 * np.sqrt(np.mean(target**2))
    assert (found.verdict != "NO-GO") == closed


@pytest.mark.parametrize("settings", [{"file": "motion.at2"}, {"file": "motion.csv", "acceleration": "1 g_0"}])
def test_records_are_read_as_the_field_writes_them(folder, settings):
    _, motion = ground_motion()
    rows = ["".join(f" {one:14.7E}" for one in motion[i : i + 5]) for i in range(0, SAMPLES, 5)]
    head = ["PEER NGA STRONG MOTION DATABASE RECORD", "SYNTHETIC 01/01/00 NOWHERE, 000"]
    head += ["ACCELERATION TIME SERIES IN UNITS OF G", f"NPTS=  {SAMPLES}, DT=   .00500 SEC"]
    (folder / "motion.at2").write_text("\n".join([*head, *rows]) + "\n")
    text = (folder / "slow_actuator.toml").read_text()
    given = "\n".join(f'{key} = "{value}"' for key, value in settings.items())
    path = folder / "reads.toml"
    path.write_text(text.replace('file = "motion.csv"', given))
    record = halfreal.load(path).excitation.virtual.block("motion")
    read = Loop([record], dt=GROUND_STEP).run(SAMPLES, record=["motion"]).log[:, 1]
    np.testing.assert_allclose(read, 9.80665 * motion, atol=1e-5)  # the table has six decimals
