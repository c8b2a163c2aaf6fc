"""Structures with nonlinear elements and banded matrices, against the plain method with its full ones."""

import numpy as np
import pytest

from halfreal.contracts.system import Method, System
from halfreal.kernels.block import Block, channels, names
from halfreal.kernels.loop import Loop
from halfreal.kernels.tick import FAULT
from halfreal.models.schemes import in_band as bands
from halfreal.models.schemes.in_band import in_band, renumbered
from halfreal.models.structures.structure import Structure
from halfreal.stability.linearise import linearise
from models.loops import table_step

DOFS, STEP, TICKS, INPUTS = 30, 1e-3, 1500, 4
LAWS = [
    {"kind": "elastoplastic", "stiffness": 1e5, "yield_force": 150.0, "hardening": 0.05},
    {"kind": "bouc-wen", "stiffness": 8e4, "yield_displacement": 2e-3, "n": 1.5},
    {"kind": "cubic", "stiffness": 4e4, "cubic": 1e9},
    {"kind": "elastoplastic", "stiffness": 2e5, "yield_force": 80.0},
    {"kind": "maxwell damper", "stiffness": 5e4, "force": 100.0, "speed": 0.3, "alpha": 1.0},
    {"kind": "power damper", "force": 60.0, "speed": 1.0, "alpha": 1.5},
]
SCHEMES = [
    "newmark",
    {"kind": "hht", "alpha": -0.1},
    {"kind": "generalized-alpha", "rho_inf": 0.5},
    "central difference",
    {"kind": "kr-alpha", "rho_inf": 0.6},
    {"kind": "mkr-alpha", "rho_inf": 0.6},
]


@pytest.fixture(autouse=True)
def of_any_size(monkeypatch):
    """Small structures are compared, which the program integrates plainly."""
    monkeypatch.setattr(bands, "WIDEST", 0.5)
    monkeypatch.setattr("halfreal.models.schemes.generalized_alpha.Family.banded_from", 0)
    monkeypatch.setattr("halfreal.models.schemes.kr_alpha.KRAlpha.banded_from", 0)


def structure(scheme, laws=LAWS, **more) -> Structure:
    """A chain of masses with laws in turn: between masses, to ground, two at one mass, and one along three of them."""
    rng = np.random.default_rng(3)
    between = [[1], *([i, i + 1] for i in range(1, DOFS)), [7], [7], [5, 7]]
    elements = [{"law": laws[i % len(laws)], "between": pair} for i, pair in enumerate(between)]
    three = [{"dof": 9, "factor": 0.7}, {"dof": 10, "factor": -1.3}, {"dof": 12, "factor": 0.4}]
    return Structure.model_validate(
        {
            "mass": np.diag(rng.uniform(5.0, 15.0, DOFS)),
            "stiffness": 2e4 * (2.0 * np.eye(DOFS) - np.eye(DOFS, k=1) - np.eye(DOFS, k=-1)),
            "rayleigh": {"mass": 0.5, "stiffness": 1e-4},
            "elements": [*elements, {"law": laws[0], "along": three}],
            "interface": [DOFS, 5],
            "support": {"stiffness": 1e5 * np.eye(DOFS)[0], "damping": 10.0 * np.eye(DOFS)[0]},
            "initial_displacement": 1e-4 * rng.standard_normal(DOFS),
            "initial_velocity": 1e-2 * rng.standard_normal(DOFS),
            "responses": {"base": {"dof": 2, "quantity": "velocity"}, "roof": {"dof": 3, "quantity": "acceleration"}},
            "scheme": scheme,
            **more,
        }
    )


def values() -> np.ndarray:
    """Support displacement and its rate, and the forces of two axes."""
    t = STEP * np.arange(TICKS)
    moved = [0.02 * np.sin(25.0 * t), 0.5 * np.cos(25.0 * t)]
    return np.column_stack([*moved, 150.0 * np.sin(33.0 * t), 100.0 * np.sin(51.0 * t)])


def loop_of(method: Method, factor: float = 1.0) -> Loop:
    inputs, answers = channels("u", "1", INPUTS), channels("y", "1", 4)
    source = Block("source", table_step, (), inputs, {"values": factor * values()}, {"tick": 0.0}, ("tick",))
    fields = (method.parameters, method.state, method.frozen)
    block = Block("block", method.step, names(inputs), answers, *fields, moving=method.moving, faults=method.faults)
    return Loop([source, block], dt=STEP)


def history(method: Method) -> tuple[np.ndarray, np.ndarray]:
    """Outputs, and the states of all laws at the end."""
    loop = loop_of(method)
    log = loop.run(TICKS, record=names(channels("y", "1", 4))).log[:, 1:]
    assert loop.vector[FAULT] == 0.0
    return log, loop.state("block")["memory"]


