"""A picture of every kind, computed with the code that runs.

Virtual substructures: step response and frequency response.  Excitations: history and spectrum.  Couplings: tracking,
and the error compared with an uncompensated loop.  Rigs: command and motion, force over displacement.  Links: what
happens in a tick.  Criteria: their values.  Pictures are kept in docs/reference/pictures; one is drawn again when its
definition, its kind or this file changes.

python docs/kind_pictures.py [FAMILY [KIND]]
"""

from __future__ import annotations

import hashlib
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from link_sketches import sketch as link_sketch
from matplotlib.figure import Figure

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "tests"))  # a definition for every kind

import halfreal  # noqa: E402
from contracts.examples import definition_of, part_of  # noqa: E402
from halfreal.definition.kinds import CONTRACTS, kinds  # noqa: E402
from halfreal.errors import HalfrealError  # noqa: E402
from halfreal.figures import ERROR, MEASURED, QUIET, REFERENCE, TARGET, new_figure, styled  # noqa: E402
from halfreal.kernels.block import Block  # noqa: E402
from halfreal.kernels.loop import Loop  # noqa: E402
from halfreal.presentation.sketch import seen as on_paper  # noqa: E402
from halfreal.runs.build import context_of, virtual_blocks  # noqa: E402

GALLERY = ROOT / "examples"
FILES = {
    ("virtual", "structure"): "spring_mass_damper/forward_prediction.toml",
    ("virtual", "frame"): "yielding_frame/yielding_frame.toml",
    ("coupling", "none"): "spring_mass_damper/uncompensated.toml",
    ("coupling", "forward prediction"): "spring_mass_damper/forward_prediction.toml",
    ("coupling", "harmonic rls"): "harmonic_feedforward/rls_simultaneous.toml",
    ("coupling", "decoupling inverse"): "marths_benchmark/decoupling_inverse.toml",
    ("rig", "simulated"): "spring_mass_damper/with_friction.toml",
    ("rig", "servo-hydraulic"): "vrths_benchmark/case_1.toml",
    ("excitation", "record"): "vrths_benchmark/case_1.toml",
    ("criteria", "vrths"): "vrths_benchmark/case_1.toml",
    ("criteria", "marths"): "marths_benchmark/decoupling_inverse.toml",
}
"""Definitions that show a kind better than the one in which it is tested."""
EXCITATIONS: dict[str, dict[str, Any]] = {
    "chirp": {"displacement": "10 mm", "frequency": "1 Hz", "to": "10 Hz", "duration": "10 s"},
    "square": {"displacement": "10 mm", "frequency": "0.5 Hz", "terms": 5},
    "sine": {"displacement": "10 mm", "frequency": "1 Hz", "ramp": "2 s"},
}
"""Settings that show more than those of the gallery."""
LONGEST = 60.0
"""Seconds of a test that are simulated."""
SECONDS_OF_A_RESPONSE = 4.0
ABOVE: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1.02, 0.98), "ncols": 2, "fontsize": 7}
"""Where a legend is."""
POINTS = 4000
"""Most points of a curve."""


# --- definitions ------------------------------------------------------------------------------------------------------


@cache
def definition_for(family: str, kind: str) -> halfreal.Definition:
    """The test in which a kind is drawn."""
    if family == "excitation" and kind in EXCITATIONS:
        test = halfreal.load(GALLERY / "spring_mass_damper" / "forward_prediction.toml")
        return test.with_values({"excitation.virtual": {"kind": kind, **EXCITATIONS[kind]}})
    if (family, kind) in FILES:
        return halfreal.load(GALLERY / FILES[family, kind])
    if kind == "fmu" and family in ("coupling", "rig"):
        return with_exported(family)
    if (family, kind) in (("virtual", "fmu"), ("coupling", "library")):
        return of_other_models()
    return definition_of(family, kind)


@cache
def of_other_models() -> halfreal.Definition:
    """The example with an FMU and a library, both compiled here."""
    folder = Path(mkdtemp(prefix="halfreal-pictures-"))
    subprocess.run([sys.executable, str(GALLERY / "other_models" / "build.py"), str(folder)], check=True)
    text = (GALLERY / "other_models" / "definitions" / "fmu.toml").read_text(encoding="utf-8")
    (folder / "fmu.toml").write_text(text, encoding="utf-8")
    return halfreal.load(folder / "fmu.toml")


