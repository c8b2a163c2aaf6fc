"""EtherCAT: analogue and digital terminals, and drives of CiA 402 in cyclic synchronous position (pysoem, an extra).

    [driver]
    use = "ethercat"
    settings = { interface = "enp3s0", drives = "2", clocks = "2" }

Channels name objects of slaves (``ethercat_map.py``).  Settings:

    interface       network card of its own; needs root, or the capability CAP_NET_RAW
    drives          slaves that are drives of CiA 402: their process data are set up from the channel table, with
                    control and status word; an output "2 / enable" switches the power stage, which else continues with
                    the first command
    clocks          slaves that sample and act at one instant by their distributed clocks (SYNC0), every period
    shift           of that instant within the period [s]

In each tick the process data are exchanged twice: when it is read, so that what is measured is of now, and when
commands are written, so that they leave at once.  Every exchange must come back with the whole working counter.  If it
does not, it is tried again until half a period has passed; then the driver fails, and says which slave is in which
state.  Every 50 ms it also asks all slaves for their states.  So the test trips on the loss of frames, of a cable and
of the state OP.

**If this process dies**, or is held up, slaves see no more process data, and their watchdog (100 ms as they come; a
register of theirs) lets outputs go.  While it lives, a thread of the driver's sees to the bus between two ticks and
between tests.  If then neither a reading nor a command comes for 0.25 s, it stops drives and lets outputs go itself.
Slaves that leave OP while commands stand end the test; at rest they are brought back.

``safe()``: drives get a quick stop, all other outputs become 0.

The phase of halfreal's clock to that of the slaves is not controlled.  Where they drift past each other, one command in
many thousand acts a period later or not at all: with ``real_time`` of 1 ms and clocks of 50 ppm every 20 s.

Not tried on hardware.  Tried against simulated slaves that speak the protocol on a virtual cable
(``tests/drivers/ethercat_slaves.py``).  Before a rig: (1) terminals and drive with nothing attached, ``halfreal serve
--try``; (2) pull the cable while it runs: the drive must stop within its watchdog; (3) kill the process in the same
way.
"""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from ..contracts.driver import Driver, DriverError, Opening
from . import cia402
from .cia402 import PowerStage
from .ethercat_map import (
    HEARD_CATEGORY,
    RECEIVES,
    SENDS,
    SENT_CATEGORY,
    Entry,
    Place,
    Terminal,
    by_eeprom,
    by_mailbox,
    listed,
    place_of,
)

STATES = {1: "INIT", 2: "PREOP", 3: "BOOT", 4: "SAFEOP", 8: "OP"}
ERROR = 0x10
PROTOCOLS, COE = 0x1C, 0x04
"""Word of the EEPROM with the protocols that a slave's mailbox speaks, and the bit of CANopen."""
TO_OP = 3.0
"""Seconds in which slaves must reach OP."""
IDLE = 0.02
"""Seconds without an exchange after which the driver's thread makes one: well within a slave's watchdog."""
STALLED = 0.25
"""Seconds without a call after which commands no longer stand; at rest it is read some ten times a second."""
LOOK = 0.05
"""Seconds between two looks at the states of the slaves, which takes a frame for each of them."""
QUESTIONS = 3
"""Requests to them before their silence counts."""
SHORTEST = 200
"""Microseconds for which an answer is waited for at least."""


def _library() -> ModuleType:
    try:
        return import_module("pysoem")
    except ImportError:
        raise DriverError(
            "the driver 'ethercat' needs pysoem; install it with: pip install 'halfreal[ethercat]'"
        ) from None


