"""The virtual substructure that a client computes: its block in a loop with a simulated rig, and a mailbox to it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import halfreal
from halfreal.definition.faults import DefinitionError
from halfreal.kernels.loop import Loop
from halfreal.kernels.modes import TRIPPED
from halfreal.sites import mailbox as box
from halfreal.sites.mailbox import Mailbox

K, TICKS = 2250.0, 10
BASE: dict[str, object] = {
    "title": "a site",
    "timing": {"step": "1 ms", "duration": "1 s"},
    "virtual": {"kind": "client", "step": "10 ms"},
    "rig": {"specimen": {"stiffness": "2250 N/m"}},
}
SLOW: dict[str, object] = {
    "virtual": {"kind": "client"},
    "slow": {"period": "1 ms", "ramp": "5 ms", "average": "1 ms"},
}


def definition(*changes: dict[str, object]) -> halfreal.Definition:
    table = dict(BASE)
    for change in changes:
        table |= change
    return halfreal.Definition.model_validate(table)


class Served:
    """A loop and its mailbox."""

    def __init__(self, test: halfreal.Definition) -> None:
        self.loop: Loop = halfreal.build(test)
        self.mailbox = Mailbox.create(1)
        self.mailbox.words[box.CLIENT] = box.CONNECTED
        self.loop.parameter("virtual")["mailbox"] = float(self.mailbox.address)

    def run(self, ticks: int, *names: str) -> np.ndarray:
        return self.loop.run(ticks, record=names or ("target",)).log[:, 1:].T

    def ask(self, displacement: float, time: float = 0.0) -> None:
        self.mailbox.ask(np.array([displacement]), time)

    @property
    def force(self) -> float:
        assert self.mailbox.answered()
        found = self.mailbox.measured()
        assert found is not None
        return float(found[1])

    @property
    def fault(self) -> str:
        return self.loop.describe(float(self.loop.vector[1]))

    @property
    def tripped(self) -> bool:
        return bool(self.loop.vector[self.loop.index["guard.mode"]] == TRIPPED)


@pytest.fixture
def fast() -> Iterator[Served]:
    served = Served(definition())
    yield served
    served.mailbox.close()


@pytest.fixture
def slow() -> Iterator[Served]:
    served = Served(definition(SLOW))
    yield served
    served.mailbox.close()


def test_slowly_each_displacement_is_a_tick_and_its_force_the_answer(slow: Served) -> None:
    for number, wanted in enumerate((0.0, 0.003, -0.002), start=1):
        slow.ask(wanted, 0.01 * number)
        assert not slow.mailbox.answered()
        target, command, trial, time = slow.run(1, "target", "command", "client.trial", "client.time")[:, -1]
        assert (target, command, trial, time) == (wanted, wanted, number, 0.01 * number)
    slow.ask(1.0)
    slow.mailbox.words[box.CLIENT] = box.LOST
    slow.run(1)  # the tick after: the answer to the last one is there, and then the client is seen to be gone
    assert slow.mailbox.words[box.ANSWERED] == 3
    found = slow.mailbox.measured()
    np.testing.assert_array_equal(found, [-0.002, K * -0.002])


def test_slowly_the_newest_displacement_is_taken_whole(slow: Served) -> None:
    slow.ask(0.001)
    slow.ask(0.002)
    assert slow.run(1, "client.trial")[0, -1] == 2.0
    slow.mailbox.words[box.TRIAL] += 1  # half of the next is written
    slow.mailbox.trial[0] = 5.0
    slow.mailbox.words[box.CLIENT] = box.GARBLED
    assert slow.run(1)[0, -1] == 0.002


@pytest.mark.parametrize("how", [box.LOST, box.GARBLED, box.NOT_FINITE, box.NO_SERVER])
def test_a_client_that_is_gone_or_makes_no_sense_trips_in_the_same_tick(how: int, slow: Served, fast: Served) -> None:
    for served in (slow, fast):
        served.ask(0.002)
        served.run(1 if served is slow else 4)
        served.mailbox.words[box.CLIENT] = how
        commands = served.run(1, "command")
        assert served.tripped and box.FAULTS[how] in served.fault
        if served is fast:
            assert 0.0 < commands[0, 0] < 0.002, "held on its way"


def test_a_silent_client_trips_and_one_that_waits_for_the_rig_is_not_silent() -> None:
    for change in (SLOW, {}):
        silent = {"virtual": {**change.get("virtual", BASE["virtual"]), "silence": "1 ns"}}  # type: ignore[dict-item]
        served = Served(definition(change, silent))
        served.ask(0.002)
        served.run(1 if change else TICKS)
        assert not served.tripped, "the rig is on its way: nothing is expected of the client"
        served.run(2)
        assert served.tripped and "no message from the client for 1e-09 s (virtual.silence)" in served.fault
        served.mailbox.close()


def test_in_real_time_the_target_arrives_at_the_end_of_the_clients_step(fast: Served) -> None:
    """A client that computes for one tick: its displacements are met ten ticks apart, and answered in the next."""
    path = 0.005 * np.sin(2.0 * np.pi * 3.0 * 0.01 * np.arange(30))
    fast.ask(path[0])
    assert fast.run(TICKS)[0, -1] == path[0]
    for wanted in path[1:]:
        assert not fast.mailbox.answered()
        fast.run(1)  # the answer is given, and the target goes on by prediction
        assert fast.mailbox.answered()
        fast.ask(wanted)
        target = fast.run(TICKS - 1)[0]
        assert target[-1] == wanted and not fast.mailbox.answered()
    fast.run(1)
    assert fast.force == pytest.approx(K * path[-1], rel=1e-12)


def test_in_real_time_the_target_is_smooth_and_nearly_what_the_client_follows(fast: Served) -> None:
    """Of second order in the client's step: a sine at half the step is met four times as well, or better."""

    def worst(served: Served, step: float, amplitude: float = 0.005, hertz: float = 2.0) -> float:
        ticks, omega, error = round(step / 1e-3), 2.0 * np.pi * hertz, 0.0
        served.ask(0.0)
        served.run(ticks)
        for k in range(1, round(0.5 / step)):
            first = served.run(1)[0]
            served.ask(amplitude * np.sin(omega * k * step))
            target = np.concatenate([first, served.run(ticks - 1)[0]])
            if k > 4:
                at = (k - 1) * step + 1e-3 * np.arange(1, ticks + 1)
                error = max(error, float(np.abs(target - amplitude * np.sin(omega * at)).max()))
        return error / amplitude

    coarse = worst(Served(definition({"virtual": {"kind": "client", "step": "20 ms"}})), 0.02)
    fine = worst(fast, 0.01)
    assert fine < 2e-3 and coarse > 4.0 * fine


