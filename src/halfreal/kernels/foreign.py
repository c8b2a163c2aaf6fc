"""Functions of compiled libraries, called from compiled blocks by their address."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from llvmlite import ir

from .compile import cgutils, intrinsic, types


@intrinsic
def call_c(typingctx, address, arguments):  # type: ignore[no-untyped-def]
    """Call the C function at an address: its status, an int.

    Each argument is an int64 (a pointer, or a size), an int32 or a float64; give several as a tuple.
    """
    signature = types.int32(types.int64, arguments)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        values = cgutils.unpack_tuple(builder, args[1])
        prototype = ir.FunctionType(ir.IntType(32), [value.type for value in values])
        return builder.call(builder.inttoptr(args[0], prototype.as_pointer()), values)

    return signature, codegen


@intrinsic
def address_of(typingctx, array):  # type: ignore[no-untyped-def]
    """The address of the first entry of a block's field, input or output."""
    return types.int64(array), lambda context, builder, signature, args: builder.ptrtoint(
        context.make_array(array)(context, builder, args[0]).data, ir.IntType(64)
    )


@intrinsic
def record_address(typingctx, record):  # type: ignore[no-untyped-def]
    """The address of a block's parameters or state: its fields stand there one after another."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        fields = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=args[0])
        return builder.ptrtoint(fields.base, ir.IntType(64))

    return types.int64(record), codegen


def _loader(name: str) -> Any:
    """A function that reads a number of this type of Numba's at an address."""

    @intrinsic
    def load(typingctx, address):  # type: ignore[no-untyped-def]
        kind = getattr(types, name)

        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            return builder.load(builder.inttoptr(args[0], context.get_value_type(kind).as_pointer()))

        return kind(types.int64), codegen

    return load


real_at, int32_at, byte_at = _loader("float64"), _loader("int32"), _loader("uint8")


@intrinsic
def put_real(typingctx, address, value):  # type: ignore[no-untyped-def]
    """Write a float64 at an address."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        builder.store(args[1], builder.inttoptr(args[0], ir.DoubleType().as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.float64), codegen


def function_address(library: ctypes.CDLL, name: str) -> int:
    """Of a function of an opened library; 0 if it has none of this name."""
    try:
        function = getattr(library, name)
    except AttributeError:
        return 0
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


def as_field(address: int) -> float:
    """An address as a block's parameter: exact, as the addresses of a process are below 2^53."""
    if address >= 2**53:
        raise ValueError(f"the address {address:#x} is too large for a block's parameter")
    return float(address)


def place(array: np.ndarray | Any) -> float:
    """Where the memory of an array stands, as a block's parameter; the array must be kept alive."""
    return as_field(int(array.ctypes.data))