class EtherCatDriver(Driver):
    """Slaves on one network card, by SOEM."""

    nature, name = "real", "EtherCAT"

    def __init__(self) -> None:
        self._master: Any = None
        self._one_at_a_time = threading.Lock()
        self._is_safe, self._ended = threading.Event(), threading.Event()

    # opening

    def prepare(self, opening: Opening) -> None:
        _library()

    def open(self, opening: Opening) -> None:
        opening.known("interface", "drives", "clocks", "shift")
        interface = opening.setting("interface", "")
        if not interface:
            raise DriverError("driver.settings.interface is missing; name the network card, such as 'enp3s0'")
        self._period, self._shift = opening.period, opening.setting("shift", 0.0)
        drives = listed(opening.settings.get("drives", ""), "drives")
        clocks = listed(opening.settings.get("clocks", ""), "clocks")
        inputs, outputs = ([Terminal.read(name) for name in names] for names in (opening.inputs, opening.outputs))
        self._soem = _library()
        self._is_safe.clear()
        self._ended.clear()
        self._live, self._called, self._looked = False, time.monotonic(), 0.0
        self._master = self._soem.Master()
        self._master.always_release_gil = True
        try:
            self._find(interface, {terminal.slave for terminal in (*inputs, *outputs)} | {*drives, *clocks})
            self._stages = {slave: PowerStage(slave) for slave in drives}
            self._map(inputs, outputs, clocks)
            self._go_to_op()
        except BaseException:
            self._master.close()
            self._master = None
            raise
        self.name = f"EtherCAT on {interface}: " + ", ".join(slave.name for slave in self._master.slaves)
        self._keeper = threading.Thread(target=self._keep, name="halfreal EtherCAT", daemon=True)
        self._keeper.start()

    def _find(self, interface: str, wanted: set[int]) -> None:
        try:
            self._master.open(interface)
        except ConnectionError:
            raise DriverError(
                f"the network card '{interface}' cannot be opened; is that its name (ip link), and may this user send "
                "raw frames? Run as root, or: setcap cap_net_raw=ep on the interpreter"
            ) from None
        count = self._master.config_init()
        if count <= 0:
            raise DriverError(f"no EtherCAT slave responds on '{interface}'; check its cable and the slaves' supply")
        beyond = sorted(number for number in wanted if number > count)
        if beyond:
            raise DriverError(f"there is no slave {beyond[0]}: {count} respond on '{self._names()}'")

    def _names(self) -> str:
        return ", ".join(f"{i} {slave.name}" for i, slave in enumerate(self._master.slaves, 1))

    def _map(self, inputs: list[Terminal], outputs: list[Terminal], clocks: tuple[int, ...]) -> None:
        for slave in self._stages:
            wanted = (
                [terminal for terminal in terminals if terminal.slave == slave and terminal.index]
                for terminals in (outputs, inputs)
            )
            self._master.slaves[slave - 1].config_func = self._setting_up(slave, *wanted)
        self._failure: DriverError | None = None
        try:
            self._master.config_map()
        except self._soem.ConfigMapError as error:
            raise self._failure or DriverError(
                f"the process data cannot be set up: {error}; slaves are {self._where()}"
            ) from None
        if self._failure is not None:  # SOEM does not heed what its callbacks raise
            raise self._failure
        if clocks:
            self._master.config_dc()
            for number in clocks:
                self._master.slaves[number - 1].dc_sync(True, round(1e9 * self._period), round(1e9 * self._shift))
        heard: dict[int, list[Entry]] = {}
        sent: dict[int, list[Entry]] = {}
        for number, slave in enumerate(self._master.slaves, 1):
            heard[number], sent[number] = self._lists(slave)
        self._inputs = [place_of(terminal, sent[terminal.slave], "sends") for terminal in inputs]
        self._outputs: list[tuple[Terminal, Place | None]] = []
        for terminal in outputs:
            if terminal.index == 0 and terminal.slave not in self._stages:
                raise DriverError(f"'{terminal.name}': slave {terminal.slave} is not listed in driver.settings.drives")
            place = place_of(terminal, heard[terminal.slave], "hears") if terminal.index else None
            self._outputs.append((terminal, place))
        self._words = {
            slave: tuple(
                place_of(Terminal.read(f"{slave} / 0x{index:04X} {kind}"), entries[slave], "has")
                for index, kind, entries in (
                    (cia402.CONTROL, "uint16", heard),
                    (cia402.TARGET, "int32", heard),
                    (cia402.STATUS, "uint16", sent),
                    (cia402.ACTUAL, "int32", sent),
                )
            )
            for slave in self._stages
        }
        self._switched = {terminal.slave for terminal in outputs if terminal.index == 0}
        self._image = [bytes(len(slave.output)) for slave in self._master.slaves]

    def _lists(self, slave: Any) -> tuple[list[Entry], list[Entry]]:
        """What a slave receives and what it sends."""
        if not slave.eeprom_read(PROTOCOLS)[0] & COE:
            return by_eeprom(slave.eeprom_read, HEARD_CATEGORY), by_eeprom(slave.eeprom_read, SENT_CATEGORY)
        try:
            return by_mailbox(slave.sdo_read, RECEIVES), by_mailbox(slave.sdo_read, SENDS)
        except Exception as error:  # SOEM's, of many kinds
            raise DriverError(
                f"{slave.name} does not report its process data: {type(error).__name__}: {error}"
            ) from None

    def _setting_up(self, number: int, heard: list[Terminal], sent: list[Terminal]) -> Any:
        """How a drive's process data are set up from the channel table, before it continues to SAFEOP."""

        def objects(first: Sequence[int], more: list[Terminal]) -> list[tuple[int, int]]:
            found = [(index, 0) for index in first]
            return found + [one for terminal in more if (one := (terminal.index, terminal.sub)) not in found]

        def set_up(_: int) -> None:
            slave = self._master.slaves[number - 1]
            try:
                value, power = cia402.interpolation(self._period)
                slave.sdo_write(cia402.MODE, 0, bytes([cia402.CYCLIC_POSITION]))
                slave.sdo_write(cia402.INTERPOLATION, 1, bytes([value]))
                slave.sdo_write(cia402.INTERPOLATION, 2, struct.pack("<b", power))
                for assignment, mapped, wanted in (
                    (RECEIVES, 0x1600, objects((cia402.CONTROL, cia402.TARGET), heard)),
                    (SENDS, 0x1A00, objects((cia402.STATUS, cia402.ACTUAL), sent)),
                ):
                    slave.sdo_write(assignment, 0, b"\0")
                    slave.sdo_write(mapped, 0, b"\0")
                    for i, (index, sub) in enumerate(wanted, 1):
                        bits = 8 * len(slave.sdo_read(index, sub))
                        slave.sdo_write(mapped, i, struct.pack("<I", index << 16 | sub << 8 | bits))
                    slave.sdo_write(mapped, 0, bytes([len(wanted)]))
                    slave.sdo_write(assignment, 1, struct.pack("<H", mapped))
                    slave.sdo_write(assignment, 0, b"\1")
            except DriverError as error:
                self._failure = error
            except Exception as error:  # SOEM's, of many kinds
                self._failure = DriverError(
                    f"slave {number} rejects the process data mapping ({type(error).__name__}: {error}); is it "
                    "a drive of CiA 402 with an object for each channel?"
                )

        return set_up

    def _go_to_op(self) -> None:
        master, soem = self._master, self._soem
        self._expected = master.expected_wkc
        if master.state_check(soem.SAFEOP_STATE, 1_000_000) != soem.SAFEOP_STATE:
            raise DriverError(f"not all slaves reach SAFEOP: {self._where()}")
        self._transfer(SHORTEST)
        master.state = soem.OP_STATE
        master.write_state()
        deadline = time.monotonic() + TO_OP
        while master.state_check(soem.OP_STATE, 1_000) != soem.OP_STATE:
            self._transfer(SHORTEST)
            if time.monotonic() > deadline:
                raise DriverError(f"not all slaves reach OP within {TO_OP:g} s: {self._where()}")

    def _come_back(self) -> None:
        """To OP, while no command stands: this process was held up for longer than a slave's watchdog, at rest."""
        self._image = self._safe_image()
        for slave in self._master.slaves:  # all of them: their states are then asked for at once
            slave.state = self._soem.SAFEOP_STATE + self._soem.STATE_ACK
            slave.write_state()
        self._go_to_op()

    def _where(self) -> str:
        """In which state each slave is, and why."""
        self._master.read_state()
        said = []
        for number, slave in enumerate(self._master.slaves, 1):
            state = STATES.get(slave.state & ~ERROR, f"state {slave.state}")
            why = f" ({self._soem.al_status_code_to_string(slave.al_status)})" if slave.al_status else ""
            said.append(f"slave {number} {slave.name}: {state}{why}")
        return "; ".join(said)

    # cycles

    def _transfer(self, microseconds: int) -> int:
        """One exchange of process data; the working counter."""
        for slave, data in zip(self._master.slaves, self._image_now(), strict=True):
            slave.output = data
        self._master.send_processdata()
        return int(self._master.receive_processdata(microseconds))

    def _image_now(self) -> list[bytes]:
        if not hasattr(self, "_image"):
            return [bytes(len(slave.output)) for slave in self._master.slaves]
        return self._safe_image() if self._is_safe.is_set() else self._image

    def _safe_image(self) -> list[bytes]:
        image = [bytes(len(data)) for data in self._image]
        for slave, (control, target, _, actual) in self._words.items():
            stands = actual.get(self._master.slaves[slave - 1].input)
            image[slave - 1] = target.put(control.put(image[slave - 1], cia402.QUICK_STOP), stands)
        return image

    def _exchange(self) -> None:
        """As often as it takes for the whole working counter, but for no more than half a period."""
        deadline = time.monotonic() + 0.5 * self._period
        with self._one_at_a_time:
            self._look_at_drives()  # what was asked of them leaves with this exchange
            while True:
                left = deadline - time.monotonic()
                counter = self._transfer(max(int(1e6 * left), SHORTEST))
                if counter == self._expected:
                    break
                if time.monotonic() >= deadline:
                    got = "no frame came back" if counter < 0 else f"working counter {counter} of {self._expected}"
                    raise DriverError(f"the bus is incomplete: {got}; {self._where()}")
            self._look_at_drives()

    def _look_at_states(self) -> None:
        """Slaves may leave OP and continue answering."""
        with self._one_at_a_time:
            for _ in range(QUESTIONS):
                if self._master.read_state() == self._soem.OP_STATE:
                    break
                if any(slave.state not in (0, self._soem.OP_STATE) for slave in self._master.slaves):
                    if self._live:
                        raise DriverError(f"not all slaves are still in OP: {self._where()}")
                    self._come_back()
            else:  # the question or its answer was lost each time
                raise DriverError(f"slaves no longer report their states: {self._where()}")
        self._looked = time.monotonic()

    def _look_at_drives(self) -> None:
        if self._is_safe.is_set():
            return
        for slave, stage in self._stages.items():
            control, target, status, actual = self._words[slave]
            sent = self._master.slaves[slave - 1].input
            word = stage.control(int(status.get(sent)))
            data = control.put(self._image[slave - 1], word)
            self._image[slave - 1] = data if stage.follows else target.put(data, actual.get(sent))

    def _keep(self) -> None:
        """See to the bus while no one else does; what fails, a reading shows."""
        while not self._ended.wait(IDLE):
            if time.monotonic() - self._called > IDLE and self._one_at_a_time.acquire(blocking=False):
                try:
                    if self._live and time.monotonic() - self._called > STALLED:
                        self._live, self._image = False, self._safe_image()
                        for stage in self._stages.values():
                            stage.want(False)
                    self._transfer(SHORTEST)
                finally:
                    self._one_at_a_time.release()

    # the contract

    def read(self) -> Sequence[float]:
        self._called = time.monotonic()
        self._exchange()
        if time.monotonic() - self._looked >= LOOK:
            self._look_at_states()
        data = [slave.input for slave in self._master.slaves]
        return [place.get(data[place.slave - 1]) for place in self._inputs]

    def write(self, commands: Sequence[float]) -> None:
        if self._is_safe.is_set():
            return
        self._live, self._called = True, time.monotonic()
        image = list(self._image)
        for (terminal, place), value in zip(self._outputs, commands, strict=True):
            stage = self._stages.get(terminal.slave)
            if place is None:
                assert stage is not None
                stage.want(value >= 0.5)
            elif stage is None or terminal.index != cia402.TARGET or stage.follows:
                image[terminal.slave - 1] = place.put(image[terminal.slave - 1], value, terminal.name)
        for slave, stage in self._stages.items():
            if slave not in self._switched:
                stage.want(True)
        self._image = image
        self._exchange()

    def safe(self) -> None:
        """The next exchange, whoever makes it, carries the safe image: this one, if no one else is at it."""
        self._is_safe.set()
        if self._master is not None and self._one_at_a_time.acquire(blocking=False):
            try:
                self._transfer(SHORTEST)
            finally:
                self._one_at_a_time.release()

    def close(self) -> None:
        if self._master is None:
            return
        self.safe()
        self._ended.set()
        self._keeper.join(1.0)
        with self._one_at_a_time:
            self._transfer(SHORTEST)
            self._master.state = self._soem.INIT_STATE
            self._master.write_state()
            self._master.close()
            self._master = None
