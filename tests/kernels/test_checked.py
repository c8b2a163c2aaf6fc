"""What a user's function cannot do: reach beyond its own fields, go on for ever, or wait for the interpreter."""

import math
import threading

import numba
import numpy as np
import pytest

from halfreal.kernels.atomic import load_word, store_word
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.control import TICKS, WORDS
from halfreal.kernels.linear import copy_to
from halfreal.kernels.loop import Loop
from halfreal.kernels.native import CompilationError
from halfreal.kernels.prepared import RanAwayError
from halfreal.kernels.tick import RAISED, RAN_AWAY

# --- indices ----------------------------------------------------------------------------------------------------------


def taken(values, i):
    return values[i]


@numba.njit(boundscheck=False, cache=True)
def put(values, i):
    values[i] = taken(values, i) + 1.0


@numba.njit(inline="always", boundscheck=False)
def put_inline(values, i):
    values[i] = 1.0


def reaching_step(p, s, t, u, y):
    i, way = int(p.index), p.way
    if way == 0.0:
        y[0] = u[i]
    elif way == 1.0:
        u[i] = 1.0
    elif way == 2.0:
        y[i] += 1.0
    elif way == 3.0:
        s.x[i] = 1.0
    elif way == 4.0:
        s.x[i], s.x[0] = s.x[0], s.x[i]
    elif way == 5.0:
        s.m[i, 0] = 1.0
    elif way == 6.0:
        s.m[0, i] -= 1.0
    elif way == 7.0:
        s.m[i][1] = 1.0
    elif way == 8.0:
        s.m[i, :] = 1.0
    elif way == 9.0:
        y[0] = p.x[i]
    elif way == 10.0:
        p.x[i] = 1.0
    elif way == 11.0:
        y[0] = taken(s.x, i)
    elif way == 12.0:
        put(s.x, i)
    elif way == 13.0:
        put(p.x, i)
    elif way == 14.0:
        s.x[np.uint64(i)] = 1.0
    elif way == 15.0:
        y[0] = (u[0], u[1], t)[i]
    elif way == 16.0:
        put_inline(s.x, i)
    return 0


WAYS = 17


def clipped_step(p, s, t, u, y):
    i = int(p.index)
    s.x[i:] = 1.0
    s.x[: i + 1000] = 2.0
    for value in s.m[: i + 1000]:
        y[0] += value[0]
    return 0


def too_long_step(p, s, t, u, y):
    copy_to(s.x, p.x)
    return 0


def still_step(p, s, t, u, y):
    return 0


def neighbour(name: str) -> Block:
    memory = {"memory": np.arange(1.0, 9.0)}
    return Block(name, still_step, (), (Channel(f"{name}.out", "1"),), memory, memory)


def between_neighbours(step, **parameters) -> Loop:
    block = Block(
        "mine",
        step,
        ("before.out", "after.out"),
        (Channel("y", "1"),),
        {**parameters, "x": np.zeros(5)},
        {"x": np.arange(3.0), "m": np.zeros((2, 2))},
    )
    return Loop([neighbour("before"), block, neighbour("after")], dt=1.0)


def others(loop: Loop) -> np.ndarray:
    """All that belongs to the neighbours."""
    found = [loop.vector[[loop.index["before.out"], loop.index["after.out"]]]]
    for name in ("before", "after"):
        found += [loop.state(name)["memory"], loop.parameter(name)["memory"]]
    return np.concatenate(found).copy()


@pytest.fixture(scope="module")
def reaching() -> Loop:
    return between_neighbours(reaching_step, index=0.0, way=0.0)


@pytest.mark.parametrize("way", range(WAYS))
def test_no_index_reaches_beyond_its_own_array(reaching, way):
    mine = reaching.parameter("mine")
    before = others(reaching)
    for index in (5, 6, 7, 13, 40, 10**6, 2**61, 2**62, -6, -7, -(10**6), -(2**62), math.nan, math.inf):
        reaching.reset()
        mine["way"], mine["index"], mine["x"][:] = way, index, 0.0
        reaching.run(1)
        assert reaching.vector[1] == 2000.0 + RAISED, f"index {index}"
        np.testing.assert_array_equal(others(reaching), before)


