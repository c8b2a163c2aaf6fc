"""Plots show the recorded numbers, in engineers' units, whatever the run."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfreal.presentation import html, plots, series
from halfreal.presentation.style import PURE_DELAY, as_png, as_svg
from halfreal.runs.run import Run, Signal, Stability
from halfreal.stability.loci import Loci

EACH = [
    plots.time_history,
    plots.synchronisation,
    plots.force_displacement,
    plots.command,
    plots.excitation,
    plots.poles,
]


@pytest.mark.parametrize("plot", EACH)
def test_every_plot_of_a_steady_run_can_be_drawn(plot, steady: Run) -> None:
    assert as_png(plot(steady), dpi=40).startswith(b"\x89PNG")


@pytest.mark.parametrize("plot", [plots.time_history, plots.synchronisation, plots.force_displacement, plots.command])
def test_every_plot_of_a_run_with_nan_and_infinity_can_be_drawn(plot, tripped: Run) -> None:
    assert as_png(plot(tripped), dpi=40).startswith(b"\x89PNG")


@pytest.mark.parametrize("plot", EACH)
def test_a_run_that_recorded_nothing_says_so(plot, steady: Run) -> None:
    bare = replace(steady, signals={}, stability=None)
    with pytest.raises(plots.NothingToPlotError):
        plot(bare)


def test_histories_are_drawn_in_millimetres_with_their_error(steady: Run) -> None:
    figure = plots.time_history(steady)
    whole, error, zoom, _ = figure.axes
    assert whole.get_ylabel() == "displacement [mm]" and error.get_ylabel() == "x − z [mm]"
    peaks = [np.abs(line.get_ydata()).max() for line in whole.lines[:3]]
    assert peaks == pytest.approx([5.0, 5.0, 5.05], rel=1e-4)
    assert np.abs(error.lines[0].get_ydata()).max() == pytest.approx(5 * 2 * np.sin(np.pi * 2 * 2e-3), rel=1e-3)
    assert np.diff(zoom.get_xlim())[0] == pytest.approx(1.5, rel=0.1), "three cycles of 2 Hz"


def test_the_second_axis_shows_the_second_axis(two_axes: Run) -> None:
    line = plots.time_history(two_axes, dof=2).axes[0].lines[0]
    assert np.abs(line.get_ydata()).max() == pytest.approx(2.5, rel=1e-4)


def test_a_pure_delay_lies_on_the_measured_ellipse(steady: Run) -> None:
    plane, opened = plots.synchronisation(steady, delay=2e-3, from_time=1.0).axes
    curves = {line.get_label(): line for line in opened.lines}
    assert "a pure delay of 2 ms" in curves
    measured, pure = (line for line in opened.lines if len(line.get_xdata()) > 100)
    np.testing.assert_allclose(pure.get_ydata(), measured.get_ydata(), atol=5 * 1e-3)  # of 125 µm
    assert plane.get_xlabel() == "target displacement [mm]"


def test_nothing_after_a_trip_is_drawn_in_the_plane(tripped: Run) -> None:
    drawn = plots.synchronisation(tripped).axes[0].lines
    assert max(len(line.get_xdata()) for line in drawn) == 3001


def test_limits_are_drawn_where_they_are(steady: Run) -> None:
    axes = plots.command(steady, limits=(-0.02, 0.02)).axes[0]
    level = [line.get_ydata()[0] for line in axes.lines if len(line.get_ydata()) == 2 and np.ptp(line.get_ydata()) == 0]
    assert level == [-20.0, 20.0]


def test_poles_stand_at_the_eigenvalues_of_the_map(steady: Run) -> None:
    rotation = 0.9 * np.array([[np.cos(1.0), -np.sin(1.0)], [np.sin(1.0), np.cos(1.0)]])
    eigenvalues = np.linalg.eigvals(np.block([[rotation, np.zeros((2, 1))], [np.zeros((1, 2)), -0.5 * np.eye(1)]]))
    s = np.log(eigenvalues.astype(complex)) / steady.step
    assessed = Stability(0.9, True, "", np.abs(s) / (2 * np.pi), -s.real / np.abs(s), np.abs(eigenvalues))
    found = series.poles(assessed, steady.step)
    assert np.exp(steady.step * found[0].s) == pytest.approx(0.9 * np.exp(1j), rel=1e-12)
    assert np.exp(steady.step * found[1].s) == pytest.approx(-0.5, rel=1e-12)
    assert len(found) == 2 and found[0].time_constant == pytest.approx(-steady.step / np.log(0.9))
    drawn = [(line.get_xdata()[0], abs(line.get_ydata()[0])) for line in plots.poles(steady).axes[0].lines[1:]]
    pole = np.exp(2 * np.pi * 5 * steady.step * complex(-0.1, np.sqrt(1 - 0.01)))
    assert drawn == [pytest.approx((pole.real, pole.imag), rel=1e-9)]


def test_a_pole_at_rest_is_kept() -> None:
    still = Stability(1.0, False, "", np.array([0.0]), np.array([np.nan]), np.array([1.0]))
    assert series.poles(still, 1e-3)[0].time_constant == np.inf


def test_events_are_marked_and_numbered(tripped: Run) -> None:
    axes = plots.command(tripped).axes[0]
    assert [text.get_text() for text in axes.texts] == ["1", "2"]
    assert {2.5, 3.0} <= {float(np.atleast_1d(line.get_xdata())[0]) for line in axes.lines}


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=600), st.integers(10, 100))
def test_fewer_points_keep_the_extremes_and_both_ends(values: list[float], points: int) -> None:
    y = np.array(values)
    t, kept = series.envelope(np.arange(len(y), dtype=float), y, points)
    assert kept.min() == y.min() and kept.max() == y.max()
    assert t[0] == 0 and t[-1] == len(y) - 1 and np.all(np.diff(t) > 0)
    assert np.array_equal(y[t.astype(int)], kept)
    assert len(kept) <= max(2 * points, points + 2 + len(y) % max(1, len(y) // (points // 2)))


def test_a_gap_in_a_long_record_does_not_hide_its_neighbours() -> None:
    y = np.full(10_000, np.nan)
    y[5003] = 7.0
    assert np.nanmax(series.envelope(np.arange(1e4), y)[1]) == 7.0


def test_the_last_cycles_of_a_sine() -> None:
    time = 1e-3 * np.arange(20_000)
    first, last = series.last_cycles(time, np.sin(2 * np.pi * 4 * time))
    assert last == time[-1] and last - first == pytest.approx(0.75, rel=0.03)
    first, last = series.last_cycles(time, np.sin(2 * np.pi * 4 * time), trip=10.0)
    assert first < 10.0 < last and last == pytest.approx(10.25, rel=0.01)


@pytest.mark.parametrize(
    ("unit", "peak", "shown"),
    [
        ("m", 0.004, "mm"),
        ("m", 2e-6, "µm"),
        ("N", 50.0, "N"),
        ("N", 2e5, "kN"),
        ("s", 2e-3, "ms"),
        ("m/s^2", 1, "m/s²"),
    ],
)
def test_units_are_those_engineers_use(unit: str, peak: float, shown: str) -> None:
    assert series.display(unit, peak).label == shown


def test_long_noisy_records_make_small_pictures(steady: Run) -> None:
    rng = np.random.default_rng(0)
    time = 1e-4 * np.arange(300_000)
    noisy = {name: Signal(signal.unit, rng.normal(size=len(time))) for name, signal in steady.signals.items()}
    run = replace(steady, time=time, signals=noisy, step=1e-4)
    for plot in (plots.time_history, plots.synchronisation):
        assert len(as_svg(plot(run), "", "p")) < 600_000


def test_a_pure_delay_does_not_cover_motion_of_many_frequencies(steady: Run) -> None:
    rng = np.random.default_rng(1)
    noise, target = 2e-3 * rng.normal(size=len(steady.time)), steady.signals["target"].values

    def drawn(z: np.ndarray, x: np.ndarray) -> list[int]:
        signals = {"target": Signal("m", z), "measured.displacement": Signal("m", x)}
        axes = plots.synchronisation(replace(steady, signals=signals), 1, 5e-3).axes[1]
        return [
            len(line.get_xdata()) for line in axes.lines if line.get_color() == PURE_DELAY and len(line.get_xdata())
        ]

    assert drawn(target, target) == [5000], "all of it, behind the measurement"
    assert drawn(target, target + noise) == [501], "one cycle of 2 Hz on top of one that fills the plane"
    assert drawn(noise, noise) == []


def test_a_channel_called_like_a_formula_is_shown_as_it_is(steady: Run) -> None:
    odd = replace(steady, signals={"$\\frac{$": Signal("m^$2", steady.time)})
    assert "$\\frac{$" in as_svg(plots.channels(odd, ["$\\frac{$"]), "", "p")


def test_plots_open_no_window_and_leave_matplotlib_as_it_was(steady: Run) -> None:
    before = dict(matplotlib.rcParams)
    plots.time_history(steady)
    assert dict(matplotlib.rcParams) == before
    code = "import sys, halfreal.presentation.html; print('matplotlib.pyplot' in sys.modules, 'numba' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == ["False", "False"]


def test_a_table_of_key_figures_does_not_load_matplotlib() -> None:
    modules = ", ".join(f"halfreal.presentation.{one}" for one in ("answers", "learning", "measures", "verdict"))
    code = f"import sys, {modules}; print('matplotlib' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == ["False"]


def test_the_open_loop_of_a_record_is_drawn_with_its_margins(steady: Run) -> None:
    hz = np.geomspace(0.1, 500.0, 300)
    values = 2.0 / (1.0 - (hz / 5.0) ** 2 + 0.2j * hz / 5.0)
    arrays = [np.array(one) for one in ([8.7], [11.0], [True], [30.0], [12.0])]
    assert steady.stability is not None
    loci = Loci(hz, values[:, None], *arrays, text="stable")
    known = replace(steady.stability, find_open_loop=lambda: loci)
    run = replace(steady, stability=known)
    size, phase = plots.bode(run).axes
    np.testing.assert_allclose(size.lines[0].get_ydata(), 20 * np.log10(np.abs(values)))
    assert [text.get_text() for text in phase.texts] == ["11°, 3.51 ms\nat 8.7 Hz"]
    assert [text.get_text() for text in size.texts] == ["12 dB\nat 30 Hz"]
    whole, near = plots.nyquist(run).axes
    assert whole.get_xlim()[1] > np.abs(values).max() > near.get_xlim()[1]
    page = html.render(run)
    assert page.count("Open loop of the code that ran") == 4  # caption and label of two plots
    with pytest.raises(plots.NothingToPlotError, match="no open loop"):
        plots.bode(steady)
