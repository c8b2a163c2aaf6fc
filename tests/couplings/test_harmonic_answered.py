"""A harmonic that the rig does not answer is noticed as not excited, whatever the noise; one that it answers is not."""

import numpy as np
import pytest
from scipy import stats

from couplings import lumped
from couplings.lumped import DT
from couplings.test_harmonic_rls import fed
from halfreal.couplings.harmonic.answered import ANSWERED, CHANCE, NOT_JUDGED, SILENT, needed
from halfreal.couplings.harmonic.lms import HarmonicLms
from halfreal.couplings.harmonic.rls import HarmonicRls
from halfreal.kernels.loop import Loop

pytestmark = pytest.mark.xdist_group("harmonic")  # one process compiles for all

DEAF = 20.0
STUCK = lumped.matrices((1e9, 1.0, 1e15))
HZ = [8.0, DEAF, 33.0]


def excited(test: Loop, ticks: int = 12_002) -> list[float]:
    test.run(ticks)
    return [float(value) for value in test.state("coupling")["excited"]]


def coupling(law: type = HarmonicRls, hz: list[float] = HZ, seed: int = 1, **settings: float) -> HarmonicRls:
    common = {"identification_time": 12.0, "random_interval": 1.0, "amplitude": 1.0, "memory": 1.0}
    return law(frequencies=hz, seed=seed, **{**common, "identification_memory": 3.0, **settings})


@pytest.mark.parametrize("law", [HarmonicLms, HarmonicRls])
@pytest.mark.parametrize("seed", range(1, 4))
def test_a_dead_harmonic_among_several_is_noticed_and_named(law, seed):
    test = lumped.loop(coupling(law, seed=seed), lumped.excitation(8.0), noise=1e-5, colour=0.9, deaf=DEAF)
    assert excited(test) == [ANSWERED, SILENT, ANSWERED]
    assert test.vector[test.index["loop.fault"]] == 0.0  # the others are identified, and the guard watches the drive
    block = next(block for block in test.blocks if block.name == "coupling")
    assert "not excited at 20 Hz" in block.texts["coupling.excited.2"][SILENT]
    assert block.texts["coupling.excited.1"][ANSWERED] == ""


def test_of_two_axes_too():
    test = lumped.loop_of_two(coupling(), lumped.excitation(8.0), noise=1e-5, deaf=DEAF)
    assert excited(test) == [ANSWERED, SILENT, ANSWERED]


@pytest.mark.parametrize("colour", [0.9, 0.99])
def test_a_rig_that_is_stuck_is_noticed_in_coloured_noise_and_seldom_missed(colour):
    """Of 60 harmonics of a stuck rig, one at most passes by chance, more with a probability below 2e-3."""
    silent = 0
    for seed in range(1, 21):
        test = lumped.loop(
            coupling(seed=seed), lumped.excitation(8.0), actuator=STUCK, noise=1e-4, colour=colour, seed=float(seed)
        )
        silent += excited(test).count(SILENT)
    assert stats.binom.sf(1, 60, CHANCE) < 2e-3
    assert silent >= 59


@pytest.mark.parametrize("law", [HarmonicLms, HarmonicRls])
def test_a_rig_that_answers_is_not_taken_for_dead(law):
    """Also where the noise is as large as the smallest answer."""
    for seed in range(1, 11):
        test = lumped.loop(coupling(law, seed=seed), lumped.excitation(8.0), noise=1e-4, seed=float(seed))
        assert excited(test) == [ANSWERED] * 3


def test_intervals_that_are_too_few_or_too_short_are_not_judged():
    few = coupling(random_interval=6.0)  # two, and a single axis needs three
    assert excited(lumped.loop(few, lumped.excitation(8.0))) == [NOT_JUDGED] * 3
    short = coupling(random_interval=0.08)
    assert excited(lumped.loop(short, lumped.excitation(8.0))) == [NOT_JUDGED, ANSWERED, ANSWERED]


def test_what_moves_without_the_drive_is_no_answer():
    """A motion at the harmonics themselves, such as that of an excited specimen, which the drive has no part in."""
    time = np.arange(6_000) * DT
    values = np.random.default_rng(1).normal(scale=1e-6, size=(len(time), 6))
    values[:, 2] += 1e-3 * np.cos(2 * np.pi * 8.0 * time)
    values[:, 3] += 1e-3 * np.sin(2 * np.pi * 16.0 * time)
    test = fed(coupling(hz=[8.0, 16.0], identification_time=5.9, random_interval=0.5), values)
    assert excited(test, len(time)) == [SILENT] * 2


def test_needed_f_is_that_of_the_distribution():
    assert needed(2, 3) == 0.0
    for intervals in range(4, 10):
        assert stats.f.sf(needed(2, intervals), 4, 2 * (intervals - 3)) == pytest.approx(CHANCE)
