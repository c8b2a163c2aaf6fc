"""Fibres of bilinear steel four at a time, compared with the same fibres one by one.

Where rows of states have more than one entry, fibres are evaluated one by one: the same model with wider rows is the
plain one.
"""

from dataclasses import replace

import numpy as np
import pytest

import allocation
from halfreal.kernels.native import is_own
from halfreal.models.frame.frame import Frame
from halfreal.models.frame.model import Model, committed
from models.frame.fibres import BILINEAR, COLUMN, CONCRETE, CONCRETE_PARTS, KINDS, pier, storeys
from models.frame.frames import loop, shaking

STEPS, MOST = 40, 0.02
ODD = {"column": {"web_fibres": 7, "flange_fibres": 2}, "girder": {"web_fibres": 2, "flange_fibres": 1}}
"""Eleven fibres, of which three are left over, and four."""


def frame(kind: str) -> Frame:
    sections = {
        name: {"kind": "fibres", "parts": [{**COLUMN, **few, "material": "steel"}]} for name, few in ODD.items()
    }
    whole = storeys(kind, BILINEAR)
    given = {name: getattr(whole, name) for name in whole.model_fields_set}
    return Frame(**{**given, "sections": sections})


def widened(model: Model) -> Model:
    """Rows of states with another entry, which no law uses."""
    wider = {key: np.pad(model.states[key], ((0, 0), (0, 1))) for key in ("memory", "flowing", "trial")}
    return replace(model, states={**model.states, **wider})


@pytest.mark.parametrize("kind", KINDS)
def test_four_fibres_at_a_time_are_the_same_as_one_by_one(kind):
    """To rounding: forces, tangents, strains, stresses and states over a walk that yields both ways."""
    narrow = frame(kind).loaded("none").model
    models = {"four": narrow, "one": widened(narrow)}
    walk = np.cumsum(np.random.default_rng(7).normal(size=(STEPS, narrow.dofs)), axis=0)
    walk *= MOST / np.abs(walk).max()
    found: dict[str, list[list[np.ndarray]]] = {name: [] for name in models}
    for q in walk:
        for name, model in models.items():
            forces, tangents, states = model.forces(q)
            models[name] = replace(model, states=committed(states))
            found[name].append([forces, tangents, states["strain"], states["stress"], states["trial"][:, 0]])
    for four, one in zip(zip(*found["four"], strict=True), zip(*found["one"], strict=True), strict=True):
        assert np.abs(np.array(four) - np.array(one)).max() < 1e-12 * np.abs(one).max()
    permanent = np.array([one[-1] for one in found["four"]])
    yielding = np.sum(np.diff(permanent, axis=0) != 0.0, axis=0)
    assert yielding.min() == 0 and yielding.max() > STEPS // 4


def test_states_that_are_not_adjacent_are_evaluated_one_by_one():
    """Bilinear steel in one frame with a law of more states."""
    bars = pier("force-based beam", CONCRETE_PARTS, {"concrete": CONCRETE, "steel": BILINEAR})
    assert frame(KINDS[0]).loaded("none").model.states["memory"].shape[1] == 1
    assert bars.loaded("none").model.states["memory"].shape[1] > 1


def test_steps_of_fibre_frames_allocate_nothing():
    loops = {kind: loop(frame(kind), shaking(400)) for kind in KINDS}
    for one in loops.values():
        kept = [
            result.native.content for block, result in zip(one.blocks, one._compiled, strict=True) if is_own(block.step)
        ]
        assert kept and all(kept), "on disk"
    assert allocation.per_tick(loops) == dict.fromkeys(KINDS, 0.0)
