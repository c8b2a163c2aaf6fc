"""Which driver a definition uses: one of halfreal's own, one of an installed package, or a file of the user's.

A driver of halfreal's own is its file and its line in ``OWN``; a package brings drivers through entry points of the
group ``halfreal.driver``.  A definition names either, or a file: ``"lab.py:Lab"`` for a class in Python, ``"lab.so"``
for a compiled library (``halfreal_driver.h``).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationInfo, field_validator

from ..contracts.driver import Driver, DriverError
from ..contracts.foreign_code import ForeignCode
from ..kernels import trust
from ..settings import fault, folder, stored

OWN = {
    "null": "contracts.driver:NullDriver",
    "simulated": "drivers.simulated:SimulatedDriver",
    "ethercat": "drivers.ethercat:EtherCatDriver",
    "ni-daqmx": "drivers.nidaqmx:NiDaqMxDriver",
    "comedi": "drivers.comedi:ComediDriver",
}
"""Halfreal's own drivers, by the names that definitions use."""
GROUP = "halfreal.driver"


def names() -> tuple[str, ...]:
    """Of all drivers that need no file."""
    return (*OWN, *(entry.name for entry in entry_points(group=GROUP) if entry.name not in OWN))


def is_library(use: str) -> bool:
    return use.endswith((".so", ".dll", ".dylib"))


def located(use: str, where: Path) -> str:
    """What a definition in the folder ``where`` names, with whole paths; a ``DriverError`` if there is none."""
    if use in names():
        return use
    file, colon, name = use.rpartition(":")
    if is_library(use):
        file, name = use, ""
    elif not colon or not file.endswith(".py") or not name.isidentifier():
        near = difflib.get_close_matches(use, names(), n=1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise DriverError(
            f"'{use}' is not a driver; {hint}available: {', '.join(names())}; or name a class in a "
            "file, 'lab.py:Lab', or a "
            "compiled library, 'lab.so'"
        )
    path = (where / file).resolve()
    if not path.is_file():
        raise DriverError(f"'{use}': there is no file {path}; name it relative to the definition's folder")
    return f"{path}:{name}" if name else str(path)


class DriverChoice(ForeignCode):
    """The driver that reads and writes the rig's raw channels, and its own settings."""

    use: str
    """Name of the driver, e.g. "simulated", a class in a file, ``"lab.py:Lab"``, or a library, ``"lab.so"``."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings of the driver: texts, numbers, true or false."""

    @field_validator("use")
    @classmethod
    def _found(cls, use: str, info: ValidationInfo) -> str:
        if stored(info):
            return use
        try:
            return located(use, folder(info))
        except DriverError as error:
            raise fault(str(error)) from error

    @field_validator("settings")
    @classmethod
    def _plain(cls, settings: dict[str, Any]) -> dict[str, Any]:
        for key, value in settings.items():
            if not isinstance(value, str | int | float):
                raise fault(f"{value!r} where a text, a number, true or false is expected", key)
            if any(c in f"{key}{value}" for c in "\r\n\0") or "=" in key:
                raise fault("a setting must not contain line breaks, nor its name '='", key)
        return settings

    @property
    def file(self) -> Path:
        """The user's file; of a driver that is installed, this one."""
        if is_library(self.use):
            return Path(self.use)
        return Path(self.use.rpartition(":")[0]) if ":" in self.use else Path(__file__)

    def hashes(self) -> dict[str, str]:
        return {} if self.file == Path(__file__) else super().hashes()


def python_driver(use: str) -> Driver:
    """A driver in Python, made; from here on the user's file is run."""
    if use in OWN:
        module, name = OWN[use].split(":")
        made = getattr(import_module(f"halfreal.{module}"), name)
    elif use in names():
        made = next(entry for entry in entry_points(group=GROUP) if entry.name == use).load()
    else:
        from ..kernels.user_import import import_file

        file, _, name = use.rpartition(":")
        trust.check(Path(file))
        try:
            module_ = import_file(Path(file)).module
        except Exception as error:  # whatever the user's file does
            raise DriverError(f"'{file}' cannot be imported: {type(error).__name__}: {error}") from error
        if not hasattr(module_, name):
            raise DriverError(f"'{file}' has no class '{name}'; give the name of the driver's class")
        made = getattr(module_, name)
    try:
        driver = made()
    except Exception as error:
        raise DriverError(f"the driver '{use}' cannot be created: {type(error).__name__}: {error}") from error
    missing = [name for name in ("open", "read", "write", "safe", "close") if not callable(getattr(driver, name, None))]
    if missing:
        raise DriverError(
            f"the driver '{use}' has no {', '.join(missing)}; it must have open, read, write, safe and close "
            "(halfreal.contracts.driver)"
        )
    return driver  # type: ignore[no-any-return]


def told(settings: Mapping[str, Any]) -> str:
    """A driver's own settings for people."""
    return ", ".join(f"{key} = {value}" for key, value in settings.items()) or "none"
