"""Words shared with another thread or process: read and written whole, and in order.

An ordinary load in a waiting loop may be moved out of it by the compiler, which sees no one else writing.  What is
stored before ``store_word`` is seen by whoever has read that word with ``load_word``.
"""

from __future__ import annotations

from llvmlite import ir

from .compile import intrinsic, types

_word = ir.IntType(64)


@intrinsic
def load_word(typingctx, address):  # type: ignore[no-untyped-def]
    """The int64 at an address (acquire)."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.load_atomic(builder.inttoptr(args[0], _word.as_pointer()), "acquire", 8)

    return types.int64(types.intp), codegen


@intrinsic
def store_word(typingctx, address, value):  # type: ignore[no-untyped-def]
    """Write an int64 at an address (release)."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        builder.store_atomic(args[1], builder.inttoptr(args[0], _word.as_pointer()), "release", 8)
        return context.get_dummy_value()

    return types.void(types.intp, types.int64), codegen


@intrinsic
def fence(typingctx):  # type: ignore[no-untyped-def]
    """Let no load or store pass this point."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), codegen
