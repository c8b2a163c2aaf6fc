"""What a check makes of limits, ranges and offsets of sensors, and of the first command."""

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import definition
from halfreal.definition.paths import with_values
from halfreal.studies.check.criteria.first_command import first_command, of_way
from halfreal.studies.check.criteria.limits import limits, ranges
from halfreal.studies.check.criteria.missing_limits import missing_limits
from halfreal.studies.check.criteria.offsets import offsets
from halfreal.studies.check.examined import Examined
from runs.noisy import near_its_limit

SHORT = {"step": 1e-3, "duration": 4.0}
FAR = {"limits.force.trip": 20.0, "limits.command_rate.trip": 1.0}


def examined(test, **values):
    return Examined(with_values(test, values) if values else test, tries_remedies=False)


def test_a_test_whose_noise_makes_it_trip_is_no_go_and_says_how_often():
    (found,) = limits(examined(near_its_limit()))
    assert found.severity == "no-go" and found.value > 1.0
    assert "in 16 rehearsals with other noise; a trip in about" in found.text


def test_less_than_the_reserve_is_marginal_and_can_be_allowed():
    """Without noise the share is that of the rehearsal, and a limit at 105 % of it leaves less than 10 %."""
    test = with_values(near_its_limit(noise=0.0), FAR)
    (far,) = limits(examined(test))
    assert far.severity == "note" and far.name == "limit of measured.force"
    near = {"limits.force.trip": 1.05 * far.value * 20.0}
    (found,) = limits(examined(test, **near))
    assert found.severity == "marginal" and found.value == pytest.approx(1.0 / 1.05, rel=1e-6)
    assert [one.severity for one in limits(examined(test, **near, **{"acceptance.limit_reserve": 0.04}))] == ["note"]
    assert [one.severity for one in limits(examined(test, **near, **{"acceptance.limit_reserve": "none"}))] == ["note"]


def test_a_smaller_excitation_that_leaves_the_reserve_is_tried():
    test = with_values(near_its_limit(noise=0.0), FAR)
    (far,) = limits(examined(test))
    (found,) = limits(Examined(with_values(test, {"limits.force.trip": 1.05 * far.value * 20.0})))
    (remedy,) = found.remedies
    factor = float(remedy.removeprefix("a smaller excitation: ").split()[0])
    assert 0.9 < factor < 0.95


@pytest.mark.parametrize(("share", "severity"), [(1.2, "no-go"), (0.95, "marginal"), (0.5, "note")])
def test_ranges_of_sensors_are_judged_like_limits(share, severity):
    test = definition(delay=2e-3, timing=SHORT)
    peak = np.abs(halfreal.rehearse(test).vector("rig.force")).max()
    one = examined(definition(delay=2e-3, timing=SHORT, rig=ranged(peak / share)))
    (found,) = ranges(one)
    assert found.severity == severity
    if share < 1.0:
        assert found.value == pytest.approx(share, rel=1e-6)
    assert not one.stability.proven_linear  # beyond the range the loop is another: it is tried in motion


def ranged(newtons):
    return {
        "actuator": {"kind": "delay", "delay": 2e-3},
        "specimen": {"stiffness": 2250.0},
        "sensors": {"force": {"range": newtons}},
    }


def test_a_range_that_a_softer_specimen_needs_takes_the_margin_in_motion():
    """A negative virtual stiffness that the specimen holds: 6 dB down at rest, half a dB with the range of its cell."""
    test = halfreal.Definition(
        title="held by the specimen",
        timing={"step": 1e-3, "duration": 6.0},
        virtual={"mass": 10.0, "stiffness": -1000.0, "damping": 60.0, "force_dof": 1},
        excitation={"virtual": {"kind": "sine", "force": 5.0, "frequency": 0.3}},
        coupling={"kind": "none"},
        rig={
            "actuator": {"kind": "delay", "delay": 3e-3},
            "specimen": {"stiffness": 2000.0},
            "sensors": {"force": {"range": 10.83}},
        },
    )
    answer = halfreal.check(test, remedies=False)
    assert -answer.stability.margin.gain_reduction_db == pytest.approx(6.02, abs=0.01)
    found = {one.name: one for one in answer.findings if one.severity == "marginal"}
    assert found["range of measured.force"].value == pytest.approx(0.952, abs=2e-3)
    assert found["gain margin in motion"].value < 1.0


