"""A hostile network: a listener who knows everything but the secret moves nothing, and ends nothing.

Judged on the rig's own record: every command that it followed is one that its controller has recorded, in their order.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.links.secret import make_secret
from live.listener import AWAY, Listener, Traffic
from live.processes import (
    IN_STEP,
    Process,
    Rig,
    assert_every_tick,
    assert_obeyed,
    assert_same,
    column,
    controller,
    definition,
    written,
)
from live.proxy import Proxy

EACH = 13
"""Datagrams of the listener for each true one: more than ten thousand in 400 ticks, both ways."""


@pytest.fixture
def key(tmp_path: Path) -> Path:
    make_secret(tmp_path / "rig.key")
    return tmp_path / "rig.key"


def test_a_listener_who_knows_everything_but_the_secret_moves_nothing(tmp_path: Path, key: Path) -> None:
    """In step with the loop the test comes out to the bit as rehearsed, whatever is said in between."""
    guarded = {"link.key": str(key)}
    traffic, chance = Traffic(), random.Random(25)
    for each in (1, EACH):  # the second session hears the first again, and begins where that one began
        listeners = [Listener(traffic, to_rig, each, chance) for to_rig in (True, False)]
        with (
            Rig(tmp_path, "--in-step", "--force", changes=guarded) as rig,
            Proxy(rig.port, *listeners) as proxy,
        ):
            test = definition(tmp_path, proxy.port, IN_STEP, guarded)
            run = halfreal.run(test, tmp_path / f"run{each}.h5")
            record = rig.record()
            said = rig.said
    assert sum(traffic.said.values()) > 10_000
    assert (run.outcome, run.reason) == ("completed", "")
    assert_every_tick(run)
    assert_obeyed(run, record)
    assert_same(run, halfreal.rehearse(test))
    assert np.abs(np.diff(column(record, "command"))).max() < 0.1 * AWAY
    for seen in (run, record):
        assert column(seen, "link.corrupted")[-1] > 1000  # forged and flipped ones came there, and went no further
    assert run.rig["link"] == record.rig["link"] == "authenticated by a shared secret"
    secret = key.read_text().strip()
    told = [said, str(run.definition), run.definition_text, str(dict(run.host)), str(dict(run.rig))]
    files = [path for path in tmp_path.iterdir() if path != key]
    assert not any(secret in text for text in told)
    assert not any(found in path.read_bytes() for path in files for found in (secret.encode(), bytes.fromhex(secret)))


@pytest.mark.parametrize("own", ["none", "another"])
def test_a_controller_without_the_secret_is_not_answered_and_the_rig_says_so(
    tmp_path: Path, key: Path, own: str
) -> None:
    other = tmp_path / "other.key"
    make_secret(other)
    changes = {"link.key": str(other)} if own == "another" else {}
    with (
        Rig(tmp_path, "--in-step", changes={"link.key": str(key)}) as rig,
        controller(tmp_path, rig.port, IN_STEP, changes) as process,
    ):
        assert process.ends() == 2
        assert "no response from a rig" in process.complained and "link.key" in process.complained
        assert rig.said.count("a HELLO without this rig's key was ignored") == 1
        assert "armed" not in rig.said


def test_a_rig_that_others_can_reach_does_not_start_without_a_secret_or_a_reason(tmp_path: Path) -> None:
    with Process(tmp_path, "rig", "rig", str(written(tmp_path / "rig.toml", {"link.rig": "0.0.0.0:0"}))) as process:
        assert process.ends() == 2
        assert "could move it" in process.complained and "halfreal key" in process.complained
