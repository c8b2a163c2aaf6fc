import tracemalloc

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import GALLERY, KS, definition, linearised
from halfreal.definition.faults import DefinitionError
from halfreal.definition.load import from_toml
from halfreal.runs import rehearse as rehearsal
from halfreal.runs.build import build
from halfreal.runs.reference import emulate
from halfreal.runs.rehearse import check_log, check_size, check_time

TWO_AXES = {
    "mass": [[2.0, 0.0], [0.0, 3.0]],
    "stiffness": [[5000.0, -2000.0], [-2000.0, 4000.0]],
    "modal_damping": [0.05],
    "interface": [1, 2],
    "force_dof": 2,
}


def two_axes(**more):
    return definition(
        virtual=TWO_AXES,
        excitation={
            "virtual": {"kind": "chirp", "force": 10.0, "frequency": 1.0, "to": 6.0, "duration": 10.0, "ramp": 0.5}
        },
        coupling={"kind": "forward prediction", "prediction": 5e-3},
        rig={
            "actuator": {"delay": 5e-3, "reconstruction": "cubic"},
            "specimen": {"stiffness": [[1500.0, -500.0], [-500.0, 800.0]], "damping": [[4.0, 0.0], [0.0, 2.0]]},
        },
        **more,
    )


def nrmse(values: np.ndarray, reference: np.ndarray) -> float:
    return float(np.sqrt(np.mean((values - reference) ** 2) / np.mean(reference**2)))


def test_two_axis_interface_follows_the_emulated_system():
    run = halfreal.rehearse(two_axes())
    assert run.outcome == "completed"
    target, reference = run.vector("target"), run.vector("reference")
    assert target.shape == reference.shape == (10_000, 2)
    for axis in range(2):
        assert nrmse(target[:, axis], reference[:, axis]) < 0.01


def test_excitation_of_the_specimen_acts_on_it_and_not_on_the_virtual_part():
    push = {"specimen": {"kind": "sine", "force": 5.0, "frequency": 1.5, "ramp": 1.0}}
    run = halfreal.rehearse(definition(excitation=push, coupling={"kind": "forward prediction", "prediction": 9.4e-3}))
    assert not np.any(run.signals["excitation.virtual"].values)
    assert np.abs(run.signals["target"].values).max() > 5e-4
    assert nrmse(run.signals["target"].values, run.signals["reference"].values) < 0.01


def test_reference_converges_on_its_own_step():
    saturating = {"elements": [{"between": [1], "law": {"kind": "bilinear", "stiffness": KS, "limit": 0.003}}]}
    rig = {"actuator": {"delay": 9.4e-3}, "specimen": saturating}
    coarse, fine = (emulate(definition(rig=rig, reference={"substeps": n}), 3000, 1) for n in (4, 16))
    np.testing.assert_allclose(coarse, fine, atol=1e-5 * np.abs(fine).max())


def test_rehearsal_is_the_same_to_the_bit_and_leaves_the_definition_alone():
    test = definition(
        rig={"actuator": {"delay": 9.4e-3}, "specimen": {"stiffness": KS}, "sensors": {"force": {"noise": 0.1}}}
    )
    before = test.model_dump(mode="json")
    first, second = halfreal.rehearse(test), halfreal.rehearse(test)
    for name, signal in first.signals.items():
        np.testing.assert_array_equal(signal.values, second.signals[name].values)
    assert test.model_dump(mode="json") == before


def test_file_and_python_objects_are_the_same_test():
    path = GALLERY / "forward_prediction.toml"
    from_file = halfreal.load(path)
    again = halfreal.Definition(**from_file.model_dump(mode="json"))
    assert again == from_file
    run = halfreal.rehearse(from_file)
    assert from_toml(run.definition_text, halfreal.Definition, folder=GALLERY) == from_file


def test_recorded_channels_and_decimation():
    run = halfreal.rehearse(definition(record={"channels": ["target", "command"], "every": 10}))
    assert set(run.signals) == {"target", "command", "reference"}
    np.testing.assert_allclose(run.time, np.arange(run.time.size) * 0.01)
    assert all(signal.values.shape == run.time.shape for signal in run.signals.values())


