"""Runs on disk: one HDF5 file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .exchange_formats import SCALAR as SCALAR
    from .exchange_formats import Contents as Contents
    from .exchange_formats import ExchangeError as ExchangeError
    from .exchange_formats import Modes as Modes
    from .exchange_formats import Place as Place
    from .exchange_formats import Responses as Responses
    from .exchange_formats import read_mat as read_mat
    from .exchange_formats import read_modes_csv as read_modes_csv
    from .exchange_formats import read_responses_csv as read_responses_csv
    from .exchange_formats import write_mat as write_mat
    from .exchange_formats import write_modes_csv as write_modes_csv
    from .exchange_formats import write_responses_csv as write_responses_csv
    from .run_file import RunFileError as RunFileError
    from .run_file import definition_hash as definition_hash
    from .run_file import load_run as load_run
    from .run_file import save as save
    from .universal_file import read_uff as read_uff
    from .universal_file import write_uff as write_uff
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "exchange_formats": (
                "SCALAR Contents ExchangeError Modes Place Responses read_mat read_modes_csv read_responses_csv "
                "write_mat write_modes_csv write_responses_csv"
            ),
            "run_file": "RunFileError definition_hash load_run save",
            "universal_file": "read_uff write_uff",
        },
    )
