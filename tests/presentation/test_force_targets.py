"""Reports of tests whose target is a force: what is compared, in which units, and how it is drawn."""

from dataclasses import replace

import numpy as np
import pytest

from halfreal.presentation import compare, compare_plots, html, measures, plots, series
from halfreal.runs.run import Run, Signal

STIFFNESS = 3e6


@pytest.fixture(scope="module")
def by_force(steady: Run) -> Run:
    """A force of 300 N at 2 Hz, measured 2 ms late; the specimen's answer at once, the virtual part 1 % too small."""
    time = steady.time

    def wave(t: np.ndarray) -> np.ndarray:
        return 300.0 * np.sin(2 * np.pi * 2.0 * t)

    late = wave(time - 2e-3)
    return replace(
        steady,
        title="force",
        signals={
            "excitation.virtual": Signal("N", wave(time)),
            "excitation.stage.1": Signal("N", wave(time)),
            "target": Signal("N", wave(time)),
            "command": Signal("N", wave(time)),
            "measured.force": Signal("N", late),
            "measured.displacement": Signal("m", late / STIFFNESS),
            "virtual.interface": Signal("m", 0.99 * wave(time) / STIFFNESS),
            "virtual.stage": Signal("1", np.zeros(len(time))),
            "reference": Signal("m", wave(time) / STIFFNESS),
            "energy.error": Signal("1", 0.01 * wave(time) / 300.0),
        },
    )


def staged(run: Run, stages: int) -> Run:
    """The same with several exchanges a step: the virtual part stands still from one beginning to the next."""
    n = len(run.time)
    begins = np.arange(n) // stages * stages
    still = run.signals["virtual.interface"].values[begins]
    changed = {"virtual.interface": Signal("m", still), "virtual.stage": Signal("1", np.arange(n) % stages * 1.0)}
    return replace(run, signals={**run.signals, **changed})


def test_forces_are_synchronised_and_displacements_true(by_force):
    synchronisation, fidelity = measures.measures(by_force)
    assert synchronisation.delay == pytest.approx(2e-3, rel=1e-3)
    assert synchronisation.nrmse == pytest.approx(2 * np.sin(np.pi * 2.0 * 2e-3), rel=1e-2)
    assert fidelity.nrmse == pytest.approx(0.01, rel=1e-9)
    assert fidelity.delay == pytest.approx(0.0, abs=1e-9)


def test_energy_error_is_the_complementary_work_on_the_gap_of_the_force(by_force):
    """On a spring it is that of the same lag in displacement, π sin φ/(2 cos φ + 2 φ sin φ)."""
    phase = 2 * np.pi * 2.0 * 2e-3
    expected = np.pi * np.sin(phase) / (2 * np.cos(phase) + 2 * phase * np.sin(phase))
    assert measures.measures(by_force)[0].energy_error == pytest.approx(expected, rel=2e-3)


def test_fidelity_is_judged_where_steps_begin(by_force):
    """Four exchanges a step hold the virtual part for 3 ms: counted as an error it would be 2 %."""
    fidelity = measures.measures(staged(by_force, 4))[1]
    assert fidelity.samples == len(by_force.time) // 4
    assert fidelity.nrmse == pytest.approx(0.01, rel=1e-9)
    assert fidelity.delay == pytest.approx(0.0, abs=1e-9)


def test_whole_steps_are_evenly_spaced_behind_probing_ticks(by_force):
    stage = np.concatenate([np.zeros(10), np.arange(len(by_force.time) - 10) % 4])
    run = replace(by_force, signals={**by_force.signals, "virtual.stage": Signal("1", stage)})
    kept = np.arange(len(run.time))[series.whole_steps(run, series.whole_run(run))]
    assert set(np.diff(kept)) == {4}
    assert not stage[kept].any()
    assert kept[0] < 4


def test_displacement_targets_are_compared_as_before(steady):
    assert series.compared(steady) == series.BY_DISPLACEMENT
    assert series.whole_steps(steady, slice(3, 70)) == slice(3, 70)


def test_plots_name_forces_and_their_unit(by_force):
    history = plots.time_history(by_force)
    labels = [axes.get_ylabel() for axes in history.axes]
    assert labels[:4] == ["force [N]", "displacement [mm]", "F − f [N]", "share [%]"]
    drawn = {line.get_label(): line.get_ydata() for line in history.axes[1].lines}
    assert np.max(drawn["reference (emulated)"]) == pytest.approx(0.1, rel=1e-3)
    plane, opened = plots.synchronisation(by_force).axes
    assert (plane.get_xlabel(), plane.get_ylabel()) == ("target force [N]", "measured force [N]")
    assert opened.get_ylabel() == "gap F − f [N]"


def test_stages_of_the_excitation_are_not_for_people(by_force):
    assert series.excitations(by_force) == ["excitation.virtual"]


def test_two_runs_are_laid_beside_each_other_in_force(by_force):
    other = replace(by_force, signals={**by_force.signals, "measured.force": by_force.signals["target"]})
    labels = [axes.get_ylabel() for axes in compare_plots.histories(by_force, other).axes]
    assert labels[:5] == ["force [N]", "force [N]", "displacement [mm]", "F − f [N]", "difference [N]"]
    found = {row.signal: row for row in compare.agreements(by_force, other)}
    assert found["measured force"].delay == pytest.approx(2e-3, rel=1e-3)
    assert found["virtual interface"].identical


def test_page_says_what_was_compared(by_force):
    page = html.render(by_force)
    assert "Target against measured force" in page
    assert "reference → virtual part" in page
    assert "Work of the measured displacement on the gap" in page
