"""What virtual substructures say of themselves, and what follows for one that says nothing."""

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from pydantic_core import PydanticCustomError

import halfreal
from halfreal.contracts.context import Context
from halfreal.contracts.known import Known
from halfreal.contracts.virtual import Virtual
from halfreal.definition.sections import Timing
from halfreal.errors import HalfrealError
from halfreal.kernels.block import Block, Channel, names
from halfreal.kernels.loop import Loop
from halfreal.models.force_control.constrained import Constrained
from halfreal.models.remembered import parts
from halfreal.models.structures.beam import Beam
from halfreal.models.structures.modal import Modes
from halfreal.models.structures.spring_damper import SpringDamper
from halfreal.models.structures.state_space import StateSpaceModel
from halfreal.models.structures.structure import Structure

GALLERY = Path(halfreal.__file__).parent / "examples"
CUBIC = {"law": {"kind": "cubic", "stiffness": 10.0, "cubic": 1e4}, "between": [1]}
MODES = {"kind": "modes", "frequency": [2.0], "damping": [0.02], "mass": [3.0], "interface": [[0.5]]}
OSCILLATOR = Structure(mass=2.0, stiffness=200.0, damping=3.0, initial_displacement=[1e-3])
BEAM = Beam(
    kind="beam",
    modulus=7e10,
    density=2700.0,
    segments=({"length": 1.0, "elements": 2, "width": 0.03, "height": 0.004},),
    supports=({"node": 1, "kind": "clamped"},),
    interface=({"node": 3}, {"node": 3, "direction": "slope"}),
)
FIRST_ORDER = StateSpaceModel(
    kind="state space", A=[[-2.0]], B=[[0.0, -0.5]], C=[[1.0]], initial_state=[0.1], hold="zero"
)
DAMPER = SpringDamper(kind="spring-damper", stiffness=8e3, damping=800.0)


class Plain(Virtual):
    """A kind that says nothing but its axes."""

    kind: Literal["plain"] = "plain"

    @property
    def axes(self):
        return 2

    def blocks(self, context):
        raise NotImplementedError


@pytest.mark.parametrize(
    "part", [OSCILLATOR, FIRST_ORDER, SpringDamper(kind="spring-damper", stiffness=8e3, damping=800)]
)
def test_the_model_of_a_part_is_what_its_block_tends_to(part):
    """Static answer of a unit force, by the running code and by the linear model."""
    rest, model = part.at_rest(), part.linear_model()
    block = rest.block(0.5, "none", ("feedback",))
    loop = Loop([constant("feedback", 1.0), constant("excitation.virtual", 0.0), block], dt=0.5)
    log = loop.run(400, record=("target",)).log
    np.testing.assert_allclose(log[-1, 1], (model.c @ np.linalg.solve(-model.a, model.b) + model.d).item(), rtol=1e-9)


def constant(name: str, value: float) -> Block:
    channels = (Channel(name, "N"), Channel(f"{name}.rate", "N/s"))
    return Block(name, constant_step, (), channels, {"value": value})


def constant_step(p, s, t, u, y):
    y[0], y[1] = p.value, 0.0
    return 0


def test_a_device_has_the_response_of_its_model_and_the_delay_of_its_integration():
    omega = np.array([0.5, 3.0, 20.0])
    device, exact = FIRST_ORDER.device(0.01), 0.5 / (1j * omega + 2.0)
    np.testing.assert_allclose(device.response(omega), exact * np.exp(-0.005j * omega), rtol=1e-12)
    assert OSCILLATOR.device(0.01).delay == 0.0
    held = Structure(mass=2.0, stiffness=200.0, scheme={"kind": "exact", "hold": "zero"})
    assert held.device(0.01).delay == 0.005
    damper = DAMPER.device(0.01)
    assert (damper.denominator.tolist(), damper.delay) == ([800.0, 8e3], 0.005)


