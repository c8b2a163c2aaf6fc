"""Code that users write, compiled so that it cannot reach beyond its own fields, nor continue for ever.

A user's function and all that it calls are compiled again, regardless of their decorators:

- Every index is checked.  One out of range raises, as does a division by zero; a negative one counts from the end.
- What would get around the checks is refused: pointers, foreign functions, ``.flat``, ``try``.
- Nothing is called but mathematics.  What may wait for the interpreter (``print``, BLAS, NumPy's random numbers) is
  refused, as is a function that calls itself.
- Passes of loops are counted.  A call that makes more than ``MOST_PASSES`` of them in one function is ended.
- None of it is kept on disk: constants out of other files and of data go into compiled code, and no key covers them.

Helpers need no decorator.  Those of ``halfreal.kernels`` are compiled a second time, with checks.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import FunctionType
from typing import Any

from llvmlite import ir as llvm
from numba import njit, types
from numba.core import config, ir
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, FunctionPass, register_pass
from numba.core.dispatcher import Dispatcher
from numba.core.errors import TypingError
from numba.core.extending import _Intrinsic
from numba.core.ir_utils import build_definitions, compute_cfg_from_blocks
from numba.core.typed_passes import NopythonTypeInference
from numba.core.typing.typeof import typeof_impl
from numba.core.untyped_passes import LiteralUnroll
from numba.extending import intrinsic
from numba.np.ufunc.dufunc import DUFunc
from numba.np.ufunc.gufunc import GUFunc

from .block import MOST_PASSES, OUT_OF_PASSES
from .compile import STEP
from .origin import halfreals, users
from .record import FieldsType

REFUSED: dict[type[types.Type], str] = {
    types.NumpyFlatType: "'.flat', whose indices are not checked; index the array itself",
    types.ArrayCTypes: "the address of an array",
    types.CPointer: "a pointer",
    types.RawPointer: "a pointer",
    types.ExternalFunction: "a function that is not Python",
    types.ExternalFunctionPointer: "a function that is not Python",
    types.FunctionType: "a function that was compiled elsewhere",
    types.ObjModeDispatcher: "the interpreter",
}
CALLS = {
    "as_strided": "as_strided, whose indices are not checked",
    "mark_try_block": "try; test for invalid values instead",
}
"""Functions that make arrays beyond what there is, or that hide a fault."""
HARMLESS = re.compile(r"llvm\..*|__svml_.*|numba_(gamma|frexp|ldexp|nextafter|cpow)f?|NRT_MemInfo_call_dtor")
"""What compiled code may call in addition to the functions of libm; the last one is in all of it and is never
reached."""

_clones: ContextVar[dict[Callable[..., Any], Any] | None] = ContextVar("clones", default=None)
"""Checked forms of the functions met so far, while a user's block is compiled."""


@contextmanager
def checking() -> Iterator[Callable[[Callable[..., Any]], Any]]:
    """While it lasts, all that is compiled calls checked forms; gives the function that makes them."""
    given, config.BOUNDSCHECK = config.BOUNDSCHECK, None  # NUMBA_BOUNDSCHECK=0 must not take the checks away
    token = _clones.set({})
    try:
        yield _clone
    finally:
        _clones.reset(token)
        config.BOUNDSCHECK = given


def _clone(function: Callable[..., Any]) -> Any:
    """The checked form of a function, the same for the whole block."""
    clones = _clones.get()
    assert clones is not None
    if function not in clones:
        model = "numpy" if halfreals(function.__code__.co_filename) else "python"
        options = {**STEP, "boundscheck": True, "error_model": model, "forceinline": True}  # but for what calls itself
        clones[function] = njit(pipeline_class=Checked, **options)(function)
    return clones[function]


@typeof_impl.register(Dispatcher)
@typeof_impl.register(FunctionType)
def _type_of_function(function, context):  # type: ignore[no-untyped-def]
    """While a user's block is compiled, what it calls is replaced by its checked form, but for functions of libraries
    that Numba knows itself.
    """
    python = getattr(function, "py_func", function)
    clones = _clones.get()
    if clones is not None and function not in clones.values():
        decorated = function is not python and not python.__module__.startswith("numba.")
        if decorated or users(python.__code__.co_filename):
            return types.Dispatcher(_clone(python))
    return typeof_impl.dispatch(object)(function, context)


