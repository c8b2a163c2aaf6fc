"""What a harmonic coupling leaves open is chosen, told, and as good as it is said to be: on the lumped example."""

from typing import Any

import numpy as np
import pytest

from couplings import lumped
from halfreal.contracts.context import AT_REST
from halfreal.contracts.state_space import StateSpace
from halfreal.couplings.harmonic.choice import Chosen, choice
from halfreal.couplings.harmonic.envelope import growth_rates
from halfreal.couplings.harmonic.excitation import with_harmonics
from halfreal.couplings.harmonic.lms import HarmonicLms
from halfreal.couplings.harmonic.memory import lms_memory, rls_memories, time_constant
from halfreal.couplings.harmonic.rls import HarmonicRls
from halfreal.definition.definition import Definition
from halfreal.definition.load import to_toml
from halfreal.errors import HalfrealError
from halfreal.models.excitations import Chirp, MultiSine, Pulse, Sine, Square
from halfreal.runs.build import SETTLING_TICKS, build, plant
from halfreal.stability.linearise import linearise

pytestmark = pytest.mark.xdist_group("harmonic")  # one process compiles for all

PARTS = [dict(zip(("mass", "damping", "stiffness"), part, strict=True)) for part in (lumped.SPECIMEN, lumped.ACTUATOR)]


def definition(coupling: Any, **changes: Any) -> Definition:
    return Definition(
        **{
            "title": "lumped",
            "timing": {"step": 1e-3, "duration": 1.0},
            "virtual": {"mass": 0.1, "damping": 0.05, "stiffness": 1000.0, "force_dof": 1, "scheme": "newmark"},
            "excitation": {"virtual": {"kind": "sine", "force": 1.0, "frequency": 8.0}},
            "coupling": coupling,
            "rig": {"kind": "force actuated", "specimen": PARTS[0], "transfer": PARTS[1]},
            **changes,
        }
    )


def chosen(test: Definition) -> Chosen:
    return choice(test, test.coupling, lambda: plant(test))


# --- harmonics --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("excitation", "nonlinear", "expected"),
    [
        (Sine(force=1.0, frequency=8.0), False, [8.0]),
        (Sine(force=1.0, frequency=8.0), True, [8.0, 16.0, 24.0, 32.0, 40.0]),
        (Square(force=1.0, frequency=8.0, terms=3), False, [8.0, 24.0, 40.0]),
        (Square(force=1.0, frequency=8.0), False, [8.0 * k for k in range(1, 20, 2)]),  # 1/k down to 5 %
        (Square(force=1.0, frequency=150.0), False, [150.0, 450.0]),  # half the sampling rate is 500 Hz
        (MultiSine(force=1.0, frequencies=[21.0, 8.0, 8.5]), False, [8.0, 8.5, 21.0]),
        (MultiSine(force=1.0, frequencies=[90.0, 270.0]), True, [90.0, 180.0, 270.0, 360.0, 450.0]),
    ],
)
def test_harmonics_are_those_of_the_excitation(excitation, nonlinear, expected):
    found = with_harmonics(HarmonicRls(), [excitation, None], 1e-3, nonlinear=nonlinear)
    np.testing.assert_allclose(found.hz, expected)


def test_tones_of_two_excitations_that_differ_by_rounding_are_one():
    found = with_harmonics(
        HarmonicRls(), [Square(force=1.0, frequency=0.1, terms=2), Sine(force=1.0, frequency=0.3)], 1e-3
    )
    np.testing.assert_allclose(found.hz, [0.1, 0.3])


def test_harmonics_that_are_followed_begin_where_the_excitation_does():
    found = with_harmonics(HarmonicRls(following=0.5), [Chirp(force=1.0, frequency=8.0, to=9.0, duration=9.0)], 1e-3)
    assert found.base_frequency == 8.0 and found.harmonics == 1


@pytest.mark.parametrize(
    ("coupling", "excitation", "told"),
    [
        (HarmonicRls(), Pulse(force=1.0, duration=1.0), "kind 'pulse' does not define the harmonics; give frequencies"),
        (HarmonicRls(), Chirp(force=1.0, frequency=8.0, to=9.0, duration=9.0), "give the bandwidth"),
        (HarmonicRls(following=1.0), Chirp(force=1.0, frequency=8.0, to=12.0, duration=9.0), "between 6 Hz and 10 Hz"),
        (HarmonicRls(), None, "no excitation that defines the harmonics"),
        (HarmonicRls(following=1.0), MultiSine(force=1.0, frequencies=[8.0, 9.0]), "has 2 tones, but only one"),
        (HarmonicRls(), MultiSine(force=1.0, frequencies=[8.0, 500.0]), "reaches 500 Hz, not below half"),
    ],
)
def test_excitations_that_do_not_tell_harmonics_are_told(coupling, excitation, told):
    with pytest.raises(ValueError, match=told):
        with_harmonics(coupling, [excitation], 1e-3)


