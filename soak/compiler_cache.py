"""Damaged compiler caches under ``halfreal check``: the same answer, no traceback, no crash.

    python soak/compiler_cache.py [--seed 1] [--count 70]

Fills a cache from a copy of the package without its library, damages one entry of a copy by a seeded random choice for
each try, and checks a definition in a process of its own.  Every tenth try has a cache that cannot be written to.
Prints what went wrong, and ends with 1 if anything did.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from outcome import Tries, keep
from run_files import DEFINITION, damaged

import halfreal


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=70)
    asked = parser.parse_args()
    tries = Tries(asked.seed, asked.count)
    command, bad, reported = [sys.executable, "-m", "halfreal", "check", "--json", str(DEFINITION)], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        whole, copy, sources = Path(folder) / "whole", Path(folder) / "copy", Path(folder) / "sources"
        package = Path(halfreal.__file__).parent
        shutil.copytree(package, sources / "halfreal", ignore=shutil.ignore_patterns("compiled", "__pycache__"))

        def check(cache: Path) -> subprocess.CompletedProcess[str]:
            environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "OPENBLAS_NUM_THREADS": "1"}
            environment["PYTHONPATH"] = str(sources)
            return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

        expected = check(whole)
        for seed in tries:
            chance = random.Random(seed)
            shutil.copytree(whole, copy, ignore=(lambda *_: ["halfreal"]) if seed % 10 == 0 else None)
            if seed % 10 == 0:
                (copy / "halfreal").write_text("a file where a folder belongs")
            else:
                entry = chance.choice(sorted((copy / "halfreal").iterdir()))
                entry.write_bytes(damaged(entry.read_bytes(), chance))
            answer = check(copy)
            reported += answer.stderr.count("note: ")
            same = (answer.returncode, answer.stdout) == (expected.returncode, expected.stdout)
            if not same or "Traceback" in answer.stderr or answer.stderr.count("\n") > 1:
                bad += 1
                print(f"seed {seed}: exit code {answer.returncode}, {answer.stderr[-300:]}", flush=True)
            shutil.rmtree(copy)
    what, text = "damaged compiler caches under halfreal check", f"{reported} reported in one line"
    return keep("compiler_cache", what, tries.done, bad, text)


if __name__ == "__main__":
    sys.exit(main())
