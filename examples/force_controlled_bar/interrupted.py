"""The bar's test stopped in the middle and resumed, against the virtual bench in step, and the same uninterrupted.

python interrupted.py

A session that goes on computes its state anew from the record, to the bit.  The bench is another matter: it lets the
bar go when it is stopped, is loaded anew, and comes to rest within ``slow.settle.force`` of what it is asked for, from
another side.  By that much the next measurement differs.
"""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import study

import halfreal
from halfreal.live import VirtualRig


def definition(where: str, settle: str, duration: float = 0.05) -> halfreal.Definition:
    """``index_one.toml`` without noise, its first 400 exchanges."""
    return study.changed(
        "index_one",
        {
            "timing.duration": f"{duration!r} s",
            "rig.sensors": {},
            "slow.settle": {"force": settle, "time": "2 ms", "timeout": "10 s"},
            "limits.stale": {"trip": "20 s"},
            "limits.lateness": {"trip": "20 s"},
            "link.rig": where,
            "link.lease": "10 s",
            "acceptance": {"synchronisation": "none", "fidelity": "none"},
        },
    )


def apart(stop_after: int, settle: str) -> float:
    """Largest difference of q1 and q2 from the uninterrupted test, as a part of its peak."""
    rig, ended = VirtualRig(definition("127.0.0.1:0", settle), in_step=True), threading.Event()
    given = definition(rig.end.address, settle)
    with tempfile.TemporaryDirectory() as place:
        thread = threading.Thread(target=_serve, args=(rig, ended, Path(place)))
        thread.start()
        try:
            before = _session(given, Path(place) / "run.h5", stop_after)
            run = _session(given, Path(place) / "on.h5", None, before)
        finally:
            ended.set()
            thread.join()
            rig.close()
    whole = halfreal.rehearse(given)
    assert run.outcome == "completed", run.reason
    names = ("virtual.displacement.1", "virtual.displacement.2")
    rows = min(len(run.signals[names[0]].values), len(whole.signals[names[0]].values))
    one, other = (np.column_stack([r.signals[name].values[:rows] for name in names]) for r in (run, whole))
    return float(np.abs(one - other).max() / np.abs(other).max())


def _serve(rig: VirtualRig, ended: threading.Event, place: Path) -> None:
    while not ended.is_set():
        rig.serve(ended.is_set, told=lambda text: None, output=place / "rig.h5")


def _session(
    given: halfreal.Definition, output: Path, stop_after: int | None, before: halfreal.Run | None = None
) -> halfreal.Run:
    elsewhere = "" if before is None else "the stop has let the bar go"
    session = halfreal.Session(given, output, after=before, rig_has_moved=elsewhere)
    try:
        session.check()
        session.arm(wait=True)
        if stop_after is not None:
            session.pause()
        session.start()
        for tick in range(1, (stop_after or 0) + 1):  # one by one, so that it is always stopped at the same
            session.step()
            while (session.state, session.loop.vector[0] if session.loop else 0) != ("paused", tick):
                time.sleep(0.001)
        if stop_after is not None:
            session.stop()
        session.wait()
        return session.finish()
    finally:
        session.close()


if __name__ == "__main__":
    print(f"stopped after 200 of 400 exchanges and resumed, q differs by {apart(200, '0.1 N'):.1e} of its peak")