@cache
def with_exported(family: str) -> halfreal.Definition:
    """The first example with a part that halfreal exported as an FMU."""
    text = (GALLERY / "spring_mass_damper" / "forward_prediction.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    del data["reference"]  # an FMU has no matrices
    test = halfreal.Definition(**data)
    fmu = Path(mkdtemp(prefix="halfreal-pictures-")) / f"{family}.fmu"
    halfreal.export_fmu(test, fmu, family)  # type: ignore[arg-type]
    signals = {
        "coupling": (
            {"target": "target", "displacement": "measured.displacement", "force": "measured.force"},
            {"command": "command.asked"},
        ),
        "rig": ({"command": "command"}, {"displacement": "measured.displacement", "force": "measured.force"}),
    }
    inputs, outputs = signals[family]
    return test.with_values({family: {"kind": "fmu", "fmu": str(fmu), "inputs": inputs, "outputs": outputs}})


# --- what is computed -------------------------------------------------------------------------------------------------


class Played:
    """Channels of a loop over time."""

    def __init__(self, test: halfreal.Definition, seconds: float = LONGEST) -> None:
        loop = halfreal.build(test)
        self.signals = {channel.name: channel.signal or channel.name for channel in loop.channels}
        self.unit = {channel.name: channel.unit for channel in loop.channels}
        names = [name for name, signal in self.signals.items() if signal in WANTED]
        timing = test.timing
        ticks = min(timing.ticks, round(seconds / timing.step)) if test.slow is None else timing.ticks
        log = loop.run(timing.ticks_before + ticks, record=names).log
        begin = int(np.searchsorted(log[:, 0], 0.0))
        self.time = log[begin:, 0]
        self.values = {name: log[begin:, 1 + i] for i, name in enumerate(names)}

    def of(self, signal: str) -> list[str]:
        return [name for name, of in self.signals.items() if of == signal and name in self.values]


WANTED = ("target", "command", "measured.displacement", "measured.force")


def sources(blocks: list[Block]) -> list[Block]:
    """Constant inputs of blocks: zero, but a unit step of the first feedback."""
    step = kinds("excitation")["step"]
    written = {channel.name for block in blocks for channel in block.outputs}
    wanted = dict.fromkeys(name for block in blocks for name in block.inputs if name not in written)
    first = next(name for name in wanted if name.startswith("feedback"))
    found = []
    for name in wanted:
        if name.endswith(".rate") and name.removesuffix(".rate") in wanted:
            continue
        block = step(kind="step", displacement="1 m").block(name)
        amplitude = 1.0 if name == first else 0.0
        found.append(replace(block, parameters={**block.parameters, "amplitude": amplitude}))
    return found


def step_response(test: halfreal.Definition) -> tuple[np.ndarray, np.ndarray]:
    """Time, and the answer of a virtual substructure's first axis to a step of what is fed back there."""
    blocks = virtual_blocks(context_of(test))
    loop = Loop([*sources(blocks), *blocks], dt=test.timing.step)
    name = next(channel.name for channel in blocks[-1].outputs if channel.name.startswith("target"))
    log = loop.run(round(SECONDS_OF_A_RESPONSE / test.timing.step), record=[name]).log
    return log[:, 0], log[:, 1]


def spectrum(time: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [Hz] and amplitudes."""
    step = float(time[1] - time[0])
    return np.fft.rfftfreq(len(values), step)[1:], 2.0 / len(values) * np.abs(np.fft.rfft(values))[1:]


# --- how it is drawn --------------------------------------------------------------------------------------------------


def scaled(unit: str, *curves: np.ndarray) -> tuple[str, list[np.ndarray]]:
    """Curves in one handy unit."""
    size = max(float(np.max(np.abs(values), initial=0.0)) for values in curves)
    factor = 1.0
    if unit == "m":
        factor, unit = (1e3, "mm") if size > 2e-5 else (1e6, "µm")
    elif unit in ("N", "N m") and size > 2e3:
        factor, unit = 1e-3, f"k{unit}"
    return unit, [factor * values for values in curves]


def thinned(*curves: np.ndarray) -> list[np.ndarray]:
    every = max(1, len(curves[0]) // POINTS)
    return [curve[::every] for curve in curves]


def virtual(kind: str, figure: Figure) -> str:
    test = definition_for("virtual", kind)
    if test.virtual.client_port is not None:
        axes = figure.subplots()
        link_sketch(axes, "client")
        return "A step of the client: the rig moves to its displacement and returns the measured force"
    if test.targets == "force":
        return commanded_force(test, figure)
    sketch = test.virtual.sketch()
    *first, left, right = figure.subplots(1, 2 if sketch is None else 3)
    if sketch is not None:
        draw_frame(sketch, first[0])
    time, moved = step_response(test)
    model = test.virtual.linear_model()
    if model is None:
        frequency, size = spectrum(time, np.gradient(moved, time))
        size = size * len(time) / 2.0 * (time[1] - time[0])
    else:
        frequency = np.geomspace(0.1, 0.5 / test.timing.step, 2000)
        size = np.abs(model.response(2.0 * np.pi * frequency)[:, 0, 0])
    shown = frequency < min(0.5 / test.timing.step, 200.0)
    left.plot(*thinned(time, 1e6 * moved), color=TARGET)
    left.set(xlabel="time [s]", ylabel="displacement [µm/N]", title="Step of the force")
    right.loglog(frequency[shown], 1e6 * size[shown], color=TARGET)
    right.set(xlabel="frequency [Hz]", ylabel="displacement [µm/N]", title="Frequency response")
    return "Displacement of the interface for a unit force fed back there, as integrated in the loop"


def commanded_force(test: halfreal.Definition, figure: Figure) -> str:
    played = Played(test)
    left, right = figure.subplots(1, 2)
    for axes, name, color in (
        (left, played.of("target")[0], TARGET),
        (right, played.of("measured.displacement")[0], MEASURED),
    ):
        unit, (values,) = scaled(played.unit[name], played.values[name])
        axes.plot(played.time, values, color=color)
        axes.set(xlabel="time [s]", ylabel=f"{quantity(unit)} [{unit}]")
    left.set_title("Force that is commanded")
    right.set_title("Displacement that is measured")
    return "Force computed for the specimen and its measured displacement, in a rehearsal of the example"


def draw_frame(sketch: Any, axes: Any) -> None:
    for member in sketch.members:
        points = on_paper(np.array([sketch.nodes[node] for node in member.nodes]))
        axes.plot(points[:, 0], points[:, 1], color=REFERENCE, linewidth=1.8)
    points = on_paper(np.array(list(sketch.nodes.values())))
    axes.plot(points[:, 0], points[:, 1], "o", color=QUIET, markersize=3)
    at = on_paper(np.array([sketch.nodes[node] for node, _ in sketch.interface]))
    axes.plot(at[:, 0], at[:, 1], "o", color=MEASURED, label="interface")
    axes.set(title="Model", xlabel="x [m]", ylabel="y [m]", aspect="equal")
    axes.margins(0.15)
    axes.legend(**ABOVE)


def excitation(kind: str, figure: Figure) -> str:
    test = definition_for("excitation", kind)
    part = part_of(test, "excitation", kind)
    seconds = min(test.timing.duration, 20.0)
    if part.reads is None:
        block = part.block("signal")
        loop = Loop([block], dt=test.timing.step)
        log = loop.run(round(seconds / test.timing.step), record=["signal"]).log
        time, values, unit = log[:, 0], log[:, 1], block.outputs[0].unit
    else:
        loop = halfreal.build(test)
        name = "excitation.virtual"
        log = loop.run(test.timing.ticks_before + round(seconds / test.timing.step), record=[name]).log
        time, values = log[:, 0], log[:, 1]
        unit = next(channel.unit for channel in loop.channels if channel.name == name)
    unit, (values,) = scaled(unit, values)
    left, right = figure.subplots(1, 2, width_ratios=(1.4, 1))
    left.plot(time, values, color=TARGET, linewidth=0.9)
    left.set_xlim(0.0, end_of_interest(time, values))
    left.set(xlabel="time [s]", ylabel=f"{part.quantity} [{unit}]", title="History")
    frequency, size = spectrum(time, values)
    strong = frequency[size > 0.02 * size.max()]
    right.plot(frequency, size, color=TARGET, linewidth=0.9)
    right.set(xlim=(0.0, 1.3 * float(strong.max())), ylim=(0.0, None))
    right.set(xlabel="frequency [Hz]", ylabel=f"amplitude [{unit}]", title="Spectrum")
    return "History and amplitude spectrum, with the settings of an example"


def end_of_interest(time: np.ndarray, values: np.ndarray) -> float:
    """Four times the part in which something changes."""
    changes = time[1:][np.abs(np.diff(values)) > 1e-6 * np.ptp(values)]
    return min(float(time[-1]), 4.0 * float(changes[-1]))


def largest(played: Played, signal: str) -> int:
    """The axis that moves most, a displacement where there are several."""
    names = played.of(signal)
    return int(np.argmax([np.ptp(played.values[name]) * (played.unit[name] != "rad") for name in names]))


def window(time: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A few cycles around the last large value."""
    beyond = values - values.mean()
    beyond = beyond[np.abs(beyond) > 0.1 * np.max(np.abs(beyond), initial=0.0)]  # noise is no cycle
    crossings = max(int(np.sum(np.diff(np.sign(beyond)) != 0)), 1)
    length = min(float(time[-1] - time[0]), 10.0 * float(time[-1] - time[0]) / crossings)
    middle = float(time[np.flatnonzero(np.abs(values) >= 0.7 * np.max(np.abs(values)))[-1]])
    begin = min(max(middle - 0.5 * length, float(time[0])), float(time[-1]) - length)
    return (time >= begin) & (time <= begin + length)


def followed(played: Played) -> list[str]:
    """The measurements that are to follow the target."""
    return played.of(
        "measured.force" if quantity(played.unit[played.of("target")[0]]) == "force" else "measured.displacement"
    )


def quantity(unit: str) -> str:
    return {"N": "force", "kN": "force", "N m": "moment", "kN m": "moment", "rad": "rotation"}.get(unit, "displacement")


def coupling(kind: str, figure: Figure) -> str:
    test = definition_for("coupling", kind)
    played = Played(test)
    axis = largest(played, "target")
    name, follower = played.of("target")[axis], followed(played)[axis]
    seen = window(played.time, played.values[name])
    unit, (target, measured) = scaled(played.unit[name], played.values[name], played.values[follower])
    left, right = figure.subplots(1, 2)
    left.plot(played.time[seen], target[seen], color=TARGET, label="target")
    left.plot(played.time[seen], measured[seen], "--", color=MEASURED, label="measured")
    left.set(xlabel="time [s]", ylabel=f"{quantity(unit)} [{unit}]", title="Tracking")
    left.legend(**ABOVE)
    curves = [(played, "with", ERROR)]
    if kind != "none" and (bare := without_coupling(test)) is not None:
        curves.insert(0, (bare, "without", QUIET))
    unit, drawn = scaled(played.unit[name], *(one.values[follower] - one.values[name] for one, _, _ in curves))
    for (one, label, color), error in zip(curves, drawn, strict=True):
        right.plot(*thinned(one.time, error), color=color, linewidth=0.8, label=label)
    right.set(xlabel="time [s]", ylabel=f"tracking error [{unit}]", title="Error")
    right.legend(**ABOVE)
    return "Tracking with this coupling in a rehearsal of the example; its error, and the error without a coupling"


def without_coupling(test: halfreal.Definition) -> Played | None:
    """The same test with no compensation, where that is possible."""
    try:
        return Played(test.with_values({"coupling": {"kind": "none"}}))
    except HalfrealError:
        return None


def rig(kind: str, figure: Figure) -> str:
    played = Played(definition_for("rig", kind))
    axis = largest(played, "command")
    command = played.of("command")[axis]
    displacements, forces = played.of("measured.displacement"), played.of("measured.force")
    if len(displacements) != len(played.of("command")):  # actuators are not the axes
        axis = int(np.argmax([np.ptp(played.values[name]) * (played.unit[name] == "m") for name in displacements]))
    seen = window(played.time, played.values[command])
    answer = (forces if quantity(played.unit[command]) == "force" else displacements)[axis]
    left, right = figure.subplots(1, 2)
    unit, (asked, measured) = scaled(played.unit[command], played.values[command], played.values[answer])
    left.plot(played.time[seen], asked[seen], color=TARGET, label="command")
    if played.unit[command] == played.unit[answer]:
        left.plot(played.time[seen], measured[seen], "--", color=MEASURED, label="measured")
    left.set(xlabel="time [s]", ylabel=f"{quantity(unit)} [{unit}]", title="Tracking")
    left.legend(**ABOVE)
    unit, (displacement,) = scaled(played.unit[displacements[axis]], played.values[displacements[axis]])
    force_unit, (force,) = scaled(played.unit[forces[axis]], played.values[forces[axis]])
    right.plot(*thinned(displacement, force), color=MEASURED, linewidth=0.7)
    right.set(xlabel=f"measured displacement [{unit}]", ylabel=f"measured force [{force_unit}]")
    right.set_title("Force over displacement")
    return "Command, response and specimen of this rig in a rehearsal"


def link(kind: str, figure: Figure) -> str:
    link_sketch(figure.subplots(), kind)
    return "What happens in a tick"


def criteria(kind: str, figure: Figure) -> str:
    test = definition_for("criteria", kind)
    if test.criteria is None:
        test = test.with_values({"criteria": {"kind": kind}})
    scores = halfreal.rehearse(test).scores
    axes = figure.subplots()
    names, values = list(scores), [one.value for one in scores.values()]
    bars = axes.bar(range(len(names)), values, color=TARGET, width=0.6)
    axes.bar_label(bars, [f"{one.value:.3g} {one.unit}".removesuffix(" 1") for one in scores.values()], fontsize=7)
    axes.set_xticks(range(len(names)), names, rotation=0 if len(names) < 12 else 60)
    axes.set(ylabel="value", title="Criteria of a rehearsal")
    return "Values of these criteria for a rehearsal of the example"


DRAWN: dict[str, Callable[[str, Figure], str]] = {
    "virtual": virtual,
    "excitation": excitation,
    "coupling": coupling,
    "rig": rig,
    "link": link,
    "criteria": criteria,
}
assert set(DRAWN) == set(CONTRACTS)


# --- files ------------------------------------------------------------------------------------------------------------


def file_name(family: str, kind: str) -> str:
    return f"{family}-{re.sub(r'[^a-z0-9]+', '-', kind.lower()).strip('-')}"


def key_of(family: str, kind: str) -> str:
    """What a picture depends on."""
    texts = [Path(__file__).read_text(encoding="utf-8"), (HERE / "link_sketches.py").read_text(encoding="utf-8")]
    texts.append(inspect.getsource(sys.modules[kinds(family)[kind].__module__]))
    if family != "link" and "fmu" not in kind and "library" not in kind:
        texts.append(definition_for(family, kind).to_toml())
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


@styled
def draw(family: str, kind: str, folder: Path) -> tuple[str, str] | None:
    """The picture of a kind, as (file name, caption); none if the kind cannot be run on this computer."""
    picture = folder / f"{file_name(family, kind)}.png"
    note = picture.with_suffix(".txt")
    try:
        key = key_of(family, kind)
        if picture.is_file() and note.is_file():
            old, _, caption = note.read_text(encoding="utf-8").partition("\n")
            if old == key:
                return picture.name, caption
        figure = new_figure(7.6, 2.6)
        caption = DRAWN[family](kind, figure)
    except (AssertionError, ModuleNotFoundError, HalfrealError, OSError, subprocess.CalledProcessError) as error:
        print(f"no picture of the {family} '{kind}': {error}", file=sys.stderr)
        return None
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=110)
    note.write_text(f"{key}\n{caption}", encoding="utf-8")
    return picture.name, caption


if __name__ == "__main__":
    for one in sys.argv[1:2] or CONTRACTS:
        for name in sys.argv[2:3] or kinds(one):
            print(one, name, draw(one, name, HERE / "reference" / "pictures"), flush=True)
