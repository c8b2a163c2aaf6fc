"""The emulated system of a frame that yields, against the same frame with the specimen built in."""

from dataclasses import replace

import numpy as np

from halfreal.kernels.block import Block, channels
from halfreal.kernels.loop import Loop
from models.frame.frames import DT, PLASTIC, loop, shaking, source, two_storeys

STIFFNESS, MASS = 4e6, 3e3


def test_the_emulated_system_is_the_frame_with_the_specimen_in_it():
    frame, ground = (
        two_storeys(material=PLASTIC, rayleigh=None, scheme={"kind": "newmark", "iterations": 100}),
        shaking(600),
    )
    own = frame.system("ground")
    b = own.displacement_outputs[:1].T
    joined = replace(
        own,
        mass=own.mass + MASS * b @ b.T,
        stiffness=own.stiffness + STIFFNESS * b @ b.T,
        inputs=np.column_stack([own.inputs[:, :2], 0.0 * b]),
    )
    method = frame.emulation(joined, DT)
    outputs = channels("reference", "m", len(own.displacement_outputs))
    block = Block("reference", method.step, ("excitation.virtual", "excitation.virtual.rate", "feedback"), outputs,
                  parameters=method.parameters, state=method.state, frozen=method.frozen)  # fmt: skip
    found = Loop([source(ground), block], dt=DT).run(len(ground), record=("reference.1",)).log[:, 1]
    nodes = {name: one.model_dump() for name, one in frame.nodes.items()}
    elements = {name: one.model_dump() for name, one in frame.elements.items()}
    spring = {"kind": "spring", "nodes": ["A2"], "direction": "x", "material": "specimen"}
    whole = two_storeys(
        material=PLASTIC,
        materials={"plastic": PLASTIC, "specimen": {"kind": "linear", "stiffness": STIFFNESS}},
        elements={**elements, "specimen": spring},
        rayleigh=None,
        scheme={"kind": "newmark", "iterations": 100},
        nodes={**nodes, "S": {"at": [0.0, 7.0], "mass": MASS, "fixed": ["y", "rz"]}},
        constraints=[{"kind": "equal", "master": "A2", "slaves": ["S"], "directions": ["x"]}],
    )
    # the specimen's mass is not shaken in the emulated system, as none of it is taken out of the virtual part
    driven = loop(whole, ground)
    p = driven.parameter("virtual")
    p["on_inputs"][0] += MASS * whole.loaded("ground").displacement_outputs[0]
    wanted = driven.run(len(ground), record=("target",)).log[:, 1]
    assert np.abs(found - wanted).max() < 1e-8 * np.abs(wanted).max()
