"""Tables of pandas and datasets of xarray, which are imported only when one is required."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from .errors import HalfrealError


def imported(package: str) -> Any:
    """An optional package, or an error that says how to install it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise HalfrealError(f"this needs the package {package}: pip install 'halfreal[records]'") from error


def data_frame(columns: Mapping[str, Any], units: Mapping[str, str], index: str | None = None) -> Any:
    """A pandas data frame, with the unit of each column in ``attrs["units"]``; ``index`` names a column."""
    frame = imported("pandas").DataFrame(dict(columns))
    if index is not None:
        frame = frame.set_index(index)
    frame.attrs["units"] = dict(units)
    return frame