def test_coupling_that_knows_its_harmonics_keeps_them():
    coupling = HarmonicRls(frequencies=[3.0])
    assert with_harmonics(coupling, [Sine(force=1.0, frequency=8.0)], 1e-3) is coupling


# --- least mean squares -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hz", [[8.0], [16.0], [8.0, 40.0]])
def test_memory_of_lms_is_the_best_of_the_linearised_code_that_has_a_margin(hz):
    """The code that runs is stable down to the limit, decays as predicted, and no longer memory decays faster."""
    test = definition(HarmonicLms(frequencies=hz, transfer="model"))
    memory, rate, limit = lms_memory(plant(test), np.array(hz))

    def running(time: float) -> float:
        fixed = test.model_copy(update={"coupling": HarmonicLms(frequencies=hz, transfer="model", memory=time)})
        loop = build(fixed, AT_REST)
        loop.run(SETTLING_TICKS)
        return float(np.log(linearise(loop).spectral_radius) / 1e-3)

    assert running(1.005 * limit) < 0 < running(0.995 * limit)
    assert memory >= 1.98 * limit  # rounded to two digits
    assert running(memory) == pytest.approx(rate, rel=0.03)
    assert all(running(times * limit) >= 1.01 * running(memory) for times in (2.0, 3.0, 10.0, 100.0))


# --- recursive least squares ------------------------------------------------------------------------------------------


def gap_after(memory: float, learning: float, times: tuple[float, ...]) -> np.ndarray:
    """Envelope of the gap of the lumped example [m], started with H 5 % too large."""
    coupling = HarmonicRls(frequencies=[8.0], memory=memory, identification_memory=learning)
    gap = lumped.learning_curve(coupling.with_model(1.05 * lumped.seen(8.0)), times[-1])
    return lumped.envelope(gap, times)


def lumped_plant() -> StateSpace:
    return plant(definition(HarmonicRls(frequencies=[8.0], transfer="model")))


@pytest.mark.parametrize(("memory", "learning"), [(10.0, 0.1), (0.5, 20.0)])
def test_predicted_rate_is_that_of_the_learning_curve(memory, learning):
    """One memory is slower than the plant (4 s), so that it decides."""
    rate = float(growth_rates(lumped_plant(), 8.0, np.array(memory), np.array(learning)))
    early, late = gap_after(memory, learning, (60.0, 90.0))
    assert np.log(late / early) / 30.0 == pytest.approx(rate, rel=0.1)


@pytest.mark.parametrize(("factor", "converges"), [(0.95, False), (0.98, False), (0.99, True), (0.999, True)])
def test_forgetting_factors_that_do_not_converge_are_predicted(factor, converges):
    """The published limit of simultaneous identification at μ_id = 0.99, which the paper puts at μ = 1 − 10⁻²."""
    memory, learning = -1e-3 / np.log(factor), -1e-3 / np.log(0.99)
    rate = float(growth_rates(lumped_plant(), 8.0, np.array(memory), np.array(learning)))
    assert (rate < 0) == converges
    assert (gap_after(memory, learning, (60.0,))[0] < 1e-6) == converges


def test_memories_of_rls_keep_their_bounds_and_what_is_given():
    model = lumped_plant()
    memory, learning, rate = rls_memories(model, np.array([8.0]), {})
    assert memory >= 2 / 8.0 and learning >= 0.95 / 8.0 and rate <= -0.9 / time_constant(model)
    assert rls_memories(model, np.array([8.0]), {"memory": 3.0})[0] == 3.0
    assert rls_memories(model, np.array([8.0]), {"identification_memory": 0.7})[1] == 0.7
    close = rls_memories(model, np.array([8.0, 8.05]), {})
    assert min(close[:2]) >= 0.95 * 2 / (2 * np.pi * 0.05)


# --- identification ---------------------------------------------------------------------------------------------------


def test_random_drive_keeps_to_half_of_the_limits():
    """Real and imaginary part at their bound are √2 of it; H at 8 Hz is 2.8 mm/N."""
    coupling = HarmonicRls(identification_time=40.0)
    by_drive = chosen(definition(coupling, limits={"drive": {"trip": 4.0}})).coupling
    assert by_drive.amplitude == pytest.approx(0.5 * 4.0 / np.sqrt(2), rel=0.02)
    by_gap = chosen(definition(coupling, limits={"gap": {"trip": 2e-3}})).coupling
    assert by_gap.amplitude == pytest.approx(0.5 * 2e-3 / 2.8e-3 / np.sqrt(2), rel=0.02)
    with pytest.raises(HalfrealError, match=r"give it, or limits\.drive\.trip"):
        chosen(definition(coupling))


