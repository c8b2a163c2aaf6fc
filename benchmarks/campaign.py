"""Campaigns and samples: the strut-braced wing under one gust over a grid of devices, and an uncertain shaker.

A point of the campaign is a rehearsal of 10 s at 4 kHz.  ``BENCH_CAMPAIGN`` is the number of stiffnesses, and of
dampings, 20 if it is not set; 100 make 10 000 rehearsals.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from report import Row, duration

import halfreal
from halfreal.definition.paths import with_values
from halfreal.stability.ideal_compensator import Device
from halfreal.studies.uncertainty.compensator_uncertainty import compensator_bands

WING = Path(__file__).parents[1] / "examples" / "strut_braced_wing" / "single_gust.toml"
SECONDS = 10.0
WHOLE, LONGEST, FEW = 10_000, 50.0, 4
"""Rehearsals of a large campaign, and what it may take on two cores [s]; points along each side of a small one, which
is mostly the start of its workers."""
SAMPLES, LINES = 10_000, np.linspace(0.25, 15.0, 119)


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def plan(points: int) -> halfreal.Plan:
    return halfreal.Plan(
        vary={
            "virtual.stiffness": {"low": 100.0, "high": 10_000.0, "count": points, "scale": "log"},
            "virtual.damping": {"low": 200.0, "high": 1000.0, "count": points, "scale": "log"},
        },
        scores=("peak rig.displacement",),
        check=False,
    )


def samples(wing: halfreal.Definition) -> object:
    device = Device(np.ones(1), np.array([wing.virtual.damping, wing.virtual.stiffness]))
    return compensator_bands(wing.rig.shaker, wing.rig.drive, device, LINES, samples=SAMPLES)


def rows() -> list[Row]:
    points = int(os.environ.get("BENCH_CAMPAIGN", "20"))
    wing = with_values(halfreal.load(WING), {"timing.duration": SECONDS})
    with tempfile.TemporaryDirectory() as folder:

        def campaign(workers: int, count: int) -> float:
            store = Path(tempfile.mkdtemp(dir=folder)) / "store.sqlite"  # a new one: no point is done before
            return timed(lambda: halfreal.sweep(wing, plan(count), store, workers=workers))

        campaign(1, 2)  # compiles
        halfreal.build(wing).fuse()  # as a campaign does after about a hundred rehearsals
        few = min(campaign(2, FEW) for _ in range(2))
        two, one = campaign(2, points), campaign(1, points)
    bands = [timed(lambda: samples(wing)) for _ in range(3)]
    each = (two - few) / (points**2 - FEW**2)
    whole = few + each * (WHOLE - FEW**2)
    return [
        Row(
            f"campaign of {points**2:,} rehearsals of a wing test, {SECONDS:g} s at 4 kHz each, 2 workers",
            duration(two),
            f"{duration(each)} for each beyond the first {FEW**2}, so {whole:.0f} s for {WHOLE:,}, extrapolated; "
            f"target below {LONGEST:g} s: {'met' if whole < LONGEST else 'missed'}",
        ),
        Row("the same with 1 worker", duration(one), f"{one / two:.2f} × as long"),
        Row(
            f"{SAMPLES:,} samples of an uncertain shaker, bands of its ideal compensator",
            duration(min(bands)),
            f"{len(LINES)} frequencies; target below 1 s: {'met' if min(bands) < 1.0 else 'missed'}",
        ),
    ]


if __name__ == "__main__":
    from report import show

    show(rows())
