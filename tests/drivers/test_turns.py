"""Two calls of a driver's write keep their distance in wall time, wherever the loop or the interpreter was held up."""

from __future__ import annotations

import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halfreal
from halfreal.definition.definition import Definition
from halfreal.definition.paths import with_values
from halfreal.drivers import blocks
from halfreal.drivers.blocks import write_block
from halfreal.kernels.datagram import ARMED_RIG
from halfreal.kernels.modes import RUNNING
from halfreal.kernels.spacing import SHORTEST
from halfreal.links.driver import wired
from links.scripted import Scripted

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples" / "first_rig" / "bench.toml"
STEP, PERIOD, RATE = 1e-3, 1_000_000, 0.2
WAITS = st.lists(
    st.tuples(*[st.one_of(st.just(0), st.integers(0, PERIOD), st.integers(0, 30 * PERIOD))] * 3),
    min_size=2,
    max_size=40,
)
"""Nanoseconds before a tick, from the call of write until it acts, and from then until it returns."""
FASTEST = 0.16
"""Of the command [m/s] in the loop with a driver in Python."""


class HeldUp(Scripted):
    """The block that writes, with a driver whose write acts late and returns late."""

    def __init__(self, test: Definition, monkeypatch: pytest.MonkeyPatch) -> None:
        table = wired(test)
        driver = SimpleNamespace(addresses={"safe": 1, "write": 2}, inputs=np.zeros(8), outputs=np.zeros(8))
        host: Any = SimpleNamespace(words=np.zeros(16, np.int64), driver=driver, why=str)
        block = write_block(
            host, table, ("command",), "mode", "rig", "code", np.zeros(1), period=STEP, rate=np.array([RATE])
        )
        self.before = self.after = 0
        self.acted: list[int] = []
        monkeypatch.setattr(blocks, "call_c", self.write)
        monkeypatch.setattr(blocks, "load_word", lambda address: 0)
        for name in ("store_word", "put_real"):
            monkeypatch.setattr(blocks, name, lambda address, value: None)
        super().__init__(block, blocks, monkeypatch, look=0)
        self.u[1:4] = RUNNING, ARMED_RIG, 0.0

    def write(self, function: int, arguments: tuple[int]) -> int:
        self.time += self.before
        self.acted.append(self.time)
        self.time += self.after
        return 0


@pytest.fixture(scope="module")
def bench() -> Definition:
    return halfreal.load(EXAMPLE)


@given(waits=WAITS, speeds=st.lists(st.floats(-1.0, 1.0), min_size=40, max_size=40))
def test_no_write_acts_sooner_than_the_rate_limit_allows(bench: Definition, waits: Any, speeds: list[float]) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        end = HeldUp(bench, monkeypatch)
        commands = [0.0]
        for (delay, end.before, end.after), speed in zip(waits, speeds, strict=False):
            end.time += delay
            commands.append(commands[-1] + speed * RATE * STEP)  # as fast as the rig's guard lets a command be
            end.u[0] = commands[-1]
            assert end.step(0.0) == 0
        apart = np.diff(end.acted)
        assert np.all(apart >= SHORTEST * PERIOD)
        assert np.all(np.abs(np.diff(commands[1:])) <= RATE * 1e-9 * apart * (1.0 + 1e-9))


def test_a_driver_that_is_in_time_is_not_held_back(bench: Definition, monkeypatch: pytest.MonkeyPatch) -> None:
    end = HeldUp(bench, monkeypatch)
    end.after = PERIOD // 20
    for tick in range(20):
        end.u[0] += 0.9 * RATE * STEP
        end.step(float(tick))
        assert end["link.held"] == 0.0
    assert np.all(np.diff(end.acted) == PERIOD)


def contended(tmp_path: Path) -> Definition:
    """A test in the loop of ``halfreal run`` with a driver in Python, while a thread keeps the interpreter busy."""
    known = tomllib.loads(EXAMPLE.read_text())["driver"]["settings"]
    return with_values(
        halfreal.load(EXAMPLE),
        {
            "timing.duration": "0.5 s",
            "limits.stale.trip": "10 s",
            "limits.lateness.trip": "10 s",
            "limits.gap": {},
            "limits.command_rate.trip": FASTEST,
            "link.lease": "10 s",
            "driver": {"use": f"{HERE / 'drivers.py'}:Contended", "settings": {**known, "file": str(tmp_path / "at")}},
            "acceptance": dict.fromkeys(("overruns", "synchronisation", "fidelity", "stale"), "none"),
        },
    )


def test_writes_keep_their_distance_while_another_thread_has_the_interpreter(tmp_path: Path) -> None:
    test = contended(tmp_path)
    halfreal.run(test, tmp_path / "run.h5", without_go="nothing moves")
    times, written = np.loadtxt(tmp_path / "at", unpack=True)
    assert times.size > 100
    apart = 1e-9 * np.diff(times)
    fastest = np.max(np.abs(np.diff(written)) * 0.01 / apart)  # 10 mm/V
    assert apart.min() >= SHORTEST * test.period, f"{1e3 * apart.min():.3f} ms apart"
    assert fastest <= FASTEST * (1.0 + 1e-6), f"{1e3 * fastest:.0f} mm/s"
