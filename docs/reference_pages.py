"""Pages on every kind of part and on the papers, made of the code when the site is built."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

from halfreal.citations import PAPERS, paper
from halfreal.definition.kinds import CONTRACTS, kinds
from halfreal.presentation.reference import FAMILIES, kind_page, listed

ROOT = Path(__file__).parents[1]
Draw = Callable[[str, str, Path], tuple[str, str] | None]
"""Draws a kind into a folder: file name and caption."""
WHEN = {
    "virtual": {
        "structure": "The usual choice: mass, damping and stiffness matrices, also with nonlinear elements.",
        "constrained": "Force control: stiff specimens whose displacement is measured and whose force is commanded.",
        "partition": "The matrices describe the complete structure, and the specimen is to be subtracted from it.",
        "modes": "The structure is known by its modes, from a finite-element program or a modal test.",
        "beam": "Beams and beam-like structures without a finite-element program.",
        "frame": "Frames of finite elements that yield, with hinges or fibre sections.",
        "spring-damper": "A virtual device without mass between specimen and ground.",
        "state space": "A linear model from another program, with A, B, C and D.",
        "user": "Any model that you can write as a short Python function.",
        "library": "A model in C, C++, Rust, Fortran or generated code.",
        "fmu": "A model exported from Simulink, Modelica or another FMI tool.",
        "opensees": "An existing OpenSees model that halfreal integrates, in soft real time or slowly.",
        "client": "OpenSees integrates and drives the rig through `halfreal site`.",
    },
    "excitation": {
        "sine": "Steady response at one frequency; first tests of a loop.",
        "multi-sine": "Several frequencies at once; periodic, for harmonic couplings and frequency responses.",
        "square": "Periodic excitation with odd harmonics.",
        "chirp": "Response over a band in one test.",
        "stepped sine": "Accurate responses frequency by frequency; tuning of tables on the rig.",
        "gust": "Discrete 1 − cos gusts of aeroelastic tests.",
        "random": "Modal analysis; a `period` makes it periodic.",
        "step": "Static offset, transient response.",
        "pulse": "Free decay after an impact.",
        "record": "Earthquakes and other measured histories, from a file.",
        "channel": "A signal that the rig measures, such as a generator at an analogue input.",
    },
    "coupling": {
        "none": "The rig is much faster than the structure, the test is slow, or the uncompensated loop is studied.",
        "forward prediction": "The rig is close to a pure delay that is known. The first one to try.",
        "adaptive forward prediction": "The delay is not known or drifts during the test.",
        "linear controller": "A controller designed with other tools, with feedback of the measured displacement.",
        "feed-forward filters": "Filters designed with other tools, without feedback.",
        "model inverse": "The actuator has dynamics that a short inverse in derivatives describes.",
        "narrow band table": "Stepped or single-frequency tests, with a complex gain per frequency.",
        "broad band inverse": "A measured or modelled actuator is to be inverted over a band.",
        "adaptive model based": "The actuator changes, and a model of its structure is available.",
        "adaptive time series": "The actuator changes; no model is needed.",
        "decoupling inverse": "Several actuators that act on each other.",
        "adaptive fir": "Several actuators that act on each other and change during the test.",
        "harmonic lms": "Periodic excitation, slow and robust learning.",
        "harmonic rls": "Periodic excitation, fast learning.",
        "user": "A method of your own, as a short Python function.",
        "library": "An existing compensator in C or generated code.",
        "fmu": "An existing compensator exported from Simulink or another FMI tool.",
    },
    "rig": {
        "simulated": "The usual choice: actuator (delay, first or second order) and specimen, displacement control.",
        "force actuated": "Shakers: the command is a force on the specimen.",
        "force controlled": "A bench whose controller brings a load cell to the commanded force.",
        "servo-hydraulic": "Hydraulic actuators with valve and chamber dynamics and control–structure interaction. "
        "Start from the numbers of an example, then identify yours (`halfreal identify`).",
        "electrodynamic": "Electrodynamic shakers with their servo drive.",
        "coupled actuators": "Several actuators that act on each other, with kinematics and estimators.",
        "shaking table": "A table with up to six axes on hydraulic actuators, with the specimen on it.",
        "assembled": "A rig assembled from blocks in Python.",
        "user": "Any rig that you can write as a short Python function.",
        "library": "A model of the rig in C or generated code.",
        "fmu": "A model of the rig exported from Simulink, Modelica or another FMI tool.",
    },
    "link": {
        "udp": "The rig is another process or another computer on the network.",
        "shared memory": "The rig is a process on the same computer; the shortest latency.",
        "serial": "The rig is a microcontroller on a serial line.",
        "driver": "The hardware is driven from inside the loop, without a separate rig process.",
    },
    "criteria": {
        "user": "Criteria of your laboratory or paper, as a Python function.",
        "vrths": "J1 to J9 of the benchmark problem with one actuator.",
        "marths": "Criteria of the benchmark problem with two actuators.",
    },
}
"""When each kind is the right choice."""


def write(folder: Path, draw: Draw | None = None) -> None:
    """One page per kind, with the picture that ``draw`` makes of it, and an index."""
    folder.mkdir(exist_ok=True)
    lines = [
        "# Kinds, one page each",
        "",
        "The parts of a definition, one page per kind. On the command line:",
        "",
    ]
    lines += ["`halfreal kinds`, `halfreal kinds rig simulated`, `halfreal info rig.actuator.delay`.", ""]
    for family in CONTRACTS:
        title, tables = FAMILIES[family]
        pages = [_page(folder, family, kind, draw) for kind in kinds(family)]
        lines += [f"## {title}", "", f"`{tables}`", "", "```text", *listed(family), "```", ""]
        lines += ["```{toctree}", ":maxdepth: 1", "", *pages, "```", ""]
    (folder / "index.md").write_text("\n".join(lines), encoding="utf-8")


def _page(folder: Path, family: str, kind: str, draw: Draw | None) -> str:
    name = f"{family}-{re.sub(r'[^a-z0-9]+', '-', kind.lower()).strip('-')}"
    head, _, rest = kind_page(family, kind).partition("\n\n")
    summary, _, rest = rest.partition("\n\n")
    lines = [head, "", summary, ""]
    if when := WHEN[family].get(kind):
        lines += [f"**When to use it.** {when}", ""]
    if draw is not None and (drawn := draw(family, kind, folder / "pictures")):
        picture, text = drawn
        lines += [f"![{text}](pictures/{picture})", "", f"*{text}.*", ""]
    if examples := _examples(family, kind):
        shown = [
            f"[{one.parent.name}/{one.name}](../../{one.parent.relative_to(ROOT)}/README.md)" for one in examples[:3]
        ]
        lines += [f"Complete tests with it: {', '.join(shown)}.", ""]
    (folder / f"{name}.md").write_text("\n".join([*lines, rest]), encoding="utf-8")
    return name


def _examples(family: str, kind: str) -> list[Path]:
    """Definitions of the gallery that have a kind."""
    found = []
    for path in sorted((ROOT / "examples").glob("*/*.toml")):
        section = tomllib.loads(path.read_text(encoding="utf-8")).get(family, {})
        parts = section.values() if family == "excitation" else [section]
        if any(isinstance(part, dict) and part.get("kind") == kind for part in parts):
            found.append(path)
    return found


def write_bibliography(file: Path) -> None:
    """Every paper that a method cites."""
    papers = sorted(paper(key) for key in PAPERS)
    lines = ["# Bibliography", "", "Papers whose methods are implemented here; a report lists those of its test.", ""]
    file.write_text("\n".join([*lines, *(f"- {text}" for text in papers), ""]), encoding="utf-8")
