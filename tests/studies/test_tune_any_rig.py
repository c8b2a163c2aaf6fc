"""Tuning of any rig: actuators with lags of their own, margins, criteria, predictions, records, going on later."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import DELAY, definition
from halfreal.contracts.tuning import Known, Trial
from halfreal.couplings import AdaptiveFir, DecouplingInverse, ForwardPrediction, ModelInverse
from halfreal.definition.kinds import reader
from halfreal.errors import HalfrealError
from halfreal.runs.build import build
from halfreal.studies.tuning import plant, tune
from halfreal.studies.tuning.bench import Bench, Outcome, counted_axes, distance
from halfreal.studies.tuning.families import applies, by_displacement, measured_rigs
from halfreal.studies.tuning.from_records import against
from halfreal.studies.tuning.journal import Journal, fingerprint
from halfreal.studies.tuning.predicted import predicted_error
from halfreal.studies.tuning.search import Found, Search
from rigs.test_coupled_actuators import definition as coupled_actuators

COUPLER = """
import numpy as np
from halfreal.kernels.block import Block, channels

ARM = 0.4

def coupler_step(p, s, t, u, y):
    for i in range(2):
        s.x[i] += p.share[i] * (u[i] - s.x[i])
    x, turn = 0.5 * (s.x[0] + s.x[1]), (s.x[0] - s.x[1]) / (2.0 * ARM)
    y[0], y[1], y[2] = x, turn, 0.0
    y[3], y[4], y[5] = 600.0 * x - 20.0 * turn, -20.0 * x + 60.0 * turn, 30.0 * x
    return 0

def coupler(dt, substeps, commands, initial, parameters):
    places = (*channels("measured.displacement", "m", 3), *channels("measured.force", "N", 3))
    share = np.array([0.1, 0.25])
    return [], [Block("coupler", coupler_step, commands, places, {"share": share}, {"x": np.zeros(2)})]
"""
SHARES = np.array([0.1, 0.25])
STEP = 1e-3


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two actuators of different lag move a coupler; a third axis is passive."""
    file = tmp_path_factory.mktemp("two") / "coupler.py"
    file.write_text(COUPLER)
    return halfreal.Definition.model_validate(
        {
            "title": "two actuators",
            "axes": ["x", "rz", "rz_far"],
            "passive": ["rz_far"],
            "timing": {"step": STEP, "duration": 2.0},
            "virtual": {
                "mass": np.diag([2.2, 1.5, 1.0]),
                "damping": [[30.0, -5.0, 0.0], [-5.0, 20.0, 0.0], [0.0, 0.0, 20.0]],
                "stiffness": [[4500.0, -800.0, 0.0], [-800.0, 3000.0, -100.0], [0.0, -100.0, 2000.0]],
                "interface": [1, 2, 3],
                "force_dof": 1,
            },
            "excitation": {"virtual": {"kind": "sine", "force": 20.0, "frequency": 3.0}},
            "kinematics": {
                "actuators": ["a1", "a2"],
                "matrix": [[1.0, 0.4], [1.0, -0.4]],
                "coupling_in": "actuators",
            },
            "rig": {"kind": "assembled", "commands": "displacement", "function": f"{file}:coupler"},
        }
    )


def coupling(**settings):
    return reader("coupling").validate_python(settings)


def test_actuators_that_are_not_the_axes_are_told_apart_and_tuned_each(two):
    assert applies(two) == ""
    bench = Bench(two, 0)
    rigs, motion = measured_rigs(bench)
    assert motion.shape == (2000, 2)
    for rig, share in zip(rigs, SHARES, strict=True):
        z = np.exp(1j * rig.omega * STEP)
        # x⁺ = x + share (u − x) is measured at the next tick; the half step of a held command is not the rig's
        np.testing.assert_allclose(rig.response, share / (1.0 - (1.0 - share) / z) / z**0.5, rtol=1e-5)
    # each by its own lag is better than both by their mean
    lags = np.array([rig.lag + 0.5 * STEP for rig in rigs])
    errors = [
        bench.robust(coupling(kind="forward prediction", prediction=ahead, order=2, points=40), [0]).error
        for ahead in (lags, float(lags.mean()))
    ]
    assert errors[0] < 0.5 * errors[1]
    # in the pose, what one axis does to another is in the prediction
    tuned = bench.with_coupling(coupling(kind="forward prediction", prediction=lags, order=2, points=40))
    assert predicted_error(tuned, bench.motion, bench.counted) == pytest.approx(errors[0], rel=0.5)
    assert bench.counted == (0, 1)


