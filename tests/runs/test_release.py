"""A test whose excitation is released: as it is read, rehearsed and checked."""

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import definition

PULSE = {"kind": "pulse", "displacement": 5e-3, "duration": 0.1}


USUAL = {
    "timing": {"step": 1e-3, "duration": 2.0},
    "coupling": {"kind": "forward prediction", "prediction": 9.4e-3, "order": 3, "points": 12},
}


def released(at: list[float], **more):
    return definition(**{**USUAL, "excitation": {"virtual": PULSE, "release_at": at}, **more})


def test_a_rehearsal_releases_at_the_times_given_and_the_record_says_so():
    run = halfreal.rehearse(released([0.5, 1.2504]))
    assert [(round(event.time, 9), event.text) for event in run.events if event.channel == "excitation.releases"] == [
        (0.5, "excitation released, number 1"),
        (1.251, "excitation released, number 2"),
    ]
    before = run.time < 0.5
    assert not any(run.signals[name].values[before].any() for name in ("excitation.virtual", "target", "command"))
    # the emulated system is released at the same times
    reference, target = run.signals["reference"].values, run.signals["target"].values
    assert np.abs(reference - target).max() < 0.02 * np.abs(reference).max()
    plain = halfreal.rehearse(definition(**USUAL, excitation={"virtual": PULSE}))
    shift = int(np.flatnonzero(run.time >= 0.5)[0])
    np.testing.assert_allclose(target[shift : shift + 700], plain.signals["target"].values[:700], atol=1e-9)


def test_the_check_says_what_was_rehearsed():
    answer = halfreal.check(released([0.5]))
    assert any("was rehearsed with releases at 500 ms; if released while" in reason for reason in answer.reasons)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, "9 s is not before the end of the test"),
        ({"slow": {"period": 0.01, "ramp": 0.1}}, "slow test cannot be released"),
    ],
)
def test_releases_that_do_not_fit_the_test_are_refused(more, told):
    at = [0.5] if more else [9.0]
    with pytest.raises(ValueError, match=told):
        virtual = {"scheme": "explicit newmark", "mass": 2.2, "stiffness": 2250.0, "support": {"stiffness": 2250.0}}
        released(at, **({"virtual": virtual, "coupling": {"kind": "none"}} if more else {}), **more)
