"""Linear structures integrated in parts, against the plain method with its full matrices."""

import numpy as np
import pytest

from halfreal.contracts.by_content import by_content
from halfreal.contracts.system import Method, System
from halfreal.kernels.block import Block, channels, names
from halfreal.kernels.loop import Loop
from halfreal.models.schemes.exact import Exact
from halfreal.models.schemes.in_parts import FEW, decomposed, in_parts
from halfreal.models.schemes.kr_alpha import KRAlpha
from halfreal.models.schemes.newmark import Newmark
from halfreal.models.schemes.scheme import Scheme
from halfreal.models.structures.modal import Modes
from halfreal.models.structures.structure import Structure
from models.loops import table_step

DOFS, STEP, TICKS = 20, 1e-3, 400


def structure(damping: str, scheme: str = "exact", **more) -> Structure:
    """A chain of masses, free at one end, excited at the other; two axes and outputs of all sorts."""
    rng = np.random.default_rng(3)
    springs = rng.uniform(0.5e5, 2e5, DOFS)
    stiffness = np.diag(springs + np.append(springs[1:], 0.0))
    stiffness -= np.diag(springs[1:], 1) + np.diag(springs[1:], -1)
    damped = {
        "rayleigh": {"rayleigh": {"mass": 0.5, "stiffness": 1e-4}},
        "modal": {"modal_damping": np.linspace(0.01, 0.1, DOFS)},
        "dashpot": {"damping": 1e-4 * stiffness + 300.0 * np.diag(np.arange(DOFS) == 7)},
    }[damping]
    return Structure.model_validate(
        {
            "mass": np.diag(rng.uniform(1.0, 3.0, DOFS)),
            "stiffness": stiffness,
            **damped,
            "interface": [DOFS, 5],
            "support": {"stiffness": springs[0] * np.eye(DOFS)[0]},
            "initial_displacement": 1e-3 * rng.standard_normal(DOFS),
            "initial_velocity": 1e-1 * rng.standard_normal(DOFS),
            "responses": {"base": {"dof": 2, "quantity": "velocity"}, "roof": {"dof": 3, "quantity": "acceleration"}},
            "scheme": scheme,
            **more,
        }
    )


def loop_of(method: Method, values: np.ndarray, outputs: int) -> Loop:
    """A method that is driven by inputs, a row for each tick."""
    inputs, answers = channels("u", "1", values.shape[1]), channels("y", "1", outputs)
    source = Block("source", table_step, (), inputs, {"values": values}, {"tick": 0.0}, ("tick",))
    block = Block("block", method.step, names(inputs), answers, method.parameters, method.state, method.frozen)
    return Loop([source, block], dt=STEP)


def driven(method: Method, values: np.ndarray, outputs: int) -> np.ndarray:
    return loop_of(method, values, outputs).run(len(values), record=names(channels("y", "1", outputs))).log[:, 1:]


def compared(scheme: Scheme, system: System, within: float) -> Method:
    """The method in parts, whose outputs are those of the plain one, each within a part of its largest value."""
    found = in_parts(scheme, system, STEP)
    assert found is not None
    size = np.array([10.0, 100.0, 50.0, 50.0])[: system.inputs.shape[1]]
    values = size * np.random.default_rng(1).standard_normal((TICKS, size.size))
    fast, plain = (driven(one, values, len(system.displacement_outputs)) for one in (found, scheme.plain(system, STEP)))
    assert np.all(np.abs(fast - plain).max(axis=0) <= within * np.abs(plain).max(axis=0))
    return found


SCHEMES = [
    {"kind": "exact"},
    {"kind": "exact", "hold": "zero"},
    "newmark",
    "hht",
    {"kind": "generalized-alpha", "rho_inf": 0.5},
    "central difference",
    "kr-alpha",
    "rk2",
    "rk4",
]


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_modes_give_what_the_plain_scheme_gives(scheme):
    virtual = structure("modal", scheme)
    found = compared(virtual.scheme, virtual.system("support"), 1e-12)
    assert found.form == "20 degrees of freedom in 20 modes, integrated separately"
    assert found.references == ()


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_damping_that_couples_modes_is_integrated_in_blocks_of_two(scheme):
    virtual = structure("dashpot", scheme)
    found = compared(virtual.scheme, virtual.system("support"), 1e-11)
    assert "couples the modes, in blocks of two states" in found.form


def test_rayleigh_damping_follows_the_modes():
    virtual = structure("rayleigh")
    assert "modes" in compared(virtual.scheme, virtual.system("support"), 1e-12).form


