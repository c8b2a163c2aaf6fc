"""The type of a block's ``p`` and ``s`` in compiled code: an address, and a table of where fields begin.

Code depends on the names of the fields and on their numbers of dimensions; where they begin and how long they are is
read from the table (``sizes.py``) in each call.  Loads from it are marked invariant, so that LLVM may move them out of
loops; where the table is a constant (``fused.py``), they are.  Loaded only where something has to be compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer, signature
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_builtin,
    lower_getattr_generic,
    lower_setattr_generic,
    register_model,
)
from numba.np import arrayobj

from .sizes import AT_INPUTS, AT_OUTPUTS, HEAD, Ranks, as_text

WORD, REAL, BYTES = ir.IntType(64), ir.DoubleType(), ir.IntType(8).as_pointer()
BLOCK = types.int64(types.intp, types.intp, types.float64, types.intp, types.intp, types.intp)
"""What the loop calls: p, s, t, u, y and the table of sizes; all but t are addresses."""


class FieldsType(types.Type):
    """Named fields that are floats or arrays of floats; the first has its place in the table at ``first``."""

    def __init__(self, fields: Ranks, first: int) -> None:
        self.ranks, self.places, at = dict(fields), dict[str, int](), first
        for name, rank in fields:
            self.places[name] = at
            at += 1 + rank
        self.end = at
        super().__init__(name=f"fields({as_text(fields)}; {first})")

    def field(self, name: str) -> types.Type:
        """The type of a field; a KeyError if there is none."""
        rank = self.ranks[name]
        return types.Array(types.float64, rank, "C") if rank else types.float64


@register_model(FieldsType)
class _Model(models.StructModel):
    def __init__(self, manager, kind):  # type: ignore[no-untyped-def]
        super().__init__(manager, kind, [("base", types.voidptr), ("sizes", types.voidptr)])


@infer_getattr
class _Attributes(AttributeTemplate):
    key = FieldsType

    def generic_resolve(self, kind, name):  # type: ignore[no-untyped-def]
        return kind.field(name)


@infer
class _Item(AbstractTemplate):
    """``p["name"]``, as plain Python allows it too."""

    key = "static_getitem"

    def generic(self, args, kws):  # type: ignore[no-untyped-def]
        if isinstance(args[0], FieldsType) and isinstance(args[1], str):
            return signature(args[0].field(args[1]), *args)
        return None


@infer
class _SetItem(AbstractTemplate):
    key = "static_setitem"

    def generic(self, args, kws):  # type: ignore[no-untyped-def]
        if isinstance(args[0], FieldsType) and isinstance(args[1], str) and args[0].ranks[args[1]] == 0:
            return signature(types.void, args[0], types.literal(args[1]), args[2])
        return None


def _size(builder: Any, sizes: Any, k: int) -> Any:
    found = builder.load(builder.gep(builder.bitcast(sizes, WORD.as_pointer()), [WORD(k)]))
    found.set_metadata("invariant.load", builder.module.add_metadata([]))
    return found


def _place(context: Any, builder: Any, kind: FieldsType, value: Any, name: str) -> tuple[Any, Any]:
    """Where a field stands, and the table."""
    fields = cgutils.create_struct_proxy(kind)(context, builder, value=value)
    start = _size(builder, fields.sizes, kind.places[name])
    return builder.bitcast(builder.gep(fields.base, [start], inbounds=True), REAL.as_pointer()), fields.sizes


def _array(context: Any, builder: Any, data: Any, shape: list[Any]) -> Any:
    array = context.make_array(types.Array(types.float64, len(shape), "C"))(context, builder)
    strides, step = list[Any](), WORD(8)
    for size in reversed(shape):
        strides.insert(0, step)
        step = builder.mul(step, size)
    arrayobj.populate_array(array, data=data, shape=shape, strides=strides, itemsize=WORD(8), meminfo=None)
    return array._getvalue()


@lower_getattr_generic(FieldsType)
def _get(context, builder, kind, value, name):  # type: ignore[no-untyped-def]
    place, sizes = _place(context, builder, kind, value, name)
    at, rank = kind.places[name], kind.ranks[name]
    if rank == 0:
        return builder.load(place)
    return _array(context, builder, place, [_size(builder, sizes, at + 1 + i) for i in range(rank)])


@lower_setattr_generic(FieldsType)
def _set(context, builder, signature, args, name):  # type: ignore[no-untyped-def]
    kind, given = signature.args
    if kind.ranks[name] != 0:
        raise TypeError(f"'{name}' is an array; set its entries")
    place, _ = _place(context, builder, kind, args[0], name)
    builder.store(context.cast(builder, args[1], given, types.float64), place)


@lower_builtin("static_getitem", FieldsType, types.StringLiteral)
def _get_item(context, builder, signature, args):  # type: ignore[no-untyped-def]
    return _get(context, builder, signature.args[0], *args)


@lower_builtin("static_setitem", FieldsType, types.StringLiteral, types.Any)
def _set_item(context, builder, signature, args):  # type: ignore[no-untyped-def]
    kind, _, given = signature.args
    _set(context, builder, signature.replace(args=(kind, given)), (args[0], args[2]), args[1])
    return context.get_dummy_value()


def caller(function: Any, parameters: Ranks, state: Ranks) -> Callable[..., int]:
    """What the loop calls: it makes the arguments of a block's function of addresses and of the table."""
    p_type = FieldsType(parameters, HEAD)
    s_type = FieldsType(state, p_type.end)

    @intrinsic
    def fields_p(typingctx, base, sizes):  # type: ignore[no-untyped-def]
        return p_type(types.intp, types.intp), _fields

    @intrinsic
    def fields_s(typingctx, base, sizes):  # type: ignore[no-untyped-def]
        return s_type(types.intp, types.intp), _fields

    def call(p, s, t, u, y, sizes):  # type: ignore[no-untyped-def]
        return 1 + function(fields_p(p, sizes), fields_s(s, sizes), t, inputs(u, sizes), outputs(y, sizes))

    return call


def _pointers(builder: Any, args: Any) -> list[Any]:
    return [builder.inttoptr(one, BYTES) for one in args]


def _fields(context, builder, signature, args):  # type: ignore[no-untyped-def]
    fields = cgutils.create_struct_proxy(signature.return_type)(context, builder)
    fields.base, fields.sizes = _pointers(builder, args)
    return fields._getvalue()


def _vector(at: int) -> Any:
    """Code of an array with one dimension, whose size is in the table at a place."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        base, sizes = _pointers(builder, args)
        return _array(context, builder, builder.bitcast(base, REAL.as_pointer()), [_size(builder, sizes, at)])

    return codegen


@intrinsic
def inputs(typingctx, base, sizes):  # type: ignore[no-untyped-def]
    """The array of a block's inputs."""
    return types.Array(types.float64, 1, "C")(types.intp, types.intp), _vector(AT_INPUTS)


@intrinsic
def outputs(typingctx, base, sizes):  # type: ignore[no-untyped-def]
    """The array of a block's outputs."""
    return types.Array(types.float64, 1, "C")(types.intp, types.intp), _vector(AT_OUTPUTS)
