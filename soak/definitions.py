"""Mutated definitions through ``halfreal check``: no traceback, no failure of halfreal's own, no warning, no crash.

    python soak/definitions.py [--seed 1] [--count 200] [--command check] [--seconds 120] [--only NAME]

Each mutant is judged in a child process.  A command that works longer than ``--seconds`` is ended and counted.  Prints
what went wrong with the seed that makes it, and ends with 1 if anything did.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from mutants import definitions, mutated
from outcome import Tries, keep
from worker import Worker, fault_of

EXAMPLES = Path(__file__).parents[1] / "examples"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--command", default="check")
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--longest", default="0.5 s")
    asked = parser.parse_args()
    tries = Tries(asked.seed, asked.count)
    found, codes, bad, worker = definitions(EXAMPLES), Counter[str](), 0, Worker()
    found = [path for path in found if asked.only in str(path)]
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder) / "examples"
        shutil.copytree(EXAMPLES, copied, ignore=shutil.ignore_patterns("images", "__pycache__"))
        for seed in tries:
            chance = random.Random(seed)
            original = chance.choice(found)
            target = (copied / original.relative_to(EXAMPLES)).with_name("mutant.toml")
            target.write_text(mutated(original.read_text("utf-8"), chance, asked.longest), "utf-8", errors="replace")
            options = ["--force"] if asked.command == "rehearse" else ["--json"]
            code, text = worker.ask([asked.command, str(target), *options], asked.seconds)
            wrong = text if code is None else fault_of(code, text)
            if code is None:
                worker = Worker()
            codes["slow" if text.startswith("took") else str(code)] += 1
            if wrong:
                bad += 1
                print(f"seed {seed} {original.relative_to(EXAMPLES)}: {wrong}", flush=True)
    text = "exit codes " + ", ".join(f"{code}: {number}" for code, number in sorted(codes.items()))
    return keep(
        "definitions",
        f"mutated definitions in halfreal {asked.command} (from seed {asked.seed} on)",
        tries.done,
        bad,
        text,
    )


if __name__ == "__main__":
    sys.exit(main())
