"""What the automatically chosen coupling reaches on the benchmark problem under El Centro.

It is chosen and tuned by ``halfreal.tune`` for case 4, whose frame bears the shortest delay, with the problem's
uncertain actuator, and used in cases 1 and 4: the rig of all is the same.

One wish is out of reach, and by how much is tested: J₂ is measured on a noisy signal, so that noise over the target's
standard deviation is its lower bound.  A test that is true to the reference has the reference's response.  Where other
compensation, with a late force, makes the frame move more than it should, the same noise is a smaller part of it.
"""

import numpy as np
import pytest

import halfreal
from examples import vrths
from halfreal.studies.tuning.tune import tune
from halfreal.vrths.problem import (
    FORCE_LIMIT,
    GALLERY,
    case,
    couplings,
    noise_floor,
    perturbed,
    reference,
    score,
    with_motion,
    without_noise,
)
from halfreal.vrths.published import ADAPTIVE, RECOMPUTED

pytestmark = pytest.mark.xdist_group("vrths_targets")
SEEN = 0.01
"""Percentage points by which criteria spread with the seed of the noise."""


@pytest.fixture(scope="module")
def el_centro(tmp_path_factory):
    return vrths.motion("el_centro", tmp_path_factory.mktemp("records"))


@pytest.fixture(scope="module")
def chosen(el_centro):
    uncertain = halfreal.load(GALLERY / "case_4_adaptive.toml").uncertainty
    bare = with_motion(case(4), el_centro)
    found = tune(bare.model_copy(update={"coupling": couplings()["none"], "uncertainty": uncertain}), samples=1)
    assert found.best is not None
    return found.best.coupling


@pytest.fixture(scope="module", params=(1, 4))
def run(request, el_centro, chosen):
    definition = with_motion(case(request.param), el_centro).model_copy(update={"coupling": chosen})
    return request.param, definition, reference(definition)


def test_nothing_but_the_sensors_noise_is_left(run):
    _, definition, whole = run
    _, found, force = score(definition, whole)
    floor = noise_floor(definition, whole)
    assert found[0] == 0.0
    assert found[1] == pytest.approx(floor, abs=0.05)
    assert found[3] == pytest.approx(floor, abs=0.3)
    assert force < FORCE_LIMIT
    _, quiet, _ = score(without_noise(definition), whole)
    assert quiet[3] < 1.0


def test_never_worse_than_the_best_public_compensator_but_for_the_noise_of_a_smaller_response(run):
    number, definition, whole = run
    _, found, _ = score(definition, whole)
    public = np.array(RECOMPUTED[ADAPTIVE][number, "El Centro"])
    others = [i for i in range(9) if i != 1]
    assert np.all(found[others] <= public[others])
    assert found[1] <= max(public[1], noise_floor(definition, whole)) + SEEN


def test_perturbed_plants_stay_stable_and_at_the_noise_floor(run):
    _, definition, whole = run
    for plant in range(1, 4):
        stable, found, force = score(perturbed(definition, plant), whole)
        assert stable and found[0] == 0.0 and force < FORCE_LIMIT
        assert found[3] < noise_floor(definition, whole) + 0.3
