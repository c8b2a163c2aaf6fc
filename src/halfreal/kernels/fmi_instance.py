"""An instance of an FMU: made, initialised and freed from Python, stepped by compiled blocks.

What the FMU logs must not reach Python while the loop runs: its last message is kept aside by compiled code.  Memory
that an FMI 2 instance requires comes from the C library.
"""

from __future__ import annotations

import ctypes
import weakref
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from .fmi_library import Fmu, FmuError, Variable, done_with, for_one_instance, references
from .foreign import function_address
from .objects import any_processor, load, translated

MESSAGE = 256
"""Bytes kept of a message."""
DISCARD = 2
"""Status from which on a call has failed: 0 is well, 1 a warning."""
POINTER = ctypes.c_void_p


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


LOGGER = f"""
define void @keep(ptr %environment, OTHERS, ptr %message) {{
begin:
  br label %copy
copy:
  %i = phi i64 [ 0, %begin ], [ %next, %copy ]
  %from = getelementptr i8, ptr %message, i64 %i
  %to = getelementptr i8, ptr %environment, i64 %i
  %byte = load i8, ptr %from
  store i8 %byte, ptr %to
  %next = add i64 %i, 1
  %last = icmp eq i64 %next, {MESSAGE - 1}
  %over = icmp eq i8 %byte, 0
  %done = or i1 %last, %over
  br i1 %done, label %end, label %copy
end:
  ret void
}}
"""
"""Keeps a message where the environment is; an FMU calls it, from any thread, so that it is no Python."""
OTHERS = {2: "ptr %instance, i32 %status, ptr %category", 3: "i32 %status, ptr %category"}


@cache
def _logger(version: int) -> int:
    """The address of the logger of a version of the standard."""
    module = llvm.parse_assembly(LOGGER.replace("OTHERS", OTHERS[version]))
    module.triple = any_processor().triple
    addresses = load(translated(bytes(module.as_bitcode())), ("keep",))
    assert addresses is not None
    return addresses[0]


class _Callbacks(ctypes.Structure):
    _fields_ = (
        ("logger", POINTER),
        ("allocate", POINTER),
        ("free", POINTER),
        ("finished", POINTER),
        ("environment", POINTER),
    )


class Instance:
    """One instance, initialised with its parameters and zero inputs."""

    def __init__(self, fmu: Fmu, parameters: dict[str, float]) -> None:
        fmu = for_one_instance(fmu)
        self.fmu = fmu
        self.used = np.zeros(1)
        """Whether it has been stepped."""
        self.stands_at = np.zeros(1)
        """Its time [s]."""
        self._callbacks: _Callbacks | None = None
        self._message = np.zeros(MESSAGE, dtype=np.uint8)
        self.tunable: list[Variable] = [fmu.variable(name, "parameter", "input") for name in parameters]
        self.references = references(self.tunable)
        self.values = np.array(list(parameters.values()), dtype=float)
        self.component = self._instantiate()
        weakref.finalize(self, _free, fmu, self.component, self._callbacks)
        self._initialise()

    @property
    def message(self) -> str:
        """The last message that the FMU has logged."""
        return bytes(self._message).partition(b"\0")[0].decode("utf-8", "replace").strip()

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of the FMU for this instance; raises its message if it fails."""
        function = ctypes.CFUNCTYPE(ctypes.c_int32, POINTER, *(type(one) for one in arguments))
        status = function(self.fmu.addresses[name])(self.component, *arguments)
        if status >= DISCARD:
            said = f": {self.message}" if self.message else ""
            raise FmuError(f"{self.fmu.path.name}: fmi{self.fmu.version[0]}{name} failed with status {status}{said}")

    def _instantiate(self) -> int:
        fmu, environment = self.fmu, self._message.ctypes.data
        name, token = fmu.identifier.encode(), fmu.token.encode()
        where = fmu.resources
        if fmu.version == "2.0":
            self._callbacks = _Callbacks(
                _logger(2),
                function_address(_libc(), "calloc"),
                function_address(_libc(), "free"),
                None,
                environment,
            )
            make = ctypes.CFUNCTYPE(
                POINTER, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, POINTER, *[ctypes.c_int] * 2
            )(fmu.addresses["Instantiate"])
            kind = 1 if fmu.interface == "co-simulation" else 0
            component = make(name, kind, token, where.as_uri().encode(), ctypes.addressof(self._callbacks), 0, 0)
        elif fmu.interface == "co-simulation":
            flags = [ctypes.c_bool] * 4
            make = ctypes.CFUNCTYPE(
                POINTER, *[ctypes.c_char_p] * 3, *flags, POINTER, ctypes.c_size_t, POINTER, POINTER, POINTER
            )(fmu.addresses["InstantiateCoSimulation"])
            place = f"{where}/".encode()
            component = make(name, token, place, False, False, False, False, None, 0, environment, _logger(3), None)
        else:
            make = ctypes.CFUNCTYPE(POINTER, *[ctypes.c_char_p] * 3, *[ctypes.c_bool] * 2, POINTER, POINTER)(
                fmu.addresses["InstantiateModelExchange"]
            )
            place = f"{where}/".encode()
            component = make(name, token, place, False, False, environment, _logger(3))
        if not component:
            said = f": {self.message}" if self.message else ""
            raise FmuError(f"{fmu.path.name} cannot be instantiated{said}")
        return int(component)

    def _initialise(self) -> None:
        no, zero, flag = ctypes.c_int(0), ctypes.c_double(0.0), ctypes.c_bool(False)
        two = self.fmu.version == "2.0"
        self.set(self.references, self.values)
        if two:
            self.call("SetupExperiment", no, zero, zero, no, zero)
            self.call("EnterInitializationMode")
        else:
            self.call("EnterInitializationMode", flag, zero, zero, flag, zero)
        self.call("ExitInitializationMode")

    def set(self, which: np.ndarray, values: np.ndarray) -> None:
        if which.size == 0:
            return
        size = ctypes.c_size_t(which.size)
        if self.fmu.version == "2.0":
            self.call("SetReal", POINTER(which.ctypes.data), size, POINTER(values.ctypes.data))
        else:
            self.call("SetFloat64", POINTER(which.ctypes.data), size, POINTER(values.ctypes.data), size)

    def get(self, which: np.ndarray) -> np.ndarray:
        values, size = np.zeros(which.size), ctypes.c_size_t(which.size)
        if which.size and self.fmu.version == "2.0":
            self.call("GetReal", POINTER(which.ctypes.data), size, POINTER(values.ctypes.data))
        elif which.size:
            self.call("GetFloat64", POINTER(which.ctypes.data), size, POINTER(values.ctypes.data), size)
        return values


def _free(fmu: Fmu, component: int, callbacks: Any) -> None:  # which must live until then
    ctypes.CFUNCTYPE(None, POINTER)(fmu.addresses["FreeInstance"])(component)
    done_with(fmu)
