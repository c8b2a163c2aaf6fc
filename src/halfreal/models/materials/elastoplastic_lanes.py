"""Fibres of bilinear steel in a plane section, four at a time.

It is the law of ``elastoplastic.py`` without a branch, in vectors of four numbers:

    f = k (ε − ε_p) − h ε_p,    excess = f − min(max(f, −σ_y), σ_y),    ε_p += excess/(k + h)

The compiler leaves loops over fibres as they are: it may not change the order of their sums, and cannot exclude that
arrays overlap.  Vectors are therefore written out, in LLVM code for any processor: the order of the sums, and so every
bit of the result, does not depend on how wide its registers are.  The excess is multiplied by 1/(k + h), so that states
differ from those of ``elastoplastic`` by rounding.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ...kernels.compile import cgutils, intrinsic, types

LANES = 4
SUMS = 5
_double, _word, _index = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_lanes = ir.VectorType(_double, LANES)


@intrinsic
def elastoplastic_lanes(  # type: ignore[no-untyped-def]
    typingctx, numbers, at_y, at_area, committed, own, trial, strains, stresses, first, count,
    k, yielding, hardening, axial, curvature,
):  # fmt: skip
    """N, M and three slopes of ``count`` times four fibres, as of a section (``fibre_section.py``).

    Their y and A are in ``numbers``, their committed states from ``own`` on, what is on trial goes to ``first`` and
    on; rows of states have one entry.
    """

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        add, subtract, multiply = builder.fadd, builder.fsub, builder.fmul

        def place(array: int, start: int) -> Any:
            """Where an entry of an array is, by numbers of the arguments."""
            data = context.make_array(signature.args[array])(context, builder, args[array]).data
            return builder.gep(data, [args[start]])

        def spread(value: Any) -> Any:
            one = builder.insert_element(_lanes(ir.Undefined), value, _index(0))
            return builder.shuffle_vector(
                one, _lanes(ir.Undefined), ir.Constant(ir.VectorType(_index, LANES), [0] * LANES)
            )

        def vector(pointer: Any, i: Any) -> Any:
            return builder.bitcast(builder.gep(pointer, [i]), _lanes.as_pointer())

        def read(pointer: Any, i: Any) -> Any:
            return builder.load(vector(pointer, i), align=8)

        def write(value: Any, pointer: Any, i: Any) -> None:
            builder.store(value, vector(pointer, i), align=8)

        k, yielding, hardening, axial, curvature = args[10:]
        both = add(k, hardening)
        softer, inverse = builder.fdiv(multiply(k, hardening), both), builder.fdiv(_double(1.0), both)
        least, most = spread(builder.fneg(yielding)), spread(yielding)
        k, hardening, axial, curvature, softer, inverse = map(spread, (k, hardening, axial, curvature, softer, inverse))
        zero = ir.Constant(_lanes, [0.0] * LANES)
        sums = [cgutils.alloca_once_value(builder, zero) for _ in range(SUMS)]
        ys, areas, before = place(0, 1), place(0, 2), place(3, 4)
        after, strain_of, stress_of = place(5, 8), place(6, 8), place(7, 8)
        with cgutils.for_range(builder, args[9]) as loop:
            i = builder.mul(loop.index, _word(LANES))
            y, area, permanent = read(ys, i), read(areas, i), read(before, i)
            strain = subtract(axial, multiply(curvature, y))
            force = subtract(multiply(k, subtract(strain, permanent)), multiply(hardening, permanent))
            inside = builder.select(builder.fcmp_ordered("<", force, least), least, force)
            inside = builder.select(builder.fcmp_ordered(">", inside, most), most, inside)
            excess = subtract(force, inside)
            permanent = add(permanent, multiply(excess, inverse))
            stress = multiply(k, subtract(strain, permanent))
            tangent = builder.select(builder.fcmp_unordered("!=", excess, zero), softer, k)
            write(permanent, after, i)
            write(strain, strain_of, i)
            write(stress, stress_of, i)
            stress, tangent = multiply(stress, area), multiply(tangent, area)
            bent = multiply(tangent, y)
            shares = (stress, multiply(stress, y), tangent, bent, multiply(bent, y))
            for total, share, by in zip(sums, shares, (add, subtract, add, subtract, add), strict=True):
                builder.store(by(builder.load(total), share), total)
        found = []
        for total in sums:
            a, b, c, d = (builder.extract_element(builder.load(total), _index(lane)) for lane in range(LANES))
            found.append(add(add(a, b), add(c, d)))
        return context.make_tuple(builder, signature.return_type, found)

    place_of = types.int64
    return types.UniTuple(types.float64, SUMS)(
        numbers, place_of, place_of, committed, place_of, trial, strains, stresses, place_of, place_of,
        *[types.float64] * 5,
    ), codegen  # fmt: skip