LINK = {"kind": "udp", "rig": "127.0.0.1:7411"}


def test_a_test_on_a_rig_without_a_limit_of_the_command_is_marginal_and_one_is_proposed():
    test = definition(delay=2e-3, timing=SHORT)
    assert not list(missing_limits(examined(test)))  # it cannot be run on a rig
    rate = np.abs(np.diff(halfreal.rehearse(test).vector("command")[:, 0])).max() / 1e-3
    (found,) = missing_limits(Examined(definition(delay=2e-3, timing=SHORT, link=LINK)))
    assert found.severity == "marginal" and "limits.command.trip and limits.command_rate.trip" in found.text
    (remedy,) = found.remedies
    assert "limits.command = {" in remedy and f'"{float(f"{1.5e3 * rate:.2g}"):g} mm/s"' in remedy


def softly(stiffness, **sensor):
    rig = {
        "actuator": {"kind": "delay", "delay": 2e-3},
        "specimen": {"damping": 5.0, "stiffness": 1000.0 if stiffness else 0.0},
        "sensors": {"force": sensor},
    }
    return halfreal.Definition(
        title="soft",
        timing={"step": 1e-3, "duration": 10.0},
        virtual={"mass": 10.0, "stiffness": stiffness, "damping": 60.0, "force_dof": 1},
        excitation={"virtual": {"kind": "sine", "force": 20.0, "frequency": 1.0}},
        coupling={"kind": "none"},
        rig=rig,
    )


def test_a_bias_moves_the_target_by_bias_over_stiffness():
    (found,) = offsets(examined(softly(4000.0, bias=5.0)))
    assert found.severity == "marginal" and "by -1 mm at the end" in found.text  # 5 N on 4 and 1 N/mm
    (small,) = offsets(examined(softly(4000.0, bias=0.5)))
    assert small.severity == "note" and small.value == pytest.approx(-1e-4, rel=1e-3)


def test_a_mass_without_stiffness_drifts_away():
    """c v = −d t with c = 65 N s/m, behind its mass: x = −d (t²/2 − τ t + τ² (1 − e^{−t/τ}))/c, τ = m/c."""
    (found,) = offsets(examined(softly(0.0, drift=0.5)))
    t, tau = np.linspace(9.0, 10.0, 1001), 10.0 / 65.0
    due = -0.5 * np.mean(t**2 / 2.0 - tau * t + tau**2 * (1.0 - np.exp(-t / tau))) / 65.0
    assert found.severity == "marginal" and "it still grows" in found.text
    assert float(found.text.split("target by ")[1].split(" mm")[0]) == pytest.approx(1e3 * due, rel=2e-3)


def test_the_way_to_the_start_of_a_test_is_within_the_limit_of_the_command():
    moved = with_values(near_its_limit(), {"virtual.initial_displacement": [0.01]})
    (none,) = of_way(examined(moved))
    assert none.severity == "note" and "the rig must be there" in none.text
    (slow,) = of_way(examined(moved, **{"timing.soft_start": 1.0}))
    assert slow.severity == "note" and "15.71 mm/s" in slow.text  # π/2 · 10 mm in 1 s
    (fast,) = of_way(examined(moved, **{"timing.soft_start": 0.1}))
    assert fast.severity == "marginal" and fast.value == pytest.approx(0.5 * np.pi * 0.01 / 0.1, rel=1e-9)


def test_a_first_command_that_is_not_where_the_test_begins_is_found():
    one = examined(definition(delay=2e-3, timing=SHORT))
    assert not list(first_command(one))
    commands = one.rehearsal.signals["command.asked"].values
    commands += 3e-3  # as of a virtual part whose first target is another than it states
    (found,) = first_command(one)
    assert found.severity == "marginal" and found.value == pytest.approx(3e-3, rel=1e-6)
    assert "3 mm away from where the test begins" in found.text
