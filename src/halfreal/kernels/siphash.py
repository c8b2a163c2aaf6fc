"""SipHash-2-4 with 128 bits, for compiled code: the tag under which datagrams are sent (docs/link.md).

J.-P. Aumasson, D. J. Bernstein: SipHash: a fast short-input PRF, INDOCRYPT 2012; the 128 bits are those of the authors'
reference implementation.  With a key of 128 bits whoever does not know it can neither make nor change a tagged message.

    v = (k0, k1, k0, k1) xor "somepseudorandomlygeneratedbytes",  v1 ^= 0xee
    each word m of 8 bytes, the last one filled up with zeros and the length:  v3 ^= m, 2 rounds, v0 ^= m
    v2 ^= 0xee, 4 rounds: the first 64 bits are v0 ^ v1 ^ v2 ^ v3;  v1 ^= 0xdd, 4 rounds: the other 64
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir

from .bytes import load8, load64
from .compile import intrinsic, kernel, types

TAG = 16
"""Bytes of a tag, and of a key."""


@intrinsic
def turned(typingctx, value, left):  # type: ignore[no-untyped-def]
    """A word with its bits turned to the left, round the end."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        right = builder.sub(ir.IntType(64)(64), args[1])
        return builder.or_(builder.shl(args[0], args[1]), builder.lshr(args[0], right))

    return types.int64(types.int64, types.int64), codegen


@kernel
def sip_rounds(v0, v1, v2, v3, number):  # type: ignore[no-untyped-def]
    for _ in range(number):
        v0 += v1
        v1 = turned(v1, 13) ^ v0
        v0 = turned(v0, 32)
        v2 += v3
        v3 = turned(v3, 16) ^ v2
        v0 += v3
        v3 = turned(v3, 21) ^ v0
        v2 += v1
        v1 = turned(v1, 17) ^ v2
        v2 = turned(v2, 32)
    return v0, v1, v2, v3


@kernel
def siphash(address, length, k0, k1):  # type: ignore[no-untyped-def]
    """The tag of so many bytes, as two words; all words are numbers of 64 bits without a sign, read as signed ones."""
    v0, v1 = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE
    v2, v3 = k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573
    whole = length // 8
    for i in range(whole + 1):
        if i < whole:
            m = load64(address + 8 * i)
        else:
            m = (length & 0xFF) << 56
            for j in range(length - 8 * whole):
                m |= load8(address + 8 * whole + j) << (8 * j)
        v3 ^= m
        v0, v1, v2, v3 = sip_rounds(v0, v1, v2, v3, 2)
        v0 ^= m
    v2 ^= 0xEE
    v0, v1, v2, v3 = sip_rounds(v0, v1, v2, v3, 4)
    first = v0 ^ v1 ^ v2 ^ v3
    v1 ^= 0xDD
    v0, v1, v2, v3 = sip_rounds(v0, v1, v2, v3, 4)
    return first, v0 ^ v1 ^ v2 ^ v3


def tag(data: bytes, key: bytes) -> bytes:
    """The tag of a message, for plain Python."""
    room = np.frombuffer(data + bytes(8), dtype=np.uint8)
    k0, k1 = (int(word) for word in np.frombuffer(key, dtype="<i8"))
    return np.array(siphash(room.ctypes.data, len(data), k0, k1), dtype="<i8").tobytes()
