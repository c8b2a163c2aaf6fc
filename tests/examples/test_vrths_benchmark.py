"""The benchmark problem for real-time hybrid simulation: Silva et al., Mech. Syst. Signal Process. 135 (2020) 106381.

J₃ and J₅ are peaks of a signal with sensor noise: over 40 seeds they spread by 0.13 to 0.17 points (one standard
deviation), and the published ones are one draw.  Means over seeds are compared.  One entry does not come out: J₅ of
case 1 has the mean 18.5, and the published 19.0 is three standard deviations from it.
"""

import numpy as np
import pytest

from examples import vrths
from examples.wallace2005 import GALLERY
from halfreal.runs.loop_stability import loop_stability
from halfreal.vrths.problem import CASES, case, couplings, perturbed, reference, score, with_motion, without_noise
from halfreal.vrths.published import TABLE_3

FOLDER = GALLERY.parent / "vrths_benchmark"
SEEDS = range(1, 9)
J5 = 4
CRITICAL_DELAY = {1: 14.64e-3, 2: 12.22e-3, 3: 9.92e-3, 4: 8.73e-3}
AMB = {1: (2.56, 3.19), 2: (2.40, 2.99), 3: (1.58, 3.02), 4: (1.99, 3.59)}
"""J₂ and J₄ of the best public compensator, adaptive model-based, recomputed with the original package."""


@pytest.fixture(scope="module")
def el_centro(tmp_path_factory):
    return vrths.motion("el_centro", tmp_path_factory.mktemp("records"))


def seeded(definition, seed):
    return definition.model_copy(update={"timing": definition.timing.model_copy(update={"seed": seed})})


def coupled(definition, name):
    return definition.model_copy(update={"coupling": couplings()[name]})


@pytest.mark.parametrize("number", CASES)
def test_table_3_is_reproduced_with_the_sample_controller(number, el_centro):
    definition = with_motion(case(number), el_centro)
    whole = reference(definition)
    runs = [score(seeded(definition, seed), whole) for seed in SEEDS]
    assert all(stable for stable, _, _ in runs)
    off = np.mean([found for _, found, _ in runs], axis=0) - TABLE_3[number]
    if number == 1:
        assert off[J5] == pytest.approx(-0.5, abs=0.2)  # see above
        off[J5] = 0.0
    assert np.all(np.abs(off) <= 0.3), off


@pytest.mark.parametrize("number", CASES)
def test_without_compensation_every_case_is_unstable(number):
    assert not loop_stability(coupled(case(number), "none")).linearisation.stable


@pytest.mark.parametrize("number", CASES)
def test_critical_delays_come_out_of_the_check(number):
    """PSI = log₁₀ of the delay in ms: 1.166, 1.087, 0.996, 0.941; for any coupling, as it is that of a pure delay."""
    for coupling in ("none", "PI + lead"):
        found = loop_stability(coupled(case(number), coupling)).critical_delay
        assert found == pytest.approx(CRITICAL_DELAY[number], abs=1e-5)


@pytest.mark.parametrize("number", CASES)
def test_adaptive_model_based_compensation_is_as_good_as_its_public_reference(number, el_centro):
    """J₁ = 0, J₂ and J₄ as recomputed for it, within three standard deviations over seeds of the noise."""
    definition = coupled(with_motion(case(number), el_centro), "adaptive model")
    stable, found, _ = score(definition, reference(definition))
    assert stable and found[0] == 0.0
    assert found[1] <= AMB[number][0] + 0.01
    assert found[3] <= AMB[number][1] + 0.05


@pytest.mark.parametrize("number", CASES)
def test_with_the_forces_delay_predicted_nothing_but_the_sensors_noise_is_left(number, el_centro):
    definition = coupled(with_motion(case(number), el_centro), "adaptive model, force")
    whole = reference(definition)
    _, noisy, force = score(definition, whole)
    _, quiet, _ = score(without_noise(definition), whole)
    floor = 100 * definition.rig.sensors.displacement.noise / np.std(whole[:, 0])
    assert noisy[1] == pytest.approx(floor, abs=0.05)
    assert noisy[3] == pytest.approx(floor, abs=0.05)
    assert quiet[1] < 0.05 and quiet[3] < 0.1
    assert force < 8900.0


def test_perturbed_plants_stay_stable_and_as_accurate(el_centro):
    bare = with_motion(case(4), el_centro)
    whole = reference(bare)
    for plant in range(1, 6):
        changed = perturbed(bare, plant)
        np.testing.assert_allclose(reference(changed), whole, rtol=0, atol=1e-9 * np.abs(whole).max())
        stable, found, _ = score(coupled(changed, "adaptive model, force"), whole)
        assert stable and found[0] == 0.0
        assert found[3] < 2.1


def test_the_shipped_record_is_the_one_its_script_makes():
    script = (FOLDER / "make_record.py").read_text(encoding="utf-8")
    module: dict = {"__name__": "make_record"}
    exec(compile(script, "make_record.py", "exec"), module)
    shipped = np.loadtxt(FOLDER / "synthetic.csv")
    np.testing.assert_allclose(shipped, module["acceleration"](), rtol=0, atol=1e-5)
