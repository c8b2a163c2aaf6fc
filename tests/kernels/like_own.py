"""Blocks of tests that are fused as halfreal's own, and not kept on disk."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from halfreal.kernels import disk_cache, fused, loop
from halfreal.kernels.block import Block
from halfreal.kernels.native import Compiled, compiled_block
from halfreal.kernels.objects import simplified


def with_code(block: Block) -> Compiled:
    """A block's compiled function with its LLVM code, which that of a user's block does not come with."""
    compiled = compiled_block(block)
    if compiled.native.code:
        return compiled
    written = compiled.native.keeps.library.get_llvm_str()
    symbol = f"test_{hashlib.sha256(written.encode()).hexdigest()[:16]}"
    code = bytes(simplified(written, compiled.native.symbol, symbol).as_bitcode())
    return replace(compiled, native=replace(compiled.native, symbol=symbol, code=code, digest=symbol))


def fused_like_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "is_own", lambda step: True)
    monkeypatch.setattr(loop, "compiled_block", with_code)
    monkeypatch.setattr(disk_cache, "kept", lambda name: None)
    monkeypatch.setattr(disk_cache, "put", lambda name, content: None)
    monkeypatch.setattr(fused, "_loaded", {})
