"""Make the gallery: every picture, every number of a README, and fidelity.md.

    python gallery.py [EXAMPLE …]             # all that have a readme_numbers.py if none is named
    python gallery.py --check [EXAMPLE …]     # compute anew, change nothing, exit 1 if a stored number is off

The ``readme_numbers.py`` of an example has one function, ``make(images, quick)``.  It draws the example's pictures
into the folder ``images`` and gives what the README tells as ``Numbers``.  If ``quick`` it draws nothing and may leave
out what takes long; the test suite compares the rest with what is stored.  Numbers are kept in the example's
``numbers.json``, and from there written between marks::

    <!-- table: NAME -->       a table, also "claims", that of the paper's claims
    <!-- end -->
    <!--NAME-->6.77 ms<!--/--> a number in a sentence
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

GALLERY = Path(__file__).resolve().parent
FIDELITY = GALLERY / "fidelity.md"
PAPERS = {
    "prediction": "Forward prediction: M. I. Wallace et al., Earthquake Engng Struct. Dyn. 34 (2005) 1817–1832",
    "shaking table": "Shaking table: DLR Institute of Aeroelasticity, hardware in the loop with the table MAVIS",
    "feed-forward": "Adaptive feed-forward filters and harmonic basis functions",
    "force control": "Force control as a DAE: F. Nordtorp, G. Abbiati, engrXiv preprint",
    "multi-axial": "RoDeAC: M. Quiroz et al., Front. Built Environ. (2024) 1394952, recomputed from its code",
    "wing": "Electrodynamic actuator: V. Ruffini et al., Exp. Tech. (2020)",
}
NUMBER = re.compile(r"[-−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Claim:
    """A figure, a table or a statement of a paper, and what becomes of it here."""

    paper: str
    """A key of ``PAPERS``."""
    at: str
    """Where it stands: "Fig. 6", "Tab. 2", "Eq. 11", "Sec. 3.1"."""
    what: str
    printed: str
    here: str
    agrees: bool | None
    """Found by the script, not by its author; None for what has nothing to compare, such as a photograph."""
    why: str = ""
    """Why it differs; begins with "misprint" if the paper is at fault."""
    file: str = ""
    """The script, definition or picture that shows it, in the example's folder."""

    @property
    def verdict(self) -> str:
        if self.agrees is None:
            return self.why or "nothing to compare"
        if self.agrees:
            return "reproduced" + (f"; {self.why}" if self.why else "")
        if not self.why:
            raise ValueError(f"{self.at}, {self.what}: it differs; say why")
        return self.why if self.why.startswith("misprint") else f"differs: {self.why}"


@dataclass(frozen=True)
class Numbers:
    claims: Sequence[Claim] = ()
    tables: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Lines of Markdown by name."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Texts by name, with their units: "6.77 ms"."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(line) + " |" if line[0] != "---" else "|" + "---|" * len(head) for line in lines]


def claims_table(claims: Sequence[Claim]) -> list[str]:
    return table(
        ["in the paper", "printed", "here", ""],
        (
            [f"{claim.at}, {claim.what}", claim.printed or "–", claim.here or "–", claim.verdict]
            for claim in sorted(claims, key=order)
        ),
    )


def stored(example: str) -> Numbers:
    kept = json.loads((GALLERY / example / "numbers.json").read_text(encoding="utf-8"))
    return Numbers([Claim(**claim) for claim in kept["claims"]], kept["tables"], kept["values"])


def written(text: str, numbers: Numbers) -> str:
    """The README with these numbers between its marks; a mark without a number is an error."""
    tables = {"claims": claims_table(numbers.claims), **numbers.tables}

    def put_table(mark: re.Match[str]) -> str:
        return "\n".join([f"<!-- table: {mark[1]} -->", *tables[mark[1]], "<!-- end -->"])

    text = re.sub(r"<!-- table: (.+?) -->\n.*?<!-- end -->", put_table, text, flags=re.DOTALL)
    return re.sub(r"<!--(\w.*?)-->.*?<!--/-->", lambda mark: f"<!--{mark[1]}-->{numbers.values[mark[1]]}<!--/-->", text)


def examples() -> list[str]:
    return sorted(path.parent.name for path in GALLERY.glob("*/readme_numbers.py"))


def order(claim: Claim) -> tuple[object, ...]:
    """Figures, tables, equations, sections, each by number."""
    kinds = ("Fig", "Tab", "Alg", "Eq", "Sec")
    kind = next((i for i, name in enumerate(kinds) if claim.at.startswith(name)), len(kinds))
    return kind, [int(number) for number in re.findall(r"\d+", claim.at)], claim.at


def fidelity() -> str:
    """The page of all claims, from what is stored."""
    lines = [
        "# Comparison with the published papers",
        "",
        "Written by `make gallery`. One row for each figure, table and claim; *reproduced* is decided by the scripts.",
    ]
    every = [(example, claim) for example in examples() for claim in stored(example).claims]
    for key, title in PAPERS.items():
        rows = sorted(
            ((claim, example) for example, claim in every if claim.paper == key), key=lambda row: order(row[0])
        )
        compared = [claim for claim, _ in rows if claim.agrees is not None]
        agree = sum(bool(claim.agrees) for claim in compared)
        misprints = sum(claim.verdict.startswith("misprint") for claim in compared)
        count = (
            f"{len(rows)} rows: {agree} reproduced, {len(compared) - agree - misprints} differ, {misprints} misprints"
        )
        cells = (
            [claim.at, claim.what, claim.printed or "–", claim.here or "–", claim.verdict, link(example, claim)]
            for claim, example in rows
        )
        head = ["where", "what", "printed", "here", "verdict", "file"]
        lines += ["", f"## {title}", "", count + ".", "", *table(head, cells)]
    return "\n".join(lines) + "\n"