def test_random_drives_last_until_transients_have_died_if_there_is_time():
    """4 τ = 16 s: the longest that go into 100 s are 7; of 10 s there are two at least."""
    for time, expected in ((100.0, 100.0 / 7), (10.0, 5.0)):
        found = chosen(definition(HarmonicLms(identification_time=time, amplitude=1.0))).coupling
        assert found.random_interval == pytest.approx(expected)
        assert found.identification_memory == pytest.approx(time / 5)


# --- told, and written down -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", [HarmonicLms, HarmonicRls])
def test_what_is_chosen_can_be_written_down_and_runs_to_the_same_bits(law):
    left_open = definition(law(transfer="model"))
    settled = left_open.coupling.written_down(left_open, lambda: plant(left_open))
    written = left_open.model_copy(update={"coupling": settled})
    assert chosen(written).choices == ()
    assert chosen(left_open).choices
    assert 'memory = "' in to_toml(written) and 'transfer = "model"' in to_toml(written)
    one, other = (build(test).run(500, record=("command",)).log for test in (left_open, written))
    np.testing.assert_array_equal(one, other)


def test_choices_are_told_with_their_reasons():
    test = definition(HarmonicLms(identification_time=1.0, amplitude=1.0))
    told = chosen(test).as_text(lambda: plant(test), 1e-3)
    assert told[0] == 'chosen: coupling.frequencies = ["8 Hz"], those of the excitation'
    assert "coupling.memory" in told[1] and "from the model, because the rig is identified only in the test" in told[1]
    assert "shorter than the model's slowest time constant, 4" in told[-1]
    shaky = HarmonicRls(frequencies=[8.0], transfer="model", memory=0.02, identification_memory=0.1)
    assert "and the gap will not close" in chosen(definition(shaky)).as_text(lambda: plant(test), 1e-3)[-1]


def test_bare_gain_that_does_not_tell_harmonics_apart_is_told():
    """T = 2Δt/(μ|H|²) is 2.52 s at 8 Hz for μ = 100, and 0.05 Hz apart need 3.18 s; T_id = 3Δt/(μ_id A²)."""

    def told(gain: float, **identification: float) -> list[str]:
        test = definition(HarmonicLms(frequencies=[8.05, 8.0], transfer="model", gain=gain, **identification))
        return [line for line in chosen(test).as_text(lambda: plant(test), 1e-3) if "cannot be separated" in line]

    size = np.abs(lumped.seen(np.array([8.0, 8.05]))).max()
    limit = 2e-3 * 2 * np.pi * 0.05 / size**2
    assert told(0.99 * limit) == [] and len(told(1.01 * limit)) == 1
    assert "8 Hz and 8.05 Hz cannot be separated within 2.52 s, the memory due to coupling.gain" in told(100.0)[0]
    identified = {"identification_time": 20.0, "amplitude": 2.0, "random_interval": 2.0}
    edge = 3e-3 * 2 * np.pi * 0.05 / 2.0**2
    assert told(1.0, identification_gain=0.99 * edge, **identified) == []
    found = told(1.0, identification_gain=1.01 * edge, **identified)
    assert len(found) == 1 and "coupling.identification_gain; lower it below" in found[0]


def test_plant_that_is_not_stable_is_told():
    unstable = StateSpace(np.array([[1.001]]), np.ones((1, 1)), np.ones((1, 1)), np.zeros((1, 1)), 1e-3)
    with pytest.raises(HalfrealError, match="grows as exp"):
        time_constant(unstable)


# --- several harmonics together ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("hz", [(5.0, 12.0), (14.0, 18.0)])
def test_rate_that_is_told_of_several_harmonics_is_that_of_a_rehearsal(hz, tmp_path):
    """The rehearsal is the whole loop; what is told comes from the linear plant."""
    seconds = 60.0
    time = 1e-3 * np.arange(int(seconds / 1e-3) + 2)
    np.savetxt(tmp_path / "tones.csv", sum(np.cos(2 * np.pi * one * time) for one in hz), fmt="%.9g")
    record = {"kind": "record", "file": str(tmp_path / "tones.csv"), "force": 1.0, "time_step": 1e-3}
    test = definition(
        HarmonicRls(frequencies=list(hz), transfer="model"),
        excitation={"virtual": record},
        timing={"step": 1e-3, "duration": seconds},
    )
    reason = chosen(test).choices[0].reason
    assert "near the solution the gap closes as" in reason
    told = float(reason.split("exp(")[1].split()[0])
    gap = np.abs(build(test).run(int(seconds / 1e-3) - 1, record=("gap",)).log[:, 1])
    peaks = gap[: len(gap) // 2500 * 2500].reshape(-1, 2500).max(axis=1)
    late = np.arange(len(peaks)) >= np.argmax(peaks) + len(peaks) // 4
    late &= peaks > 1e-6 * peaks.max()
    seen = np.polyfit(2.5 * np.flatnonzero(late), np.log(peaks[late]), 1)[0]
    assert seen < 0.0 and told == pytest.approx(seen, rel=0.4)
