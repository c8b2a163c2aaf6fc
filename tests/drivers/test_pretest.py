"""The findings of ``halfreal pretest`` for rigs that are not as their definition says: by how much each is off.

The rigs are a driver of the tests' own, read and written once a tick as in the loop, without a clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.contracts.driver import Opening
from halfreal.definition.definition import Definition
from halfreal.definition.paths import with_values
from halfreal.drivers.host import Host
from halfreal.drivers.simulated import SimulatedDriver
from halfreal.links.driver import wired
from halfreal.live import pretest
from halfreal.live.driver_trial import Found
from halfreal.live.pretest import Idle, moved_as_told, noise, predicted, verified
from halfreal.runs.run import Run, Signal
from halfreal.studies.identifying.experiment import plan
from halfreal.studies.identifying.identify import identify

EXAMPLE = Path(__file__).parents[2] / "examples" / "first_rig" / "bench.toml"
AS_DEFINED = {"lag": 0.006, "stiffness": 1.0, "noise": 5e-4}
LEFT_OUT = {"channels.inputs.load_cell.filter": None, "rig.sensors.force.delay": "0 s"}  # the low-pass of the loop


class Delayed(SimulatedDriver):
    """The simulated rig, with commands that arrive so many reads later as the setting ``ticks`` says."""

    def open(self, opening: Opening) -> None:
        settings = dict(opening.settings)
        self._on_the_way: deque[list[float]] = deque(maxlen=int(settings.pop("ticks", 0)) + 1)
        super().open(replace(opening, settings=settings))

    def write(self, commands: Sequence[float]) -> None:
        self._on_the_way.append(list(commands))
        if len(self._on_the_way) == self._on_the_way.maxlen:
            super().write(self._on_the_way[0])


def bench(**settings: float) -> Definition:
    return with_values(halfreal.load(EXAMPLE), {**LEFT_OUT, "driver.settings": {**AS_DEFINED, **settings}})


@pytest.fixture(scope="module")
def rehearsed() -> tuple[Definition, Run]:
    """The low-level identification: what it commands depends on no measurement."""
    one = plan(bench(), 0, amplitude=3e-4, duration=4.0)
    return one.definition, halfreal.rehearse(one.definition)


def measured(run: Run, **settings: float) -> Run:
    """The same run with what a driver of these settings reads under its commands."""
    test = bench()
    table = wired(test)
    opening = Opening(*table.terminals, test.period, {**AS_DEFINED, **settings})
    values = np.empty((run.time.size, len(table.inputs)))
    with closing(Host(f"{__file__}:Delayed", opening, 1.0, warden=False)) as host:
        for k, command in enumerate(run.signals["command"].values):
            values[k] = table.values(host.read())
            host.write(table.resting([command]))
    read = {name: Signal(run.signals[name].unit, values[:, i]) for i, name in enumerate(table.measured)}
    return replace(run, signals={**run.signals, **read})


def findings(run: Run) -> dict[str, Found]:
    """Of identification and verification."""
    runs = [("low.h5", run)]
    found = [*moved_as_told(run, [""]), *predicted(bench(), runs), *verified(identify(bench(), runs))]
    return {one.what: one for one in found}


def away(text: str, unit: str) -> float:
    return float(text.rpartition(": ")[2].removesuffix(" away").removesuffix(unit))


def bad(found: dict[str, Found]) -> dict[str, str]:
    return {what: one.found for what, one in found.items() if one.verdict == "BAD"}


def test_a_rig_that_is_as_its_definition_says_passes(rehearsed) -> None:
    found = findings(measured(rehearsed[1]))
    assert not bad(found), found
    assert found["measured.force, low.h5"].verdict == "good"


def test_a_specimen_that_is_softer_is_named_with_how_far_it_is(rehearsed) -> None:
    found = bad(findings(measured(rehearsed[1], stiffness=0.7)))
    assert "the model has 1 kN/m: 30 % away" in found["rig.specimen.stiffness"]
    left = float(found["measured.force, low.h5"].split("leaves ")[1].split(" %")[0])
    assert left == pytest.approx(100.0 * 0.3 / 0.7, rel=0.1)  # of what is measured, which is 0.7 of the model
    assert not any(name.startswith(("measured.displacement", "rig.actuator")) for name in found)


def test_a_rig_with_another_delay_is_named_with_how_far_it_is(rehearsed) -> None:
    found = bad(findings(measured(rehearsed[1], lag=0.009, ticks=4)))
    assert "the model has 6 ms: " in found["rig.actuator.time_constant"]
    assert away(found["rig.actuator.time_constant"], " %") == pytest.approx(50.0, abs=5.0)
    assert "the model has 0 s: " in found["rig.actuator.delay"]
    assert away(found["rig.actuator.delay"], " ms") == pytest.approx(4.0, abs=0.5)
    assert "measured.displacement, low.h5" in found


def test_a_rig_that_moves_the_other_way_fails(rehearsed) -> None:
    (found,) = moved_as_told(measured(rehearsed[1], gain=-1.0), [""])
    assert found.verdict == "BAD" and "WRONG DIRECTION" in found.found


def test_a_noisy_rig_is_named_with_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretest, "SECONDS", 0.2)
    for volts, verdict in ((5e-4, "good"), (5e-3, "BAD"), (0.2, "BAD")):
        test = with_values(bench(noise=volts), {"link.lease": "5 s"})
        with closing(Idle(test)) as idle:
            found = {one.what: one for one in noise(test, idle.rows(), idle)}["noise of measured.displacement"]
        assert found.verdict == verdict, found
    assert "times the 5 µm of the model, up to 2 are allowed" in found.found
    times = float(found.found.split("; ")[1].split(" ")[0])
    assert times == pytest.approx(400.0, rel=0.2)  # 0.2 V at 10 mm/V, of 200 samples
