"""Virtual substructures as they stand in a definition: what they become, and what they refuse."""

import numpy as np
import pytest
import scipy.linalg
from pydantic import TypeAdapter

from halfreal.errors import DefinitionError
from halfreal.kernels.block import names
from halfreal.kernels.loop import Loop
from halfreal.models.schemes.any_scheme import AnyScheme
from halfreal.models.structures.modal import Modes
from halfreal.models.structures.state_space import StateSpaceModel
from halfreal.models.structures.structure import Structure
from models import loops
from models.loops import DAMPING, FORCED, MASS, STIFFNESS, structure

RNG = np.random.default_rng(7)


def chain(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Masses 1, 2, … in a row, between springs of 1 kN/m, fixed at one end."""
    return np.diag(np.arange(1.0, n + 1)), 1e3 * (2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))


def damping_ratios(virtual: Structure) -> np.ndarray:
    """In order of frequency, from the eigenvalues of the first-order form written out here."""
    system = virtual.system("none")
    n = system.dofs
    inverse = np.linalg.inv(system.mass)
    a = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ system.stiffness, -inverse @ system.damping]])
    poles = scipy.linalg.eigvals(a)
    poles = poles[poles.imag > 0]
    poles = poles[np.argsort(np.abs(poles))]
    return -poles.real / np.abs(poles)


def test_modal_damping_gives_every_mode_its_ratio():
    mass, stiffness = chain(4)
    same = Structure(mass=mass, stiffness=stiffness, modal_damping=0.02)
    np.testing.assert_allclose(damping_ratios(same), 0.02, rtol=1e-9)
    each = Structure(mass=mass, stiffness=stiffness, modal_damping=[0.01, 0.05, 0.0, 0.3])
    np.testing.assert_allclose(damping_ratios(each), [0.01, 0.05, 0.0, 0.3], rtol=1e-9, atol=1e-12)


def test_rayleigh_damping_gives_the_ratios_of_its_formula():
    mass, stiffness = chain(4)
    omega = np.sqrt(scipy.linalg.eigh(stiffness, mass, eigvals_only=True))
    virtual = Structure(mass=mass, stiffness=stiffness, rayleigh={"mass": "0.4 1/s", "stiffness": "2 ms"})
    np.testing.assert_allclose(damping_ratios(virtual), (0.4 / omega + 0.002 * omega) / 2, rtol=1e-9)


def test_no_damping_is_none():
    mass, stiffness = chain(4)
    np.testing.assert_array_equal(Structure(mass=mass, stiffness=stiffness).system("none").damping, np.zeros((4, 4)))


def test_excitations_act_as_they_should():
    mass, stiffness = chain(3)
    virtual = Structure(
        mass=mass,
        stiffness=stiffness,
        interface=[3, 1],
        support={"stiffness": [1e3, 0, 0], "damping": [5.0, 0, 0]},
        force_dof=2,
        ground=[1.0, 1.0, 0.5],
    )
    feedback = [[0, -1], [0, 0], [-1, 0]]
    np.testing.assert_array_equal(virtual.system("none").inputs, np.c_[np.zeros((3, 2)), feedback])
    np.testing.assert_array_equal(virtual.system("support").inputs, np.c_[[1e3, 0, 0], [5.0, 0, 0], feedback])
    np.testing.assert_array_equal(virtual.system("force").inputs, np.c_[[0, 1, 0], np.zeros(3), feedback])
    np.testing.assert_array_equal(virtual.system("ground").inputs, np.c_[[-1, -2, -1.5], np.zeros(3), feedback])


def test_block_is_wired_by_the_agreed_names():
    virtual = structure("newmark", interface=[2, 1])
    block = virtual.block(1e-3, "force", ("feedback.1", "feedback.2"))
    assert block.name == "virtual"
    assert block.inputs == ("excitation.virtual", "excitation.virtual.rate", "feedback.1", "feedback.2")
    assert names(block.outputs) == ("target.1", "target.2", "virtual.q2", "virtual.v1", "virtual.a2")
    assert [channel.unit for channel in block.outputs] == ["m", "m", "m", "m/s", "m/s^2"]
    assert block.references == ("newmark1959",)
    with pytest.raises(ValueError, match=r"1 feedback channel.* 2 axis"):
        virtual.block(1e-3, "force", ("feedback",))


def test_support_moved_and_held_brings_the_oscillator_of_wallace_et_al_2005_to_its_static_place():
    virtual = Structure(
        mass="2.2 kg",
        damping="15 N s/m",
        stiffness="2250 N/m",
        support={"stiffness": "2250 N/m", "damping": "15 N s/m"},
    )
    values = np.zeros((4001, 3))
    values[:, 0], values[:, 2] = 0.01, 4.5
    log = (
        Loop([loops.table(values), virtual.block(1e-3, "support", ("feedback",))], dt=1e-3)
        .run(4001, record=["target"])
        .log
    )
    assert log[-1, 1] == pytest.approx(0.01 - 4.5 / 2250, abs=1e-8)


def test_initial_target_is_the_interface_at_the_start():
    virtual = structure("exact", interface=[2], initial_displacement=[0.1, -0.2])
    np.testing.assert_array_equal(virtual.initial_target(), [-0.2])


def test_bare_name_of_a_scheme_is_the_scheme_with_its_defaults():
    for kind in ("exact", "newmark", "hht", "generalized-alpha", "central difference", "kr-alpha", "rk2", "rk4"):
        scheme = TypeAdapter(AnyScheme).validate_python(kind)
        assert scheme.kind == kind
        assert scheme == TypeAdapter(AnyScheme).validate_python({"kind": kind})


# --- faults -----------------------------------------------------------------------------------------------------------


def faults_of(**fields) -> dict[str, str]:
    with pytest.raises(DefinitionError) as caught:
        Structure.model_validate(fields, context={"folder": "."})
    return {fault.path.partition("[")[0].partition(".")[0]: fault.message for fault in caught.value.faults}


def test_all_faults_of_a_bad_structure_come_at_once():
    found = faults_of(
        mass={"unit": "kg", "values": [[1, 0], [0, 2]]},
        stiffness="3 N/m",
        rayleigh={"mass": "1 1/s"},
        modal_damping=0.1,
        interface=[1, 3],
        force_dof=7,
        support={"stiffness": "1 N/m"},
        ground=[1],
        initial_velocity=["1 m/s", "1 m/s", "1 m/s"],
        elements=[{"law": {"kind": "cubic", "stiffness": "1 N/m", "cubic": "2 N/m^3"}, "between": [4]}],
        responses={"tip": {"dof": 3, "quantity": "velocity"}},
    )
    assert found["stiffness"].startswith("a 1 × 1 matrix, but the mass matrix is 2 × 2; give")
    assert found["modal_damping"] == "both modal_damping and rayleigh are given; keep one kind of damping"
    assert found["interface"] == "degree of freedom 3 where the mass matrix has 2; count from 1 to 2"
    assert "degree of freedom 7" in found["force_dof"]
    assert "degree of freedom 4" in found["elements"]
    assert "degree of freedom 3" in found["responses"]
    for field in ("support", "ground", "initial_velocity"):
        assert "the mass matrix is 2 × 2" in found[field]


def test_exact_with_a_nonlinear_element_is_refused_even_where_it_is_the_default():
    law = {"kind": "cubic", "stiffness": 1.0, "cubic": 2.0}
    with pytest.raises(ValueError, match="an element is cubic; use another scheme, such as 'newmark'"):
        Structure(mass=1.0, stiffness=1.0, elements=[{"law": law, "between": [1]}])
    with pytest.raises(ValueError, match="names a degree of freedom twice"):
        Structure(mass=1.0, stiffness=1.0, interface=[1, 1])


def test_step_beyond_the_limit_is_refused_with_the_limit():
    virtual = Structure(mass=1.0, stiffness=1e6, scheme="central difference")
    virtual.check_step(2e-3)
    with pytest.raises(
        ValueError, match=r"'central difference' is stable up to a step of 2 ms .* the step is 2.1 ms; shorten"
    ):
        virtual.check_step(2.1e-3)
    with pytest.raises(ValueError, match="'rk2' grows at any step where a mode has no damping"):
        Structure(mass=1.0, stiffness=1e6, scheme="rk2").check_step(1e-6)
    Structure(mass=1.0, stiffness=1e6, scheme="newmark").check_step(1.0)


def test_excitation_that_has_nowhere_to_act_is_refused():
    virtual = Structure(mass=1.0, stiffness=1.0)
    virtual.check_excitation("none")
    virtual.check_excitation("ground")
    with pytest.raises(ValueError, match=r"virtual\.support, which is not given"):
        virtual.check_excitation("support")
    with pytest.raises(ValueError, match=r"virtual\.force_dof, which is not given"):
        virtual.system("force")


# --- other descriptions of the same structure -------------------------------------------------------------------------


def response(virtual, inputs: np.ndarray, record=("target",)) -> np.ndarray:
    block = virtual.block(5e-3, "force", ("feedback",))
    return Loop([loops.table(inputs), block], dt=5e-3).run(len(inputs), record=record).log[:, 1:]


def random_inputs() -> np.ndarray:
    values = RNG.normal(size=(200, 3))
    values[:, 1] = 0.0
    return values


def test_modes_respond_like_the_structure_they_come_from():
    squares, shapes = scipy.linalg.eigh(STIFFNESS, MASS)
    shapes = shapes * [2.0, -0.5]  # modal masses other than one
    modes = Modes(
        kind="modes",
        frequency=np.sqrt(squares) / (2 * np.pi),
        damping=0.03,
        mass=[4.0, 0.25],
        interface=shapes[:1],
        force_shape=shapes[1],
        responses={
            "q2": {"shape": shapes[1], "quantity": "displacement"},
            "v1": {"shape": shapes[0], "quantity": "velocity"},
            "a2": {"shape": shapes[1], "quantity": "acceleration"},
        },
    )
    inputs = random_inputs()
    plain = structure("exact", damping=None, modal_damping=0.03)
    np.testing.assert_allclose(
        response(modes, inputs, loops.RECORD), response(plain, inputs, loops.RECORD), rtol=1e-8, atol=1e-10
    )


@pytest.mark.parametrize("hold", ["first", "zero"])
def test_state_space_responds_like_the_structure_it_comes_from(hold):
    inverse = np.linalg.inv(MASS)
    model = StateSpaceModel(
        kind="state space",
        hold=hold,
        responses={"q2": "m"},
        A=np.block([[np.zeros((2, 2)), np.eye(2)], [-inverse @ STIFFNESS, -inverse @ DAMPING]]),
        B=np.vstack([np.zeros((2, 2)), inverse @ [[0, -1], [1, 0]]]),
        C=np.eye(4)[:2],
    )
    inputs, record = random_inputs(), ("target", "virtual.q2")
    plain = structure({"kind": "exact", "hold": hold})
    np.testing.assert_allclose(response(model, inputs, record), response(plain, inputs, record), rtol=1e-9, atol=1e-12)


def test_modes_and_state_space_refuse_what_does_not_fit():
    fields = {"kind": "modes", "frequency": [1.0, 2.0], "damping": 0.01, "mass": [1.0, 1.0], "interface": [[1.0, 1.0]]}
    modes = Modes(**fields)
    for excitation in ("support", "force", "ground"):
        with pytest.raises(ValueError, match=r"cannot act on modes|is not given"):
            modes.check_excitation(excitation)
    with pytest.raises(ValueError) as caught:
        Modes(
            **{
                **fields,
                "mass": [1.0],
                "interface": [[1.0]],
                "responses": {"tip": {"shape": [1.0], "quantity": "velocity"}},
            }
        )
    assert len(caught.value.faults) == 3
    with pytest.raises(ValueError, match=r"1 × 1 where 1 × 2 is expected: 1 state.s., 2 inputs"):
        StateSpaceModel(kind="state space", A=[[1.0]], B=[[1.0]], C=[[1.0]])
    with pytest.raises(ValueError, match="A is 1 × 2; it must be square"):
        StateSpaceModel(kind="state space", A=[[1.0, 2.0]], B=[[1.0, 1.0]], C=[[1.0]])


def test_a_structure_survives_the_json_of_a_run_file():
    law = {"kind": "elastoplastic", "stiffness": 10.0, "yield_force": 1.0}
    virtual = structure("kr-alpha", elements=[{"law": law, "between": [1, 2]}], initial_displacement=[0.1, 0.2])
    again = Structure.model_validate_json(virtual.model_dump_json(), context={"stored": True})
    assert again == virtual
    np.testing.assert_array_equal(*(loops.run(v, 1e-2, 50, loops.sine(**FORCED)) for v in (virtual, again)))
