"""A drive that the adaption starts from, and a gap of the excitation that is identified: sections 3.1.3 and 3.3."""

import re

import numpy as np
import pytest

from couplings import lumped
from couplings.lumped import DT
from couplings.test_harmonic_choice import definition
from couplings.test_harmonic_rls import HZ, TICKS, fed, real_row, turned
from halfreal.couplings.harmonic.choice import choice
from halfreal.couplings.harmonic.lever import Lever
from halfreal.couplings.harmonic.lms import HarmonicLms
from halfreal.couplings.harmonic.rls import HarmonicRls
from halfreal.couplings.harmonic.transfer import packed
from halfreal.errors import HalfrealError
from halfreal.runs.build import build, plant

pytestmark = pytest.mark.xdist_group("harmonic")  # one process compiles for all

PSI = 0.47746 + 0.029255j


# --- the first drive --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "coupling",
    [
        HarmonicLms(frequencies=[8.0], memory=1e12),
        HarmonicRls(frequencies=[8.0], mode="sequential", prior=1e12),
    ],
    ids=["lms", "rls"],
)
def test_a_drive_that_does_not_adapt_stays_at_the_first_one(coupling):
    """Against a drive ψ e^{jωt} in place of the coupling."""
    started = coupling.with_model(lumped.seen(8.0)).with_first_drive(np.array([[PSI]]))
    found = lumped.learning_curve(started, 2.0)
    expected = lumped.learning_curve(lumped.Driven(8.0, PSI), 2.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("law", [HarmonicLms, HarmonicRls])
def test_the_models_first_drive_closes_its_gap(law):
    """ψ = −H_gu⁻¹ H_gext f, the twin being Newmark's; a sine of 1 N is Re(−j e^{jωt})."""
    test = definition(law(transfer="model", first_drive="model"))
    known = choice(test, test.coupling, lambda: plant(test))
    h = plant(test).response(np.array([2 * np.pi * 8.0]))[0, 0, 0]
    expected = -1j / lumped.impedance(lumped.VIRTUAL, lumped.bilinear(8.0)) / h
    assert complex(*known.coupling.first_theta(Lever.of(None, 1, None))) == pytest.approx(expected, rel=1e-4)
    assert known.settings.first_drive == "model"  # as one would write it down
    assert known.coupling.adapting().first_drive == "none"  # at rest nothing is driven


def test_rls_from_the_models_drive_rings_as_the_plant_alone():
    """Without what an adaption from zero adds: the gap of the optimal drive, 1.8e-3 m at 5 s and 5.2e-4 at 10 s."""
    coupling = {"mode": "sequential", "transfer": "model", "first_drive": "model", "memory": 1.0, "prior": 1e6}
    cosine = {"virtual": {"kind": "sine", "force": 1.0, "frequency": 8.0, "phase": np.pi / 2}}
    test = definition(HarmonicRls(**coupling), excitation=cosine, timing={"step": DT, "duration": 20.0})
    log = build(test).run(20_000, record=lumped.GAP).log
    found = lumped.envelope(log[:, 2] - log[:, 1], (5.0, 10.0))
    assert found == pytest.approx([1.8e-3, 5.2e-4], rel=0.05)


def test_first_drives_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="defined at fixed frequencies only"):
        HarmonicRls(base_frequency=8.0, following=1.0, first_drive="model")
    with pytest.raises(ValueError, match="for each of them"):
        HarmonicRls(frequencies=[8.0, 16.0]).with_first_drive(np.ones((1, 1)))
    two = HarmonicRls(frequencies=[8.0]).with_model(lumped.seen(8.0)).with_first_drive(np.ones((1, 2)))
    with pytest.raises(ValueError, match=re.escape("does not have the 1 axis(es)")):
        two.block(DT, "N", ("a",), ("b",), ("c",))
    with pytest.raises(HalfrealError, match="is not known here"):
        HarmonicRls(frequencies=[8.0], first_drive="model").with_model(lumped.seen(8.0)).block(
            DT, "N", ("a",), ("b",), ("c",)
        )


