"""Intervals of modes under the noise of real sensors, which the loop feeds back into the structure."""

from dataclasses import replace

import numpy as np

from halfreal.definition.definition import Definition
from halfreal.identification.assembled_frf import frf_of_run
from halfreal.identification.refined_poles import refined
from halfreal.runs.loop_stability import loop_stability
from halfreal.runs.rehearse import rehearse
from halfreal.runs.run import Run, Signal
from halfreal.studies.modal_analysis import modal_analysis

STEP, PERIOD, DRAWS = 4e-3, 8.0, 200
NOISY = Definition(
    title="two storeys on a bearing",
    timing={"step": STEP, "duration": (DRAWS + 1) * PERIOD},
    virtual={
        "mass": [[200.0, 0.0], [0.0, 150.0]],
        "stiffness": [[4e5, -2e5], [-2e5, 2e5]],
        "modal_damping": 0.01,
        "interface": [1],
        "force_dof": 2,
        "responses": {"first": {"dof": 1, "quantity": "displacement"}, "roof": {"dof": 2, "quantity": "acceleration"}},
    },
    excitation={"virtual": {"kind": "random", "force": 20.0, "frequency": 1.0, "to": 15.0, "period": PERIOD}},
    coupling={"kind": "forward prediction", "prediction": 0.008, "order": 2, "points": 6},
    rig={
        "actuator": {"delay": 0.008},
        "specimen": {"stiffness": 6e4, "damping": 100.0},
        "sensors": {"displacement": {"noise": 2e-6}, "force": {"noise": 0.5}},
    },
)


def cut(run: Run, first: int, periods: int) -> Run:
    """So many periods of a run, as a run of their own."""
    length = round(PERIOD / STEP)
    part = slice(first * length, (first + periods) * length)
    signals = {name: Signal(one.unit, one.values[part]) for name, one in run.signals.items()}
    return replace(run, time=run.time[part] - run.time[part][0], signals=signals)


def test_intervals_cover_the_poles_of_the_loop_as_often_as_they_say():
    """2 µm and 0.5 N.  Every period of one long test has noise of its own, and is looked at for itself.

    400 intervals of frequency and as many of damping: their coverage has a standard deviation of 1.1 % if it is 95 %.
    """
    stability = loop_stability(NOISY)
    run = rehearse(NOISY, stability=stability)
    whole = modal_analysis(cut(run, 0, 2))
    modes = [one for one in whole.modes if not one.doubtful]
    truth = np.array([one.of_loop for one in modes])
    np.testing.assert_allclose([one.frequency_hz for one in modes], truth[:, 0], rtol=1e-3)
    start = truth[:, 0] * 2 * np.pi * np.exp(1j * np.arccos(-1.2 * truth[:, 1]))  # a fifth too much damping
    right, errors = [], []
    for i in range(DRAWS):
        spectra = frf_of_run(cut(run, i, 2)).spectra()
        assert spectra is not None
        found = refined(spectra.between(whole.lowest_hz, whole.highest_hz), start)
        hz, ratio = np.abs(found.poles) / (2 * np.pi), -found.poles.real / np.abs(found.poles)
        off = np.column_stack([hz, ratio]) - truth
        half = np.column_stack([found.frequency_hz, found.damping])
        right += list(np.abs(off) <= half)
        errors += list(off / half)
    covered = np.mean(right, axis=0)
    assert np.all((covered >= 0.90) & (covered <= 0.98)), covered
    bias = np.mean(errors, axis=0) / np.std(errors, axis=0)
    assert np.all(np.abs(bias) < 3.5 / np.sqrt(len(errors))), bias