def test_a_search_refines_the_number_of_each_axis_in_turn(two):
    hunt = Search(SimpleNamespace(drawn=[two], rehearsals=0), lambda text: None)
    wanted = np.array([0.7, 0.2])

    def judge(name, settings, best):
        return Found(name, SimpleNamespace(), float(np.linalg.norm(settings["prediction"] - wanted)))

    hunt.judge = judge
    grid = [{"prediction": np.array([0.5, 0.5])}]
    found = hunt.family("x", grid, (("prediction", "0"), 0.0, 1.0), (("prediction", "1"), 0.0, 1.0))
    assert found.error < 1e-2


def test_metres_and_radians_are_never_added_and_what_hardly_moves_does_not_count(two):
    t = np.linspace(0.0, 1.0, 500)
    due = np.column_stack([np.sin(9 * t), 1e-3 * np.sin(7 * t)])
    off = due * [1.01, 1.2]
    assert distance(due, off) == pytest.approx(0.2)
    assert distance(due * [1.0, 1e3], off * [1.0, 1e3]) == pytest.approx(0.2)
    peaks = np.array([[1e-2, 2e-2, 1.0], [0.0, 0.0, 0.0]])
    assert counted_axes(two, peaks) == (0, 1)
    assert counted_axes(two, peaks * [1.0, 1e-5, 1.0]) == (0,)
    assert counted_axes(two, 0.0 * peaks) == (0, 1)  # the passive one never


def test_a_rig_that_cannot_be_linearised_is_measured_by_an_experiment(two, monkeypatch):
    omega = 2 * np.pi * np.array([2.0, 5.0, 9.0])
    exact = plant.responses(two, omega)

    def refused(definition):
        raise HalfrealError("no")

    monkeypatch.setattr(plant, "_measured", refused)
    np.testing.assert_allclose(plant.responses(two, omega), exact, atol=2e-3 * np.abs(exact).max())


# --- constraints, criteria, records -----------------------------------------------------------------------------------

PREDICTED = {"kind": "forward prediction", "prediction": DELAY}


def test_margins_that_acceptance_asks_for_bind_the_search():
    test = definition(timing={"step": STEP, "duration": 1.0}, acceptance={"delay_margin": 0.8})
    hunt = Search(Bench(test, 0), lambda text: None)
    grid = [{**PREDICTED, "order": 3, "points": 12}, {**PREDICTED, "order": 3, "points": 40}]
    found = hunt.family("forward prediction", grid)
    # the first follows better, and bears 73 % of the rig's lag as a further delay; the second bears 88 %
    first, second = hunt.tried
    assert first.error < second.error and "additional delay" in first.reason and not second.reason
    assert found.coupling.points == 40 and not found.short


def test_the_criterion_that_a_definition_names_is_minimised(tmp_path):
    (tmp_path / "mine.py").write_text(
        'UNITS = {"gap": "mm"}\n'
        "def score(run, reference):\n"
        '    return {"gap": 1e3 * abs(reference.signals["target"].values - run.signals["target"].values).max()}\n'
    )
    criteria = {"kind": "user", "function": f"{tmp_path}/mine.py:score", "minimise": "gap"}
    test = definition(timing={"step": STEP, "duration": 1.0}, criteria=criteria, coupling=PREDICTED)
    bench = Bench(test, 0)
    whole = halfreal.rehearse(test)
    assert bench.outcomes(test.coupling, [0])[0].error == pytest.approx(whole.scores["gap"].value, rel=1e-9)
    rows = [
        SimpleNamespace(name=name, worst=worst, delay_margin=1.0, coupling=None, nominal=Outcome("", worst), failed=0,
                        short=short)
        for name, worst, short in (("good", -2.0, ""), ("better, short", -3.0, "1 dB"), ("bad", 5.0, ""))
    ]  # fmt: skip
    assert [row.name for row in tune.rank(rows, by_criterion=True)] == ["good", "bad", "better, short"]
    told = tune.with_reasons([tune.TuningRow("a", None, Outcome("", 1.0), 1.0, 0),
                              tune.TuningRow("b", None, Outcome("", 2.0), 2.0, 0)],
                             SimpleNamespace(criterion="gap", drawn=[0]))  # fmt: skip
    assert [row.lost for row in told] == ["", "its gap is 2 times that of the best"]


