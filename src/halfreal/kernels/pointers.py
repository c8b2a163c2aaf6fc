"""Pointers in compiled code."""

from __future__ import annotations

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def as_pointer(typingctx, address):  # type: ignore[no-untyped-def]
    """Turn an integer address into a pointer that ``carray`` accepts."""
    return types.voidptr(types.intp), lambda context, builder, signature, args: builder.inttoptr(
        args[0], cgutils.voidptr_t
    )
