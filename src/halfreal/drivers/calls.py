"""Drivers as addresses of functions, which the compiled loop calls: those of a library, or of a class in Python.

    int32 call(double *raw)          0 if all is well

Calls to a class in Python go through the interpreter: the loop's thread waits for its lock.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

from ..contracts.driver import Driver, DriverError, Opening
from ..kernels import trust
from .kinds import is_library, python_driver

CALL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
FUNCTIONS = ("read", "write", "safe")


class OpenDriver(Protocol):
    """A driver that can be opened, and called by address."""

    addresses: dict[str, int]
    """Of its functions ``read``, ``write`` and ``safe``."""
    interpreted: bool
    """Whether its calls wait for the interpreter."""
    inputs: np.ndarray
    outputs: np.ndarray
    """Where raw values are read to, and written from."""

    def prepare(self, opening: Opening) -> None:
        """Load what opening it will need."""

    def open(self, opening: Opening) -> None: ...

    def call(self, name: Literal["read", "write", "safe"]) -> int: ...

    def close(self) -> None: ...

    def said(self) -> str:
        """Why it failed last; empty if it has not."""

    def who(self) -> tuple[Literal["real", "simulated"], str]:
        """Whether something moves, and its name and version."""


def callable_driver(use: str) -> OpenDriver:
    """The driver that a definition names, not opened yet."""
    return LibraryDriver(Path(use)) if is_library(use) else PythonDriver(python_driver(use))


def _room(driver: OpenDriver, opening: Opening) -> None:
    """Room for raw values: the same memory when it is opened again, as loops and watchdogs know its address."""
    if (driver.inputs.size, driver.outputs.size) != (sizes := (len(opening.inputs) or 1, len(opening.outputs) or 1)):
        driver.inputs, driver.outputs = np.zeros(sizes[0]), np.zeros(sizes[1])
    driver.inputs[:] = np.nan


class PythonDriver:
    """A class in Python behind callbacks."""

    interpreted = True

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self._failure = ""
        self._count = 0
        self.inputs, self.outputs = np.zeros(1), np.zeros(1)
        self._functions = {"read": self._read, "write": self._write, "safe": self.driver.safe}
        self._callbacks = {name: CALL(self._caught(name)) for name in FUNCTIONS}
        self.addresses = {
            name: int(ctypes.cast(callback, ctypes.c_void_p).value or 0) for name, callback in self._callbacks.items()
        }

    def _caught(self, name: str) -> Callable[[int], int]:
        function = self._functions[name]

        def call(place: int) -> int:
            try:
                function()
            except BaseException as error:  # nothing may leave a callback: it would be printed, and count as success
                self._failure = f"{name}() raised {type(error).__name__}: {error}"
                return 1
            return 0

        return call

    def _read(self) -> None:
        values = self.driver.read()
        if len(values) != self._count:
            raise DriverError(f"it returned {len(values)} values; {self._count} inputs are read")
        self.inputs[: self._count] = values

    def _write(self) -> None:
        self.driver.write(self._given)  # type: ignore[arg-type]

    def prepare(self, opening: Opening) -> None:
        with contextlib.suppress(Exception):  # what is missing, open says
            getattr(self.driver, "prepare", lambda opening: None)(opening)

    def open(self, opening: Opening) -> None:
        _room(self, opening)
        self._count, self._given = len(opening.inputs), self.outputs[: len(opening.outputs)]
        self._failure = ""
        try:
            self.driver.open(opening)
        except DriverError:
            raise
        except Exception as error:
            raise DriverError(f"the driver could not be opened: {type(error).__name__}: {error}") from error

    def call(self, name: Literal["read", "write", "safe"]) -> int:
        return int(self._callbacks[name](0))

    def close(self) -> None:
        try:
            self.driver.close()
        except Exception as error:
            raise DriverError(f"the driver could not be closed: {type(error).__name__}: {error}") from error

    def said(self) -> str:
        return self._failure

    def who(self) -> tuple[Literal["real", "simulated"], str]:
        nature = getattr(self.driver, "nature", "real")
        name = getattr(self.driver, "name", "") or type(self.driver).__name__
        return ("simulated" if nature == "simulated" else "real"), str(name)


class LibraryDriver:
    """A shared library with the functions of ``halfreal_driver.h``."""

    interpreted = False

    def __init__(self, path: Path) -> None:
        trust.check(path)
        self.path = path
        try:
            self._library = ctypes.CDLL(str(path))
        except OSError as error:
            raise DriverError(f"'{path}' cannot be opened: {error}") from error
        for name in ("open", *FUNCTIONS, "close"):
            if not hasattr(self._library, f"halfreal_driver_{name}"):
                raise DriverError(
                    f"'{path.name}' has no function halfreal_driver_{name}; include halfreal_driver.h; 'nm -D' lists "
                    'its functions (in C++ declare it extern "C")'
                )
        self._library.halfreal_driver_open.argtypes = [ctypes.c_char_p]
        self._said = getattr(self._library, "halfreal_driver_said", None)
        if self._said is not None:
            self._said.restype = ctypes.c_char_p
        self.inputs, self.outputs = np.zeros(1), np.zeros(1)
        self._failure = ""
        self.addresses = {
            name: int(ctypes.cast(self._function(name), ctypes.c_void_p).value or 0) for name in FUNCTIONS
        }

    def _function(self, name: str) -> ctypes._NamedFuncPointer:
        function: ctypes._NamedFuncPointer = getattr(self._library, f"halfreal_driver_{name}")
        return function

    def prepare(self, opening: Opening) -> None:
        """It is loaded."""

    def open(self, opening: Opening) -> None:
        _room(self, opening)
        self._failure, self._name = "", ""
        status = int(self._function("open")(opening.lines().encode()))
        if status:
            raise DriverError(f"halfreal_driver_open returned {status}{self._words(': ')}")
        self._name = self._words()

    def call(self, name: Literal["read", "write", "safe"]) -> int:
        place = {"read": self.inputs, "write": self.outputs, "safe": self.outputs}[name].ctypes.data
        return int(CALL(self.addresses[name])(place))

    def close(self) -> None:
        if int(self._function("close")()):
            raise DriverError(f"halfreal_driver_close failed{self._words(': ')}")

    def _words(self, before: str = "") -> str:
        words = self._said() if self._said is not None else None
        return f"{before}{words.decode(errors='replace')}" if words else ""

    def said(self) -> str:
        words = self._words()
        return words if words != self._name else ""

    def who(self) -> tuple[Literal["real", "simulated"], str]:
        nature, _, name = self._name.partition(" ")
        if nature in ("real", "simulated"):
            return ("simulated" if nature == "simulated" else "real"), name or self.path.name
        return "real", self._name or self.path.name