def test_a_search_goes_on_from_its_journal_and_not_from_that_of_another_test(tmp_path):
    test = definition(timing={"step": STEP, "duration": 0.5}, uncertainty={"virtual.mass": {"relative": 0.1}})
    file, given = tmp_path / "search.progress", coupling(**PREDICTED)
    first = Bench(test, 2, journal=Journal(file, fingerprint(test, 2)))
    before = [
        first.robust(given, range(3)),
        first.misfit(given),
        first.instability(given),
        first.short_of(given),
        first.stable(given, range(3)),
    ]
    assert first.rehearsals == 3
    file.write_text(file.read_text()[:-5])  # killed while it wrote
    again = Bench(test, 2, journal=Journal(file, fingerprint(test, 2)))
    after = [
        again.robust(given, range(3)),
        again.misfit(given),
        again.instability(given),
        again.short_of(given),
        again.stable(given, range(3)),
    ]
    assert after == before and again.rehearsals == 0
    other = definition(timing={"step": STEP, "duration": 0.4})
    assert fingerprint(other, 2) != fingerprint(test, 2) != fingerprint(test, 3)
    fresh = Bench(other, 0, journal=Journal(file, fingerprint(other, 0)))
    fresh.robust(given, [0])
    assert fresh.rehearsals == 1
    fresh.journal.close()
    assert not file.exists()


def test_what_the_model_predicts_is_what_a_rehearsal_achieves():
    test = definition(
        timing={"step": STEP, "duration": 6.0}, coupling={"kind": "forward prediction", "prediction": 6e-3}
    )
    bench = Bench(test, 0)
    achieved = bench.outcomes(test.coupling, [0])[0].synchronisation
    predicted = predicted_error(bench.nominal, bench.motion, bench.counted)
    # a sine that is late by 3.4 ms: the chord of its angle
    assert predicted == pytest.approx(2 * np.sin(np.pi * 1.5 * 3.4e-3), rel=0.02)
    assert achieved == pytest.approx(predicted, rel=0.05)


def test_a_record_is_held_against_what_the_identified_rig_predicts_of_it():
    test = definition(timing={"step": STEP, "duration": 2.0}, coupling=PREDICTED)
    late = test.with_values({"rig.actuator.delay": 12e-3})
    run = halfreal.rehearse(late)
    found = against(late.rig, "run.h5", run)
    assert found.achieved == pytest.approx(found.predicted, rel=1e-12) and found.achieved > 0.01
    assert against(test.rig, "run.h5", run).predicted < 0.2 * found.achieved


def test_matrix_couplings_are_tried_where_the_actuators_have_a_model(two):
    """The decoupling inverse, and adaptive filters before its best; not where no model of the actuators is known."""
    test, ticks = coupled_actuators(), np.arange(2000) * STEP
    motion = np.column_stack([np.sin(2 * np.pi * 2.0 * ticks), 0.1 * np.sin(2 * np.pi * 3.0 * ticks)])
    rigs = (SimpleNamespace(lag=0.01), SimpleNamespace(lag=0.02))
    (trial,) = DecouplingInverse.trials(Known(test, rigs, motion, {}))
    assert {one.get("form", "fir") for one in trial.grid} == {"fir", "state space"}
    assert all(one["corner"] < 10.0 for one in trial.grid if "corner" in one)
    assert not list(DecouplingInverse.trials(Known(two, rigs, motion, {})))
    assert not list(DecouplingInverse.trials(Known(test, rigs[:1], motion[:, :1], {})))
    assert not list(AdaptiveFir.trials(Known(test, rigs, motion, {})))
    (adaptive,) = AdaptiveFir.trials(Known(test, rigs, motion, {"decoupling inverse": trial.grid[0]}))
    made = [coupling(**one) for one in (*trial.grid, *adaptive.grid)]
    for one in (made[0], made[-1]):
        build(test.unchecked_copy({"coupling": one}))
    # each axis by its own motion
    assert adaptive.grid[0]["covariance"][1] == pytest.approx(100.0 * adaptive.grid[0]["covariance"][0], rel=1e-3)


def test_couplings_of_other_kinds_say_what_to_try_of_them(monkeypatch):
    seen = []

    def trials(cls, known):
        seen.append((len(known.rigs), known.motion.shape[1], sorted(known.best)))
        return [Trial([{"kind": "model inverse", "coefficients": known.rigs[0].inverse(1)}], name="of its own")]

    monkeypatch.setattr(ModelInverse, "trials", classmethod(trials))
    tried = []

    def family(name, grid, *refined):
        tried.append(name)
        given = coupling(**PREDICTED) if name == "forward prediction" else None
        return Found(name, given, 0.1 if given else math.inf)

    bench = Bench(definition(timing={"step": STEP, "duration": 1.0}), 0)
    by_displacement(SimpleNamespace(bench=bench, family=family))
    assert "of its own" in tried and seen == [(1, 1, ["forward prediction"])]
    assert ForwardPrediction.trials(None) == ()