@pytest.mark.parametrize("way", [way for way in range(WAYS) if way != 14])
def test_indices_within_an_array_count_from_either_end(reaching, way):
    mine = reaching.parameter("mine")
    for index in (0, -1):
        reaching.reset()
        mine["way"], mine["index"], mine["x"][:] = way, index, 0.0
        reaching.run(1)
        assert reaching.vector[1] == 0.0


def test_slices_end_with_their_array():
    loop = between_neighbours(clipped_step, index=0.0)
    before = others(loop)
    for index in (0, 2, 500, -500, 2**60):
        loop.reset()
        loop.parameter("mine")["index"] = index
        loop.run(1)
        assert loop.vector[1] == 0.0
        np.testing.assert_array_equal(others(loop), before)


def test_a_helper_of_halfreal_is_checked_when_a_user_calls_it():
    loop = between_neighbours(too_long_step)
    before = others(loop)
    loop.run(1)
    assert loop.vector[1] == 2000.0 + RAISED
    np.testing.assert_array_equal(others(loop), before)


def late_step(p, s, t, u, y):
    s.x[int(t)] = 1.0
    return 0


def test_numbas_own_switch_does_not_take_the_checks_away(monkeypatch):
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 0)
    loop = between_neighbours(late_step)
    loop.run(4)
    assert loop.vector[1] == 2000.0 + RAISED
    assert numba.config.BOUNDSCHECK == 0


# --- what is refused --------------------------------------------------------------------------------------------------


def printing(p, s, t, u, y):
    print(1)
    return 0


def objects(p, s, t, u, y):
    with numba.objmode():
        pass
    return 0


def blas(p, s, t, u, y):
    y[0] = np.dot(u, u)
    return 0


def drawing(p, s, t, u, y):
    y[0] = np.random.normal()  # noqa: NPY002
    return 0


def flat(p, s, t, u, y):
    s.m.flat[7] = 1.0
    return 0


def hiding(p, s, t, u, y):
    try:
        y[0] = u[5]
    except Exception:
        y[0] = 1.0
    return 0


def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


def recursive(p, s, t, u, y):
    y[0] = factorial(int(t))
    return 0


def numbers(x):
    while True:
        yield x


def generating(p, s, t, u, y):
    for x in numbers(t):
        y[0] = x
    return 0


def misfit(p, s, t, u, y):
    p.x = s.x
    return 0


def address(p, s, t, u, y):
    y[0] = s.x.ctypes.data
    return 0


def array_for_field(p, s, t, u, y):
    s.x = u
    return 0


@numba.guvectorize(["void(float64[:], float64[:])"], "(n)->(n)")
def beyond(x, y):
    y[1000] = x[0]


def vectorized(p, s, t, u, y):
    beyond(u, u)
    return 0


@pytest.mark.filterwarnings("ignore")  # Numba's, of object mode
@pytest.mark.parametrize(
    ("step", "words"),
    [
        (printing, "prints, which a tick cannot"),
        (objects, r"it uses the interpreter \(test_checked.py, line \d+\)"),
        (blas, "needs the interpreter, or a library .*numba_xxdot"),
        (drawing, "needs the interpreter, or a library .*numba_get_np_random_state"),
        (flat, r"it uses '.flat', whose indices are not checked; index the array itself \(test_checked.py, line \d+\)"),
        (hiding, "it uses try; test for invalid values instead"),
        (recursive, "calls itself"),
        (generating, "it uses yield; write a loop"),
        (misfit, r"it sets the array 'x'; set its entries \(test_checked.py, line \d+\)"),
        (vectorized, "it uses a function made by vectorize"),
        (address, "it uses the address of an array"),
        (array_for_field, "it sets the array 'x'; set its entries"),
    ],
)
def test_what_would_get_around_the_checks_or_wait_is_refused_with_its_line(step, words):
    with pytest.raises(CompilationError, match=rf"'{step.__name__}' \(test_checked.py, line \d+\).*{words}"):
        between_neighbours(step)


# --- loops without end ------------------------------------------------------------------------------------------------


