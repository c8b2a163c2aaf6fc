"""Random loops: every verdict of ``check`` on their stability agrees with a long rehearsal.

    python soak/random_loops.py [--count 200]

tests/studies/test_random_loops.py draws them; each is judged as drawn and on both sides of its margins.  Lost is a loop
of which check and rehearsal disagree.  Prints such loops with their numbers, and ends with 1 if there are any.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from outcome import Tries, keep

from studies.test_random_loops import judged


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=200)
    tries = Tries(0, parser.parse_args().count)
    rows = [row for number in tries for row in judged(number)]
    decided = [row[2] for row in rows if row[3] is not None]
    wrong = [(number, i) for number, i, stable, seen in rows if seen is not None and stable != seen]
    if wrong:
        print(f"check and rehearsal disagree on loops (number, variant) {wrong}")
    text = f"of {tries.done} draws; {len(rows) - len(decided)} too close to the limit for a rehearsal to decide, "
    text += f"{sum(decided)} stable, {len(decided) - sum(decided)} unstable"
    return keep("random_loops", "random loops, check compared with rehearsal", len(rows), len(wrong), text)


if __name__ == "__main__":
    sys.exit(main())
