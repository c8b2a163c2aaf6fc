"""Random tests: the verdicts of ``check`` compared with long simulations that share no code with the package.

    python soak/random_verdicts.py [--count 1000] [--first 0] [--page]

``tests/verdicts`` draws them, half of them nonlinear, many near the limit of stability, and simulates each for minutes:
as defined, and with what [acceptance] promises.  Lost is a GO of a test that diverges or grows there.  A false alarm is
a MARGINAL or NO-GO for reasons of stability of a test that settles there and somewhat beyond.  Prints both with their
numbers, writes every test to results/soak/verdicts.jsonl, and the table of docs/verdict.md with ``--page``.  Tests that
are in that file are not judged again: a part that was ended continues.  Ends with 1 if anything was lost, or if more
than one test in a hundred was a false alarm.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from outcome import FOLDER, Tries, keep

from halfreal.kernels.trust import ALL
from verdicts.draw import family_of
from verdicts.examine import defined, examine

PAGE = Path(__file__).parents[1] / "docs" / "verdict.md"
MARKS = ("<!-- random tests -->", "<!-- end of random tests -->")
MOST_ALARMS = 0.01
"""Share of tests."""
SHOWN = ("false GO", "false alarm", "too mild")
VERDICTS = ("GO", "MARGINAL", "NO-GO")


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Rows of the page: a family each, and all."""
    lines = [
        "| family | tests | GO | MARGINAL | NO-GO | false GO | false alarms | between |",
        "|---" + "|---:" * 7 + "|",
    ]
    families = sorted({row["family"] for row in rows}, key=lambda one: (one == "linear", one))
    for name in (*families, "all"):
        of = [row for row in rows if name in (row["family"], "all")]
        verdicts, results = Counter(row["verdict"] for row in of), Counter(row["result"] for row in of)
        counts = [
            len(of),
            *(verdicts[one] for one in VERDICTS),
            results["false GO"],
            results["false alarm"],
            results["grey"],
        ]
        lines.append(f"| {name} | " + " | ".join(str(one) for one in counts) + " |")
    return lines


def write_page(rows: list[dict[str, Any]]) -> None:
    before, _, rest = PAGE.read_text("utf-8").partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    lines = [f"{len(rows):,} tests, run on {day}:", "", *table(rows)]
    PAGE.write_text("\n".join([before + MARKS[0], "", *lines, "", MARKS[1] + after]), "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--output", type=Path, default=FOLDER / "verdicts.jsonl")
    parser.add_argument("--family", action="append", help="only tests of this family; may be repeated")
    parser.add_argument("--page", action="store_true", help="write the table of docs/verdict.md")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ[ALL] = "1"  # FMUs are those that it exports
    FOLDER.mkdir(parents=True, exist_ok=True)
    before = given.output.read_text("utf-8").splitlines() if given.output.exists() else []
    rows = [json.loads(line) for line in before]
    known = {row["number"] for row in rows}
    with given.output.open("a", encoding="utf-8") as kept:
        for number in Tries(given.first, given.count):
            if number in known or (given.family and family_of(number) not in given.family):
                continue
            row = examine(number).data
            rows.append(row)
            kept.write(json.dumps(row) + "\n")
            kept.flush()
            if row["result"] in SHOWN:
                place = FOLDER / f"verdict_{number}.toml"
                place.write_text(defined(number).to_toml(), "utf-8")
                print(f"{row['result']}: {number}, {row['family']}: {row['verdict']}; simulated {row['judged']}")
                print("".join(f"    {one}\n" for one in row["reasons"]) + f"    {place}", flush=True)
            if len(rows) % 20 == 0:
                counts = ", ".join(f"{count} {name}" for name, count in Counter(one["result"] for one in rows).items())
                print(f"{len(rows)} of {given.count}: {counts}", flush=True)
    if given.page:
        write_page(rows)
    results = Counter(row["result"] for row in rows)
    print("\n".join(table(rows)))
    text = f"{results['false alarm']} false alarms, {results['grey']} between good and bad"
    code = keep(
        "random_verdicts", "random tests, verdicts compared with simulations", len(rows), results["false GO"], text
    )
    return code or int(results["false alarm"] > MOST_ALARMS * len(rows))


if __name__ == "__main__":
    sys.exit(main())