def test_a_late_client_finds_the_target_slowed_down_and_held(fast: Served) -> None:
    fast.ask(0.0)
    fast.run(TICKS)
    for k in (1, 2, 3):
        fast.run(1)
        fast.ask(1e-3 * k)
        fast.run(TICKS - 1)
    target, held = fast.run(60, "target", "client.held")
    speed = np.diff(target, prepend=3e-3)
    np.testing.assert_allclose(speed[:5], 1e-4, rtol=1e-6, err_msg="as before, by prediction")
    assert np.all(np.diff(speed[6:]) < 1e-12) and speed[-1] < 1e-9 and np.all(speed > 0.0)
    assert target[-1] == pytest.approx(4e-3, rel=1e-3) and target[-1] < 4e-3
    assert held[0] == 0.0 and held[-1] == 1.0 and not fast.tripped
    fast.ask(4.2e-3)
    target, held = fast.run(TICKS, "target", "client.held")
    assert target[-1] == 4.2e-3 > target[-2] and not held.any(), "within a step; lost time is not made up for"


def test_after_the_clients_goodbye_nothing_is_predicted(fast: Served) -> None:
    for displacement in (0.0, 1e-3):
        fast.ask(displacement)
        fast.run(TICKS + 1)
    fast.mailbox.words[box.CLIENT] = box.GOODBYE
    target = fast.run(5)[0]
    assert np.ptp(target) == 0.0 and not fast.tripped


