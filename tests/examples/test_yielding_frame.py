"""The frame of the gallery: it yields, and the guard ends a test that is too much for it."""

import numpy as np
import pytest

import halfreal
from examples.scripts import GALLERY

FILE = GALLERY / "yielding_frame" / "yielding_frame.toml"


@pytest.fixture(scope="module")
def run():
    return halfreal.rehearse(halfreal.load(FILE).with_values({"timing.duration": 8.0}))


def test_hinges_and_brace_yield_and_dissipate(run):
    assert run.outcome == "completed"
    for turned, moment in (("foot rotation", "foot moment"), ("girder rotation", "girder moment")):
        x, y = (run.signals[f"virtual.{name}"].values for name in (turned, moment))
        assert np.sum(0.5 * (y[1:] + y[:-1]) * np.diff(x)) > 0.0
    foot, girder = (np.abs(run.signals[f"virtual.{name} moment"].values).max() for name in ("foot", "girder"))
    assert foot > 5e5 and girder > 3e5
    assert np.abs(run.signals["measured.force"].values).max() > 1.9e5


def test_every_tick_converges(run):
    assert run.signals["virtual.residual"].values.max() < 1e-9
    assert run.signals["virtual.iterations"].values.max() <= 4


def test_a_collapse_is_stopped_by_the_guard():
    test = halfreal.load(FILE).with_values({"timing.duration": 8.0, "excitation.virtual.acceleration": 16.0})
    run = halfreal.rehearse(test)
    assert run.outcome == "tripped" and "command" in run.reason
