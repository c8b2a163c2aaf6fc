"""Numbers at any address, aligned or not, for compiled code: little-endian, as this machine has them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from .compile import cgutils, intrinsic, types


def _load(bits: int) -> Any:
    @intrinsic
    def load(typingctx, address):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            part = ir.IntType(bits)
            value = builder.load(builder.inttoptr(args[0], part.as_pointer()))
            value.align = 1  # the bytes of a datagram stand where they stand
            return value if bits == 64 else builder.zext(value, ir.IntType(64))

        return types.int64(types.intp), codegen

    return load


def _store(bits: int) -> Any:
    @intrinsic
    def store(typingctx, address, value):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            part = ir.IntType(bits)
            value = args[1] if bits == 64 else builder.trunc(args[1], part)
            builder.store(value, builder.inttoptr(args[0], part.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.intp, types.int64), codegen

    return store


load8, load16, load32, load64 = _load(8), _load(16), _load(32), _load(64)
store8, store16, store32, store64 = _store(8), _store(16), _store(32), _store(64)


@intrinsic
def load_double(typingctx, address):  # type: ignore[no-untyped-def]
    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        value = builder.load(builder.inttoptr(args[0], ir.DoubleType().as_pointer()))
        value.align = 1
        return value

    return types.float64(types.intp), codegen


@intrinsic
def store_double(typingctx, address, value):  # type: ignore[no-untyped-def]
    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        builder.store(args[1], builder.inttoptr(args[0], ir.DoubleType().as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(types.intp, types.float64), codegen


@intrinsic
def copy_bytes(typingctx, target, source, count):  # type: ignore[no-untyped-def]
    """Copy so many bytes of 8-byte numbers from one address to another."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        target, source = (builder.inttoptr(one, ir.IntType(8).as_pointer()) for one in args[:2])
        cgutils.raw_memcpy(builder, target, source, args[2], 1, align=8)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.int64), codegen
