"""The rows of a loop as three functions, with its wiring built in: controller, inner and outer rows of the rig.

The general loop (``tick.py``) copies inputs by a table, calls each block through an address and looks at its status.
Here the LLVM code of a loop's blocks, which the disk cache keeps anyway, is linked with rows whose places in memory are
constants, and optimised as a whole: blocks are inlined, and what one writes and the next reads need not go through
memory.  No floating-point operation is changed, left out or put in another order, so that results are the same to the
bit.  The object is kept on disk for each arrangement of blocks.

    int64 group(int64 first, double *vector, double *parameters, double t)

runs the rows of a group from ``first`` on, and returns ``AWAY_BIT`` if a block's loops did not end, ``BAD_BIT`` if one
has a fault, ``LAST_BIT`` if the last one has.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import types
from numba.core.codegen import JITCPUCodegen
from numba.extending import intrinsic

from .block import LARGEST_FAULT
from .checked import OUT_OF_PASSES
from .codes import AWAY, FAULT, RAISED, RAN_AWAY
from .disk_cache import kept, stored

LAST_BIT, BAD_BIT, AWAY_BIT = 1, 2, 4
GROUPS = ("controller", "inner", "outer")
WORD = 8