def test_corrections_keep_to_the_rate_limit() -> None:
    served = Served(definition({"limits": {"command_rate": {"trip": "50 mm/s"}}}))
    served.ask(0.0)
    served.run(TICKS)
    served.run(1)
    served.ask(0.01)
    target = served.run(600)[0]
    assert 0.01 in target and not served.tripped
    steps = np.abs(np.diff(target))
    assert 0.5 * 0.9 * 5e-5 < steps.max() <= 0.9 * 5e-5 * (1.0 + 1e-6)
    served.mailbox.close()


@pytest.mark.parametrize("limit", ["target", "command"])
@pytest.mark.parametrize("slow", [True, False], ids=["slow", "real time"])
def test_a_goal_beyond_a_limit_trips_in_the_tick_in_which_it_comes(slow: bool, limit: str) -> None:
    """At −4 mm, 50 mm are asked for: the rig does not set out, however slowly it would go."""
    served = Served(definition(SLOW if slow else {}, {"limits": {limit: {"trip": "17 mm"}}}))
    for displacement in (0.0, -4e-3):
        served.ask(displacement)
        served.run(1 if slow else TICKS + 1)
    assert not served.tripped
    served.ask(0.05)
    commands = served.run(2, "command")
    assert served.tripped and np.ptp(commands) < 1e-3 and commands.max() < 0.0
    guard = served.loop.state("guard")
    assert guard["value"] == 0.05 and guard["cause"] == (3.0 if limit == "target" else 1.0)
    served.mailbox.close()


def test_a_goal_within_its_limits_is_reached(fast: Served, slow: Served) -> None:
    for served in (fast, slow):
        served.loop.parameter("guard")["trip"][[0, 2]] = 4e-3
        for displacement in (0.0, 3.999e-3):
            served.ask(displacement)
            targets = served.run(1 if served is slow else TICKS, "target")
        assert not served.tripped and targets[0, -1] == 3.999e-3


def test_a_displacement_beyond_the_limit_is_not_commanded() -> None:
    for change in (SLOW, {}):
        served = Served(definition(change, {"limits": {"command": {"trip": "3 mm"}}}))
        served.ask(0.005)
        commands = served.run(TICKS if not change else 1, "command")
        assert served.tripped and np.abs(commands).max() <= 3e-3
        served.mailbox.close()


@pytest.mark.parametrize("slowly", [True, False])
def test_a_rehearsal_follows_the_excitation(slowly: bool) -> None:
    sine = {"virtual": {"kind": "sine", "displacement": "5 mm", "frequency": "1 Hz"}}
    run = halfreal.rehearse(definition(SLOW if slowly else {}, {"excitation": sine}))
    assert run.outcome == "completed"
    target = run.signals["target"].values
    assert np.abs(target).max() == pytest.approx(5e-3, rel=1e-3)
    assert any("not the test" in line for line in halfreal.check(definition(SLOW)).reasons)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"listen": "8090"}, "not an address to listen on"),
        ({"listen": "127.0.0.1:70000"}, "not an address to listen on"),
        ({"peer": "opensees.lab"}, "is not an IP address; write that of the client's machine"),
        ({"step": "2.5 ms"}, "not a whole number of ticks"),
        ({"step": "0.1 ms"}, "not a whole number of ticks|shorter than a tick"),
        ({"stiffness": [["1 N/m", "0 N/m"], ["0 N/m", "1 N/m"]]}, "2 × 2 where the interface has 1"),
    ],
)
def test_settings_that_do_not_fit(change: dict[str, object], why: str) -> None:
    with pytest.raises((DefinitionError, ValueError), match=why):
        definition({"virtual": {"kind": "client", **change}})


def test_a_force_cannot_excite_a_clients_structure() -> None:
    force = {"virtual": {"kind": "sine", "force": "5 N", "frequency": "1 Hz"}}
    with pytest.raises((DefinitionError, ValueError), match="excited by the client"):
        definition({"excitation": force})
