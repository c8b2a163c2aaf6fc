"""Steps of frames as plain Python on arrays that refuse any index outside of them, compared with the compiled code."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from halfreal.kernels.compile import Helper
from halfreal.models.frame.frame import Frame
from models.frame.fibres import storeys
from models.frame.frames import loop, shaking, two_storeys
from models.frame.space_frames import twisting

PLASTIC = {"kind": "elastoplastic hinge", "stiffness": 8e7, "yield_moment": 8e4, "hardening": 0.03}
STEEL = {"kind": "menegotto-pinto fibre", "modulus": 200e9, "yield_stress": 250e6, "hardening": 0.01}
SPLITTING = {"kind": "operator splitting", "specimen_stiffness": [[0.0]]}


def column() -> Frame:
    """All of it is linear: its tables of elements and laws are empty."""
    return Frame(
        sections={"column": {"modulus": "200 GPa", "area": "0.01 m^2", "second_moment": "1e-4 m^4"}},
        nodes={"A": {"at": ["0 m", "0 m"], "fixed": "all"}, "B": {"at": ["0 m", "3 m"], "mass": "2.2 t"}},
        elements={"column": {"kind": "beam", "nodes": ["A", "B"], "section": "column"}},
        interface=[{"node": "B", "direction": "x"}],
        rayleigh={"mass": "1 1/s"},
    )


def springs() -> Frame:
    """A spring that yields and a damper with a law of the rate, from the storeys to the ground."""
    whole = two_storeys(PLASTIC)
    elements = {name: one.model_dump() for name, one in whole.elements.items()}
    laws = {name: one.model_dump() for name, one in whole.materials.items()}
    laws["rope"] = {"kind": "elastoplastic", "stiffness": 1e7, "yield_force": 5e4}
    laws["damper"] = {"kind": "power damper", "force": 2e4, "speed": 0.3, "alpha": 0.5}
    for name, node in (("rope", "A1"), ("damper", "A2")):
        elements[name] = {"kind": "spring", "nodes": [node], "direction": "x", "material": name}
    return two_storeys(elements=elements, materials=laws)


FRAMES = {
    "column": column,
    "kr-alpha": lambda: two_storeys(PLASTIC, scheme="kr-alpha", inertia=300.0),
    "operator splitting": lambda: two_storeys(PLASTIC, scheme=SPLITTING, inertia=300.0),
    "hinges": lambda: two_storeys(PLASTIC),
    "p-delta": lambda: two_storeys(PLASTIC, geometry="p-delta"),
    "corotational": lambda: two_storeys(PLASTIC, geometry="corotational"),
    "displacement beams": lambda: storeys("displacement-based beam", STEEL),
    "force beams": lambda: storeys("force-based beam", STEEL),
    "space": lambda: twisting(PLASTIC),
    "space, corotational": lambda: twisting(PLASTIC, "corotational"),
    "hht": lambda: two_storeys(PLASTIC, scheme={"kind": "hht", "alpha": -0.1}),
    "mkr-alpha": lambda: two_storeys(PLASTIC, scheme="mkr-alpha", inertia=300.0),
    "explicit newmark": lambda: two_storeys(PLASTIC, scheme="explicit newmark", inertia=300.0),
    "springs": springs,
}
TICKS = 5


class Bounded(np.ndarray):
    """An array that has no negative indices either."""

    def __getitem__(self, key):
        self._check(key)
        return super().__getitem__(_plain(key))

    def __setitem__(self, key, value):
        self._check(key)
        super().__setitem__(_plain(key), value)

    def _check(self, key):
        for one in key if isinstance(key, tuple) else (key,):
            ends = (one.start, one.stop) if isinstance(one, slice) else (one,)
            if any(end is not None and end < 0 for end in ends):
                raise IndexError(f"{key} of {self.shape}")


def _plain(key):
    """NumPy takes uint64 as an index, but adds a signed number to it as a float."""
    return tuple(map(_plain, key)) if isinstance(key, tuple) else int(key) if np.isscalar(key) else key


@pytest.fixture
def plain(monkeypatch):
    """Every helper of compiled code is its Python function."""
    for name, module in list(sys.modules.items()):
        if name.startswith("halfreal."):
            for key, value in list(vars(module).items()):
                if isinstance(value, Helper):
                    monkeypatch.setattr(module, key, value.py_func)
                elif isinstance(value, tuple) and value and all(isinstance(one, Helper) for one in value):
                    monkeypatch.setattr(module, key, tuple(one.py_func for one in value))
    monkeypatch.setattr(np, "uint64", int)


@pytest.mark.parametrize("case", FRAMES)
def test_no_step_leaves_its_arrays(case, request):
    driven = loop(FRAMES[case](), shaking(400, peak=60.0))
    driven.run(150)
    block = driven.blocks[driven.row("virtual")]
    state, p = driven.state_of("virtual").copy(), driven.parameter("virtual")
    expected, inputs = [], []
    for _ in range(TICKS):
        driven.run(1)
        inputs.append(driven.inputs_of("virtual"))
        expected.append(driven.vector[[driven.index[one.name] for one in block.outputs]].copy())
    request.getfixturevalue("plain")
    fields, of_state = ({key: np.array(one[key]).view(Bounded) for key in names} for one, names in (
        (p, block.parameters), (driven.fields_of("virtual", state), block.state)))  # fmt: skip
    p = SimpleNamespace(**{key: value if value.ndim else float(value) for key, value in fields.items()})
    s, y = SimpleNamespace(**of_state), np.zeros(len(block.outputs)).view(Bounded)
    for u, wanted in zip(inputs, expected, strict=True):
        assert block.step(p, s, 0.0, u.view(Bounded), y) == 0
        np.testing.assert_allclose(np.asarray(y)[:-2], wanted[:-2], rtol=1e-9, atol=1e-12 * np.abs(wanted).max())