def test_unknown_channel_is_a_fault_with_the_nearest_known_one():
    with pytest.raises(
        halfreal.DefinitionError, match=r"'measured.forse' is not a channel .* did you mean 'measured.force'"
    ):
        halfreal.rehearse(definition(record={"channels": ["measured.forse"]}))


def test_record_that_would_not_fit_into_memory_is_refused_before_it_is_begun():
    with pytest.raises(halfreal.DefinitionError, match=r"record: 900,000,001 rows .*record\.every"):
        halfreal.rehearse(definition(timing={"step": 1e-3, "duration": 9e5}))


def test_progress_reaches_the_end():
    seen = []
    halfreal.rehearse(
        definition(delay=5e-3, timing={"step": 1e-4, "duration": 12.0}),
        on_progress=lambda done, total: seen.append((done, total)),
    )
    assert len(seen) > 1
    assert seen[-1] == (120_000, 120_000)


def test_trip_limits_act_in_the_rehearsal_and_the_reason_has_value_and_limit():
    run = halfreal.rehearse(definition(limits={"force": {"trip": 5.0}, "after_trip": 0.1}))
    assert run.outcome == "tripped"
    assert run.reason.startswith("measured.force was") and "limit of 5 N" in run.reason
    running = run.signals["guard.mode"].values == 0
    assert np.abs(run.signals["measured.force"].values[running]).max() <= 5.0
    rests = run.time[1:][np.diff(run.signals["command"].values) != 0.0][-1]  # it brakes first
    assert run.time[running][-1] < rests and run.time[-1] - rests == pytest.approx(0.1, abs=2e-3)
    assert any("trip: measured.force" in event.text for event in run.events)


def test_a_finer_rig_step_does_not_change_the_poles_of_a_second_order_actuator():
    """It is integrated exactly for a command that is linear between two ticks, on any step."""
    actuator = {"kind": "second order", "frequency": 40.0, "damping": 0.7, "delay": 2e-3, "reconstruction": "linear"}
    radii = [
        linearised(
            definition(
                rig={
                    "actuator": actuator,
                    "specimen": {"stiffness": KS},
                    "substeps": n,
                }
            )
        ).spectral_radius
        for n in (1, 4, 16)
    ]
    np.testing.assert_allclose(radii, radii[0], rtol=1e-12)


USER = '''
def virtual(p, s, t, u, y):
    """m z¨ + c z˙ + k z = k r + c r˙ − f by semi-implicit Euler."""
    s.v += p.dt / p.m * (p.k * (u[0] - s.z) + p.c * (u[1] - s.v) - u[2])
    s.z += p.dt * s.v
    y[0] = s.z
    return 0

def coupling(p, s, t, u, y):
    y[0] = u[0] + p.ahead / p.dt * (u[0] - s.last)
    s.last = u[0]
    return 0

def specimen(p, s, t, u, y):
    y[0] = p.k * u[0]
    return 0

def rig(p, s, t, u, y):
    y[0] = u[0]
    y[1] = p.k * u[0]
    return 0

def wild(p, s, t, u, y):
    y[7] = u[0]
    return 0
'''


@pytest.fixture
def user_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(USER)
    return path


def test_users_model_coupling_and_specimen_run_in_the_loop(user_file):
    test = definition(
        virtual={
            "kind": "user",
            "function": f"{user_file}:virtual",
            "parameters": {"m": 2.2, "c": 15.0, "k": 2250.0},
            "state": {"z": 0.0, "v": 0.0},
        },
        coupling={
            "kind": "user",
            "function": f"{user_file}:coupling",
            "parameters": {"ahead": 9.4e-3},
            "state": {"last": 0.0},
        },
        rig={
            "actuator": {"delay": 9.4e-3},
            "specimen": {"kind": "user", "function": f"{user_file}:specimen", "parameters": {"k": 2250.0}},
        },
        reference=None,
    )
    run = halfreal.rehearse(test)
    known = halfreal.rehearse(
        definition(coupling={"kind": "forward prediction", "prediction": 9.4e-3, "order": 1, "points": 2})
    )
    assert nrmse(run.signals["target"].values, known.signals["target"].values) < 0.02


