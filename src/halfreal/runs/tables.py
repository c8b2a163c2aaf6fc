"""The channels of a run as tables of pandas and xarray, which are imported only here and only then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data_frames import data_frame, imported

if TYPE_CHECKING:
    from .run import Run

ABOUT = ("title", "kind", "outcome", "reason", "started")


def to_dataframe(run: Run) -> Any:
    """A pandas data frame: a column for each channel, over the time [s]; units and title in its ``attrs``."""
    columns = {"time": np.asarray(run.time)} | {key: np.asarray(one.values) for key, one in run.signals.items()}
    frame = data_frame(columns, {"time": "s", **_units(run)}, index="time")
    frame.attrs |= _about(run)
    return frame


def to_xarray(run: Run) -> Any:
    """An xarray dataset: a variable for each channel along ``time``, each with its unit in ``attrs["units"]``."""
    variables = {
        name: ("time", np.asarray(signal.values), {"units": signal.unit}) for name, signal in run.signals.items()
    }
    coordinates = {"time": ("time", np.asarray(run.time), {"units": "s"})}
    return imported("xarray").Dataset(variables, coordinates, _about(run))


def _units(run: Run) -> Mapping[str, str]:
    return {name: signal.unit for name, signal in run.signals.items()}


def _about(run: Run) -> dict[str, str]:
    return {key: str(getattr(run, key)) for key in ABOUT}
