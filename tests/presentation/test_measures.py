"""Error measures against closed forms and signals with a known amplitude and delay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from halfreal.contracts.axes import Axes
from halfreal.presentation.measures import counted, energy_error, key_figures, measures
from halfreal.runs.error_measures import frequency_evaluation, largest_error, nrmse, peak_error
from halfreal.runs.run import ONE_AXIS, Run, Signal

STEP, AMPLITUDE, DELAY = 1e-3, 0.97, 2.3e-3
TIME = STEP * np.arange(20_000)


def of_lines(frequencies: np.ndarray, amplitudes: np.ndarray, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    phases = np.random.default_rng(seed).uniform(0, 2 * np.pi, len(frequencies))
    return lambda t: sum(
        a * np.sin(2 * np.pi * f * t + p) for f, a, p in zip(frequencies, amplitudes, phases, strict=True)
    )


def make_run(signals: dict[str, np.ndarray], interface: Axes = ONE_AXIS, time: np.ndarray = TIME) -> Run:
    return Run(
        title="",
        kind="rehearsal",
        definition={},
        definition_text="",
        step=STEP,
        time=time,
        signals={name: Signal("N" if "force" in name else "m", values) for name, values in signals.items()},
        events=(),
        outcome="completed",
        reason="",
        seed=0,
        started="",
        interface=interface,
    )


# Lines at frequencies that fit no whole number of times into the record.
SINE = of_lines(np.array([1.4983]), np.array([5e-3]), 0)
MULTI_SINE = of_lines(np.array([0.713, 1.911, 3.307, 4.823]), np.array([3e-3, 4e-3, 2e-3, 1e-3]), 1)
NOISE = of_lines(np.sort(np.random.default_rng(2).uniform(0.5, 10, 300)), np.full(300, 2e-4), 3)


@pytest.mark.parametrize(("signal", "spread_hz"), [(SINE, 0.0), (MULTI_SINE, 1.1), (NOISE, 2.75)])
@pytest.mark.parametrize("offset", [0.0, 0.02])
def test_the_frequency_evaluation_finds_amplitude_and_delay(
    signal: Callable[[np.ndarray], np.ndarray], spread_hz: float, offset: float
) -> None:
    found = frequency_evaluation(signal(TIME) + offset, AMPLITUDE * signal(TIME - DELAY) + offset, STEP)
    # The amplitude of a true delay over a band falls short by ½ d² σ² (σ at most spread_hz here); see the function.
    shortfall = AMPLITUDE * 0.5 * (DELAY * 2 * np.pi * spread_hz) ** 2
    assert AMPLITUDE - shortfall - 1e-4 < found.amplitude < AMPLITUDE + 1e-4
    assert found.delay == pytest.approx(DELAY, abs=1e-6)


def test_the_equivalent_frequency_of_a_sine_is_its_own() -> None:
    found = frequency_evaluation(SINE(TIME), SINE(TIME), STEP)
    assert found.frequency_hz == pytest.approx(1.4983, abs=1e-3)
    assert found.delay == pytest.approx(0.0, abs=1e-12) and found.amplitude == pytest.approx(1.0, abs=1e-12)


def test_a_signal_that_leads_has_a_negative_delay() -> None:
    assert frequency_evaluation(SINE(TIME), SINE(TIME + 4e-3), STEP).delay == pytest.approx(-4e-3, abs=1e-6)


def test_noise_of_the_sensor_averages_out() -> None:
    noise = np.random.default_rng(4).normal(scale=5e-4, size=len(TIME))  # 14 % of the sine's rms
    found = frequency_evaluation(SINE(TIME), AMPLITUDE * SINE(TIME - DELAY) + noise, STEP)
    # Five standard deviations of the estimate: σ_A = rms(noise)/rms(z) · √(Σw⁴)/Σw², for the Hann window √(35/18)/√n.
    tolerance = 5 * (5e-4 / (5e-3 / np.sqrt(2))) * np.sqrt(35 / 18 / len(TIME))
    assert found.amplitude == pytest.approx(AMPLITUDE, abs=tolerance)
    assert found.delay == pytest.approx(DELAY, abs=tolerance / (2 * np.pi * 1.4983))


@pytest.mark.parametrize("slow", [0.12, 0.5])
def test_a_pulse_that_dies_out_counts_from_its_first_sample(slow: float) -> None:
    """FEI of e^{−bt} sin ωt against e^{−at} sin ωt, from rest: ∫e^{−(a+b)t} / ∫e^{−2at} = 2a/(a + b), up to a/ω."""
    fast, omega = 3 * slow, 2 * np.pi * 4
    reference, signal = (np.exp(-rate * TIME) * np.sin(omega * TIME) for rate in (slow, fast))
    found = frequency_evaluation(reference, signal, STEP)
    assert found.amplitude == pytest.approx(2 * slow / (slow + fast), abs=2 * slow / omega)
    late = np.where(TIME < DELAY, 0.0, np.exp(-slow * (TIME - DELAY)) * np.sin(omega * (TIME - DELAY)))
    assert frequency_evaluation(reference, AMPLITUDE * late, STEP).delay == pytest.approx(DELAY, rel=0.02)


def test_nrmse_of_a_delayed_sine_in_closed_form() -> None:
    whole = np.arange(10_000) / 10_000 * 5  # five whole cycles
    z, x = np.sin(2 * np.pi * whole), np.sin(2 * np.pi * whole - 0.1)
    assert nrmse(z, x) == pytest.approx(2 * np.sin(0.05), rel=1e-12)
    assert largest_error(z, x) == pytest.approx(2 * np.sin(0.05), rel=1e-5)
    assert peak_error(z, x) == pytest.approx(0.0, abs=1e-6)
    assert peak_error(z, -0.9 * x) == pytest.approx(-0.1, abs=1e-6)


@pytest.mark.parametrize("phase", [0.05, 0.5, -0.3])
def test_a_lagging_spring_is_fed_energy_as_the_closed_form_says(phase: float) -> None:
    cycles = np.linspace(0, 4, 40_001)
    z, x = np.sin(2 * np.pi * cycles), np.sin(2 * np.pi * cycles - phase)
    expected = np.pi * np.sin(phase) / (2 * np.cos(phase) + 2 * phase * np.sin(phase))
    assert energy_error(2250 * x, z, x) == pytest.approx(expected, rel=1e-5)


def test_each_degree_of_freedom_has_its_own_row() -> None:
    run = make_run(
        {
            "target.1": SINE(TIME),
            "target.2": NOISE(TIME),
            "measured.displacement.1": SINE(TIME - 1e-3),
            "measured.displacement.2": 0.9 * NOISE(TIME),
            "reference.1": SINE(TIME),
            "reference.2": NOISE(TIME),
        },
        interface=Axes.numbered(2),
    )
    rows = measures(run)
    assert [(row.comparison, row.dof) for row in rows] == [
        ("synchronisation", 1),
        ("synchronisation", 2),
        ("fidelity", 1),
        ("fidelity", 2),
    ]
    assert rows[0].delay == pytest.approx(1e-3, abs=1e-5) and rows[1].nrmse == pytest.approx(0.1, rel=1e-9)
    assert rows[2].nrmse == 0.0 and np.isnan(rows[0].energy_error)


def test_a_start_up_can_be_left_out() -> None:
    z = SINE(TIME)
    x = np.where(TIME < 5, 0.0, z)
    run = make_run({"target": z, "measured.displacement": x, "measured.force": 2250 * x})
    assert measures(run)[0].nrmse > 0.4
    after = measures(run, from_time=5.0)[0]
    assert after.nrmse == 0.0 and after.samples == 15_000 and after.energy_error == 0.0


@pytest.mark.filterwarnings("error")
def test_a_diverged_run_is_judged_up_to_its_last_number() -> None:
    z = SINE(TIME)
    x = 0.9 * z
    with np.errstate(over="ignore"):
        blown_up = np.where(TIME < 4, x, np.exp(np.minimum(700, 300 * (TIME - 4))) * 1e10)
    x_with_nan = np.where(TIME < 4, x, np.nan)
    assert measures(make_run({"target": z, "measured.displacement": x_with_nan}))[0].nrmse == pytest.approx(0.1)
    rows = measures(make_run({"target": blown_up, "measured.displacement": -blown_up, "measured.force": blown_up}))
    assert len(rows) == 1
    row = measures(make_run({"target": z, "measured.displacement": np.full_like(z, np.inf)}))[0]
    assert row.samples == 0 and np.isnan([row.nrmse, row.peak_error, row.amplitude, row.delay]).all()


@pytest.mark.filterwarnings("error")
def test_runs_with_nothing_to_compare_give_no_rows_or_nan() -> None:
    assert measures(make_run({"force": SINE(TIME)})) == ()
    still = measures(make_run({"target": 0 * TIME, "measured.displacement": SINE(TIME)}))[0]
    assert np.isnan([still.nrmse, still.peak_error, still.delay]).all()
    empty = make_run({"target": np.zeros(0), "measured.displacement": np.zeros(0)}, time=np.zeros(0))
    assert measures(empty)[0].samples == 0


def test_a_tripped_run_is_judged_up_to_its_trip(tripped: Run) -> None:
    row = measures(tripped)[0]
    assert row.samples == 3001, "up to the trip at 3 s, that tick included"
    held = tripped.signals["target"].values[3000]  # the one sample at which the rig no longer follows
    moved = np.linalg.norm(tripped.signals["target"].values[:3001])
    assert row.nrmse == pytest.approx(abs(held) / moved, rel=1e-9)


def test_key_figures_are_those_of_the_worst_axis(two_axes: Run) -> None:
    figures = dict(key_figures(two_axes))
    assert figures == {
        "Outcome": "completed",
        "Spectral radius": "0.996863",
        "Peak target": "5 mm",
        "Synchronisation error": "2.51 % (axis 1)",  # 2 sin(φ/2), φ = 2π · 2 Hz · 2 ms; the second axis has none
        "Remaining delay": "2 ms (axis 1)",
        "Amplitude error": figures["Amplitude error"],
        "Fidelity error": "0.99 % (axis 1)",
    }
    assert "0.00" in figures["Amplitude error"]


@pytest.mark.parametrize(
    ("small", "turn", "moves"), [(0.8e-2, 1.0, [1, 3]), (1.2e-2, 1.0, [1, 2, 3]), (1.0, 9e-4, [1, 2])]
)
def test_an_axis_that_hardly_moves_is_told_but_makes_no_key_figure(small: float, turn: float, moves: list[int]) -> None:
    noise = 1e-3 * np.random.default_rng(5).normal(size=len(TIME))
    sizes = {"x": 1.0, "z": small, "ry": turn}
    signals = {f"target.{axis}": size * SINE(TIME) for axis, size in sizes.items()}
    signals |= {f"measured.displacement.{axis}": size * SINE(TIME) + noise for axis, size in sizes.items()}
    run = make_run(signals, interface=Axes(tuple(sizes)))
    run = replace(
        run, signals={name: Signal("rad" if ".ry" in name else "m", s.values) for name, s in run.signals.items()}
    )
    rows = measures(run)
    assert [row.axis for row in rows] == list(sizes), "all of them stand in the table"
    assert [row.dof for row in rows if row.moves] == [row.dof for row in counted(rows, "synchronisation")] == moves
    worst = max((row for row in rows if row.moves), key=lambda row: row.nrmse)
    assert dict(key_figures(run))["Synchronisation error"].endswith(f" (axis {worst.axis})")
