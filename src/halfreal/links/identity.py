"""Who a rig is: its description in an OFFER, if HELLO requests it (docs/link.md).

One channel says whether it is simulated or real, the others hold its name and version: UTF-8, eight bytes to a channel,
zeros behind.  No such channel is infinite or NaN: that would take bytes that UTF-8 does not have.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..kernels.datagram import IDENTITY_CHANNELS

ASKS_WHO = 1
"""The code of a HELLO that wants to know who the rig is; a rig that does not know this answers as it always did."""
NAME_BYTES = 8 * (IDENTITY_CHANNELS - 1)
Nature = Literal["simulated", "real", "unknown"]
NATURES: dict[float, Nature] = {1.0: "simulated", 2.0: "real"}


@dataclass(frozen=True)
class Identity:
    """What a rig says of itself; nothing is known of one that does not say."""

    nature: Nature = "unknown"
    name: str = ""
    """Name and version, at most 96 bytes of UTF-8: what is longer is cut off."""

    def channels(self) -> tuple[float, ...]:
        """As an OFFER carries it."""
        code = next((code for code, nature in NATURES.items() if nature == self.nature), 0.0)
        text = self.name.replace("\0", "").encode()[:NAME_BYTES].decode(errors="ignore").encode()
        return code, *struct.unpack(f"<{IDENTITY_CHANNELS - 1}d", text.ljust(NAME_BYTES, b"\0"))

    @classmethod
    def read(cls, channels: Sequence[float]) -> Identity:
        """From the channels of an OFFER; what cannot be printed, or is no text, is left out."""
        if len(channels) != IDENTITY_CHANNELS:
            return cls()
        text = struct.pack(f"<{IDENTITY_CHANNELS - 1}d", *channels[1:]).split(b"\0")[0].decode(errors="ignore")
        return cls(NATURES.get(channels[0], "unknown"), "".join(c for c in text if c.isprintable()).strip())


UNKNOWN = Identity()
