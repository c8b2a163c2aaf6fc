"""Helpers compiled once for arrays of any shape, regardless of the shapes of the fields that they are given."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import lower_cast


def without_shapes(helper: Any) -> Any:
    """Have a helper compiled for arrays of any shape."""
    compiler = getattr(helper, "_compiler", None)  # private to Numba; without it only time is lost
    if compiler is not None:
        fold = compiler.fold_argument_types

        def fold_without_shapes(args, kws):  # type: ignore[no-untyped-def]
            signature, arguments = fold(args, kws)
            return signature, tuple(_without_shape(argument) for argument in arguments)

        compiler.fold_argument_types = fold_without_shapes
    return helper


def _without_shape(argument: types.Type) -> types.Type:
    if isinstance(argument, types.NestedArray):
        return types.Array(argument.dtype, argument.ndim, "C")
    return argument


@lower_cast(types.NestedArray, types.Array)
def _shape_forgotten(context, builder, from_type, to_type, value):  # type: ignore[no-untyped-def]
    return value  # both are laid out alike
