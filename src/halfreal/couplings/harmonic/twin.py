"""The twin of a virtual substructure: it shows the gap that the excitation leaves if nothing is driven."""

from __future__ import annotations

from dataclasses import replace

from ...kernels.block import Block


def twin(virtual: Block, feedback: tuple[str, ...], silent: str) -> Block:
    """A twin of the block "virtual" that is subjected to the excitation only; ``silent`` names a channel that is always
    zero."""

    def own(name: str) -> str:
        return "twin" + name.removeprefix("target").removeprefix("virtual")

    return replace(
        virtual,
        name="twin",
        inputs=tuple(silent if name in feedback else name for name in virtual.inputs),
        outputs=tuple(replace(one, name=own(one.name), signal=own(one.signal)) for one in virtual.outputs),
        watched=(),
        texts={},
    )
