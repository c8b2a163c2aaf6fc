"""A slow test in force control: a rig that holds a force is taken over as it stands."""

from __future__ import annotations

import threading
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halfreal
from halfreal.kernels.block import Block
from halfreal.links import rig_end
from halfreal.links.rig_command import command_block
from halfreal.live.comparison import differences, tolerances
from halfreal.live.resumption import resume
from halfreal.live.rig import Served, VirtualRig
from halfreal.runs.run import Run
from links.ends import offer_of
from live.processes import ANYWHERE, armed, column, ticks, wait_for

BAR = Path(__file__).parents[2] / "examples" / "force_controlled_bar" / "index_one.toml"
TICKS, BEFORE = 12, 8


def bar(where: str) -> halfreal.Definition:
    """The gallery's test, so short that nothing but an initial velocity moves it."""
    data = tomllib.loads(BAR.read_text(encoding="utf-8"))
    data["timing"]["duration"] = "1.5 ms"
    data["virtual"]["initial_velocity"] = ["0 m/s", "0.05 m/s"]
    data["rig"]["sensors"] = {}
    data["limits"]["stale"]["trip"] = "20 s"
    # so short a piece shows no errors, and the bar of the gallery has less than 3 dB for a stiffer specimen
    data["acceptance"] = {"synchronisation": "none", "fidelity": "none", "gain_margin": "none"}
    data["link"].update(rig=where, lease="10 s")
    return halfreal.Definition.model_validate(data)


def assert_compared(given: halfreal.Definition, before: Run, rig: VirtualRig) -> None:
    """Its force must lie between the last and the next, its displacement must be the last one."""
    found = resume(given, before)
    where, last = rig.displacement, found.measured("force")[-1]
    way = found.next_command - last
    tolerance = tolerances(given, found, "force") * np.sign(way)
    for force, refused in ((last - 0.9 * tolerance, False), (last + way, False), (last - 1.1 * tolerance, True)):
        assert bool(differences(given, found, offer_of(where, force))) == refused
    off = 1.1 * tolerances(given, found, "displacement")
    said = differences(given, found, offer_of(where + off, last))
    assert len(said) == 1 and said[0].startswith("displacement ") and "next command" not in said[0]


def holding(*given: Any, **more: Any) -> Block:
    """The guard of a rig that holds its force after its emergency stop, as others may; halfreal's releases it."""
    block = command_block(*given, **more)
    return replace(block, parameters={**block.parameters, "by_force": 0.0})


def test_a_rig_that_holds_a_force_keeps_it_until_the_operator_agrees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own emergency stop has left it under load; the session that resumes the test takes it over like that."""
    monkeypatch.setattr(rig_end, "command_block", holding)
    rig, stopped, ended = VirtualRig(bar(ANYWHERE), in_step=True), threading.Event(), threading.Event()
    given = bar(rig.end.address)
    served: list[Served | None] = []

    def serve() -> None:
        for stop in (stopped, ended):
            served.append(rig.serve(stop.is_set, told=lambda text: None, output=tmp_path / "rig.h5"))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with armed(halfreal.Session(given, tmp_path / "run.h5"), wait=True) as session:
            session.pause()
            session.start()
            for tick in range(1, BEFORE + 1):
                session.step()
                wait_for(lambda t=tick: (session.state, ticks(session)) == ("paused", t), f"tick {tick}")
            stopped.set()
            session.wait()
            before = session.finish()
        assert before.outcome == "tripped" and "its emergency stop" in before.reason
        wait_for(lambda: served, "the rig to be safe")
        held = float(rig.force[0])
        assert held == pytest.approx(column(before, "command")[BEFORE - 1], abs=0.2) and held > 50.0
        assert_compared(given, before, rig)
        with armed(halfreal.Session(given, tmp_path / "on.h5", after=before), wait=True) as session:
            sends = session.loop.index["link.sent"]
            wait_for(lambda: session.loop.vector[sends] > 50, "the loop to hold the rig")
            waited = session.loop.vector[sends]
            session.start()
            session.wait()
            run = session.finish()
    finally:
        stopped.set()
        ended.set()
        thread.join()
        rig.close()
    assert run.outcome == "completed"
    resumed = halfreal.load_run(tmp_path / "rig.h5")
    newest, command, force = (column(resumed, name) for name in ("link.newest", "command", "rig.force"))
    before_enter = newest <= waited
    assert np.count_nonzero(before_enter) > 40 and np.all(command[before_enter] == held)
    np.testing.assert_allclose(force[before_enter], held, rtol=1e-9)
    assert np.abs(np.diff(command[~before_enter])).max() < 0.1 * held, "it goes on smoothly from there"
    assert command[-1] == 0.0, "at its end nothing is held"
    # a rig that settles within 0.1 N gives the same test to that much
    target = column(halfreal.rehearse(given), "target")[:TICKS]
    np.testing.assert_allclose(column(run, "target")[:TICKS], target, atol=1.0)
