"""The real-time figures: lateness, round trips, sizes that fit into a period, and a long run.

``python benchmarks/realtime.py`` shows these alone.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import capacity
import exchange
import latency
import long_run
import tags
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


def rows(folder: Path, fresh: Executor) -> list[Row]:
    """Each part in a process of its own: what one leaves behind is not to delay the next."""
    return [row for part in PARTS.values() for row in fresh.submit(part, folder).result()]


def main() -> None:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    new_processes = ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1)
    with tempfile.TemporaryDirectory() as name, new_processes as fresh:
        show(rows(Path(name), fresh))


if __name__ == "__main__":
    main()
