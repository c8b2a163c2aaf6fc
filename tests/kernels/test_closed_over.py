"""When compiled code that is kept on disk still holds: keys of functions, as edits of their sources change them."""

import sys
from types import ModuleType

import pytest

from halfreal.kernels.closed_over import closed_over
from halfreal.kernels.compile import helper, intrinsic, kernel

HELPERS = """
@kernel
def inner(x):
    return 2.0 * x


def free(x):
    return x


@intrinsic
def low(typingctx, x):
    width = 64
    return None


fast = helper(fastmath={"contract", "nsz"})(free)
"""
BLOCK = """
LIMIT = 8.0
TABLE = (1.0, 2.0)
def step(p, s, t, u, y):
    y[0] = inner(LIMIT) + TABLE[1] + outer.inner(t) + low(t) + fast(t)
    return 0
"""


def key(block: str = BLOCK, helpers: str = HELPERS) -> str:
    """The key of the step, with its helpers in a module of halfreal's own."""
    place = sys.modules["halfreal.kernels.compile"].__file__
    outer = ModuleType("outer")
    outer.__file__ = place
    outer.__dict__.update(kernel=kernel, helper=helper, intrinsic=intrinsic)
    exec(compile(helpers, place, "exec"), outer.__dict__)
    names = {"outer": outer, "__name__": "mine", **{name: vars(outer)[name] for name in ("inner", "low", "fast")}}
    exec(compile(block, place, "exec"), names)
    return closed_over(names["step"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("u, y):\n", 'u, y):\n    """Limit what comes out."""\n'),
        ("LIMIT = 8.0", "# a comment\n\n\nLIMIT = 8.0"),
        ("LIMIT = 8.0", "LIMIT = 8.0\nOTHER = 3.0"),
    ],
)
def test_what_changes_no_code_changes_no_key(old: str, new: str):
    assert old in BLOCK
    assert key(BLOCK.replace(old, new)) == key()


def test_a_docstring_of_a_helper_changes_no_key():
    assert key(helpers=HELPERS.replace("inner(x):\n", 'inner(x):\n    """Twice."""  # and why\n')) == key()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 8.0", "LIMIT = 5.0"),
        ("LIMIT = 8.0", "LIMIT = 8"),
        ("TABLE = (1.0, 2.0)", "TABLE = (1.0, 2.5)"),
        ("+ TABLE[1]", "- TABLE[1]"),
        ("TABLE[1]", "TABLE[0]"),
        ("inner(LIMIT)", "fast(LIMIT)"),
        ("return 0", "return 1"),
    ],
)
def test_a_changed_constant_or_expression_changes_the_key(old: str, new: str):
    assert old in BLOCK
    assert key(BLOCK.replace(old, new)) != key()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2.0 * x", "2.5 * x"),
        ("2.0 * x", "2.0 + x"),
        ("width = 64", "width = 32"),
        ('"contract", ', ""),
        ("@kernel", "@helper()"),
    ],
)
def test_a_changed_helper_or_how_it_is_compiled_changes_the_key(old: str, new: str):
    assert old in HELPERS
    assert key(helpers=HELPERS.replace(old, new)) != key()
