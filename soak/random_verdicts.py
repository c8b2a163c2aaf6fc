"""Random tests: the verdicts of ``check`` compared with long simulations that share no code with the package.

    python soak/random_verdicts.py [--count 1000] [--first 0] [--jobs 1] [--page]

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
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing import get_context
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
    mild = sum(row["result"] == "too mild" for row in rows)
    text = f"{mild} of the tests that run away or grow as they are defined are MARGINAL; the others are NO-GO."
    alarms = [row for row in sorted(rows, key=lambda row: row["number"]) if row["result"] == "false alarm"]
    named = [
        f"- False alarm, test {row['number']} ({row['family']}): {row['reasons'][0].split(';')[0]}" for row in alarms
    ]
    lines = [f"{len(rows):,} tests, run on {day}:", "", *table(rows), "", text, *([""] if named else []), *named]
    PAGE.write_text("\n".join([before + MARKS[0], "", *lines, "", MARKS[1] + after]), "utf-8")


def examine_one(number: int) -> dict[str, Any]:
    """What a test has come to, in a process of its own if there are several."""
    warnings.simplefilter("ignore")
    os.environ[ALL] = "1"  # FMUs are those that it exports
    try:
        return examine(number).data
    except Exception as error:
        error.add_note(f"in test {number}")
        raise


def rows_of(numbers: Tries, wanted: Callable[[int], bool], jobs: int) -> Iterator[dict[str, Any]]:
    """Rows of tests in their order, or, by several processes, as they are known; none after the part was ended."""
    if jobs == 1:
        yield from map(examine_one, filter(wanted, numbers))
        return
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # matrices are small, and the processes share the processors
    with get_context("spawn").Pool(jobs, initializer=ignore_signals) as pool:
        for row in pool.imap_unordered(examine_one, list(filter(wanted, numbers))):
            yield row
            if numbers.ended:
                return


def ignore_signals() -> None:
    """A process is ended by the one that began it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def show(row: dict[str, Any]) -> None:
    """Print a test whose verdict is wrong, and keep its definition."""
    place = FOLDER / f"verdict_{row['number']}.toml"
    place.write_text(defined(row["number"]).to_toml(), "utf-8")
    print(f"{row['result']}: {row['number']}, {row['family']}: {row['verdict']}; simulated {row['judged']}")
    print("".join(f"    {one}\n" for one in row["reasons"]) + f"    {place}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--output", type=Path, default=FOLDER / "verdicts.jsonl")
    parser.add_argument("--family", action="append", help="only tests of this family; may be repeated")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--page", action="store_true", help="write the table of docs/verdict.md")
    given = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    before = given.output.read_text("utf-8").splitlines() if given.output.exists() else []
    rows = [json.loads(line) for line in before]
    known = {row["number"] for row in rows}

    def is_wanted(number: int) -> bool:
        return number not in known and (not given.family or family_of(number) in given.family)

    with given.output.open("a", encoding="utf-8") as kept:
        for row in rows_of(Tries(given.first, given.count), is_wanted, given.jobs):
            rows.append(row)
            kept.write(json.dumps(row) + "\n")
            kept.flush()
            if row["result"] in SHOWN:
                show(row)
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
