"""Auxiliary channels of a rig behind a link: recorded and limited, and what they excite and release."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.links.wires import LinkError
from halfreal.live.view import status
from live.processes import (
    IN_STEP,
    SAFE,
    STEP,
    Rig,
    armed,
    assert_every_tick,
    assert_held_after_trip,
    assert_obeyed,
    assert_same,
    column,
    definition,
    tripped_at,
)
from live.proxy import Proxy, Rewritten

NOTHING = dict.fromkeys(
    f"excitation.virtual.{key}" for key in ("displacement", "frequency", "ramp")
)  # of BASE, left out
CHANNELS: dict[str, object] = {
    "auxiliary.generator.unit": "V",
    "auxiliary.generator.signal.kind": "sine",
    "auxiliary.generator.signal.value": "5 V",
    "auxiliary.generator.signal.frequency": "3 Hz",
    "auxiliary.generator.signal.ramp": "0.1 s",
    "auxiliary.load_cell.unit": "kN",
    "auxiliary.load_cell.reads": "rig.force",
}
EXCITED: dict[str, object] = {
    **NOTHING,
    "excitation.virtual.kind": "channel",
    "excitation.virtual.channel": "generator",
    "excitation.virtual.gain": "2 mm/V",
    "excitation.virtual.limit": "12 mm",
    "reference": {},
}
RELEASED: dict[str, object] = {
    "excitation.release_by.channel": "generator",
    "excitation.release_by.threshold": "2 V",
    "reference": {},
}
FALSE = 150
"""Sequence of the first measurement that is not the rig's, which is seen one tick before."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with Rig(tmp_path_factory.mktemp("rig"), "--in-step", changes={**IN_STEP, **CHANNELS}) as rig:
        rig.auxiliary = 2
        yield rig


@pytest.fixture
def measuring(shared: Rig) -> Rig:
    """A rig in step with two auxiliary channels, standing at 0."""
    shared.go_home()
    return shared


@pytest.mark.parametrize("how", [EXCITED, RELEASED], ids=["excited", "released"])
def test_a_run_is_its_rehearsal_with_its_auxiliary_channels(tmp_path: Path, measuring: Rig, how) -> None:
    given = definition(tmp_path, measuring.port, IN_STEP, CHANNELS, how)
    run, record = halfreal.run(given, tmp_path / "run.h5"), measuring.record()
    assert (run.outcome, run.reason) == ("completed", "")
    rehearsal = halfreal.rehearse(given)
    assert {"measured.generator", "measured.load_cell", "excitation.virtual", "reference"} <= set(run.signals)
    assert run.signals["measured.load_cell"].unit == "kN" and np.abs(column(run, "excitation.virtual")).max() > 5e-3
    assert_same(run, rehearsal)
    assert [event.time for event in run.events if event.channel == "excitation.releases"] == [
        event.time for event in rehearsal.events if event.channel == "excitation.releases"
    ]
    assert_obeyed(run, record)
    kept = halfreal.load_run(tmp_path / "run.h5")
    np.testing.assert_array_equal(column(kept, "measured.generator"), column(run, "measured.generator"))


def test_so_it_is_in_shared_memory(tmp_path: Path) -> None:
    mailbox = {"link.kind": "shared memory", "link.rig": None, "link.name": f"auxiliary-{os.getpid()}"}
    changes = {**IN_STEP, **CHANNELS, **EXCITED, **mailbox}
    with Rig(tmp_path, "--once", "--in-step", changes=changes) as rig:
        given = definition(tmp_path, rig.port, changes)
        run = halfreal.run(given, tmp_path / "run.h5")
        rig.record()
    assert (run.outcome, run.reason) == ("completed", "")
    assert_same(run, halfreal.rehearse(given))


def test_a_rig_with_another_number_of_channels_is_not_armed(tmp_path: Path, rig_in_step: Rig) -> None:
    session = halfreal.Session(definition(tmp_path, rig_in_step.port, IN_STEP, CHANNELS), tmp_path / "run.h5")
    told = r"refuses: it measures 0 auxiliary channel\(s\) and the definition 2; give both the same"
    with pytest.raises(LinkError, match=told), armed(session):
        pass
    assert "armed" not in rig_in_step.said
    assert not (tmp_path / "run.h5").exists()


def generator(change: Callable[[float], float]) -> Callable[..., Sequence[float]]:
    return lambda first, now: (*now[:2], change(now[2]), now[3])


def load_cell(change: Callable[[float], float]) -> Callable[..., Sequence[float]]:
    return lambda first, now: (*now[:3], change(now[3]))


@pytest.mark.parametrize(
    ("change", "limits", "words"),
    [
        (load_cell(lambda now: math.nan), {}, r"measured\.load_cell was nan, not a finite number"),
        (generator(lambda now: -math.inf), {}, r"measured\.generator was -inf, not a finite number"),
        (generator(lambda now: 6.1), {}, r"excitation\.virtual was 12\.2 mm, beyond its limit of 12 mm"),
        (
            load_cell(lambda now: now + 1.0),
            {'limits.channels."measured.load_cell".trip': "0.5 kN"},
            r"measured\.load_cell was 1\.\d+ kN, beyond its limit of 0\.5 kN",
        ),
    ],
    ids=["load cell NaN", "generator infinite", "excitation too large", "load cell beyond its limit"],
)
def test_what_a_channel_must_not_measure_trips_in_the_tick_in_which_it_is_seen(
    tmp_path: Path, measuring: Rig, change, limits: dict[str, object], words: str
) -> None:
    with Proxy(measuring.port, measurements=Rewritten(FALSE, change)) as proxy:
        given = definition(tmp_path, proxy.port, IN_STEP, CHANNELS, EXCITED, limits)
        run = halfreal.run(given, tmp_path / "run.h5")
        record = measuring.record()
    assert run.outcome == "tripped"
    assert re.fullmatch(words, run.reason), run.reason
    assert tripped_at(run) == FALSE - 1
    assert_held_after_trip(run)
    assert_obeyed(run, record)
    assert_every_tick(run)
    assert column(record, "rig.state")[-1] != SAFE


def test_what_the_rig_measures_excites_and_not_what_was_rehearsed(tmp_path: Path, measuring: Rig) -> None:
    """From one measurement on the generator gives 1 V: so the support stands at 2 mm, and the reference's with it."""
    with Proxy(measuring.port, measurements=Rewritten(FALSE, generator(lambda now: 1.0))) as proxy:
        given = definition(tmp_path, proxy.port, IN_STEP, CHANNELS, EXCITED, {"timing.duration": "3 s"})
        with armed(halfreal.Session(given, tmp_path / "run.h5", without_go="as it comes")) as session:
            session.wait()
            assert dict(status(session).auxiliary)["measured.generator"] == "1 V"
            run = session.finish()
        measuring.record()
    driven = column(run, "excitation.virtual")
    after = np.rint(run.time / STEP) >= FALSE - 1
    np.testing.assert_array_equal(driven[after], 2e-3)
    jump = int(np.flatnonzero(after)[0])
    rate = (driven[jump] - driven[jump - 1]) / STEP
    assert column(run, "excitation.virtual.rate")[jump] == pytest.approx(rate, rel=1e-9)
    # the mass comes to rest between support and specimen, springs of one stiffness
    for name in ("target", "reference"):
        assert column(run, name)[run.time < 3.0 - 0.5 * STEP][-1] == pytest.approx(1e-3, rel=1e-2)
