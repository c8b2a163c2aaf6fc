"""Rig ends for ``random_faults.py``, each with its own witness of what was applied, and when.

rig.c       docs/link/rig.c: the positions that follow from its measurements
microbit    docs/link/microbit on the board that QEMU emulates, behind a bridge from UDP to its serial line
serve       ``halfreal serve`` with a driver in Python, which writes down each call of its write
driver      the same driver in the loop of the controller, without a link
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from drivers.drivers import Witness
from halfreal.links.wires import LinkError
from links.board import bridge, build, emulated
from links.by_hand import COMMAND, IDLE, MEASUREMENT, Controller
from live import test_fault_matrix as matrix
from live.processes import STEP, Process, written
from live.proxy import Datagram

LAG = 0.010
"""Of the actuator of docs/link/simulated.c [s]."""
STIFFNESS = 100.0
"""Of its specimen [N/m]: soft, so that the loop is stable with that lag."""
SCALE = 0.010
"""Of the driver's displacement and command [m/V]."""
OF_SENSORS = {
    "rig held up": Witness.HELD_UP,
    "not a number": Witness.FORCE_NAN,
    "force": Witness.FORCE_HIGH,
    "auxiliary not a number": Witness.PRESSURE_NAN,
    "auxiliary": Witness.PRESSURE_HIGH,
    "rig fault": Witness.OPEN_INTERLOCK,
}
"""Events that happen in the driver."""


class Line(matrix.Line):
    """Keeps what the rig has measured, whatever becomes of it."""

    def measurements(self, datagram: Datagram) -> list[bytes]:
        if datagram.kind == MEASUREMENT:
            vars(self).setdefault("measured", []).append(datagram)
        return super().measurements(datagram)


class RigInC:
    """``halfreal_rig.c`` in a process, for one test."""

    def __init__(self, port: int, pid: int) -> None:
        self.port, self.pid = port, pid
        with Controller(self.port, auxiliary=1) as by_hand:  # to where the rig of the matrix begins too
            by_hand.arm(5.0)
            by_hand.send(by_hand.next(COMMAND, (matrix.AWAY,)))
            while abs(by_hand.measurement().channels[0] - matrix.AWAY) > 1e-9:
                pass
            by_hand.stop()

    def positions(self, line: Line) -> tuple[np.ndarray, np.ndarray]:
        """Applied in each step, and stamps [s]: its actuator is a lag of first order."""
        # the answer to STOP comes without a step
        heard = [one for one in vars(line)["measured"] if one.state != IDLE]
        stamps = 1e-9 * np.array([one.timestamp for one in heard])
        reached = np.array([one.channels[0] for one in heard])
        stepped = np.array([one.sequence for one in heard])
        decay = np.exp(-STEP / LAG)
        applied = (reached[1:] - decay * reached[:-1]) / (1.0 - decay)
        if np.any(np.diff(stepped) != 1):
            raise LinkError("a measurement was not received; nothing is known of the steps between")
        return applied[1:], stamps[2:]


@contextmanager
def microbit(folder: Path) -> Iterator[RigInC]:
    """The emulated board, behind a bridge."""
    elf = folder / "rig.elf"
    if not elf.exists():
        limits = (f"-DRATE={matrix.RATE}", f"-DSTIFFNESS={STIFFNESS}")
        build(folder, "-DIN_STEP=false", "-DHR_AUXILIARY=1", *limits)
    with emulated(elf) as (terminal, pid), bridge(terminal) as port:
        yield RigInC(port, pid)


class WithDriver:
    """The driver that is a witness, for one test: served in a process of its own, or opened by the controller."""

    def __init__(self, folder: Path, stall: float) -> None:
        self.folder, self.log, self.events = folder, folder / "written", folder / "events"
        self.log.unlink(missing_ok=True)
        self.events.write_bytes(bytes([Witness.AS_IT_IS]))
        self.stall = stall
        self.port = self.pid = 0

    def table(self) -> dict[str, object]:
        """Changes of a definition."""
        inputs = {
            "lvdt": ("displacement", "position", "V", "10 mm/V"),
            "load_cell": ("force", "force", "V", "100 N/V"),
            "pressure": ("pressure", "pressure", "V", "1 kN/V"),
        }
        settings = {"lag": 0.0, "noise": 0.0, "stiffness": 22.5 * SCALE, "start": matrix.AWAY / SCALE}
        settings |= {"stall": self.stall, "file": str(self.log), "events": str(self.events)}
        table: dict[str, object] = {
            "auxiliary.e_stop.unit": "1",
            "driver.use": f"{Path(__file__).parents[1] / 'tests' / 'drivers' / 'drivers.py'}:Witness",
            **{f"driver.settings.{name}": value for name, value in settings.items()},
            "channels.inputs.e_stop.measures": "e_stop",
            "channels.inputs.e_stop.terminal": "bit0",
            "channels.inputs.e_stop.raw": "1",
            "channels.inputs.e_stop.healthy": 1,
            "channels.outputs.valve.terminal": "ao0",
            "channels.outputs.valve.scale": "10 mm/V",
            "channels.outputs.valve.range": ["-10 V", "10 V"],
        }
        for name, (measures, terminal, raw, scale) in inputs.items():
            given = {"measures": measures, "terminal": terminal, "raw": raw, "scale": scale, "range": ["-10 V", "10 V"]}
            table |= {f"channels.inputs.{name}.{key}": value for key, value in given.items()}
        return table

    @contextmanager
    def served(self, on_trip: str) -> Iterator[None]:
        """``halfreal serve`` for one session."""
        changes = matrix.LIMITS | {"limits.on_trip": on_trip, "link.lease": "10 s"} | self.table()
        file = written(self.folder / "serve.toml", changes)
        options = ("--once", "--force", "--trust", "-o", str(self.folder / "serve.h5"))
        with Process(self.folder, "serve", "serve", str(file), *options) as process:
            self.port, self.pid = int(process.until(r"listening on \S+?:(\d+)")[1]), process.pid
            yield
            process.ends()

    def happen(self, event: str) -> bool:
        """Whether the event is one of the driver's, which has then happened."""
        if event not in OF_SENSORS or (event == "rig held up" and self.pid):  # served: the process is held up
            return False
        with self.events.open("r+b") as file:
            file.write(bytes([OF_SENSORS[event]]))
        return True

    def positions(self) -> tuple[np.ndarray, np.ndarray]:
        """Written to the hardware [m], and when [s]."""
        times, written = np.loadtxt(self.log, unpack=True, ndmin=2)
        return SCALE * written, 1e-9 * times
