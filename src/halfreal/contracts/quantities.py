"""What rigs are commanded in, how excitations act, and what has no limit: words that the contracts share."""

from __future__ import annotations

from typing import Literal

import numpy as np

Commands = Literal["displacement", "force"]
"""What a rig is commanded in, or what a virtual substructure asks of the specimen."""

ActsAs = Literal["none", "support", "force", "ground"]
"""How the excitation of the virtual substructure acts: not at all, by moving its supports, as a force, by shaking its
ground."""

Hold = Literal["first", "zero"]
"""How an input continues between two samples: along a straight line, or held at the earlier one."""

UNLIMITED = float(np.finfo(np.float64).max)
"""Limit of a signal without one: infinite and undefined values are beyond it all the same."""
