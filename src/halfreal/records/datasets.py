"""Arrays and texts as a run file holds them."""

from __future__ import annotations

from typing import Any

import numpy as np


def array(group: Any, name: str, values: np.ndarray) -> Any:
    """Write an array, packed and with a checksum."""
    values = np.asarray(values)
    # A chunk needs at least one value, and compressing a handful of them costs more than it saves.
    packed = {"compression": "gzip", "compression_opts": 1, "shuffle": True, "fletcher32": True}
    return group.create_dataset(name, data=values, **(packed if values.size >= 64 else {}))


def text_of(value: str, what: str) -> str:
    """A text that HDF5 can hold; ``what`` it is, for people."""
    if "\0" in value:
        raise ValueError(f"its {what} {value!r} contains a zero character, which HDF5 texts cannot hold; remove it")
    return value
