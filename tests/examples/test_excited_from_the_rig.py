"""The rod on the shaking table, excited by an analogue input and by a push-button: as rod.toml has it."""

import numpy as np
import pytest

import halfreal
from examples.scripts import GALLERY
from halfreal.runs.build import build

EXAMPLE = GALLERY / "shaking_table_rod"
TICKS = 1500
RECORDED = ("excitation.virtual", "target", "command")


def rows(name: str, *more: str) -> np.ndarray:
    loop = build(halfreal.load(EXAMPLE / f"{name}.toml"))
    return loop.run(TICKS, record=(*RECORDED, *more)).log[:, 1:]


@pytest.fixture(scope="module")
def rod() -> np.ndarray:
    return rows("rod")


@pytest.mark.parametrize("name", ["from_the_rig", "by_push_button"])
def test_it_is_the_test_of_the_rod_but_for_what_excites_it(name):
    mine, plain = (halfreal.load(EXAMPLE / f"{one}.toml") for one in (name, "rod"))
    changed = {"title", "auxiliary", "excitation", "limits"}
    for part in mine.model_fields_set | plain.model_fields_set:
        assert part in changed or getattr(mine, part) == getattr(plain, part), part
    assert mine.limits.model_copy(update={"channels": {}}) == plain.limits.model_copy(update={"channels": {}})


def test_an_analogue_input_excites_it(rod):
    found = rows("from_the_rig", "measured.generator", "measured.actuator_force")
    peaks = np.abs(rod).max(axis=0)
    np.testing.assert_allclose(found[:, :3] / peaks, rod / peaks, rtol=0, atol=1e-12)
    np.testing.assert_allclose(60.0 * found[:, 3], rod[:, 0], rtol=1e-12)
    assert 2.5 < np.abs(found[:, 4]).max() < 3.0  # kN, below its warning


def test_a_push_button_releases_the_same_impulse(rod):
    found = rows("by_push_button", "excitation.releases")
    at = int(np.flatnonzero(found[:, 3])[0])
    readme = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    assert f"In the rehearsal it is at {at * 1e-3:.3f} s" in readme
    assert not found[:at, 0].any() and np.all(found[at:, 3] == 1.0)
    np.testing.assert_allclose(found[at:, 0], rod[:-at, 0], rtol=0, atol=1e-9 * np.abs(rod[:, 0]).max())
