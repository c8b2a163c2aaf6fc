"""No excitation."""

from __future__ import annotations

from ...kernels.block import Block, Channel


def silent_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    y[0] = y[1] = 0.0
    return 0


def silence(name: str, unit: str = "m") -> Block:
    """No excitation: the channels are there, and zero."""
    return Block(
        name=name, step=silent_step, inputs=(), outputs=(Channel(name, unit), Channel(f"{name}.rate", f"{unit}/s"))
    )
