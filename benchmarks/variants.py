"""Studies of many variants of a test: an uncertainty study against its variants one by one.

``python benchmarks/variants.py`` alone shows these rows only.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from report import Row, duration

import halfreal
from halfreal.definition.uncertainty import parameters
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
    whole, plain = [], []
    for _ in range(TURNS):
        start = time.perf_counter()
        study = study_uncertainty(test, samples=SAMPLES)
        whole.append((time.perf_counter() - start) / study.evaluations)
        start = time.perf_counter()
        growth = [growth_rate(variation.at(values)) for values in study.samples[:PLAIN]]
        plain.append((time.perf_counter() - start) / PLAIN)
        if not np.array_equal(growth, study.growth[:PLAIN]):
            raise RuntimeError("the study and single variants differ")
    ratio = min(plain) / min(whole)
    return [
        Row(
            f"uncertainty study of the benchmark problem, {study.evaluations:,} variants",
            f"{duration(min(whole))} a variant",
            f"{ratio:.1f} × faster than one by one, built from scratch ({duration(min(plain))}), same numbers; "
            f"target at least {FASTER:g}: {'met' if ratio >= FASTER else 'missed'}",
        )
    ]


if __name__ == "__main__":
    from report import show

    show(rows())
