"""The open loop measured on the code that runs."""

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import KS, C, K, M, definition, radius
from halfreal.contracts.context import AT_REST, OPEN_LOOP
from halfreal.contracts.state_space import StateSpace
from halfreal.errors import HalfrealError
from halfreal.stability.open_loop import open_loop

COUPLINGS = [
    {"kind": "none"},
    {"kind": "forward prediction", "prediction": 9.4e-3},
    {"kind": "adaptive forward prediction", "prediction": 5e-3},
]


def opened(test) -> StateSpace:
    loop = halfreal.build(test, OPEN_LOOP)
    loop.run(4)
    return open_loop(loop)


@pytest.mark.parametrize("coupling", COUPLINGS, ids=lambda coupling: coupling["kind"])
def test_closing_the_open_loop_gives_back_the_loop_that_runs(coupling):
    test = definition(coupling=coupling)
    closed = np.abs(np.linalg.eigvals(opened(test).closed())).max()
    assert closed == pytest.approx(radius(test), rel=1e-12)


def test_response_tends_to_that_of_the_delay_differential_equation_with_order_two():
    omega = 2 * np.pi * np.array([1.0, 5.0, 7.0, 20.0])
    s = 1j * omega
    exact = KS / (M * s**2 + C * s + K) * np.exp(-s * 9e-3)
    errors = [
        np.abs(opened(definition(step=dt, delay=9e-3)).response(omega)[:, 0, 0] / exact - 1).max()
        for dt in (1e-3, 5e-4)
    ]
    assert errors[0] < 2e-3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_two_axes_give_a_matrix():
    virtual = {
        "mass": [[2.0, 0], [0, 3.0]],
        "stiffness": [[5e3, -2e3], [-2e3, 4e3]],
        "interface": [1, 2],
        "force_dof": 1,
    }
    test = definition(virtual=virtual, rig={"specimen": {"stiffness": [[500.0, 0], [0, 300.0]]}}, excitation={})
    loop = opened(test)
    assert loop.channels == 2
    # at rest the specimen's stiffness meets the structure's flexibility
    static = np.array([[500.0, 0], [0, 300.0]]) @ np.linalg.inv(np.array(virtual["stiffness"]))
    np.testing.assert_allclose(
        np.sort(np.linalg.eigvals(loop.response(0.0)[0]).real), np.sort(np.linalg.eigvals(static)), rtol=1e-9
    )


def test_loop_without_a_probe_is_refused():
    with pytest.raises(HalfrealError, match="cut=True"):
        open_loop(halfreal.build(definition(), AT_REST))