# --- the gap of the excitation, identified ----------------------------------------------------------------------------


def test_transfer_functions_and_the_excitations_gap_are_one_weighted_least_squares_solution():
    """Random drives of two axes and two harmonics: P and Γ after 300 ticks against numpy's direct solution."""
    rng = np.random.default_rng(8)
    start = rng.normal(size=(2, 2, 2)) + 1j * rng.normal(size=(2, 2, 2))
    values = rng.normal(size=(TICKS, 6))
    memory, prior, amplitude = 0.2, 1e-2, 1.5
    coupling = HarmonicRls(
        frequencies=HZ,
        excitation_gap="identified",
        memory=memory,
        identification_memory=memory,
        identification_time=1.0,
        random_interval=0.08,
        identification_prior=prior,
        amplitude=amplitude,
    ).with_model(start)
    loop = fed(coupling, values)
    rows, right = [], []
    for k in range(TICKS):
        theta = np.array(loop.state("coupling")["theta"][0]).reshape(2, 2, 2)
        wave = amplitude * np.exp(2j * np.pi * HZ * k * DT)
        row = [real_row(wave[:, None]), real_row(turned(theta[:, 0] + 1j * theta[:, 1], k))]
        rows.append(np.exp(0.5 * k * DT / memory) * np.concatenate(row))
        right.append(np.exp(0.5 * k * DT / memory) * (values[k, 2:4] - values[k, 0:2]))  # the twin is not asked
        loop.run(1)
    fresh, confidence = np.exp(-0.5 * (TICKS - 1) * DT / memory), np.sqrt(prior * np.exp(-TICKS * DT / memory))
    a = np.vstack([fresh * np.array(rows), confidence * np.eye(12)])
    b = np.vstack([fresh * np.array(right), confidence * np.vstack([np.zeros((4, 2)), packed(start).T])])
    expected = np.linalg.lstsq(a, b, rcond=None)[0].T
    found = loop.state("coupling")
    np.testing.assert_allclose(found["known"], expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_array_equal(found["transfer"], np.array(found["known"])[:, 4:])


@pytest.mark.parametrize("excited", ["virtual", "specimen"])
@pytest.mark.parametrize("identified", [False, True], ids=["from the model", "identified"])
def test_with_an_identified_gap_rls_couples_whatever_is_excited(excited, identified):
    start = {"identification_time": 20.0, "amplitude": 1.0} if identified else {"transfer": "model"}
    excitation = {excited: {"kind": "sine", "force": 1.0, "frequency": 8.0}}
    coupling = HarmonicRls(excitation_gap="identified", **start)
    test = definition(coupling, excitation=excitation, timing={"step": DT, "duration": 50.0})
    log = build(test).run(45_000, record=lumped.GAP).log
    gap = np.abs(log[:, 2] - log[:, 1])
    assert gap[-250:].max() < 1e-5 < 1e-3 < gap[:2000].max()


def test_what_an_identified_gap_needs_is_told():
    with pytest.raises(ValueError, match='use mode = "simultaneous"'):
        HarmonicRls(frequencies=[8.0], excitation_gap="identified", mode="sequential")
    with pytest.raises(ValueError, match="give regularisation"):
        HarmonicRls(frequencies=[8.0], excitation_gap="identified", regularisation=0.0)
    drives = {"identification_time": 3.0, "random_interval": 2.0, "amplitude": 1.0, "identification_memory": 1.0}
    once = HarmonicRls(frequencies=[8.0], excitation_gap="identified", **drives)
    with pytest.raises(ValueError, match="the first of 2 random drives, 2 s each, is forgotten"):
        once.block(DT, "N", ("a",), ("b",), ("c",))
    with pytest.raises(ValueError, match="and separate the excitation from them; identify for at least 4 s"):
        once.changed(identification_time=2.0).block(DT, "N", ("a",), ("b",), ("c",))