def test_free_structure_and_one_with_degrees_of_freedom_without_mass():
    free = np.diag(np.full(DOFS, 2.0)) - np.eye(DOFS, k=1) - np.eye(DOFS, k=-1)
    free[0, 0] = free[-1, -1] = 1.0
    virtual = structure("rayleigh", stiffness=1e5 * free, rayleigh={"mass": 0.0, "stiffness": 1e-4})
    compared(virtual.scheme, virtual.system("support"), 1e-11)
    mass = virtual.mass.copy()
    mass[9, 9] = 0.0
    condensed = structure("rayleigh", mass=mass, rayleigh={"mass": 0.5, "stiffness": 0.0})
    compared(condensed.scheme, condensed.system("support"), 1e-12)


def test_given_modes_are_not_turned():
    rng = np.random.default_rng(5)
    virtual = Modes.model_validate(
        {
            "kind": "modes",
            "frequency": np.concatenate([[0.0, 0.0], np.geomspace(1.0, 200.0, DOFS - 2)]),
            "damping": 0.02,
            "mass": rng.uniform(1.0, 2.0, DOFS),
            "interface": rng.standard_normal((1, DOFS)),
            "force_shape": rng.standard_normal(DOFS),
            "scheme": "newmark",
        }
    )
    found = compared(virtual.scheme, virtual.system("force"), 1e-12)
    np.testing.assert_array_equal(found.parameters["outputs"][0, 0], virtual.interface[0])


def test_what_no_output_shows_moves_too():
    """A mode with a node at the interface and at every response is in the state, and moves from where it starts."""
    virtual = structure("modal", initial_displacement=None, initial_velocity=None)
    system = virtual.system("support")
    squares, shapes = system.undamped_modes()
    for outputs in (system.displacement_outputs, system.velocity_outputs, system.acceleration_outputs):
        outputs -= (outputs @ shapes[:, [4]]) @ (shapes[:, [4]].T @ system.mass)
    start = type(system)(**{**vars(system), "displacement": 1e-3 * shapes[:, 4]})
    found = in_parts(Exact(), start, STEP)
    values = np.zeros((50, 4))
    assert np.abs(driven(found, values, 4)).max() < 1e-12
    loop = loop_of(found, values, 4)
    loop.run(50)
    omega, rate = np.sqrt(squares[4]), np.linspace(0.01, 0.1, DOFS)[4] * np.sqrt(squares[4])
    turning, t = np.sqrt(omega**2 - rate**2), 49 * STEP
    expected = 1e-3 * np.exp(-rate * t) * (np.cos(turning * t) + rate / turning * np.sin(turning * t))
    assert loop.state("block")["x"][0, 4] == pytest.approx(expected, rel=1e-9)


def test_small_nonlinear_and_skewed_structures_stay_as_they_are():
    def few(count: int) -> System:
        kept = slice(0, count)
        virtual = structure("modal")
        return Structure(
            mass=virtual.mass[kept, kept], stiffness=virtual.stiffness[kept, kept], modal_damping=np.array([0.02])
        ).system("none")

    assert in_parts(Exact(), few(FEW - 1), STEP) is None
    assert in_parts(Exact(), few(FEW), STEP) is not None
    element = {"law": {"kind": "cubic", "stiffness": 1e3, "cubic": 1e6}, "between": [3, 4]}
    assert in_parts(Newmark(), structure("modal", "newmark", elements=[element]).system("support"), STEP) is None
    assert decomposed(np.eye(4) + np.eye(4, k=1)) is None


def test_scheme_takes_the_parts_and_keeps_its_papers():
    system = structure("modal").system("support")
    assert Exact().method(system, STEP).references == ("vanloan1978",)
    assert KRAlpha().method(system, STEP).references == ("kolay2014",)
    assert KRAlpha().method(system, STEP).form


def test_form_is_told_to_people():
    assert structure("modal").form(STEP) == "20 degrees of freedom in 20 modes, integrated separately"
    assert structure("modal", elements=[], scheme="rk4").form(STEP)


def test_decompositions_are_kept_by_what_the_matrices_hold():
    calls = []

    @by_content(kept=2)
    def size(matrix: np.ndarray) -> float:
        calls.append(matrix.copy())
        return float(np.abs(matrix).max())

    one = np.eye(3)
    assert size(one) == size(one.copy()) == 1.0 and len(calls) == 1
    one[0, 0] = 5.0
    assert size(one) == 5.0 and size(np.eye(2)) == 1.0 and len(calls) == 3
    assert size(np.eye(3)) == 1.0 and len(calls) == 4  # forgotten in the meantime