def converge(x):
    while not abs(x) < 1e-9:
        x = 0.5 * x
    return x


def iterating_step(p, s, t, u, y):
    y[0] = converge(math.nan if t >= p.when else 1.0)
    return 0


def guard_step(p, s, t, u, y):
    y[0] = u[0]
    y[1] = 1.0 if u[0] != 0.0 else 0.0
    return 0


def guard() -> Block:
    return Block("guard", guard_step, ("loop.fault",), (Channel("seen", "1"), Channel("guard.mode", "1")))


def iterating(name: str) -> Block:
    return Block(name, iterating_step, (), (Channel(f"{name}.y", "1"),), {"when": 2.0})


def test_a_loop_without_end_is_a_fault_that_the_guard_sees_in_its_tick():
    loop = Loop([iterating("virtual"), guard()], dt=1.0, end=10)
    log = loop.run(5, record=["seen"]).log
    np.testing.assert_array_equal(log[:, 1], [0.0, 0.0, *[1000.0 + RAN_AWAY] * 3])  # and rests from then on
    assert loop.describe(log[-1, 1]) == "block 'virtual': its loops did not end within 100,000,000 passes in one call"


@pytest.mark.parametrize("group", ["controller", "inner", "outer"])
def test_a_block_that_would_be_called_again_without_end_ends_the_simulation(group):
    blocks = {"controller": [guard()], group: [iterating("mine"), *([guard()] if group == "controller" else [])]}
    loop = Loop(**blocks, dt=1.0)
    words = r"block 'mine': its loops did not end .* 'iterating_step' \(test_checked.py, line \d+\)"
    with pytest.raises(RanAwayError, match=words):
        loop.run(5)


def test_a_run_from_a_perturbed_state_that_does_not_end_is_an_error_too():
    loop = Loop([iterating("mine"), guard()], dt=1.0)
    loop.run(2)
    with pytest.raises(RanAwayError, match="block 'mine': its loops did not end"):
        loop.images(np.array([0, 0]), np.array([0.0, 1.0]), np.array([0]), 1)


# --- the interpreter --------------------------------------------------------------------------------------------------


def raises(p, s, t, u, y):
    if t >= 3.0:
        raise ValueError("not in the loop")
    return 0


def reaches(p, s, t, u, y):
    y[0] = s.memory[4 * int(t)]
    return 0


def divides(p, s, t, u, y):
    y[0] = 1.0 / (3.0 - t)
    return 0


def meeting_step(p, s, t, u, y):
    """In its first tick: here; then wait until the other thread has the interpreter."""
    words = int(p.words)
    if t == 0.0:
        store_word(words, 1)
        while load_word(words + 8) == 0:
            pass
    return 0


@numba.njit
def hold_the_interpreter(words, control, ticks):
    """Without giving up the interpreter's lock, let the loop go and wait until it is through."""
    store_word(words.ctypes.data + 8, 1)
    left = 10**10
    while load_word(control.ctypes.data + 8 * TICKS) < ticks and left > 0:
        left -= 1
    return left > 0


@pytest.mark.parametrize("step", [raises, reaches, divides])
def test_a_block_that_raises_trips_in_its_tick_while_the_interpreter_is_busy(step):
    words, control, log = np.zeros(2, dtype=np.int64), np.zeros(WORDS, dtype=np.int64), np.zeros((6, 2))
    hold_the_interpreter(words, control, 0)  # compiled
    words[:] = 0
    meeting = Block("meeting", meeting_step, (), (), {"words": float(words.ctypes.data)})
    mine = Block("mine", step, (), (Channel("y", "1"),), state={"memory": np.zeros(10)})
    loop = Loop([meeting, mine, guard()], dt=1.0)
    loop.run(0)  # the loop itself is compiled
    thread = threading.Thread(target=loop.drive, args=(6, log, ["seen"], control))
    thread.start()
    while not words[0]:
        assert thread.is_alive()
    assert hold_the_interpreter(words, control, 6), "the loop waits for the interpreter"
    thread.join()
    np.testing.assert_array_equal(log[:, 1], [0.0, 0.0, 0.0, *[2000.0 + RAISED] * 3])