def link(example: str, claim: Claim) -> str:
    name = claim.file or "README.md"
    return f"[{example}/{name}]({example}/{name})"


def compute(example: str, images: Path, quick: bool) -> Numbers:
    """In a process of its own, as scripts of several examples have the same names."""
    with tempfile.TemporaryDirectory() as place:
        result = Path(place) / "numbers.json"
        words = [sys.executable, __file__, "--one", example, str(images), str(result), *["--quick"] * quick]
        if subprocess.run(words).returncode:
            sys.exit(f"{example}: failed, see above")
        kept = json.loads(result.read_text(encoding="utf-8"))
    return Numbers([Claim(**claim) for claim in kept["claims"]], kept["tables"], kept["values"])


def one(example: str, images: Path, result: Path, quick: bool) -> None:
    sys.path[:0] = [str(GALLERY / example), str(GALLERY)]
    sys.modules["gallery"] = sys.modules[__name__]  # run as a script: readme_numbers.py must find the same classes
    images.mkdir(parents=True, exist_ok=True)
    numbers = importlib.import_module("readme_numbers").make(images, quick)
    result.write_text(as_json(numbers), encoding="utf-8")


def as_json(numbers: Numbers) -> str:
    kept = {
        "claims": [asdict(claim) for claim in numbers.claims],
        "tables": {name: list(lines) for name, lines in numbers.tables.items()},
        "values": dict(numbers.values),
    }
    return json.dumps(kept, indent=1, ensure_ascii=False, default=bool) + "\n"  # NumPy's booleans


def same(one: str, other: str) -> bool:
    """Whether two texts agree: words exactly, numbers to a unit of their last digit (a machine may round otherwise)."""
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    return all(near(a, b) for a, b in zip(NUMBER.findall(one), NUMBER.findall(other), strict=True))


def near(one: str, other: str) -> bool:
    a, b = (float(text.replace("−", "-")) for text in (one, other))
    return abs(a - b) <= 1.001 * max(last_digit(one), last_digit(other))


def last_digit(text: str) -> float:
    """The value of a unit in the last place; none of a whole number below 100, which may be a count."""
    mantissa, _, exponent = text.partition("e")
    if "." not in mantissa and not exponent:
        return 0.0 if abs(float(mantissa.replace("−", "-"))) < 100 else 1.0
    return float(10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2])))


def differences(kept: Numbers, computed: Numbers) -> list[str]:
    """What of the computed is not as stored."""
    old = {(claim.at, claim.what): claim for claim in kept.claims}
    off = []
    for claim in computed.claims:
        before = old.get((claim.at, claim.what))
        if before is None:
            off.append(f"{claim.at}, {claim.what}: not stored")
        elif not same(before.here, claim.here) or before.verdict != claim.verdict or before.printed != claim.printed:
            off.append(
                f"{claim.at}, {claim.what}: stored {before.here} ({before.verdict}), now {claim.here} ({claim.verdict})"
            )
    for name, lines in computed.tables.items():
        before_lines = kept.tables.get(name, [])
        if len(before_lines) != len(lines):
            off.append(f"table {name}: {len(before_lines)} lines stored, now {len(lines)}")
        off += [
            f"table {name}: stored {a}, now {b}" for a, b in zip(before_lines, lines, strict=False) if not same(a, b)
        ]
    for name, text in computed.values.items():
        if not same(kept.values.get(name, ""), text):
            off.append(f"{name}: stored {kept.values.get(name)}, now {text}")
    return off


def make(names: Sequence[str]) -> None:
    for example in names:
        print(f"{example} …", flush=True)
        folder = GALLERY / example
        numbers = compute(example, folder / "images", quick=False)
        (folder / "numbers.json").write_text(as_json(numbers), encoding="utf-8")
        readme = folder / "README.md"
        readme.write_text(written(readme.read_text(encoding="utf-8"), numbers), encoding="utf-8")
    FIDELITY.write_text(fidelity(), encoding="utf-8")


def check(names: Sequence[str], quick: bool = False) -> list[str]:
    off = []
    for example in names:
        print(f"{example} …", flush=True)
        with tempfile.TemporaryDirectory() as place:
            found = differences(stored(example), compute(example, Path(place), quick))
        off += [f"{example}: {text}" for text in found]
    return off


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the gallery, or check its numbers.")
    parser.add_argument("names", nargs="*", metavar="EXAMPLE")
    parser.add_argument("--check", action="store_true", help="compute anew, change nothing")
    parser.add_argument("--quick", action="store_true", help="with --check: leave out what takes long")
    parser.add_argument("--one", nargs=3, metavar=("EXAMPLE", "IMAGES", "RESULT"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        example, images, result = asked.one
        return one(example, Path(images), Path(result), asked.quick)
    unknown = set(asked.names) - set(examples())
    if unknown:
        sys.exit(f"no readme_numbers.py in {', '.join(sorted(unknown))}; there are {', '.join(examples())}")
    names = asked.names or examples()
    if not asked.check:
        return make(names)
    off = check(names, asked.quick)
    print("\n".join(off) or "every number is as stored")
    sys.exit(1 if off else 0)


if __name__ == "__main__":
    main()
