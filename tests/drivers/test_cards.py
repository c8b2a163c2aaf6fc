"""Drivers of cards that nobody has here: NI-DAQmx and Comedi against stand-ins for their libraries."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import pytest

from halfreal.contracts.driver import Driver, DriverError, Opening
from halfreal.drivers import comedi
from halfreal.drivers.comedi import ComediDriver
from halfreal.drivers.nidaqmx import NiDaqMxDriver


class Task:
    """As far as nidaqmx.Task is used: one value from or for a task of one channel, else a list."""

    wires: ClassVar[dict[str, Any]] = {}
    broken = False

    def __init__(self) -> None:
        self.names: list[str] = []
        add = lambda name, **_: self.names.append(name)  # noqa: E731
        self.ai_channels = SimpleNamespace(add_ai_voltage_chan=add)
        self.ao_channels = SimpleNamespace(add_ao_voltage_chan=add)
        self.di_channels = SimpleNamespace(add_di_chan=add)
        self.do_channels = SimpleNamespace(add_do_chan=add)

    def start(self) -> None:
        if "Dev9/ai0" in self.names:
            raise RuntimeError("Device identifier is invalid.")

    def read(self, timeout: float) -> Any:
        if self.broken:
            raise RuntimeError("the device was unplugged")
        values = [self.wires[name.replace("ai", "ao").replace("line1", "line0")] for name in self.names]
        return values if len(values) > 1 else values[0]

    def write(self, data: Any, timeout: float) -> None:
        assert isinstance(data, list) == (len(self.names) > 1)
        self.wires |= dict(zip(self.names, data if isinstance(data, list) else [data], strict=True))

    def close(self) -> None:
        self.names = []


@pytest.fixture
def ni(monkeypatch: pytest.MonkeyPatch) -> NiDaqMxDriver:
    package, constants = ModuleType("nidaqmx"), ModuleType("nidaqmx.constants")
    package.Task = Task  # type: ignore[attr-defined]
    constants.TerminalConfiguration = SimpleNamespace(DEFAULT=-1, DIFF=1, RSE=2, NRSE=3)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nidaqmx", package)
    monkeypatch.setitem(sys.modules, "nidaqmx.constants", constants)
    monkeypatch.setattr(Task, "wires", {"Dev1/ao0": 0.0, "Dev1/ao1": 0.0, "Dev1/port0/line0": False})
    monkeypatch.setattr(Task, "broken", False)
    return NiDaqMxDriver()


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: there is no cc on PATH")
    built = tmp_path_factory.mktemp("comedi") / "libcomedi.so"
    source = Path(__file__).parent / "comedi.c"
    subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", source, "-o", built], check=True)
    return built


def assert_kept(driver: Driver, opening: Opening, resolution: float) -> None:
    """The contract, of a driver whose two analogue outputs lead to its inputs, and a digital one likewise."""
    driver.open(opening)
    driver.write([2.5, -1.25, 1.0])
    assert driver.read() == pytest.approx([1.0, -1.25, 2.5], abs=resolution)
    driver.safe()
    driver.write([9.0, 9.0, 1.0])
    assert driver.read() == pytest.approx([0.0, 0.0, 0.0], abs=resolution)
    driver.safe()
    driver.close()
    driver.close()
    driver.open(opening)
    driver.write([1.0, 2.0, 0.0])
    assert driver.read() == pytest.approx([0.0, 2.0, 1.0], abs=resolution)


def test_ni_keeps_the_contract_and_tells_what_fails(ni: NiDaqMxDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, outputs = ("Dev1/port0/line1", "Dev1/ai1", "Dev1/ai0"), ("Dev1/ao0", "Dev1/ao1", "Dev1/port0/line0")
    assert_kept(ni, Opening(inputs, outputs, 1e-3, {"range": 5.0, "terminals": "differential"}), 0.0)
    monkeypatch.setattr(Task, "broken", True)
    with pytest.raises(DriverError, match="NI-DAQmx fails: the device was unplugged"):
        ni.read()
    ni.close()
    for names, settings, message in (
        (("Dev9/ai0",), {}, "cannot open its channels: Device identifier is invalid.; compare their names"),
        (inputs, {"terminals": "both"}, "choose one of default, differential, rse, nrse"),
        (inputs, {"range": 0.0}, "is 0 V; it must be above 0 V"),
    ):
        with pytest.raises(DriverError, match=message):
            ni.open(Opening(names, (), 1e-3, settings))
    monkeypatch.setitem(sys.modules, "nidaqmx", None)
    with pytest.raises(DriverError, match=r"pip install 'halfreal\[nidaqmx\]'"):
        ni.open(Opening(inputs, (), 1e-3, {}))


def test_comedi_keeps_the_contract_and_tells_what_fails(stand_in: Path) -> None:
    library = {"library": str(stand_in)}
    driver, inputs, outputs = ComediDriver(), ("dio1", "ai1", "ai0"), ("ao0", "ao1", "dio0")
    assert_kept(driver, Opening(inputs, outputs, 1e-3, library), 20.0 / 65535)
    driver.write([11.0, 0.0, 0.0])
    assert math.isnan(driver.read()[2])  # at the end of its range: it may be beyond
    ctypes.CDLL(str(stand_in)).fail(1)
    with pytest.raises(DriverError, match="Comedi cannot read ai1: No such device"):
        driver.read()
    ctypes.CDLL(str(stand_in)).fail(0)
    driver.close()
    for names, settings, message in (
        (("ai4",), {}, "the card has no channel 'ai4'; it has 4 of 'ai'"),
        (("di0",), {}, "it has 0 of 'di'"),
        (("ao0",), {}, "'ao0' is not an input of Comedi; write 'ai0'"),
        (("ai0",), {"range": 3}, "'ai0' has no range 3"),
        (("ai0",), {"device": "/dev/comedi7"}, "'/dev/comedi7' cannot be opened: No such device"),
        (("ai0",), {"reference": "earth"}, "choose one of ground, common, differential"),
    ):
        with pytest.raises(DriverError, match=message):
            ComediDriver().open(Opening(names, (), 1e-3, library | settings))


def test_without_libcomedi_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    with pytest.raises(DriverError, match="apt install libcomedi0"):
        comedi.library()


def test_the_real_libcomedi_has_the_functions_where_it_is_installed() -> None:
    try:
        functions = comedi.library()
    except DriverError:
        pytest.skip("no libcomedi: install libcomedi0")
    assert functions.comedi_open(b"/dev/no-such-card") is None
