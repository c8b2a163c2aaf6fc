"""The stock OpenSees against a site: what comes out is the analysis of the whole structure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.live.site import SiteSession
from live.processes import Process
from live.test_site import served
from models.materials.opensees import environment, why_not

EXAMPLE = Path(halfreal.__file__).parent / "examples" / "opensees_frame"
SECONDS = 1.6
"""Of the ground motion: the brace has yielded by then."""


def frame(folder: Path, *options: str) -> np.ndarray:
    """Time, displacement and velocity of the frame's floor."""
    output = folder / f"{options[0]}.csv"
    words = [sys.executable, str(EXAMPLE / "frame.py"), *options, "--seconds", str(SECONDS), "--output", str(output)]
    ran = subprocess.run(words, env=environment(), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return np.loadtxt(output, delimiter=",", skiprows=1)


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "it is there")
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_frame_through_the_stock_client_is_the_whole_frame(tmp_path: Path, protocol: str) -> None:
    rig_file = tmp_path / "rig.toml"
    given = halfreal.load(EXAMPLE / "slow.toml")
    text = (EXAMPLE / "slow.toml").read_text().replace("127.0.0.1:7690", "127.0.0.1:0")
    rig_file.write_text(text)
    with Process(tmp_path, "rig", "rig", str(rig_file), "--in-step") as rig:
        port = rig.until(r"listening on \S+?:(\d+)")[1]
        changes = {"link.rig": f"127.0.0.1:{port}", "limits.stale.trip": "20 s"}
        own = {"virtual.listen": "127.0.0.1:0", "virtual.protocol": protocol, "timing.duration": "3 s"}
        session = SiteSession(given.with_values({**changes, **own}), tmp_path / "run.h5")
        found: list[np.ndarray] = []
        try:
            where = session.listen().split()[0].rpartition(":")[2]
            session.check()
            session.arm()
            options = ["site", "--port", where, *(["--udp"] if protocol == "udp" else [])]
            run = served(session, lambda: found.append(frame(tmp_path, *options)))
        finally:
            session.close()
    whole = frame(tmp_path, "whole")
    assert run.outcome == "completed"
    peak = np.abs(whole).max(axis=0)
    assert np.all(np.abs(found[0] - whole).max(axis=0) <= 1e-12 * peak)
    force = run.signals["measured.force"].values
    displacement = run.signals["measured.displacement"].values
    assert np.abs(force - 8e6 * displacement).max() > 1e3, "it has yielded"
