"""Where a record comes from, as text: which rig it was, who ran the test, and with what."""

from __future__ import annotations

from ..records.run_file import definition_hash
from ..runs.run import Run
from .wording import date, in_time

NATURES = {
    "simulated": "simulated",
    "real": "real",
    "unknown": "unknown whether simulated or real: the rig did not report it",
}
BEFORE = "unknown whether simulated or real: the record is older than this information"


def rig(run: Run) -> str:
    """Which rig it was, as it said itself."""
    if not run.rig:
        return "simulated" if run.kind == "rehearsal" else BEFORE
    what = NATURES.get(run.rig.get("nature", ""), NATURES["unknown"])
    name, address, link = (run.rig.get(key, "") for key in ("name", "address", "link"))
    text = what + (f" ({name})" if name else "") + (f", at {address}" if address else "")
    return text + (f"; link {link}" if link else "")


def about(run: Run) -> list[tuple[str, str]]:
    """The rig, and what people said of the test: names and texts."""
    return [("rig", rig(run)), *sorted(run.about.items(), key=lambda item: (item[0] == "notes", item[0] != "operator"))]


def of_run(run: Run) -> list[tuple[str, str]]:
    """How the record came to be: names and texts."""
    return [
        ("started", date(run.started)),
        ("outcome", run.outcome),
        ("samples", str(len(run.time))),
        *([] if run.integrity is None else [("integrity", run.integrity.text)]),
        ("tick", in_time(run.step)),
        ("random seed", str(run.seed)),
        ("definition (SHA-256)", definition_hash(run.definition)),
    ]
