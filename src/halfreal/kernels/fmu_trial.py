"""Step an FMU at rest, in a process of its own, where it can do no harm.

    python fmu_trial.py        # reads its task as JSON, answers {"error": …}, empty if all is well

Needs nothing but Python itself, so that it starts at once.  Only what ends the process or never comes back is found
here; what the FMU states of itself is read in the process that uses it.
"""

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

STEPS = 100
WORD, REAL, FLAG, TEXT = ctypes.c_void_p, ctypes.c_double, ctypes.c_int, ctypes.c_char_p
BOOL, SIZE = ctypes.c_bool, ctypes.c_size_t
Logger2 = ctypes.CFUNCTYPE(None, WORD, WORD, ctypes.c_int, WORD, WORD)
Logger3 = ctypes.CFUNCTYPE(None, WORD, ctypes.c_int, WORD, WORD)
_silent_2, _silent_3 = Logger2(lambda *_: None), Logger3(lambda *_: None)


class Callbacks(ctypes.Structure):
    _fields_ = (("logger", Logger2), ("allocate", WORD), ("free", WORD), ("finished", WORD), ("environment", WORD))


def trial(given: dict[str, Any]) -> None:
    """Instantiate, initialise and step; failures that the FMU reports end it without a word."""
    library, two, exchange = ctypes.CDLL(given["library"]), given["version"] == "2.0", given["exchange"]
    prefix = "fmi2" if two else "fmi3"

    def call(name: str, *arguments: Any) -> int:
        function = getattr(library, prefix + name)
        function.restype = ctypes.c_int
        return int(function(WORD(component), *arguments))

    name, token = given["name"].encode(), given["token"].encode()
    libc = ctypes.CDLL(None)
    made = Callbacks(_silent_2, ctypes.cast(libc.calloc, WORD), ctypes.cast(libc.free, WORD), None, None)
    where = Path(given["resources"])
    if two:
        make = library.fmi2Instantiate
        make.restype = WORD
        uri = where.as_uri().encode()
        component = make(name, FLAG(0 if exchange else 1), token, uri, ctypes.byref(made), FLAG(0), FLAG(0))
    else:
        make = library.fmi3InstantiateModelExchange if exchange else library.fmi3InstantiateCoSimulation
        make.restype = WORD
        flags = [BOOL(False)] * (2 if exchange else 4)
        rest = [] if exchange else [None, SIZE(0)]
        behind = [] if exchange else [None]
        component = make(name, token, f"{where}/".encode(), *flags, *rest, None, _silent_3, *behind)
    if not component:
        return
    references, values = given["parameters"]
    count = len(references)
    if count:
        which, numbers = (ctypes.c_uint32 * count)(*references), (REAL * count)(*values)
        call("SetReal" if two else "SetFloat64", which, SIZE(count), numbers, *([] if two else [SIZE(count)]))
    if two:
        call("SetupExperiment", FLAG(0), REAL(0), REAL(0), FLAG(0), REAL(0))
        call("EnterInitializationMode")
    else:
        call("EnterInitializationMode", BOOL(False), REAL(0), REAL(0), BOOL(False), REAL(0))
    call("ExitInitializationMode")
    room, n = (REAL * 16)(), given["states"]
    x, slopes = (REAL * max(n, 1))(), (REAL * max(n, 1))()
    places = [ctypes.byref(room, 8 * i) for i in range(6)]
    if exchange:
        call("NewDiscreteStates" if two else "UpdateDiscreteStates", *([room] if two else places))
        call("EnterContinuousTimeMode")
        call("GetContinuousStates", x, SIZE(n))
    for k in range(STEPS):
        t = REAL(k * given["dt"])
        if exchange:
            call("SetTime", t)
            call("SetContinuousStates", x, SIZE(n))
            status = call("GetDerivatives" if two else "GetContinuousStateDerivatives", slopes, SIZE(n))
        elif two:
            status = call("DoStep", t, REAL(given["dt"]), FLAG(1))
        else:
            status = call("DoStep", t, REAL(given["dt"]), BOOL(True), *places[:4])
        if status > 1:
            break
    library[prefix + "FreeInstance"](WORD(component))


if __name__ == "__main__":
    trial(json.load(sys.stdin))
    print(json.dumps({"error": ""}))
