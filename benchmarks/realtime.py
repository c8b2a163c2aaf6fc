"""The real-time figures: lateness, round trips, sizes that fit into a period, and a long run.

``python benchmarks/realtime.py`` shows these alone.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import capacity
import exchange
import latency
import long_run
import tags
from fresh import LONGEST, in_new_process
from report import Row, show


def without_folder(rows: Callable[[], list[Row]], folder: Path) -> list[Row]:
    return rows()


PARTS: dict[str, Callable[[Path], list[Row]]] = {
    "latency": latency.rows,
    "exchange": exchange.rows,
    "tags": partial(without_folder, tags.rows),
    "capacity": partial(without_folder, capacity.rows),
    "long_run": long_run.rows,
}


def main() -> None:
    """Each part in a process of its own: what one leaves behind is not to delay the next."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as name:
        longest = LONGEST + 60.0 * long_run.minutes()
        show([row for part in PARTS.values() for row in in_new_process(part, Path(name), longest=longest)])


if __name__ == "__main__":
    main()
