"""Virtual substructures that users write: found, checked, tried, and run."""

import numpy as np
import pytest

from halfreal.errors import HalfrealError
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.kernels.user import UserFunctionError, load_function, try_out
from halfreal.models.structures.programmed import UserModel
from models import loops

SPRING_DAMPER = '''
from math import exp

import numba

@numba.njit
def decay(rate, dt):
    return exp(-rate * dt)

def step(p, s, t, u, y):
    """c d' + k d = -f, exact for a force that is held."""
    keep = decay(p.k / p.c, p.dt)
    s.d = keep * s.d - (1.0 - keep) / p.k * s.force
    s.force = u[2]
    y[0] = s.d
    return 0
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "device.py").write_text(SPRING_DAMPER)
    (tmp_path / "short.py").write_text("def step(p, s):\n    return 0\n")
    (tmp_path / "broken.py").write_text("def step(p, s, t, u, y:\n")
    (tmp_path / "raising.py").write_text("x = 1 / 0\ndef step(p, s, t, u, y):\n    return 0\n")
    return tmp_path


def model(folder, function="device.py:step", **fields) -> UserModel:
    given = {"kind": "user", "function": function, "parameters": {"k": 8000.0, "c": 800.0, "dt": 2.5e-4}}
    state = {"state": {"d": 0.0, "force": 0.0}}
    return UserModel.model_validate({**given, **state, **fields}, context={"folder": str(folder)})


def test_a_users_spring_and_damper_follow_their_closed_form(folder):
    values = np.zeros((2001, 3))
    values[:, 2] = 4.0
    block = model(folder).block(2.5e-4, "none", ("feedback",))
    log = Loop([loops.table(values), block], dt=2.5e-4).run(2001, record=["target"]).log
    np.testing.assert_allclose(log[:, 1], -4.0 / 8000 * (1 - np.exp(-10.0 * log[:, 0])), atol=1e-12)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("device.py", "does not name a function; write file and function, as in 'model.py:step'"),
        ("missing.py:step", "there is no file .*missing.py"),
        ("device.py:stop", "has no function 'stop'; it defines decay, step"),
        ("short.py:step", r"line 1, is step\(p, s\); it must have 5 arguments, step\(p, s, t, u, y\)"),
        ("broken.py:step", "broken.py is not Python, line 1"),
    ],
)
def test_functions_that_cannot_be_used_are_told_apart(folder, function, words):
    with pytest.raises(ValueError, match=words):
        model(folder, function)


def test_reading_a_definition_runs_nothing_of_the_users_file(folder):
    raising = model(folder, "raising.py:step")
    with pytest.raises(UserFunctionError, match=r"cannot be loaded: ZeroDivisionError.*raising\.py, line 1"):
        raising.load()


def test_the_same_file_gives_the_same_function_and_a_changed_one_another(folder):
    path = folder / "device.py"
    first = load_function(path, "step")
    assert load_function(path, "step") is first
    path.write_text(SPRING_DAMPER + "\n# changed\n")
    assert load_function(path, "step") is not first


def test_fields_are_plain_numbers_or_arrays(folder):
    made = model(folder, parameters={"k": 1, "table": [[1, 2], [3, 4.5]]})
    assert made.parameters["k"] == 1.0
    np.testing.assert_array_equal(made.parameters["table"], [[1, 2], [3, 4.5]])
    again = UserModel.model_validate_json(made.model_dump_json(), context={"stored": True})
    assert again == made
    for bad in ("2 N/m", [1, [2]], True, [], float("nan")):
        with pytest.raises(ValueError, match=r"expected|finite"):
            model(folder, parameters={"k": bad})
    with pytest.raises(ValueError, match="'e' is not a field of the state, which has d, force"):
        model(folder, frozen=["e"])


def block(step, **fields) -> Block:
    return Block("mine", step, ("a", "b"), (Channel("y", "1"),), **fields)


def good(p, s, t, u, y):
    s.count += 1.0
    s.memory[1] = p.gain * u[1]
    y[0] = s.count
    return 0


def test_trying_a_function_leaves_the_blocks_data_as_it_is():
    state = {"count": 0.0, "memory": np.zeros(2)}
    made = block(good, parameters={"gain": 2.0}, state=state)
    try_out(made)
    assert made.state["count"] == 0.0


def out_of_range(p, s, t, u, y):
    y[0] = u[2]
    return 0


def unknown_field(p, s, t, u, y):
    y[0] = p.stifness
    return 0


def no_status(p, s, t, u, y):
    y[0] = u[0]


def float_status(p, s, t, u, y):
    return 0.0


def large_status(p, s, t, u, y):
    return 998


def infinite(p, s, t, u, y):
    y[0] = p.gain * np.inf
    return 0


def divided(p, s, t, u, y):
    y[0] = 1.0 / u[0]
    return 0


def beyond(values, i):
    return values[i]


def out_of_range_in_a_helper(p, s, t, u, y):
    y[0] = beyond(u, y.size + 1)
    return 0


def wrong_at_second_call(p, s, t, u, y):
    s.count += 1.0
    return 0 if s.count < 2.0 else s.missing


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (out_of_range, r"out_of_range raised IndexError: .* at test_user.py, line \d+; it has 2 input"),
        (out_of_range_in_a_helper, r"raised IndexError: index 2 is out of bounds .* at test_user.py, line \d+"),
        (divided, r"raised (ZeroDivision|FloatingPoint)Error: .* at test_user.py, line \d+"),
        (unknown_field, "uses a field 'stifness' that it does not have; the parameters are gain, the state is count"),
        (wrong_at_second_call, "uses a field 'missing'"),
        (no_status, "returns none; return 0 for success, or an integer from 1 to 997"),
        (float_status, "returns float64; return 0 for success"),
        (large_status, "returned 998; return 0 for success"),
        (infinite, "its output 'y' is inf at rest"),
    ],
)
def test_what_would_trip_the_guard_at_rest_is_refused_with_its_line(step, words):
    with pytest.raises(HalfrealError, match=words):
        try_out(block(step, parameters={"gain": 2.0}, state={"count": 0.0}))
