"""Compiled functions from the disk, loaded by LLVM alone: the same bits as those that Numba loads itself."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halfreal
from halfreal.kernels import disk_cache, objects, shipped
from halfreal.kernels.block import flatten, layout
from halfreal.kernels.entry import Entry
from halfreal.kernels.native import call_native, compile_block

EXAMPLE = Path(__file__).parents[2] / "examples" / "spring_mass_damper" / "forward_prediction.toml"


def mixed(data: Any, factor: float, turn: complex, count: int, out: Any) -> int:
    numbers, whole = data
    for i in range(numbers.shape[0]):
        out[i] = factor * numbers[i, count] * turn + whole[i]
    return whole.size


KINDS = (("f8[,]", "i8[]"), "f8", "c16", "i8", "c16[]")


def test_an_entry_is_given_what_python_gives_it():
    entry = Entry(mixed, KINDS)
    numbers, whole, out = np.arange(6.0).reshape(3, 2), np.array([1, 2, 3]), np.zeros(3, complex)
    assert entry((numbers, whole), 2.0, 1j, 1, out) == 3
    np.testing.assert_array_equal(out, 2.0 * numbers[:, 1] * 1j + whole)


@pytest.mark.parametrize(
    "wrong", [np.zeros((3, 2), np.float32), np.zeros(3), np.zeros((2, 3)).T], ids=["type", "rank", "order"]
)
def test_an_entry_refuses_arrays_that_it_would_misread(wrong: np.ndarray):
    with pytest.raises(TypeError, match="in place of"):
        Entry(mixed, KINDS)((wrong, np.array([1, 2, 3])), 2.0, 1j, 1, np.zeros(3, complex))


def test_an_object_that_needs_what_is_not_there_is_not_loaded(monkeypatch: pytest.MonkeyPatch):
    entry = Entry(mixed, KINDS)
    module = objects.optimised(entry.native.code, entry.native.symbol)
    content = bytes(objects.machine()[0].emit_object(module))
    assert objects.load(content, (entry.native.symbol,)) is not None
    monkeypatch.setattr(objects, "needed", lambda _: ["a_function_that_nobody_has"])
    assert objects.load(content, (entry.native.symbol,)) is None


def test_names_that_an_object_needs():
    """An object of a function that calls libm, as LLVM writes it."""
    code = b"""target triple = "%s"
declare double @sin(double)
define double @once(double %%x) {
  %%y = call double @sin(double %%x)
  ret double %%y
}
"""
    module = objects.llvm.parse_assembly((code % objects.machine()[0].triple.encode()).decode())
    optimised = objects.optimised(module.as_bitcode(), "once")
    assert objects.needed(objects.machine()[0].emit_object(optimised)) == ["sin"]


def test_numba_itself_and_llvm_alone_run_the_same_bits(monkeypatch: pytest.MonkeyPatch):
    """What is kept is optimised once, with all that it calls; Numba by itself does so many times."""
    from halfreal.kernels import compiler

    loop = halfreal.build(halfreal.load(EXAMPLE))
    block = loop.blocks[loop.row("sensors")]
    fields = block.step, layout(block.parameters), layout(block.state), len(block.inputs), len(block.outputs)
    monkeypatch.setattr(compiler, "PRIVATE", ((object, "nothing of this name"),))
    plain = compiler.loaded(compiler.own_block("plain", *fields))
    ends = []
    for address in (compile_block(*fields), plain):
        p, s = flatten(block.parameters), flatten(block.state)
        u, y = np.linspace(0.1, 1.0, len(block.inputs) + 1), np.zeros(len(block.outputs) + 1)
        for tick in range(50):
            assert call_native(address, p, s, 1e-3 * tick, u, y) == (0, 0)
        ends.append((s, y))
    np.testing.assert_array_equal(ends[0][0], ends[1][0])
    np.testing.assert_array_equal(ends[0][1], ends[1][1])


def test_a_check_whose_code_is_kept_loads_no_numba(tmp_path: Path):
    """Twice in fresh processes, as a user does it."""
    if disk_cache.folder() is None:
        pytest.skip("nothing is kept on disk here")
    ask = (
        "import sys, halfreal\n"
        f"answer = halfreal.check(halfreal.load({str(EXAMPLE)!r}))\n"
        "print(answer.verdict, 'numba' in sys.modules, 'pint' in sys.modules)"
    )
    for _ in range(2):
        said = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["GO", "False", "False"]


def test_while_methods_of_numba_are_replaced_no_other_thread_compiles():
    from numba.core.compiler_lock import global_compiler_lock

    from halfreal.kernels.compiler import PRIVATE, only_written

    usual = [getattr(place, one) for place, one in PRIVATE]
    free = []

    def other() -> None:
        free.append(global_compiler_lock._lock.acquire(blocking=False))

    with only_written():
        assert [getattr(place, one) for place, one in PRIVATE] != usual
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert free == [False]
    assert [getattr(place, one) for place, one in PRIVATE] == usual


def test_code_that_comes_with_halfreal_becomes_the_same_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Written by Numba once, then read, without Numba; what is damaged is compiled."""
    kept: dict[str, bytes] = {}
    monkeypatch.setattr(disk_cache, "kept", lambda name: None)
    monkeypatch.setattr(disk_cache, "put", kept.__setitem__)
    monkeypatch.setattr(shipped, "HERE", tmp_path)
    monkeypatch.setattr(shipped, "writing", tmp_path)
    first = Entry(mixed, KINDS)
    assert first.needs_numba
    first.ready()
    (compiled,) = kept.values()
    symbol, code = shipped.read(mixed.__name__, first._key) or ("", b"")
    inside = [one.name for one in objects.llvm.parse_bitcode(code).functions if not one.is_declaration]
    assert inside == [symbol] == [first.native.symbol]  # simplified: all that it calls is inlined
    (file,) = tmp_path.iterdir()

    second = Entry(mixed, KINDS)
    monkeypatch.setattr(second, "_compiled", None)  # cannot be called
    assert not second.needs_numba
    second.ready()
    assert list(kept.values()) == [compiled]

    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    third, calls = Entry(mixed, KINDS), []
    monkeypatch.setattr(third, "_compiled", lambda: calls.append(1) or first._compiled())
    third.ready()
    assert calls == [1]


def test_code_for_one_processor_is_not_shipped():
    written = "define double @f(double %x) {0} {{ ret double %x }}\n{1}"
    plain = objects.llvm.parse_assembly(written.format("", "")).as_bitcode()
    named = objects.llvm.parse_assembly(written.format('"target-cpu"="znver4"', "")).as_bitcode()
    needs = objects.llvm.parse_assembly(
        written.format("", f"declare void @llvm.{shipped.INTRINSICS}.something()")
    ).as_bitcode()
    assert [shipped.is_portable(one) for one in (plain, named, needs)] == [True, False, False]