def test_users_whole_rig_runs_in_the_loop(user_file):
    rig = {"kind": "user", "function": f"{user_file}:rig", "parameters": {"k": 2250.0}}
    run = halfreal.rehearse(definition(rig=rig, reference=None))
    ideal = halfreal.rehearse(definition(delay=1e-3))
    np.testing.assert_allclose(run.signals["target"].values, ideal.signals["target"].values, atol=1e-12)


def test_users_function_with_an_index_out_of_range_is_found_before_it_is_compiled(user_file):
    rig = {"kind": "user", "function": f"{user_file}:wild"}
    with pytest.raises(ValueError, match=r"IndexError.*line 24.*2 output"):
        halfreal.rehearse(definition(rig=rig, reference=None))


def test_a_record_beyond_the_memory_that_is_left_is_refused_with_both_figures(monkeypatch):
    monkeypatch.setattr(rehearsal, "available_memory", lambda: 1e6)
    with pytest.raises(
        DefinitionError, match=r"100,001 rows of 20 channels need 0.0 GB, and 1.3 times .* 0.001 GB available"
    ):
        check_size(definition(timing={"step": 1e-5, "duration": 1.0}), 20)
    assert rehearsal.available_memory() == 1e6
    monkeypatch.undo()
    assert rehearsal.available_memory() > 1e6


def test_more_ticks_at_once_than_fit_into_memory_are_refused_with_both_figures():
    check_log(28_800_000, 3)  # 8 h at 1 kHz
    with pytest.raises(halfreal.HalfrealError, match=r"1,000,000,000 ticks of 3 channels, .* need 32 GB, more than "):
        check_log(10**9, 3)


def test_a_rehearsal_that_takes_too_long_is_refused_with_its_time(monkeypatch):
    check_time(28_800_000, 0.5, 50_000)  # 8 h at 1 kHz, at 10 µs a tick
    with pytest.raises(
        DefinitionError, match=r"999,950,000 ticks takes about 27.8 h of processor time, at 100 µs per tick"
    ):
        check_time(999_950_000, 5.0, 50_000)
    monkeypatch.setattr(rehearsal, "CHUNK", 50)
    monkeypatch.setattr(rehearsal, "LONGEST", 0.0)
    with pytest.raises(DefinitionError, match=r"timing\.duration"):
        halfreal.rehearse(definition(timing={"step": 1e-3, "duration": 0.2}))


@pytest.mark.parametrize("end", ["soft_start", "soft_stop"])
def test_soft_ends_count_in_the_size_of_a_record(end):
    timing = {"step": 1e-5, "duration": 1.0}
    check_size(definition(timing=timing), 20)
    with pytest.raises(DefinitionError, match="GB, more than 4 GB; record every n-th tick"):
        check_size(definition(timing=timing | {end: 600.0}), 20)


def test_a_record_is_in_memory_once_and_is_that_of_the_loop(monkeypatch):
    """In stretches of a twelfth; the whole at once is what they must be."""
    test = definition(delay=5e-3, reference=None)
    whole = build(test).run(test.timing.ticks, record=("target", "command", "measured.force")).log
    monkeypatch.setattr(rehearsal, "CHUNK", test.timing.ticks // 12)
    monkeypatch.setattr(rehearsal, "loop_stability", lambda definition: None)
    monkeypatch.setattr(rehearsal, "stability_of", lambda *given: None)
    halfreal.rehearse(test)  # what is made once in a process does not count
    tracemalloc.start()
    try:
        run = halfreal.rehearse(test)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < rehearsal.COPIES * 8 * len(run.time) * (1 + len(run.signals))
    assert np.array_equal(run.time, whole[:, 0])
    for column, name in enumerate(("target", "command", "measured.force"), start=1):
        assert np.array_equal(run.signals[name].values, whole[:, column])


def test_a_record_that_becomes_longer_than_foreseen_keeps_every_row():
    rows = rehearsal._Rows(3, 2)
    stretches = [np.arange(2.0 * n).reshape(n, 2) + n for n in (2, 0, 1, 7, 4)]
    for one in stretches:
        rows.add(one)
    assert np.array_equal(rows.all, np.concatenate(stretches))
