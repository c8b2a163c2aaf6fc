"""What rigs are commanded in, and how excitations act: words that the contracts share."""

from __future__ import annotations

from typing import Literal

Commands = Literal["displacement", "force"]
"""What a rig is commanded in, or what a virtual substructure asks of the specimen."""

ActsAs = Literal["none", "support", "force", "ground"]
"""How the excitation of the virtual substructure acts: not at all, by moving its supports, as a force, by shaking its
ground."""
