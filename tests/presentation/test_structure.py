"""What a report tells of the inside of a frame: it is what the loop did, and energies add up."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import halfreal
from examples.wallace2005 import GALLERY
from halfreal.cli import app
from halfreal.models import FrameBuilder, shear_building
from halfreal.presentation import html, sketch, structure_plots
from halfreal.runs.replay import Replay, ReplayError, replay
from halfreal.runs.run import Run, Signal
from presentation.pages import Page

TEXT = """
title = "A frame of two storeys"

[timing]
step = "2 ms"
duration = "3 s"

[virtual]
kind = "frame"
interface = [{ node = "B2", direction = "x" }]
scheme = { kind = "newmark", tolerance = 1e-12 }
rayleigh = { mass = "0.3 1/s" }
loads = [{ node = "A2", direction = "y", force = "-80 kN" }, { node = "B2", direction = "y", force = "-80 kN" }]

[virtual.sections.all]
modulus = "200 GPa"
area = "0.012 m^2"
second_moment = "2.5e-4 m^4"

[virtual.materials.plastic]
kind = "elastoplastic hinge"
stiffness = "86e6 N m/rad"
yield_moment = "120 kN m"
hardening = 0.02

[virtual.nodes]
A0 = { at = ["0 m", "0 m"], fixed = "all" }
B0 = { at = ["6 m", "0 m"], fixed = "pinned" }
A1 = { at = ["0 m", "3.5 m"], mass = "20 t" }
B1 = { at = ["6 m", "3.5 m"], mass = "20 t" }
A2 = { at = ["0 m", "7 m"], mass = "20 t" }
B2 = { at = ["6 m", "7 m"], mass = "20 t" }

[virtual.elements]
a1 = { kind = "beam", nodes = ["A0", "A1"], section = "all", hinges = ["plastic", "plastic"], geometry = "p-delta" }
b1 = { kind = "beam", nodes = ["B0", "B1"], section = "all", hinges = ["rigid", "plastic"], geometry = "p-delta" }
a2 = { kind = "beam", nodes = ["A1", "A2"], section = "all", geometry = "p-delta" }
b2 = { kind = "beam", nodes = ["B1", "B2"], section = "all", hinges = ["rigid", "pinned"], geometry = "p-delta" }
g1 = { kind = "beam", nodes = ["A1", "B1"], section = "all" }
g2 = { kind = "beam", nodes = ["A2", "B2"], section = "all" }
dashpot = { kind = "damper", nodes = ["A0", "B1"], damping = "80 kN s/m" }

[virtual.responses]
drift = { node = "A2", against = "A1", direction = "x", quantity = "displacement" }
other = { node = "B2", against = "B1", direction = "x", quantity = "displacement" }
turn = { node = "B1", direction = "rz", quantity = "displacement" }
across = { node = "B1", direction = "x", quantity = "velocity" }
up = { node = "B1", direction = "y", quantity = "velocity" }
rotation = { element = "a1", quantity = "deformation" }
moment = { element = "a1", quantity = "force" }

[excitation.virtual]
kind = "sine"
acceleration = "5 m/s^2"
frequency = "1.1 Hz"

[rig.actuator]
kind = "first order"
time_constant = "2 ms"

[rig.specimen]
stiffness = "2 kN/mm"
damping = "40 kN s/m"

[limits]
command = { trip = "500 mm" }
gap = { trip = "100 mm" }
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("frame") / "frame.toml"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(file: Path) -> Run:
    done = halfreal.rehearse(halfreal.load(file))
    assert done.outcome == "completed", done.reason
    return done


@pytest.fixture(scope="module")
def played(run: Run) -> Replay:
    found = replay(run)
    assert found is not None
    return found


def test_what_is_played_again_is_what_was_recorded(run: Run, played: Replay):
    inside, kept = played.inside, np.searchsorted(run.time, played.time)
    assert np.array_equal(played.motion[:, inside.column("B1", "rz")], run.signals["virtual.turn"].values[kept])
    drift = 0.5 * (run.signals["virtual.drift"].values + run.signals["virtual.other"].values)
    assert np.abs(played.drifts["x"][:, 1] - drift).max() < 1e-12
    [foot] = [i for i, spot in enumerate(inside.sketch.spots) if spot.name == "hinge of 'a1' at 'A0'"]
    assert np.array_equal(played.strain[1:, foot], run.signals["virtual.rotation"].values[kept][1:])
    assert np.array_equal(played.stress[1:, foot], run.signals["virtual.moment"].values[kept][1:])
    assert played.strains.size[foot] == np.abs(run.signals["virtual.rotation"].values[1:]).max()
    assert structure_plots.yielded(played)[foot]


def test_energies_add_up(run: Run, played: Replay):
    """Each is found in a way of its own, and what came in has gone somewhere."""
    assert played.left_open < 1e-9
    speed = (6.0 * run.signals["virtual.across"].values + 3.5 * run.signals["virtual.up"].values) / np.hypot(6.0, 3.5)
    [lost] = played.dashpots.values()
    assert lost == pytest.approx(80e3 * np.trapezoid(speed**2, run.time), rel=1e-3)
    moment, turn = (run.signals[f"virtual.{name}"].values[1:] for name in ("moment", "rotation"))
    work = np.trapezoid(moment, turn) - (moment[-1] ** 2 - moment[0] ** 2) / (2.0 * 86e6)
    [foot] = [i for i, spot in enumerate(played.inside.sketch.spots) if spot.name == "hinge of 'a1' at 'A0'"]
    assert played.absorbed[foot] == pytest.approx(work, rel=1e-6) and work > 1e3
    force, moved = run.signals["feedback"].values, run.signals["target"].values
    assert played.energy["specimen"][-1] == pytest.approx(-np.trapezoid(force, moved), rel=1e-9)


