"""Pointers in compiled code."""

from __future__ import annotations

from .compile import cgutils, intrinsic, types


@intrinsic
def as_pointer(typingctx, address):  # type: ignore[no-untyped-def]
    """Turn an integer address into a pointer that ``carray`` accepts."""
    return types.voidptr(types.intp), lambda context, builder, signature, args: builder.inttoptr(
        args[0], cgutils.voidptr_t
    )
