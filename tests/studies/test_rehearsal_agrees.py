"""What the analyses say of a loop is what its rehearsal does."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import halfreal
from examples.wallace2005 import definition
from halfreal.stability.dde import DelaySystem, abscissa

STEP = 2.5e-4


@settings(max_examples=15, deadline=None)
@given(
    frequency=st.floats(2.0, 10.0),
    zeta=st.floats(0.01, 0.2),
    ratio=st.floats(0.1, 2.0),
    samples=st.integers(4, 80),
)
def test_sign_of_the_spectral_abscissa_is_growth_or_decay_in_a_rehearsal(frequency, zeta, ratio, samples):
    """Random oscillators with random spring specimens and delays, released from a displaced position."""
    mass, delay = 2.0, samples * STEP
    stiffness = mass * (2 * np.pi * frequency) ** 2
    damping = 2 * zeta * np.sqrt(stiffness * mass)
    specimen = ratio * stiffness
    rate = abscissa(DelaySystem.second_order([[mass]], [[damping]], [[stiffness]], [(delay, [[specimen]], None, None)]))
    # far enough from the boundary for the sampling not to decide, and slow enough to be seen
    assume(0.3 < abs(rate) < 20.0)
    duration = min(4.0, 12.0 / abs(rate))
    run = halfreal.rehearse(
        definition(
            timing={"step": STEP, "duration": duration},
            rig={"actuator": {"delay": delay}, "specimen": {"stiffness": specimen}},
            virtual={
                "mass": mass,
                "damping": damping,
                "stiffness": stiffness,
                "initial_displacement": [1e-3],
            },
            excitation={},
            reference=None,
        )
    )
    target = np.abs(run.signals["target"].values)
    quarter = target.size // 4
    early, late = target[quarter : 2 * quarter].max(), target[3 * quarter :].max()
    measured = np.log(late / early) / (2 * quarter * STEP)
    assert np.sign(measured) == np.sign(rate)


def test_loop_without_a_steady_state_is_said_to_be_on_the_limit():
    """A free mass with a damper as specimen comes to rest anywhere: a pole at λ = 1, and no GO."""
    virtual = {"mass": 2.0, "stiffness": 0.0, "force_dof": 1}
    rig = {"actuator": {"delay": 1e-3}, "specimen": {"damping": 5.0}}
    answer = halfreal.check(definition(virtual=virtual, rig=rig, excitation={}, reference=None))
    assert answer.verdict == "NO-GO"
    assert answer.reasons[0].startswith("on the limit")


@pytest.mark.parametrize("hold", ["first", "zero"])
@pytest.mark.parametrize(
    "actuator",
    [
        {"kind": "delay", "delay": 3e-3},
        {"kind": "first order", "time_constant": 3e-3, "delay": 1e-3},
        {"kind": "second order", "frequency": 60.0, "damping": 0.7, "delay": 1e-3},
    ],
    ids=lambda actuator: actuator["kind"],
)
@pytest.mark.parametrize("substeps", [1, 4])
def test_slowest_pole_of_the_linearised_code_is_the_decay_of_the_rehearsal(hold, actuator, substeps):
    test = definition(
        timing={"step": 1e-3, "duration": 6.0},
        virtual={
            "mass": 2.2,
            "damping": 15.0,
            "stiffness": 2250.0,
            "initial_displacement": [1e-3],
            "scheme": {"kind": "exact", "hold": hold},
        },
        rig={"actuator": actuator, "specimen": {"stiffness": 1500.0, "damping": 1.0}, "substeps": substeps},
        excitation={},
        reference=None,
    )
    run = halfreal.rehearse(test)
    assert run.stability is not None
    rate = np.log(run.stability.spectral_radius) / 1e-3
    target = run.signals["target"].values
    peaks = [np.abs(target[(run.time >= t) & (run.time < t + 0.5)]).max() for t in (0.5, 2.5)]
    assert np.log(peaks[1] / peaks[0]) / 2.0 == pytest.approx(rate, rel=0.05)
