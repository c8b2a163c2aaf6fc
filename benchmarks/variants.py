"""Studies of many variants of a test: an uncertainty study against its variants one by one.

A faster linearisation shortens both, and lowers their ratio: the row therefore states what linearising a loop takes,
and the processor time of a variant in both processes of the study.

``python benchmarks/variants.py`` alone shows these rows only.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
from fresh import in_new_process
from report import Row, duration

import halfreal
from halfreal.contracts.context import AT_REST
from halfreal.definition.uncertainty import parameters
from halfreal.runs.build import build
from halfreal.runs.loop_stability import linearised
from halfreal.studies.uncertainty.uncertainty import study_uncertainty
from halfreal.studies.uncertainty.variation import Variation, growth_rate

EXAMPLE = Path(__file__).parents[1] / "examples" / "vrths_benchmark" / "case_1.toml"
SAMPLES, PLAIN, TURNS = 1000, 50, 3
"""Samples of the study, and how many of them are studied one by one as well, in each turn."""
FASTER = 8.0


def rows() -> list[Row]:
    test = halfreal.load(EXAMPLE)
    study_uncertainty(test, samples=8)  # compiles
    variation = Variation(test, [one.place for one in parameters(test)])
    loop = build(test, AT_REST)
    whole, busy, plain, linear = [], [], [], []
    for _ in range(TURNS):
        start, used = time.perf_counter(), _processor_time()
        study = study_uncertainty(test, samples=SAMPLES)
        whole.append((time.perf_counter() - start) / study.evaluations)
        busy.append((_processor_time() - used) / study.evaluations)
        start = time.perf_counter()
        growth = [growth_rate(variation.at(values)) for values in study.samples[:PLAIN]]
        plain.append((time.perf_counter() - start) / PLAIN)
        if not np.array_equal(growth, study.growth[:PLAIN]):
            raise RuntimeError("the study and single variants differ")
        for _ in range(PLAIN):
            start = time.perf_counter()
            _ = linearised(test, loop).spectral_radius
            linear.append(time.perf_counter() - start)
    ratio = min(plain) / min(whole)
    return [
        Row(
            f"uncertainty study of the benchmark problem, {study.evaluations:,} variants",
            f"{duration(min(whole))} a variant",
            f"{ratio:.1f} × faster than one by one, built from scratch ({duration(min(plain))}), same numbers; "
            f"processor time {duration(min(busy))}; linearising alone {duration(min(linear))} in both; "
            f"target at least {FASTER:g}: {'met' if ratio >= FASTER else 'missed'}",
        )
    ]


def _processor_time() -> float:
    """Of this process and of those that have ended [s]."""
    return sum(os.times()[:4])


if __name__ == "__main__":
    from report import show

    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as in run.py, before NumPy is loaded
    show(in_new_process(rows))
