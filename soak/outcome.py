"""What a part of ``make soak`` has found, kept for the page (``page.py``): results/soak/NAME.json."""

from __future__ import annotations

import json
import time
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "results" / "soak"
STARTED = time.monotonic()


def keep(name: str, what: str, tried: int, lost: int, text: str) -> int:
    """Print and keep what was tried, how often, and how often something was lost; the exit code."""
    minutes = (time.monotonic() - STARTED) / 60.0
    FOLDER.mkdir(parents=True, exist_ok=True)
    found = {"what": what, "tried": tried, "lost": lost, "text": text, "minutes": round(minutes, 1)}
    (FOLDER / f"{name}.json").write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    print(f"{what}: {tried:,} tried, {lost} lost; {text} ({minutes:.1f} min)", flush=True)
    return 1 if lost else 0
