"""Long records: peak memory of a rehearsal and of its report over the size of the record, and what saving takes.

``python benchmarks/records.py`` alone shows these rows only.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from report import Row, duration

EXAMPLE = Path(__file__).parents[1] / "examples" / "spring_mass_damper" / "forward_prediction.toml"
MINUTES, STEP = 10.0, 0.25e-3
OTHERS = (1.0, 30.0)
"""Lengths of records whose reports are measured as well [min]."""
MOST = 1.3
"""Peak memory of a rehearsal over its record, at most."""
FIXED = 1.2
"""Peak memory of the report of the longest record over that of the report of this one, at most: it does not grow."""

MEASURED = """
import json, re, sys, time
from pathlib import Path
import halfreal
from halfreal.definition.paths import with_values
from halfreal.presentation import html
from halfreal.records.on_disk import load_on_disk

def now():
    text = Path("/proc/self/status").read_text()
    return [1024 * int(re.search(rf"{name}:\\s+(\\d+) kB", text)[1]) for name in ("VmHWM", "VmRSS")]

def forget():
    Path("/proc/self/clear_refs").write_text("5")

what, path, seconds, step = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
if what == "rehearse":
    test = with_values(halfreal.load(sys.argv[5]), {"timing.duration": 2.0, "timing.step": step})
    halfreal.rehearse(test)
    halfreal.save(halfreal.rehearse(test), path, overwrite=True)
    test = with_values(test, {"timing.duration": seconds})
    forget()
    before, start = now()[1], time.perf_counter()
    run = halfreal.rehearse(test)
    simulated = time.perf_counter()
    halfreal.save(run, path, overwrite=True)
    saved = time.perf_counter()
    columns = 1 + len(run.signals)
    print(json.dumps({"rows": len(run.time), "columns": columns, "raw": 8 * columns * len(run.time),
                      "peak": now()[0] - before, "rehearsed": simulated - start, "saved": saved - simulated}))
else:
    forget()
    before, start = now()[1], time.perf_counter()
    html.report(load_on_disk(path), path.with_suffix(".html"), overwrite=True)
    print(json.dumps({"peak": now()[0] - before, "took": time.perf_counter() - start}))
"""


def measured(what: str, path: Path, minutes: float = MINUTES) -> dict[str, float]:
    command = [sys.executable, "-c", MEASURED, what, str(path), f"{60 * minutes}", f"{STEP}", str(EXAMPLE)]
    done = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(done)  # type: ignore[no-any-return]


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.h5"
        run, page = measured("rehearse", path), measured("report", path)
        size = path.stat().st_size
        others = {}
        for minutes in OTHERS:
            measured("rehearse", path, minutes)
            others[minutes] = measured("report", path)["peak"]
    share, raw = run["peak"] / run["raw"], run["raw"]
    whole = run["rehearsed"] + run["saved"]
    return [
        Row(
            f"peak memory of a rehearsal, {MINUTES:g} min at {1e-3 / STEP:g} kHz, {run['columns']:.0f} columns",
            f"{run['peak'] / 1e6:,.0f} MB",
            f"{share:.2f} × its record of {raw / 1e6:,.0f} MB; target at most {MOST:g}: {verdict(share <= MOST)}",
        ),
        Row(
            "saving it",
            duration(run["saved"]),
            f"{100 * run['saved'] / whole:.0f} % of rehearsing and saving; {size / 1e6:,.0f} MB in the file",
        ),
        Row(
            "peak memory of its report",
            f"{page['peak'] / 1e6:,.0f} MB",
            f"{', '.join(f'{peak / 1e6:,.0f} MB for {minutes:g} min' for minutes, peak in others.items())}: "
            f"{others[OTHERS[-1]] / page['peak']:.2f} × as much for {OTHERS[-1] / MINUTES:g} times the length; "
            f"target at most {FIXED:g}: {verdict(others[OTHERS[-1]] <= FIXED * page['peak'])}; "
            f"{page['peak'] / raw:.2f} × its record; {duration(page['took'])}",
        ),
    ]


def verdict(kept: bool) -> str:
    return "met" if kept else "missed"


if __name__ == "__main__":
    from report import show

    show(rows())
