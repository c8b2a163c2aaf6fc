"""Results of a campaign in one SQLite file, readable by any program that knows SQLite.

Table ``points`` has a row for every point that is done, keyed by its number in the plan (from 1)::

    point | "rig.actuator.delay" …  values [SI] | status | outcome | reason | "peak measured.force" … scores [SI] | …

``status`` is "done", or "failed" with its ``reason``; a test that tripped is done, and its ``outcome`` is "tripped".
Table ``campaign`` says in pairs of name and value what it was: title, plan, definition, columns and their units, and
the fingerprints of plan, definition and user's code, by which a campaign that was interrupted knows its store again.
A point that was made with other code of the user's than the points before is not taken in.

A row is inserted once or not at all: the key is unique, and only the process that runs the campaign writes.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..data_frames import data_frame
from ..definition.definition import Definition
from ..definition.user_code import changed, user_code
from ..errors import HalfrealError
from ..summaries import Summarised
from .plan import Design, Plan, Varied

FORMAT, VERSION = "halfreal campaign", "1"
FIXED = {"status": "TEXT NOT NULL", "outcome": "TEXT", "reason": "TEXT", "seconds": "REAL", "run_file": "TEXT"}
"""Columns that every campaign has, next to the point's number, what varies and what is scored."""
USER_CODE = "user_code"
"""Entry of the table ``campaign``: hashes of all that the user's functions are made of."""
REMARKS = ("title", "minimise", "maximise")
"""Of a plan: they change how results are looked at, not the results."""


class StoreError(HalfrealError):
    """A file that does not hold the results of this campaign, or that cannot be written."""


@dataclass(frozen=True)
class Column:
    """A score's column: its name and unit (``"1"`` where there is none, empty for words)."""

    name: str
    unit: str


@dataclass(frozen=True)
class PointResult:
    """What came of a point."""

    point: int
    """From 1."""
    status: str
    outcome: str = ""
    reason: str = ""
    scores: Mapping[str, float | str | None] = field(default_factory=dict)
    seconds: float = 0.0
    run_file: bytes | None = None
    code: Mapping[str, str] = field(default_factory=dict)
    """The user's code that it was made with (``halfreal.definition.user_code``)."""


@dataclass(frozen=True, repr=False)
class Results(Summarised):
    """What a store holds."""

    about: Mapping[str, str]
    """The table ``campaign``."""
    parameters: tuple[Varied, ...]
    scores: tuple[Column, ...]
    points: int
    """In the plan."""
    columns: Mapping[str, np.ndarray]
    """The table ``points``, ordered by point: floats with NaN where there is none, or texts."""

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def __len__(self) -> int:
        return len(self.columns["point"])

    def summary(self) -> str:
        """How far the campaign is, and its best point."""
        score, _ = self.goal
        text = f"{int(self.done.sum())} of {self.points} points done, {self.failed} failed"
        best = self.best(1)
        return text if not best.size else f"{text}; best {score.name}: {self.columns[score.name][best[0]]:.4g}"

    def to_dataframe(self) -> Any:
        """All points as a pandas data frame, a column for each number that is varied and for each score."""
        units = {one.place: one.unit for one in self.parameters} | {one.name: one.unit for one in self.scores}
        return data_frame(self.columns, units, index="point")

    @property
    def done(self) -> np.ndarray:
        return np.asarray(self.columns["status"] == "done")

    @property
    def failed(self) -> int:
        return len(self) - int(self.done.sum())

    @property
    def goal(self) -> tuple[Column, bool]:
        """The score by which points are best, and whether more is better."""
        plan = json.loads(self.about["plan"])
        name, more = Plan.model_construct(**plan).goal
        return next(score for score in self.scores if score.name == name), more

    @property
    def verdicts(self) -> dict[str, int]:
        """How many points got each verdict, the most frequent first; none if they were not judged."""
        if "verdict" not in self.columns:
            return {}
        given = self.columns["verdict"][self.done].tolist()
        return dict(Counter(word for word in given if word).most_common())

    def accepted(self) -> np.ndarray:
        """Which points may be best: completed, GO if they were judged, and with a number for the goal."""
        goal = self.columns[self.goal[0].name]
        found: np.ndarray = self.done & (self.columns["outcome"] == "completed") & np.isfinite(goal)
        return found & (self.columns["verdict"] == "GO") if "verdict" in self.columns else found

    def best(self, count: int = 10) -> np.ndarray:
        """Rows of the best points, the best first."""
        score, more = self.goal
        rows = np.flatnonzero(self.accepted())
        values = self.columns[score.name][rows]
        return rows[np.argsort(-values if more else values, kind="stable")][:count]


