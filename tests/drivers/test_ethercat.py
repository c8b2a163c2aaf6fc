"""The EtherCAT driver against simulated slaves on a virtual cable: states, process data, clocks, and faults."""

from __future__ import annotations

import json
import math
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfreal.contracts.driver import DriverError, Opening
from halfreal.drivers import ethercat
from halfreal.drivers.cia402 import interpolation
from halfreal.drivers.ethercat import EtherCatDriver
from halfreal.drivers.ethercat_map import Place, Terminal, by_eeprom

SLAVES = Path(__file__).parent / "ethercat_slaves.py"
PERIOD = 0.1  # of which half is waited for an answer: a busy machine may hold up the slaves
BOUND = 20.0
INPUTS = ("1 / 0x6000:17", "slave 2 / 0x6064")
OUTPUTS = ("1 / 0x7000:17", "2 / 0x607A", "2 / enable")
OP, SAFEOP, INIT = 8, 4, 1
ENABLED, QUICK_STOP_ACTIVE = 0x27, 0x07


class Cable:
    """Two ends of a virtual cable, with simulated slaves on the far one."""

    def __init__(self) -> None:
        self.near, self.far = f"hr{os.getpid() % 10**6}a", f"hr{os.getpid() % 10**6}b"
        subprocess.run(["ip", "link", "add", self.near, "type", "veth", "peer", "name", self.far], check=True)
        for end in (self.near, self.far):
            subprocess.run(["ip", "link", "set", end, "up"], check=True)

    def begin(self) -> None:
        streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([sys.executable, SLAVES, self.far], **streams)
        assert self.process.stdout is not None and self.process.stdout.readline() == "ready\n"

    def say(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()

    def told(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        self.say("tell")
        return json.loads(self.process.stdout.readline())  # type: ignore[no-any-return]

    def until(self, what: str, value: object) -> None:
        deadline = time.monotonic() + BOUND
        while self.told()[what] != value:
            assert time.monotonic() < deadline, f"{what} never became {value}: {self.told()}"

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def laid() -> Iterator[Cable]:
    soem = pytest.importorskip("pysoem", reason="no EtherCAT: install pysoem")
    soem.settings.timeouts.ret = 50_000  # microseconds: the slaves are a process on a busy machine
    if shutil.which("ip") is None:
        pytest.skip("no EtherCAT: there is no ip on PATH to lay a virtual cable")
    try:
        cable = Cable()
    except subprocess.CalledProcessError:
        pytest.skip("no EtherCAT: a virtual cable needs root")
    yield cable
    subprocess.run(["ip", "link", "del", cable.near], check=True)


@pytest.fixture
def cable(laid: Cable) -> Iterator[Cable]:
    laid.begin()
    yield laid
    laid.end()


def opening(card: str, **changes: Any) -> Opening:
    settings = {"interface": card, "drives": "2", "clocks": "2"} | changes
    return Opening(INPUTS, OUTPUTS, PERIOD, settings)


@pytest.fixture
def driver(cable: Cable) -> Iterator[EtherCatDriver]:
    one = EtherCatDriver()
    one.open(opening(cable.near))
    yield one
    one.close()


def enabled(driver: EtherCatDriver, at: float = 1000.0) -> None:
    """Enable the drive where it stands."""
    for _ in range(10):
        driver.write([0.0, at, 1.0])
        driver.read()


def test_opened_it_reads_and_moves_nothing_and_a_drive_is_set_up_from_the_channel_table(
    cable: Cable, driver: EtherCatDriver
) -> None:
    assert driver.read() == [0.0, 1000.0]
    told = cable.told()
    assert told["states"] == [OP, OP]
    assert (told["actual"], told["status"] & 0x6F != ENABLED, told["mode"]) == (1000, True, 8)
    assert told["interpolation"] == [100, 256 - 3]  # 100 ms
    assert told["sync"] == [3, round(1e9 * PERIOD)]  # SYNC0 of the distributed clocks, every period
    assert "simulated AI/AO, simulated drive" in driver.name
    cable.say("push -12345")
    assert cable.told() and driver.read() == [-12345.0, 1000.0]


def test_commands_reach_the_slaves_in_the_same_tick_and_a_drive_does_not_jump_when_it_is_enabled(
    cable: Cable, driver: EtherCatDriver
) -> None:
    driver.write([-2000.0, 5000.0, 0.0])
    assert cable.told()["value"] == -2000
    assert driver.read() == [-2000.0, 1000.0]
    driver.write([0.0, 5000.0, 1.0])  # from here on its power stage goes on, and its target is where it stands
    steps = []
    while cable.told()["status"] != ENABLED and len(steps) < 10:
        steps.append(driver.read()[1])
        driver.write([0.0, 1000.0, 1.0])
    assert set(steps) == {1000.0} and cable.told()["status"] == ENABLED
    driver.read()
    for k in range(5):
        driver.write([0.0, 1000.0 + k, 1.0])
        assert driver.read()[1] == 1000.0 + k
    driver.write([0.0, 1004.0, 0.0])
    assert cable.told()["status"] & 0x6F != ENABLED
    driver.write([0.0, 9000.0, 0.0])
    assert driver.read()[1] == 1004.0


def test_lost_frames_fail_the_driver(cable: Cable, driver: EtherCatDriver) -> None:
    enabled(driver)
    cable.say("drop")
    assert cable.told()
    with pytest.raises(DriverError, match="the bus is incomplete: no frame came back"):
        driver.read()


@pytest.mark.parametrize(("number", "name"), [(1, "simulated AI/AO"), (2, "simulated drive")])
def test_a_slave_that_leaves_op_fails_the_driver_which_names_it(
    cable: Cable, driver: EtherCatDriver, number: int, name: str
) -> None:
    enabled(driver)
    cable.say(f"safeop {number}")
    assert cable.told()
    deadline = time.monotonic() + BOUND
    with pytest.raises(DriverError, match=rf"not all slaves are still in OP: .*slave {number} {name}: SAFEOP \("):
        while time.monotonic() < deadline:
            driver.read()
            driver.write([0.0, 1000.0, 1.0])


def test_a_slave_that_leaves_op_at_rest_is_brought_back_and_moves_nothing(cable: Cable, driver: EtherCatDriver) -> None:
    cable.say("safeop 2")
    assert cable.told()["states"] == [OP, SAFEOP]
    deadline = time.monotonic() + BOUND
    while cable.told()["states"] != [OP, OP]:
        assert driver.read() == [0.0, 1000.0]
        assert time.monotonic() < deadline


def test_a_drive_that_reports_a_fault_fails_the_driver(cable: Cable, driver: EtherCatDriver) -> None:
    enabled(driver)
    cable.say("fault")
    assert cable.told()
    with pytest.raises(DriverError, match=r"the drive of slave 2 reports a fault \(status word 0x0008\)"):
        for _ in range(3):
            driver.read()


def test_safe_stops_the_drive_and_lets_outputs_go_at_once_and_for_good(cable: Cable, driver: EtherCatDriver) -> None:
    enabled(driver)
    driver.write([3000.0, 1234.0, 1.0])
    with driver._one_at_a_time:
        driver.safe()  # somebody is at the bus: it does not wait for them
    cable.until("value", 0)
    cable.until("status", QUICK_STOP_ACTIVE)
    driver.write([3000.0, 9999.0, 1.0])
    assert driver.read() == [0.0, 1234.0]
    driver.close()
    assert cable.told()["states"] == [INIT, INIT]
    driver.open(opening(cable.near))
    assert driver.read() == [0.0, 1234.0]


def test_the_bus_lives_while_the_process_does_and_commands_only_as_long_as_the_loop(
    cable: Cable, driver: EtherCatDriver
) -> None:
    before, deadline = cable.told()["frames"], time.monotonic() + BOUND
    while cable.told()["frames"] < before + 15:  # longer than their watchdog, without a word from us
        assert time.monotonic() < deadline
    assert cable.told()["states"] == [OP, OP]
    enabled(driver)
    driver.write([3000.0, 1000.0, 1.0])
    cable.until("value", 0)  # the loop stands still
    cable.until("status", QUICK_STOP_ACTIVE)
    assert cable.told()["states"] == [OP, OP]
    driver.read()
    driver.write([2000.0, 1000.0, 0.0])
    assert cable.told()["value"] == 2000
    driver._ended.set()  # as if the process were gone
    cable.until("states", [SAFEOP, SAFEOP])
    assert cable.told()["value"] == 0


@pytest.mark.parametrize(
    ("changes", "inputs", "message"),
    [
        ({"interface": "nowhere0"}, INPUTS, "the network card 'nowhere0' cannot be opened"),
        ({}, ("3 / 0x6064",), r"there is no slave 3: 2 respond on '1 simulated AI/AO, 2 simulated drive'"),
        ({}, ("1 / 0x6010:17",), r"slave 1 sends 0x6000:1, 0x6000:17 in its process data; name one of these"),
        ({}, ("2 / 0x6999",), "slave 2 rejects the process data mapping"),
        ({}, ("1 / 0x6000:17 uint32",), "has 16 bits in slave 1; give that type"),
        ({"drives": ""}, ("1 / 0x6000:17",), "slave 2 is not listed in driver.settings.drives|slave 2 hears"),
    ],
)
def test_what_the_bus_does_not_have_is_told(
    cable: Cable, changes: dict[str, str], inputs: tuple[str, ...], message: str
) -> None:
    told = opening(cable.near, **changes)
    with pytest.raises(DriverError, match=message):
        EtherCatDriver().open(Opening(inputs, told.outputs, PERIOD, told.settings))


# without a bus


@pytest.mark.parametrize(
    ("names", "settings", "message"),
    [
        (("ai0",), {"interface": "x"}, "'ai0' is not an EtherCAT terminal; write slave and object"),
        (("0 / 0x6000",), {"interface": "x"}, "is not an EtherCAT terminal"),
        (("1 / 0x6000:1 real16",), {"interface": "x"}, "there is no type real16"),
        (INPUTS, {}, "driver.settings.interface is missing"),
        (INPUTS, {"interface": 3}, "driver.settings.interface is 3 where str is expected"),
        (INPUTS, {"interface": "x", "card": "y"}, "driver.settings.card is not a setting of this driver"),
        (INPUTS, {"interface": "x", "drives": "two"}, "write numbers of slaves from 1 on"),
    ],
)
def test_names_and_settings_that_cannot_be_are_told(
    names: tuple[str, ...], settings: dict[str, object], message: str
) -> None:
    with pytest.raises(DriverError, match=message):
        EtherCatDriver().open(Opening(names, (), PERIOD, settings))


def test_without_its_library_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pysoem", None)
    with pytest.raises(DriverError, match=r"pip install 'halfreal\[ethercat\]'"):
        ethercat._library()


@given(st.integers(1, 64), st.integers(0, 40), st.booleans(), st.data())
def test_a_number_is_read_as_it_was_written_and_leaves_its_neighbours_alone(
    bits: int, start: int, signed: bool, data: st.DataObject
) -> None:
    place = Place(1, start, bits, "int" if signed else "uint")
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    value = data.draw(st.integers(low, high).filter(lambda x: int(float(x)) == x))
    before = data.draw(st.binary(min_size=14, max_size=14))
    after = place.put(before, float(value))
    assert place.get(after) == value
    mask = (1 << bits) - 1 << start
    assert (int.from_bytes(before, "little") ^ int.from_bytes(after, "little")) & ~mask == 0
    for beyond in (high + max(1, high // 1000), math.nan, math.inf):
        with pytest.raises(DriverError, match="but its range is"):
            place.put(before, float(beyond))


@given(st.floats(width=32))
def test_a_real_number_crosses_with_its_bits(value: float) -> None:
    place = Place(1, 8, 32, "real")
    assert struct.pack("<f", place.get(place.put(bytes(6), value))) == struct.pack("<f", value)


@given(st.binary(max_size=400))
def test_an_eeprom_of_any_content_is_read_to_an_end(content: bytes) -> None:
    padded = bytes(128) + content
    entries = by_eeprom(lambda word: padded[2 * word : 2 * word + 4].ljust(4, b"\xff"), 50)
    assert all(entry.bits >= 0 and entry.start >= 0 for entry in entries)


@pytest.mark.parametrize(("period", "told"), [(1e-3, (1, -3)), (250e-6, (25, -5)), (0.02, (20, -3)), (1e-6, (1, -6))])
def test_a_drive_is_told_its_period(period: float, told: tuple[int, int]) -> None:
    assert interpolation(period) == told
    with pytest.raises(DriverError, match="a whole number of microseconds"):
        interpolation(period * 1.0007)


def test_names_of_terminals() -> None:
    assert Terminal.read("slave 2/0x6064") == Terminal("slave 2/0x6064", 2, 0x6064, 0, None, None)
    assert Terminal.read("1 / 0x6000:0x11 uint16").sub == 17
    assert Terminal.read("3 / enable").index == 0
