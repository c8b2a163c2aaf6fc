"""Each promise of docs/safety.md about the motion is broken in turn: the test that it names must fail.

    python soak/broken_promises.py [--only TEXT]

A mutant replaces one text in one file of a copy of the project; the test is run there with the same Python.  Lost is a
mutant that survives.  The table of docs/safety.md is written from ``MUTANTS`` and from what was found.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from outcome import keep

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "safety.md"
BEGIN, END = "<!-- mutants: written by soak/broken_promises.py -->\n", "<!-- end of mutants -->\n"
COPIED = ("src", "tests", "docs", "examples", "pyproject.toml")
GUARD, SPACING = "src/halfreal/safety/guard.py", "src/halfreal/kernels/spacing.py"
RIG, C = "src/halfreal/links/rig_command.py", "docs/link/halfreal_rig.c"
BOARD = "docs/link/microbit/main.c"
CONTROLLER, TICK = "src/halfreal/links/controller_end.py", "src/halfreal/kernels/tick.py"
BUILD, BRAKING = "src/halfreal/runs/build.py", "src/halfreal/kernels/braking.py"


@dataclass(frozen=True)
class Mutant:
    promises: str
    """Their numbers in docs/safety.md."""
    what: str
    file: str
    old: str
    new: str
    test: str
    """A file of tests, or one of its tests."""


MUTANTS = (
    Mutant(
        "1", "the rate of a command is not waited for", SPACING,
        "max(SHORTEST * period, min(needed, period))", "SHORTEST * period",
        "tests/links/test_spacing.py::test_no_command_leaves_faster_than_the_rate_limit_in_wall_time",
    ),
    Mutant(
        "1", "two commands may leave at once", SPACING,
        "SHORTEST, SUSTAINED = 0.5, 0.999", "SHORTEST, SUSTAINED = 0.0, 0.999",
        "tests/links/test_spacing.py::test_no_command_leaves_faster_than_the_rate_limit_in_wall_time",
    ),
    Mutant(
        "1", "lost time is made up", SPACING,
        "max(turn[1], time - period) + SUSTAINED * period", "turn[1] + SUSTAINED * period",
        "tests/links/test_spacing.py::test_time_lost_in_a_stall_is_not_made_up",
    ),
    Mutant(
        "2", "a controller paced by its rig does not wait for a measurement", CONTROLLER,
        "elif p.waits == 0.0 or fresh or time >= limit:", "elif True:",
        "tests/links/test_held_up.py::test_a_controller_paced_by_its_rig_waits_for_the_next_measurement_only",
    ),
    Mutant(
        "3", "an offending command is sent", GUARD,
        "            allow_what_tripped(p, s)\n            begin_to_brake(p, s)",
        "            allow_what_tripped(p, s)\n            s.applied[0] = s.next[0]",
        "tests/safety/test_guard.py",
    ),
    Mutant(
        "3", "the goal of a ramp is not compared with the limits", GUARD,
        "    if mode == RUNNING:\n        for i in range(int(p.goals)):",
        "    if mode == RAMPING:\n        for i in range(int(p.goals)):",
        "tests/sites/test_client.py::test_a_goal_beyond_a_limit_trips_in_the_tick_in_which_it_comes",
    ),
    Mutant(
        "4", "an emergency stop returns", GUARD,
        "s.returns = p.by_force if cause == BY_OPERATOR or s.moved == 0.0 else p.returns",
        "s.returns = p.by_force if s.moved == 0.0 else p.returns",
        "tests/safety/test_guard_returns.py::test_an_emergency_stop_holds_also_where_a_trip_would_return",
    ),
    Mutant(
        "4", "an emergency stop brakes as gently as any", GUARD,
        "emergency = cause == BY_OPERATOR or u[2] != 0.0", "emergency = u[2] != 0.0",
        "tests/safety/test_guard_braking.py",
    ),
    Mutant(
        "5", "a return is not watched", GUARD,
        "        if under_way and cause != 0.0 and p.by_force == 0.0 and s.hurried == 0.0:",
        "        if under_way and cause == BY_OPERATOR and p.by_force == 0.0 and s.hurried == 0.0:",
        "tests/safety/test_guard_returns.py::test_a_return_holds_when_a_limit_is_passed_on_the_way",
    ),
    Mutant(
        "6", "a trip before the start returns", GUARD,
        "s.returns = p.by_force if cause == BY_OPERATOR or s.moved == 0.0 else p.returns",
        "s.returns = p.by_force if cause == BY_OPERATOR else p.returns",
        "tests/safety/test_guard_returns.py::test_a_trip_before_anything_has_moved_moves_nothing",
    ),
    Mutant(
        "7", "a safe position beyond the limits is taken", "src/halfreal/safety/limits.py",
        "if abs(position) > trip[i]:", "if abs(position) > 1e6 * trip[i]:",
        "tests/definition/test_definition.py",
    ),
    Mutant(
        "8", "the rig's own limit of magnitude is not applied", RIG,
        "abs(s.wanted[i]) <= p.largest[i] and ", "",
        "tests/links/test_spacing.py::test_a_command_that_a_rig_does_not_allow_moves_nothing",
    ),
    Mutant(
        "8", "the same in C", C,
        "if (!(magnitude(why->command) <= rig->settings->stroke[i])) return false;", "",
        "tests/links/test_both_rig_ends.py::test_braking_ends_within_the_stroke",
    ),
    Mutant(
        "8, 9", "a step of the rig has a whole period of motion, whenever it comes", RIG,
        "        go(p, s, 1e-9 * since)", "        go(p, s, p.dt)",
        "tests/links/test_both_rig_ends.py::test_held_up_in_any_state_it_is_no_faster_than_its_rate",
    ),
    Mutant(
        "8, 9", "the same in C", C,
        "return passed < rig->settings->step ? larger(passed, 0.0) : rig->settings->step;",
        "(void)passed; return rig->settings->step;",
        "tests/links/test_both_rig_ends.py::test_held_up_in_any_state_it_is_no_faster_than_its_rate",
    ),
    Mutant(
        "9", "a way home moves past its rate limit", RIG,
        "            s.returns_for = max(s.returns_for, FASTEST * distance / p.fastest[i])\n", "",
        "tests/links/test_spacing.py::test_a_return_at_the_end_of_the_lease_is_no_faster_than_the_rate_limit",
    ),
    Mutant(
        "9", "the lease does not end", RIG,
        "elif s.state == ARMED_RIG and called - s.arrived >= p.lease:", "elif False:",
        "tests/links/test_both_rig_ends.py::test_it_returns_unless_it_was_stopped_or_has_a_fault",
    ),
    Mutant(
        "9, 42", "after a fault the rig returns", RIG,
        "    emergency = code in (OWN_STOP, OWN_FAULT)", "    emergency = code == OWN_STOP",
        "tests/links/test_both_rig_ends.py::test_it_returns_unless_it_was_stopped_or_has_a_fault",
    ),
    Mutant(
        "9, 42", "the same in C", C,
        "return code == HR_EMERGENCY_STOP || code == HR_FAULT;", "return code == HR_EMERGENCY_STOP;",
        "tests/links/test_both_rig_ends.py::test_it_returns_unless_it_was_stopped_or_has_a_fault",
    ),
    Mutant(
        "9", "a microcontroller sleeps past its next step", BOARD,
        "if (outof == into && (int32_t)(TIMER_ALARM_TIME - TIMER_CAPTURED) > 0)",
        "TIMER_ALARM_TIME = TIMER_CAPTURED - 1;\n    if (outof == into)",
        "tests/links/test_board_clock.py",
    ),
    Mutant(
        "10", "a first command may be anywhere", RIG,
        "furthest = p.furthest[i] if s.any != 0.0 else min(p.first_step[i], p.furthest[i])",
        "furthest = p.furthest[i]",
        "tests/links/test_spacing.py::test_a_command_that_a_rig_does_not_allow_moves_nothing",
    ),
    Mutant(
        "40", "a stop leaves with a step of the velocity", GUARD,
        "s.leaving[i] = 0.0 if p.by_force != 0.0 else s.way[i] / p.dt", "s.leaving[i] = 0.0",
        "tests/safety/test_guard_braking.py",
    ),
    Mutant(
        "40", "it brakes harder than the test has moved", BRAKING,
        "acceleration = min(acceleration, max(sharpest[i], speed / longest))",
        "acceleration = min(acceleration, 3.0 * max(sharpest[i], speed / longest))",
        "tests/safety/test_guard_braking.py",
    ),
    Mutant(
        "40", "it brakes past a limit of the command", BRAKING,
        "time = min(time, 2.0 * max(left, 0.0) / speed)", "time = max(time, 0.0)",
        "tests/safety/test_guard_braking.py::test_braking_never_passes_a_limit_of_the_command",
    ),
    Mutant(
        "40", "a rig in C leaves with a step of the velocity", C,
        "rig->velocity[i] = rig->moved[i] / seconds;", "rig->velocity[i] = 0.0 * seconds;",
        "tests/links/test_both_rig_ends.py::test_it_leaves_with_its_velocity_and_within_its_acceleration",
    ),
    Mutant(
        "41", "the test continues without measurements", CONTROLLER,
        "OLD if age > p.warn else HELD if age > p.held else 0.0", "OLD if age > p.warn else 0.0",
        "tests/links/test_held_up.py::test_a_controller_by_its_clock_shows_that_measurements_are_missing",
    ),
    Mutant(
        "41", "the way to the test continues without measurements", TICK,
        "or vector[mode] == RUNNING or vector[mode] == RAMPING", "or vector[mode] == RUNNING",
        "tests/safety/test_guard_stale.py",
    ),
    Mutant(
        "41", "a return continues without measurements", GUARD,
        "        elif not (under_way and stale):", "        else:",
        "tests/safety/test_guard_stale.py",
    ),
    Mutant(
        "41", "what brakes sets out for home without measurements", GUARD,
        "min(dt, s.braking - s.elapsed) if missing and home and s.elapsed < s.braking else dt", "dt",
        "tests/safety/test_guard_stale.py",
    ),
    Mutant(
        "41", "the guard rests while the loop of a test is held", BUILD,
        'return "guard" if stale else None', "return None",
        "tests/runs/test_held_loop.py",
    ),
    Mutant(
        "12", "values that are not finite pass", GUARD,
        "        beyond |= not (size <= p.first[i])", "        beyond |= size > p.first[i]",
        "tests/safety/test_guard.py",
    ),
)  # fmt: skip


def broken(folder: Path, mutant: Mutant) -> None:
    """Put a mutant into a copy of the project."""
    file = folder / mutant.file
    text = file.read_text("utf-8")
    assert text.count(mutant.old) == 1, f"{mutant.file} has {text.count(mutant.old)} times: {mutant.old}"
    file.write_text(text.replace(mutant.old, mutant.new), "utf-8")


def fails(folder: Path, test: str) -> bool:
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--reruns", "0", test]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
    return done.returncode == 1


def survives(mutant: Mutant) -> bool:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in COPIED:
            if (ROOT / part).is_dir():
                shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "build"))
            else:
                shutil.copy(ROOT / part, folder / part)
        broken(folder, mutant)
        return not fails(folder, mutant.test)


def table(found: dict[Mutant, bool]) -> str:
    lines = ["| promise | broken by | in | the test that fails |", "|---|---|---|---|"]
    for mutant in MUTANTS:
        file, _, name = mutant.test.partition("::")
        test = f"`{file}`" + (f", `{name}`" if name else "")
        result = "" if mutant in found and not found[mutant] else " (not run)" if mutant not in found else " (survives)"
        lines.append(f"| {mutant.promises} | {mutant.what} | `{mutant.file}` | {test}{result} |")
    return "\n".join(lines) + "\n"


def write_page(found: dict[Mutant, bool]) -> None:
    text = PAGE.read_text("utf-8")
    inner = re.escape(BEGIN) + ".*" + re.escape(END)
    made, count = re.subn(inner, lambda _: BEGIN + "\n" + table(found) + "\n" + END, text, flags=re.DOTALL)
    assert count == 1, f"{PAGE} has no place for the mutants"
    PAGE.write_text(made, "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    chosen = [one for one in MUTANTS if given.only in f"{one.promises} {one.what} {one.file} {one.test}"]
    found: dict[Mutant, bool] = {}
    for mutant in chosen:
        found[mutant] = survives(mutant)
        print(f"{'SURVIVES' if found[mutant] else 'killed'}: {mutant.what} ({mutant.file})", flush=True)
    if not given.only:
        write_page(found)
    lost = sum(found.values())
    return keep("broken_promises", "promises of safety.md, broken", len(found), lost, f"{lost} mutants survive")


if __name__ == "__main__":
    sys.exit(main())
