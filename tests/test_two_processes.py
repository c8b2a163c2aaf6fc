"""Figures drawn in two processes are those drawn in one."""

from __future__ import annotations

import os
from functools import partial

import numpy as np
import pytest

from halfreal.figures import new_figure
from halfreal.presentation.style import as_svg
from halfreal.two_processes import results, shared

pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


def drawn(number: int) -> str:
    figure = new_figure(3.0, 2.0)
    axes = figure.subplots()
    axes.plot(np.sin(np.linspace(0.0, number + 1.0, 50)))
    axes.set(xlabel="time [s]", ylabel="displacement [mm]")
    return as_svg(figure, f"plot {number}", f"p{number}")


def test_two_processes_draw_what_one_draws() -> None:
    jobs = [partial(drawn, number) for number in range(3)]
    assert shared(jobs) == [job() for job in jobs] == results(jobs)


def test_jobs_are_shared_and_keep_their_order() -> None:
    here, there = os.pipe()

    def waits(number: int) -> tuple[int, int]:
        """The first job ends when the second has begun: so both processes have one."""
        if number == 0:
            os.read(here, 1)
        elif number == 1:
            os.write(there, b"!")
        return number, os.getpid()

    found = shared([partial(waits, number) for number in range(5)])
    assert [number for number, _ in found] == list(range(5))
    assert len({process for _, process in found}) == 2 and os.getpid() in {process for _, process in found}
    assert shared([lambda: 1]) == [1]


def test_errors_of_the_other_process_are_raised_here() -> None:
    def fails() -> int:
        raise ValueError("no data")

    with pytest.raises(ValueError, match="no data"):
        shared([lambda: 1, fails])
    with pytest.raises(ValueError, match="no data"):
        shared([fails, lambda: 1])