def compared(virtual: Structure, within: float = 1e-11) -> Method:
    """The banded method, whose outputs and states are those of the plain one."""
    system = virtual.system("support")
    found = in_band(virtual.scheme, system, STEP)
    assert found is not None
    (fast, fast_memory), (plain, memory) = history(found), history(virtual.scheme.plain(system, STEP))
    assert np.all(np.abs(fast - plain).max(axis=0) <= within * np.abs(plain).max(axis=0))
    assert np.all(np.abs(fast_memory - memory).max(axis=0) <= within * np.abs(memory).max(axis=0))
    return found


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_bands_give_what_the_plain_scheme_gives(scheme):
    virtual = structure(scheme)
    system = virtual.system("support")
    found = compared(virtual)
    assert found.form == "30 degrees of freedom and 34 nonlinear elements, with banded matrices"
    plain = virtual.scheme.plain(system, STEP)
    assert (found.references, found.faults) == (plain.references, plain.faults)
    sets = history(found)[1][::6, 0]
    assert np.count_nonzero(sets) > 2  # some have yielded


@pytest.mark.parametrize("scheme", ["newmark", "kr-alpha"])
def test_numbering_does_not_matter(scheme):
    """The same chain with its degrees of freedom in any order is renumbered, and moves as before."""
    virtual = structure(scheme)
    system, order = virtual.system("support"), np.random.default_rng(4).permutation(DOFS)
    shuffled = mixed(system, order)
    assert bandwidth(shuffled) > 10
    ordered, width = renumbered(shuffled)
    assert width == bandwidth(ordered) <= bandwidth(system)
    (fast, _), (plain, _) = (
        history(in_band(virtual.scheme, shuffled, STEP)),
        history(virtual.scheme.plain(system, STEP)),
    )
    assert np.all(np.abs(fast - plain).max(axis=0) <= 1e-11 * np.abs(plain).max(axis=0))


def mixed(system: System, order: np.ndarray) -> System:
    square = np.ix_(order, order)
    parts = {key: getattr(system, key)[square] for key in ("mass", "damping", "stiffness")}
    parts |= {key: getattr(system, key)[order] for key in ("inputs", "displacement", "velocity")}
    outputs = ("displacement_outputs", "velocity_outputs", "acceleration_outputs")
    parts |= {key: getattr(system, key)[:, order] for key in outputs}
    elements = system.elements.along(system.elements.direction[:, order])
    return System(**{**vars(system), **parts, "elements": elements})


def bandwidth(system: System) -> int:
    rows, columns = np.nonzero(system.tangent_stiffness)
    return int(np.abs(rows - columns).max())


@pytest.mark.parametrize("scheme", ["newmark", {"kind": "generalized-alpha", "rho_inf": 0.5}, "kr-alpha"], ids=str)
def test_linearised_at_rest_both_have_the_same_poles(scheme):
    rest = {"initial_displacement": None, "initial_velocity": None}
    virtual = structure(scheme, **rest)
    system = virtual.system("support")
    found = []
    for method in (in_band(virtual.scheme, system, STEP), virtual.scheme.plain(system, STEP)):
        loop = loop_of(method, 0.0)
        loop.run(2)
        found.append(np.linalg.eigvals(linearise(loop).matrix))
    fast, plain = found
    assert fast.size == plain.size
    apart = np.abs(fast[:, None] - plain)
    assert max(apart.min(axis=0).max(), apart.min(axis=1).max()) < 1e-7


def test_structures_without_elements_to_iterate_are_exact_in_bands():
    linear = structure("newmark", laws=[{"kind": "bilinear", "stiffness": 1e5, "limit": 1.0}])
    compared(linear, 1e-12)


def test_condensed_masses_are_banded_and_others_without_mass_stay_plain():
    mass = np.diag(np.where(np.arange(DOFS) == 20, 0.0, 10.0))
    away = [{"law": LAWS[0], "between": [i, i + 1]} for i in range(1, 15)]
    condensed = structure("newmark", mass=mass, elements=away, rayleigh={"mass": 0.5, "stiffness": 0.0})
    condensed = condensed.model_copy(update={"initial_displacement": None, "initial_velocity": None})
    compared(condensed)
    on_it = condensed.model_copy(update={"elements": structure("newmark").elements[:29]})
    assert in_band(on_it.scheme, on_it.system("support"), STEP) is None


def test_what_is_wide_skew_or_indefinite_stays_plain():
    def chosen(**more) -> Method | None:
        virtual = structure("newmark", **more)
        return in_band(virtual.scheme, virtual.system("support"), STEP)

    everywhere = {"law": LAWS[0], "along": [{"dof": i + 1, "factor": 0.1} for i in range(DOFS)]}
    assert chosen(elements=[everywhere]) is None
    assert chosen(rayleigh=None, modal_damping=np.array([0.02])) is None
    assert chosen(rayleigh=None, damping=np.eye(DOFS, k=1) - np.eye(DOFS, k=-1)) is None
    assert chosen(stiffness=-1e9 * np.eye(DOFS)) is None
    assert chosen(elements=[]) is None


def test_program_chooses_bands_for_large_structures_alone(monkeypatch):
    monkeypatch.undo()
    assert structure("kr-alpha", elements=structure("kr-alpha").elements[:30]).form(STEP).endswith("banded matrices")
    assert structure("newmark").form(STEP) == structure("rk4").form(STEP) == ""