def test_modes_are_those_of_the_closed_form():
    storey = {"kind": "elastoplastic", "stiffness": 3e6, "yield_force": 1e5, "hardening": 0.1}
    inside = shear_building([1e3, 1e3], [storey, storey]).build([("F2", "x")]).inside("none")
    frequencies, shapes = inside.modes(5)
    golden = 0.5 * (np.sqrt(5.0) - 1.0)
    assert frequencies == pytest.approx(np.sqrt(3e3) / (2 * np.pi) * np.array([golden, 1.0 + golden]), rel=1e-9)
    top, first = (shapes[:, inside.column(f"F{i}", "x")] for i in (2, 1))
    assert top / first == pytest.approx([1.0 + golden, -golden], rel=1e-6)


def test_a_structure_that_only_the_specimen_holds_has_modes_of_no_frequency():
    frame = FrameBuilder()
    frame.section("rod", modulus=2e11, area=1e-3)
    for i, fixed in enumerate((["y", "rz"], ["y", "rz"])):
        frame.node(f"N{i}", (2.0 * i, 0.0), mass=100.0, fixed=fixed)
    frame.truss("rod", "N0", "N1", section="rod")
    frequencies, _ = frame.build([("N0", "x")]).inside("none").modes(2)
    assert frequencies[0] < 1e-3 * frequencies[1]
    assert frequencies[1] == pytest.approx(np.sqrt(2.0 * 2e11 * 1e-3 / 2.0 / 100.0) / (2.0 * np.pi))


def test_a_record_that_does_not_tell_says_so(run: Run):
    fewer = {name: signal for name, signal in run.signals.items() if name != "feedback"}
    with pytest.raises(ReplayError, match="feedback not recorded"):
        replay(replace(run, signals=fewer))
    with pytest.raises(ReplayError, match=r"one of every 2 ticks"):
        replay(replace(run, definition={**run.definition, "record": {**run.definition["record"], "every": 2}}))
    other = run.signals["target"].values.copy()
    other[700] += 1e-3
    with pytest.raises(ReplayError, match=r"differs from its target at 1\.4 s"):
        replay(replace(run, signals={**run.signals, "target": Signal("m", other)}))
    page = Page(html.render(replace(run, signals=fewer))).text
    assert "feedback not recorded" in page and "Model of the virtual part" in page


def test_the_page_has_tables_and_pictures(run: Run):
    page = Page(html.render(run)).text
    for words in ("Storey drifts", "hinge of 'a1' at 'A0'", "transferred to the specimen", "by the dashpot 'dashpot'"):
        assert words in page, words
    assert "3.5 … 7 m" in page and "Energy balance" in page and "mode 1:" in page


def test_a_test_that_tripped_is_told_up_to_its_trip(file: Path):
    test = halfreal.load(file).with_values({"limits.command.trip": 0.03})
    run = halfreal.rehearse(test)
    assert run.outcome == "tripped"
    found = replay(run)
    assert found is not None and found.left_open < 1e-9
    trip = next(event.time for event in run.events if event.text.startswith("trip"))
    assert abs(found.all_time[-1] - trip) < 2.5 * run.step


def test_structures_in_space_are_drawn_from_a_corner():
    frame = FrameBuilder(3)
    frame.section("rod", modulus=2e11, area=1e-3)
    for name, at in {"A": (0, 0, 0), "B": (2, 0, 0), "C": (0, 2, 0)}.items():
        frame.node(name, at, fixed="all")
    frame.node("D", (0.5, 0.5, 2.0), mass=100.0, fixed=["rx", "ry", "rz"])
    for foot in "ABC":
        frame.truss(f"rod {foot}", foot, "D", section="rod")
    inside = frame.build([("D", "y")]).inside("none")
    assert inside.sideways == ("x", "y") and len(inside.sketch.storeys) == 1
    figure = sketch.overview(inside)
    assert len(figure.axes) == 4
    # up is up on paper, and both horizontal directions are seen
    assert np.allclose(sketch.seen([0.0, 0.0, 1.0])[0], 0.0) and sketch.seen([0.0, 0.0, 1.0])[1] > 0.9
    assert abs(np.linalg.det(sketch.SPACE[:, :2])) > 0.2


def test_commands_draw_the_model_and_the_film(run: Run, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    halfreal.save(run, "frame.h5")
    answer = CliRunner().invoke(app, ["report", "frame.h5", "--animate"])
    assert answer.exit_code == 0 and "animation: " in answer.output, answer.output
    with Image.open("frame.gif") as film:
        assert film.format == "GIF" and film.n_frames > 50
    answer = CliRunner().invoke(app, ["check", str(GALLERY / "uncompensated.toml"), "--picture", "model.png"])
    assert answer.exit_code == 2 and "has no geometry" in answer.output
    # a linear one, of which a check has less to find out
    linear = re.sub('"plastic"', '"rigid"', TEXT).replace(', geometry = "p-delta"', "")
    linear = re.sub(r"\n(rotation|moment) = [^\n]*", "", linear.replace('"3 s"', '"0.1 s"'))
    Path("linear.toml").write_text(linear, encoding="utf-8")
    answer = CliRunner().invoke(app, ["check", "linear.toml", "--picture", "model.png"])
    assert answer.exit_code in (0, 1) and "picture: " in answer.output
    with Image.open("model.png") as picture:
        assert picture.width > 500
