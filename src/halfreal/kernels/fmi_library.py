"""An FMU on disk, opened: its description, its library and the functions of the FMI standard in it.

The Functional Mock-up Interface (FMI 2.0.4 and 3.0.2, https://fmi-standard.org) describes a model as an XML file and a
library of C functions.  The package FMPy reads and validates the description; the functions are called by their
addresses, from Python here and from compiled blocks in ``contracts/fmu.py``.  Opening an FMU is running it.
"""

from __future__ import annotations

import atexit
import ctypes
import difflib
import hashlib
import platform
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from ..errors import HalfrealError
from .foreign import function_address

VERSIONS = ("2.0", "3.0")
COMMON = ("Reset", "EnterInitializationMode", "ExitInitializationMode", "FreeInstance")
NEEDED = {
    ("2.0", "co-simulation"): (*COMMON, "Instantiate", "SetupExperiment", "SetReal", "GetReal", "DoStep"),
    ("2.0", "model exchange"): (
        *COMMON,
        "Instantiate",
        "SetupExperiment",
        "SetReal",
        "GetReal",
        "SetTime",
        "SetContinuousStates",
        "GetContinuousStates",
        "GetDerivatives",
        "GetEventIndicators",
        "CompletedIntegratorStep",
        "EnterEventMode",
        "NewDiscreteStates",
        "EnterContinuousTimeMode",
    ),
    ("3.0", "co-simulation"): (*COMMON, "InstantiateCoSimulation", "SetFloat64", "GetFloat64", "DoStep"),
    ("3.0", "model exchange"): (
        *COMMON,
        "InstantiateModelExchange",
        "SetFloat64",
        "GetFloat64",
        "SetTime",
        "SetContinuousStates",
        "GetContinuousStates",
        "GetContinuousStateDerivatives",
        "GetEventIndicators",
        "CompletedIntegratorStep",
        "EnterEventMode",
        "UpdateDiscreteStates",
        "EnterContinuousTimeMode",
    ),
}
OPTIONAL = ("GetDirectionalDerivative",)


class FmuError(HalfrealError):
    """An FMU that cannot be used."""


@dataclass(frozen=True)
class Variable:
    """A number of the model: where FMI finds it, and what it is."""

    name: str
    reference: int
    causality: str
    unit: str


@dataclass(frozen=True)
class Fmu:
    """An FMU, opened."""

    path: Path
    version: str
    interface: str
    """ "co-simulation" or "model exchange"."""
    name: str
    token: str
    """GUID, or instantiation token, that the library wants to see."""
    identifier: str
    resources: Path
    variables: dict[str, Variable]
    states: int
    indicators: int
    once: bool
    """Whether it may be instantiated only once in a process."""
    fixed_step: float | None
    """Of its own [s]: communication steps must be whole multiples; None if it has none."""
    derivatives: tuple[tuple[int, int], ...]
    """References of each state and of its derivative, if the FMU gives directional derivatives of all; else none."""
    file: Path
    """The library, unpacked."""
    library: Any
    addresses: dict[str, int]

    def variable(self, name: str, *causalities: str) -> Variable:
        """A number of the model by its name, if it is an input, an output, a parameter …"""
        found = self.variables.get(name)
        if found is None:
            near = difflib.get_close_matches(name, self.variables, n=1, cutoff=0.4)
            fitting = [one.name for one in self.variables.values() if one.causality in causalities]
            hint = f"; did you mean '{near[0]}'?" if near else f"; available: {', '.join(fitting[:12]) or 'none'}"
            raise FmuError(f"{self.path.name} has no variable '{name}'{hint}")
        if found.causality not in causalities:
            raise FmuError(
                f"'{name}' of {self.path.name} is of causality '{found.causality}', but must be "
                f"{' or '.join(repr(one) for one in causalities)} here"
            )
        return found


def platform_folder(version: str) -> str:
    """Where an FMU keeps its library for this machine."""
    machine = platform.machine().lower().replace("amd64", "x86_64")
    if version == "2.0":
        return {"x86_64": "linux64", "i686": "linux32"}.get(machine, f"{machine}-linux")
    return f"{machine}-linux"


