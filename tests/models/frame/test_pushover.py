"""Pushovers against OpenSees under displacement control, against plastic moments, and on the command line."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from examples.wallace2005 import GALLERY
from halfreal.cli import app
from halfreal.contracts.pushed import Push
from halfreal.models.frame.statics import StaticsError
from models.frame import opensees
from models.frame.frames import CURVED, HEIGHT, PLASTIC, two_storeys
from models.frame.test_against_opensees import GRAVITY

CASES = {
    "bilinear hinges": {"material": PLASTIC},
    "curved hinges": {"material": CURVED},
    "P-Δ, bilinear hinges": {"material": PLASTIC, "geometry": "p-delta", "loads": GRAVITY},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("pattern", ["mode", "uniform"])
def test_the_curve_is_that_of_opensees(case, pattern):
    frame = two_storeys(**CASES[case])
    ours = frame.pushover(Push(pattern=pattern, node="A2", target=0.25, steps=50))
    displacement, factor = opensees.pushed_over(frame, dict(ours.pattern), "A2", 0.25, 50)
    assert len(ours.sequence) >= 6 and not ours.note
    assert ours.displacement[1:] == pytest.approx(displacement, rel=1e-9)
    assert np.abs(ours.base_shear[1:] - factor).max() < 1e-6 * np.abs(factor).max()


def test_the_mode_of_the_pattern_is_that_of_the_closed_form_and_shares_add_up():
    pushed = two_storeys().pushover(Push(steps=2))
    assert sum(pushed.pattern.values()) == pytest.approx(1.0)
    assert pushed.pattern["A2"] > pushed.pattern["A1"] > 0.0
    assert pushed.node in ("A2", "B2") and pushed.displacement[-1] == pytest.approx(0.02 * 2 * HEIGHT)
    assert pushed.base_shear[2] == pytest.approx(2.0 * pushed.base_shear[1], rel=1e-9), "nothing yields"


def test_a_portal_with_hinges_that_hardly_harden_carries_its_plastic_moments():
    """Sway mechanism of the lower storey alone, the force at the first floor: F h = 4 M_p, if girders are strong."""
    moment = 2e5
    plastic = {**PLASTIC, "yield_moment": moment, "hardening": 1e-6}
    frame = two_storeys(material=plastic)
    elements = {name: one.model_dump() for name, one in frame.elements.items()}
    strong = {**elements, **{name: {**elements[name], "hinges": ("rigid", "rigid")} for name in ("g1", "g2")}}
    pushed = two_storeys(material=plastic, elements=strong).pushover(
        Push(pattern={"A1": 1.0}, node="A1", target=0.2, steps=40)
    )
    assert pushed.base_shear[-1] == pytest.approx(4.0 * moment / HEIGHT, rel=5e-3)
    assert pushed.drifts[-1, 0] == pytest.approx(0.2, rel=0.02)


def test_what_cannot_be_pushed_is_refused():
    frame = two_storeys()
    for push, words in (
        (Push(node="Z"), "no node is called 'Z'"),
        (Push(direction="y"), "not a horizontal direction"),
        (Push(node="A0"), "node 'A0' is held by supports"),
        (Push(pattern="wave"), "not mode, uniform or triangle"),
        (Push(pattern={"A1": 1.0, "A2": -1.0}), "cancel"),
        (Push(pattern={"A0": 1.0}), "none acts where something can move"),
        (Push(target=0.0), "give one other than zero"),
    ):
        with pytest.raises(StaticsError, match=words):
            frame.pushover(push)


def test_the_command_writes_table_and_picture(tmp_path: Path, monkeypatch):
    from presentation.test_structure import TEXT

    monkeypatch.chdir(tmp_path)
    Path("frame.toml").write_text(TEXT, encoding="utf-8")
    answer = CliRunner().invoke(app, ["pushover", "frame.toml", "--to", "150 mm", "--steps", "20"])
    assert answer.exit_code == 0 and "hinge of 'a1' at 'A0'" in answer.output, answer.output
    rows = np.loadtxt("frame.pushover.csv", delimiter=",", skiprows=1)
    assert rows.shape == (21, 4) and rows[-1, 0] == pytest.approx(0.15) and Path("frame.pushover.png").is_file()
    options = ["pushover", "frame.toml", "--json", "--steps", "20", "--to", "150 mm"]
    numbers = json.loads(CliRunner().invoke(app, options).output)
    assert numbers["base_shear"] == pytest.approx(rows[:, 1], rel=1e-8)
    for bad, words in (
        (["--force-at", "A1"], "is not NODE=SHARE"),
        (["--force-at", "Z=1"], "no node is called 'Z'"),
        ([], "exists"),
    ):
        answer = CliRunner().invoke(app, ["pushover", "frame.toml", *bad, *(["-f"] if bad else [])])
        assert answer.exit_code == 2 and words in answer.output, answer.output
    answer = CliRunner().invoke(app, ["pushover", str(GALLERY / "uncompensated.toml"), "--json"])
    assert answer.exit_code == 2 and "only a frame has" in answer.output