def test_what_a_part_does_not_know_is_told():
    with pytest.raises(HalfrealError, match="has one axis, but the interface has 2"):
        Plain().device(0.01)
    with pytest.raises(HalfrealError, match="kind 'constrained' has no linear model"):
        constrained(stiffness=[[1e3]]).device(0.01)
    assert Plain().linear_model() is None
    assert Plain().system("none") is None
    with pytest.raises(PydanticCustomError, match="kind 'plain' uses the measured force"):
        Plain().check_slow()
    assert Plain().initial_target().tolist() == [0.0, 0.0]
    assert Plain().at_rest() == Plain()
    assert Plain().nonlinearities == ()


def constrained(**method):
    return Constrained(
        mass=[[1.0]],
        stiffness=[[100.0]],
        constraint=[[2.0]],
        elements=(CUBIC,),
        initial_displacement=None if "estimate" in method else [0.1],
        method={"kind": "index 1", **method},
    )


def test_parts_fit_the_names_of_the_axes_and_the_step():
    timing = Timing(step=0.5, duration=10.0)
    for part in (Plain(), BEAM):
        part.fits(Known(named=("x", "rz")))
        with pytest.raises(PydanticCustomError, match=r"interface of 2 axis\(es\), but axes lists 1 \(x\)"):
            part.fits(Known(named=("x",)))
    explicit = OSCILLATOR.model_copy(update={"scheme": Structure(mass=1.0, stiffness=1.0, scheme="rk4").scheme})
    OSCILLATOR.fits(Known(timing=timing))
    for part in (explicit, constrained(stiffness=[[1e6]])):
        with pytest.raises(PydanticCustomError, match="is stable up to a step of"):
            part.fits(Known(timing=timing))


def test_only_parts_that_wait_for_the_answer_serve_a_slow_test():
    modes = Modes(**MODES)
    for part, told in ((modes, "'exact' uses the measured force"), (FIRST_ORDER, "a state space uses")):
        with pytest.raises(PydanticCustomError, match=f"{told}.*'explicit newmark' or 'operator splitting'"):
            part.check_slow()
    with pytest.raises(PydanticCustomError, match="kind 'spring-damper' uses the measured force"):
        DAMPER.check_slow()
    Modes(**MODES, scheme="explicit newmark").check_slow()
    constrained(stiffness=[[1e3]]).check_slow()


def test_parts_say_where_they_stand_what_turns_and_what_is_nonlinear():
    assert BEAM.turning == (False, True)
    assert OSCILLATOR.initial_target().tolist() == [1e-3]
    assert OSCILLATOR.at_rest().initial_target().tolist() == [0.0]
    assert FIRST_ORDER.at_rest().initial_target().tolist() == [0.0]
    bar = constrained(stiffness=[[1e3]])
    assert (bar.targets, bar.initial_target().tolist()) == ("force", [0.2])
    assert bar.initial_force().tolist() == [200.0]
    assert bar.at_rest().initial_target().tolist() == [0.0]
    assert bar.nonlinearities == ("virtual: a cubic element",)
    assert OSCILLATOR.nonlinearities == ()


def test_a_stiffness_to_be_found_out_is_that_of_the_rig_at_rest():
    test = halfreal.load(GALLERY / "force_controlled_bar" / "estimated_stiffness.toml")
    resting = test.virtual.at_rest(test.rig)
    assert test.virtual.probing_ticks > 0
    assert resting.probing_ticks == 0
    known = test.rig.known_specimen.stiffness_at_rest(1)
    np.testing.assert_array_equal(resting.method.reckoned_stiffness, test.virtual.method.probing.factor * known)
    assert test.virtual.at_rest().probing_ticks == test.virtual.probing_ticks


def test_blocks_end_with_the_virtual_one_behind_what_it_reads():
    test = halfreal.load(GALLERY / "force_controlled_bar" / "baumgarte.toml")
    *stages, block = test.virtual.blocks(Context(test, test.virtual, test.virtual.initial_target()))
    assert len(stages) == len(test.virtual.method.nodes)
    assert block.inputs == (*(name for stage in stages for name in names(stage.outputs)), "feedback")
    assert names(block.outputs)[0] == "target"


def test_a_users_code_is_found_wherever_it_is():
    test = halfreal.load(GALLERY / "user_functions" / "friction.toml")
    assert [Path(part.function).name for part in parts(test)] == [
        "mine.py:lead_coupling",
        "mine.py:friction_specimen",
    ]
