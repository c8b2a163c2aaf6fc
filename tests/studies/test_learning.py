"""A coupling that adapts: with its first coefficients the loop is weak or unstable, with what it learns it is not."""

import pytest

import halfreal
from runs.test_in_motion import LINEAR, late

SLOWEST, BLIND = 1e-4, 0.05
"""Velocity from which on the coupling adapts [m/s]: far below that of the test, and about as large."""


def check(prediction, least_velocity):
    """Of a rig that is 9 ms late, and a prediction that begins with another time."""
    learns = {"highest_order": 3, "window": 0.5, "adaption_time": 0.5, "longest_prediction": 0.03}
    coupling = {"kind": "adaptive forward prediction", "order": 3, "points": 12, **learns}
    coupling |= {"prediction": prediction, "least_velocity": least_velocity}
    given = {"phase_margin": "none", "synchronisation": "none", "fidelity": "none"}
    timing = {"step": 1e-3, "duration": 10.0}
    return halfreal.check(late(LINEAR, coupling=coupling, timing=timing, acceptance=given), remedies=False)


@pytest.mark.parametrize(("prediction", "verdict"), [(2e-3, "NO-GO"), (4e-3, "MARGINAL")])
def test_the_verdict_is_that_of_what_was_tried_where_the_coupling_learns_in_time(prediction, verdict):
    found = check(prediction, SLOWEST)
    assert found.verdict == "GO"
    assert any(one.severity == "warning" and "the coupling adapts in time" in one.text for one in found.findings)
    assert check(prediction, BLIND).verdict == verdict