def fingerprint(value: Any) -> str:
    """SHA-256 of a plan or a definition, and of the files that it names."""
    files = sorted(_files(value.model_dump()))
    plain = value.model_dump(mode="json", exclude=set(REMARKS) if isinstance(value, Plan) else None)
    digest = hashlib.sha256(json.dumps(plain, sort_keys=True, default=_plain).encode())
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def _files(value: Any) -> set[Path]:
    if isinstance(value, Path):
        return {value} if value.is_file() else set()
    if isinstance(value, Mapping):
        value = list(value.values())
    return set().union(*map(_files, value)) if isinstance(value, list | tuple) else set()


class Store:
    """The store of a campaign that runs: made again, or taken up again."""

    def __init__(
        self,
        path: Path | str,
        definition: Definition,
        plan: Plan,
        design: Design,
        scores: Sequence[Column],
        facts: Mapping[str, str],
    ) -> None:
        self.path = Path(path)
        self._names = ["point", *design.places, *FIXED, *(score.name for score in scores)]
        self._design = design
        about = {
            "format": FORMAT,
            "format_version": VERSION,
            "title": plan.title or definition.title,
            "definition_fingerprint": fingerprint(definition),
            "plan_fingerprint": fingerprint(plan),
            USER_CODE: json.dumps(user_code(definition)),
            "plan": json.dumps(plan.model_dump(mode="json"), default=_plain),
            "points": str(len(design.values)),
            "parameters": json.dumps([[p.place, p.unit, p.value, p.log] for p in design.parameters]),
            "scores": json.dumps([[score.name, score.unit] for score in scores]),
            **facts,
        }
        self._code: dict[str, str] = json.loads(about[USER_CODE])
        if self.path.exists() and self.path.stat().st_size:
            self._take_up(about)
        else:
            self._connection = _connect(self.path)
            self._make(about, scores)

    def _make(self, about: Mapping[str, str], scores: Sequence[Column]) -> None:
        kinds = {"point": "INTEGER PRIMARY KEY", **{place: "REAL NOT NULL" for place in self._design.places}, **FIXED}
        kinds |= {score.name: "REAL" if score.unit else "TEXT" for score in scores}
        with _told(self.path), self._connection as connection:
            connection.execute("CREATE TABLE campaign (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
            columns = ", ".join(f"{_quoted(name)} {kind}" for name, kind in kinds.items())
            connection.execute(f"CREATE TABLE points ({columns})")
            connection.executemany("INSERT INTO campaign VALUES (?, ?)", about.items())

    def _take_up(self, about: Mapping[str, str]) -> None:
        there = _about(self.path)
        for what in ("definition", "plan"):
            if there[f"{what}_fingerprint"] != about[f"{what}_fingerprint"]:
                raise StoreError(
                    f"'{self.path}' contains {_count(self.path)} points of another {what}; give that "
                    "one to resume it, or another file, or overwrite it (--force)"
                )
        if self._code and USER_CODE not in there:
            raise StoreError(
                f"'{self.path}' does not state with which user code its {_count(self.path)} points were computed; give "
                "another file, or overwrite it (--force)"
            )
        self._check_code(json.loads(there.get(USER_CODE, "{}")), self._code)
        self._connection = _connect(self.path)
        with _told(self.path), self._connection as connection:
            updates = [(about[name], name) for name in ("title", "plan")]
            connection.executemany("UPDATE campaign SET value = ? WHERE name = ?", updates)

    def _check_code(self, known: Mapping[str, str], found: Mapping[str, str]) -> None:
        what = changed(known, found)
        if what:
            raise StoreError(
                f"{what} since this campaign started: '{self.path}' keeps its {_count(self.path)} "
                "points, and no others "
                "are added; restore the code to resume, or give another file, or overwrite it (--force)"
            )
        self._code = {**known, **found}

    def missing(self) -> list[int]:
        """Numbers of the points that are still to be done."""
        with _told(self.path):
            there = {point for (point,) in self._connection.execute("SELECT point FROM points")}
        return [point for point in range(1, len(self._design.values) + 1) if point not in there]

    def add(self, results: Iterable[PointResult], run_files: Mapping[int, str]) -> None:
        """Insert what came of some points: all of them or, if one is there already or of other user code, none."""
        rows, before = [], self._code
        for result in results:
            self._check_code(self._code, result.code)
            fixed = (result.status, result.outcome, result.reason, result.seconds, run_files.get(result.point))
            scores = [_storable(result.scores.get(name)) for name in self._names[1 + self._columns_before :]]
            rows.append((result.point, *self._design.values[result.point - 1].tolist(), *fixed, *scores))
        places = ", ".join("?" for _ in self._names)
        try:
            with _told(self.path), self._connection as connection:
                connection.executemany(f"INSERT INTO points VALUES ({places})", rows)
                if self._code != before:
                    known = (json.dumps(self._code), USER_CODE)
                    connection.execute("UPDATE campaign SET value = ? WHERE name = ?", known)
        except sqlite3.IntegrityError as error:
            raise StoreError(
                f"'{self.path}' already has a point that was still to be computed: another campaign writes to it; "
                "wait for it, then rerun this one"
            ) from error

    @property
    def _columns_before(self) -> int:
        return len(self._design.places) + len(FIXED)

    def close(self) -> None:
        self._connection.close()


def load_results(path: Path | str) -> Results:
    """Read the results of a campaign, also while it is running.

    Parameters
    ----------
    path
        The SQLite file written by ``sweep``.

    Returns
    -------
    Results
        One row per point; ``to_dataframe()`` for pandas.
    """
    path = Path(path)
    about = _about(path)
    parameters = tuple(Varied(*one) for one in json.loads(about["parameters"]))
    scores = tuple(Column(*one) for one in json.loads(about["scores"]))
    with _told(path), closing(_connect(path)) as connection:
        cursor = connection.execute("SELECT * FROM points ORDER BY point")
        names = [column[0] for column in cursor.description]
        rows = cursor.fetchall()
    words = {"status", "outcome", "reason", "run_file", *(score.name for score in scores if not score.unit)}
    columns: dict[str, np.ndarray] = {}
    for i, name in enumerate(names):
        found = [row[i] for row in rows]
        if name in words:
            columns[name] = np.array([value or "" for value in found], dtype=object)
        else:
            kind = int if name == "point" else float
            columns[name] = np.array([np.nan if value is None else value for value in found], dtype=kind)
    return Results(about, parameters, scores, int(about["points"]), columns)


# --- SQLite -----------------------------------------------------------------------------------------------------------


def _about(path: Path) -> dict[str, str]:
    if not path.is_file():
        raise StoreError(
            f"'{path}' {'is a folder' if path.is_dir() else 'does not exist'}; give the results of a campaign"
        )
    try:
        with closing(_connect(path)) as connection:
            found = dict(connection.execute("SELECT name, value FROM campaign"))
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):
            raise StoreError(f"'{path}' cannot be read: {error}") from error
        found = {}
    except sqlite3.DatabaseError:
        found = {}
    if found.get("format") != FORMAT or found.get("format_version") != VERSION:
        raise StoreError(
            f"'{path}' does not contain the results of a campaign (format {VERSION}); give another "
            "file, or overwrite it "
            "(--force)"
        )
    return found


def _count(path: Path) -> int:
    with _told(path), closing(_connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM points").fetchone()[0])


def _connect(path: Path) -> sqlite3.Connection:
    if not path.parent.is_dir():
        raise StoreError(f"the folder '{path.parent}' does not exist; create it first")
    with _told(path):
        return sqlite3.connect(path)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """SQLite's troubles with a file as text."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StoreError(f"'{path}' cannot be written or read: {error}") from error


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _storable(value: float | str | None) -> float | str | None:
    return None if isinstance(value, float) and not np.isfinite(value) else value