@cache
def opened(path: Path, digest: str, interface: str) -> Fmu:
    """Unpack, validate and open an FMU; the same one once in a process."""
    try:
        import fmpy
    except ImportError as error:
        raise FmuError("FMUs need the package fmpy: pip install 'halfreal[fmi]'") from error
    try:
        description = fmpy.read_model_description(str(path), validate=True)
    except Exception as error:  # FMPy raises whatever its readers do
        raise FmuError(f"{path.name} is not a valid FMU: {' '.join(str(error).split())}") from error
    version = str(description.fmiVersion)
    version = next((one for one in VERSIONS if version.startswith(one.split(".")[0] + ".")), version)
    if version not in VERSIONS:
        raise FmuError(f"{path.name} is of FMI {version}; FMI 2.0 and 3.0 are supported: export it as one of these")
    given = description.coSimulation if interface == "co-simulation" else description.modelExchange
    if given is None:
        other = "model exchange" if interface == "co-simulation" else "co-simulation"
        raise FmuError(f'{path.name} has no {interface}, only {other}; write type = "{other}"')
    if given.needsExecutionTool:
        raise FmuError(
            f"{path.name} needs the exporting program at run time (needsExecutionTool), which a real-time loop cannot "
            "wait for; export it with its solver, as a stand-alone FMU"
        )
    folder = Path(tempfile.mkdtemp(prefix="halfreal-fmu-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    fmpy.extract(str(path), str(folder))
    binaries = folder / "binaries"
    library = binaries / platform_folder(version) / f"{given.modelIdentifier}.so"
    if not library.is_file():
        there = sorted(one.name for one in binaries.iterdir()) if binaries.is_dir() else []
        raise FmuError(
            f"{path.name} has no library for this machine ({platform_folder(version)}), but for "
            f"{', '.join(there) or 'none'}; export it for Linux, or with its sources and compile those"
        )
    handle, addresses = _functions(path, library, version, interface)
    numbers = [one for one in description.modelVariables if one.type in ("Real", "Float64")]
    return Fmu(
        path,
        version,
        interface,
        str(description.modelName),
        str(description.instantiationToken),
        str(given.modelIdentifier),
        folder / "resources",
        {one.name: Variable(one.name, int(one.valueReference), str(one.causality), _unit(one)) for one in numbers},
        int(description.numberOfContinuousStates or 0),
        int(description.numberOfEventIndicators or 0),
        bool(given.canBeInstantiatedOnlyOncePerProcess),
        _fixed_step(given),
        _derivatives(description, folder, interface) if addresses["GetDirectionalDerivative"] else (),
        library,
        handle,
        addresses,
    )


def _functions(path: Path, library: Path, version: str, interface: str) -> tuple[Any, dict[str, int]]:
    """A library, opened, and the addresses of its functions."""
    try:
        handle = ctypes.CDLL(str(library))
    except OSError as error:
        raise FmuError(f"the library of {path.name} cannot be opened: {error}") from error
    prefix = f"fmi{version[0]}"
    addresses = {name: function_address(handle, f"{prefix}{name}") for name in NEEDED[version, interface]}
    missing = [f"{prefix}{name}" for name, address in addresses.items() if not address]
    if missing:
        raise FmuError(f"the library of {path.name} lacks {', '.join(missing)}; the FMU is incomplete")
    return handle, addresses | {name: function_address(handle, f"{prefix}{name}") for name in OPTIONAL}


_spare: dict[tuple[Path, str], list[Fmu]] = {}


def for_one_instance(fmu: Fmu) -> Fmu:
    """The FMU, or a copy of its library where it may have one instance in a process: a copy has data of its own."""
    if not fmu.once:
        return fmu
    spare = _spare.setdefault((fmu.path, fmu.interface), [fmu])
    if spare:
        return spare.pop()
    number = len(list(fmu.file.parent.iterdir()))
    copy = fmu.file.with_name(f"{fmu.file.stem}.{number}.so")
    shutil.copyfile(fmu.file, copy)
    handle, addresses = _functions(fmu.path, copy, fmu.version, fmu.interface)
    return replace(fmu, library=handle, addresses=addresses)


def done_with(fmu: Fmu) -> None:
    """Its instance has ended: the next one may have it."""
    if fmu.once:
        _spare[fmu.path, fmu.interface].append(fmu)


def _fixed_step(given: Any) -> float | None:
    step = getattr(given, "fixedInternalStepSize", None)
    return float(step) if step else None


def _derivatives(description: Any, folder: Path, interface: str) -> tuple[tuple[int, int], ...]:
    """References of states and their derivatives, if the FMU says that it gives directional derivatives."""
    tag = "CoSimulation" if interface == "co-simulation" else "ModelExchange"
    element = ElementTree.parse(folder / "modelDescription.xml").find(tag)  # FMPy knows the flag of FMI 2 only
    flags = ("providesDirectionalDerivative", "providesDirectionalDerivatives")
    if element is None or not any(element.get(flag) in ("true", "1") for flag in flags):
        return ()
    found = [one.variable for one in description.derivatives]
    plain = all(one.derivative is not None and not one.dimensions for one in found)
    whole = len(found) == int(description.numberOfContinuousStates or 0)
    return tuple((int(one.derivative.valueReference), int(one.valueReference)) for one in found if plain and whole)


def _unit(variable: Any) -> str:
    declared = getattr(variable, "declaredType", None)
    return str(variable.unit or getattr(declared, "unit", None) or "")


def digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def references(variables: Sequence[Variable]) -> Any:
    """Value references as C wants them."""
    import numpy as np

    return np.array([one.reference for one in variables], dtype=np.uint32)
