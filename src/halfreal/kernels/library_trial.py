"""Call a function of a compiled library at rest, in a process of its own, where it can do no harm.

    python library_trial.py FILE FUNCTION DT CALLS    # reads parameters, state and the numbers of inputs and outputs

Needs nothing but Python itself, so that it starts at once.  Behind every array stand words that must not change: a
function that writes beyond its arrays is found out.
"""

import ctypes
import json
import math
import sys
import time
from typing import Any

GUARD, WORDS = 1.2345678912345e-300, 64


def array(values: list[float]) -> "ctypes.Array[ctypes.c_double]":
    return (ctypes.c_double * (len(values) + WORDS))(*values, *[GUARD] * WORDS)


def intact(values: "ctypes.Array[ctypes.c_double]", size: int) -> bool:
    return all(values[i] == GUARD for i in range(size, size + WORDS))


def trial(file: str, name: str, dt: float, calls: int, given: dict[str, Any]) -> dict[str, Any]:
    """What came of it: {"error": …} or {"longest": seconds}."""
    try:
        library = ctypes.CDLL(file)
    except OSError as error:
        return {"error": f"cannot be opened: {error}"}
    try:
        function = getattr(library, name)
    except AttributeError:
        return {"error": f"has no function '{name}'; declare it extern \"C\" in C++; 'nm -D' lists its functions"}
    function.restype = ctypes.c_int32
    pointer = ctypes.POINTER(ctypes.c_double)
    function.argtypes = [pointer, pointer, ctypes.c_double, pointer, pointer]
    sizes = {
        "parameters": len(given["parameters"]),
        "state": len(given["state"]),
        "inputs": given["inputs"],
        "outputs": given["outputs"],
    }
    try:
        declared = list((ctypes.c_int32 * 4).in_dll(library, f"{name}_sizes"))
    except ValueError:
        declared = None
    if declared is not None and declared != list(sizes.values()):
        told = ", ".join(f"{one} {key}" for key, one in zip(sizes, declared, strict=True))
        here = ", ".join(f"{one} {key}" for key, one in sizes.items())
        return {
            "error": f"reports that '{name}' has {told} (parameters including the step), but the "
            f"definition gives {here}"
        }
    p, s = array(given["parameters"]), array(given["state"])
    u, y = array([0.0] * sizes["inputs"]), array([0.0] * sizes["outputs"])
    longest = 0.0
    for call in range(calls):
        began = time.perf_counter()
        status = function(p, s, call * dt, u, y)
        longest = max(longest, time.perf_counter() - began)
        if status:
            return {
                "error": f"'{name}' returned {status} at rest, where all inputs are zero: a fault that would stop "
                "the test in its first tick; return 0 for success"
            }
        for key, values in (("parameters", p), ("state", s), ("inputs", u), ("outputs", y)):
            if not intact(values, sizes[key]):
                return {"error": f"'{name}' writes beyond its {key}, of which there are {sizes[key]}"}
        bad = [i for i in range(sizes["outputs"]) if not math.isfinite(y[i])]
        if bad:
            return {"error": f"output {bad[0]} of '{name}' is {y[bad[0]]} at rest"}
    return {"longest": longest}


if __name__ == "__main__":
    file, name, dt, calls = sys.argv[1:]
    print(json.dumps(trial(file, name, float(dt), int(calls), json.load(sys.stdin))))
