"""Objects of machine code, and the functions that Python calls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halfreal
from halfreal.kernels import library, objects
from halfreal.kernels.block import flatten
from halfreal.kernels.compiler import own_block
from halfreal.kernels.entry import Entry
from halfreal.kernels.native import compiled_block
from halfreal.kernels.objects import Native
from halfreal.kernels.sizes import ranks
from halfreal.kernels.tick import compiled_run

EXAMPLE = Path(__file__).parents[2] / "examples" / "spring_mass_damper" / "forward_prediction.toml"


def mixed(data: Any, factor: float, turn: complex, count: int, out: Any) -> int:
    numbers, whole = data
    for i in range(numbers.shape[0]):
        out[i] = factor * numbers[i, count] * turn + whole[i]
    return whole.size


@pytest.fixture(scope="module")
def entry() -> Entry:
    """A function that Numba has loaded itself."""
    made = Entry(mixed, (("f8[,]", "i8[]"), "f8", "c16", "i8", "c16[]"))
    result = made.compiled()
    symbol = result.fndesc.llvm_func_name
    library._loaded[made.text] = Native(symbol, result.library.get_pointer_to_function(symbol), keeps=result)
    return made


def test_an_entry_is_given_what_python_gives_it(entry: Entry):
    numbers, whole, out = np.arange(6.0).reshape(3, 2), np.array([1, 2, 3]), np.zeros(3, complex)
    assert entry((numbers, whole), 2.0, 1j, 1, out) == 3
    np.testing.assert_array_equal(out, 2.0 * numbers[:, 1] * 1j + whole)


@pytest.mark.parametrize(
    "wrong", [np.zeros((3, 2), np.float32), np.zeros(3), np.zeros((2, 3)).T], ids=["type", "rank", "order"]
)
def test_an_entry_refuses_arrays_that_it_would_misread(entry: Entry, wrong: np.ndarray):
    with pytest.raises(TypeError, match="in place of"):
        entry((wrong, np.array([1, 2, 3])), 2.0, 1j, 1, np.zeros(3, complex))


def test_an_object_that_needs_what_is_not_there_is_not_loaded(monkeypatch: pytest.MonkeyPatch):
    native = compiled_run.native
    assert objects.load(native.content, (native.symbol,)) is not None
    monkeypatch.setattr(objects, "needed", lambda _: ["a_function_that_nobody_has"])
    assert objects.load(native.content, (native.symbol,)) is None


def test_names_that_an_object_needs():
    """An object of a function that calls libm, as LLVM writes it."""
    code = b"""target triple = "%s"
declare double @sin(double)
define double @once(double %%x) {
  %%y = call double @sin(double %%x)
  ret double %%y
}
"""
    module = objects.llvm.parse_assembly((code % objects.any_processor().triple.encode()).decode())
    assert objects.needed(objects.translated(module.as_bitcode())) == ["sin"]


def test_numba_itself_and_the_library_run_the_same_bits():
    """What is kept is optimised once, with all that it calls, for any processor; Numba does so many times, for this."""
    loop = halfreal.build(halfreal.load(EXAMPLE))
    block = loop.blocks[loop.row("sensors")]
    kept = compiled_block(block)
    result = own_block(block.step, ranks(block.parameters), ranks(block.state))
    symbol = result.fndesc.llvm_func_name
    plain = replace(kept, native=Native(symbol, result.library.get_pointer_to_function(symbol), keeps=result))
    ends = []
    for compiled in (kept, plain):
        p, s = flatten(block.parameters), flatten(block.state)
        u, y = np.linspace(0.1, 1.0, len(block.inputs) + 1), np.zeros(len(block.outputs) + 1)
        for tick in range(50):
            assert compiled(p, s, 1e-3 * tick, u, y) == (0, 0)
        ends.append((s, y))
    np.testing.assert_array_equal(ends[0][0], ends[1][0])
    np.testing.assert_array_equal(ends[0][1], ends[1][1])
