"""A measured frequency response from a file: CSV and NPZ (``stability/frf.py``), or UFF (``universal_file.py``).

A universal file holds motions for forces; its responses must be at the places of its references, in any order.
"""

from __future__ import annotations

from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from ..errors import HalfrealError
from ..identification.frf import read_frf
from ..stability.frf import FRF
from .exchange_formats import ExchangeError, existing
from .universal_file import read_uff

UFF = (".uff", ".unv", ".uf58")
PER_FORCE = {"displacement": "m/N", "velocity": "m/s/N", "acceleration": "m/s^2/N"}


def read_response(path: Path | str, unit: str | None = None) -> FRF:
    """The response with its unit: that of the file, or ``unit``; none if neither gives it."""
    path = existing(path)
    if path.suffix.lower() in UFF:
        return _of_uff(path, unit)
    if path.suffix.lower() not in (".csv", ".txt", ".npz"):
        raise HalfrealError(f"'{path.name}' is not a frequency response file; use .csv, .npz or .uff")
    try:
        return read_frf(path, unit)
    except HalfrealError as error:
        raise HalfrealError(f"'{path.name}': {error}") from error
    except (ValueError, KeyError, UnicodeDecodeError, EOFError, BadZipFile) as error:  # numpy's words help no one
        raise HalfrealError(
            f"'{path.name}' cannot be read as a frequency response; an NPZ file holds the arrays frequency_hz and "
            "response, a CSV file has the heading frequency_hz,real,imag"
        ) from error


def _of_uff(path: Path, unit: str | None) -> FRF:
    found = read_uff(path).responses
    if found is None:
        raise ExchangeError(f"'{path.name}' contains no frequency responses (data sets 58); export them")
    own = PER_FORCE[found.quantity]
    if unit is not None and unit != own:
        raise ExchangeError(f"'{path.name}' is in {own}, but '{unit}' is given; omit --unit")
    if set(found.outputs) != set(found.inputs):
        outputs, inputs = (", ".join(map(str, places)) for places in (found.outputs, found.inputs))
        raise ExchangeError(
            f"'{path.name}' has responses at {outputs} to forces at {inputs}; give those of the interface, each with "
            "a force and a response at the same place and direction"
        )
    order = [found.outputs.index(place) for place in found.inputs]
    return FRF(found.frequency_hz, np.moveaxis(found.values[order], 2, 0), own)