@intrinsic
def one_pass(typingctx, left):  # type: ignore[no-untyped-def]
    """One pass fewer is left; with none, the function returns at once."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        with builder.if_then(builder.icmp_signed("<=", args[0], args[0].type(0)), likely=False):
            builder.ret(llvm.IntType(32)(OUT_OF_PASSES))
        return builder.sub(args[0], args[0].type(1))

    return types.int64(types.int64), codegen


@register_pass(mutates_CFG=False, analysis_only=False)
class CountPasses(FunctionPass):
    """Count the passes of all loops of a function in one variable."""

    _name = "halfreal_count_passes"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state):  # type: ignore[no-untyped-def]
        if state.func_ir.is_generator:
            raise TypingError("it uses yield; write a loop", loc=state.func_ir.loc)
        blocks = state.func_ir.blocks
        graph = compute_cfg_from_blocks(blocks)
        headers = {loop.header for loop in graph.loops().values()}
        if not headers:
            return False
        entry = blocks[graph.entry_point()]
        left = entry.scope.redefine("$passes_left", entry.loc)
        entry.insert_before_terminator(ir.Assign(ir.Const(MOST_PASSES, entry.loc), left, entry.loc))
        for header in headers:
            block = blocks[header]
            count = block.scope.redefine("$one_pass", block.loc)
            call = ir.Expr.call(count, [left], (), block.loc)
            block.prepend(ir.Assign(call, left, block.loc))
            block.prepend(ir.Assign(ir.Global("one_pass", one_pass, block.loc), count, block.loc))
        state.func_ir._definitions = build_definitions(blocks)
        return True


@register_pass(mutates_CFG=False, analysis_only=True)
class RefusePointers(AnalysisPass):
    """Refuse what would reach around the checks."""

    _name = "halfreal_refuse_pointers"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state):  # type: ignore[no-untyped-def]
        if halfreals(state.func_id.filename):
            return False
        for block in state.func_ir.blocks.values():
            for assignment in block.find_insts(ir.Assign):
                kind = state.typemap[assignment.target.name]
                what = next((words for refused, words in REFUSED.items() if isinstance(kind, refused)), None)
                if isinstance(kind, types.Function):
                    what = _refused_call(kind.typing_key) or what
                if what is not None:
                    raise TypingError(f"it uses {what}", loc=assignment.loc)
            for one in block.find_insts(ir.SetAttr):
                fields = state.typemap[one.target.name]
                if isinstance(fields, FieldsType) and fields.ranks.get(one.attr, 0) > 0:
                    raise TypingError(f"it sets the array '{one.attr}'; set its entries", loc=one.loc)
        return False


def _refused_call(function: Any) -> str | None:
    if isinstance(function, DUFunc | GUFunc):
        return "a function made by vectorize; call a plain one for each entry"
    if isinstance(function, _Intrinsic) and users(function._defn.__code__.co_filename):
        return "an intrinsic"
    return CALLS.get(getattr(function, "__name__", ""))


class Checked(CompilerBase):
    """Numba's compiler for a user's functions."""

    def define_pipelines(self):  # type: ignore[no-untyped-def]
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.add_pass_after(CountPasses, LiteralUnroll)
        manager.add_pass_after(RefusePointers, NopythonTypeInference)
        manager.finalize()
        return [manager]


@cache
def _libm() -> Any:
    return ctypes.CDLL("libm.so.6")


def calls(library: Any) -> list[str]:
    """What a compiled library calls in addition to mathematics: nothing, or it does not go into the loop."""
    found = set(re.findall(r'\bcall\b[^@\n]*@"?([^"(\s]+)"?\(', library.get_llvm_str()))
    return sorted(name for name in found if not HARMLESS.fullmatch(name) and not hasattr(_libm(), name))
