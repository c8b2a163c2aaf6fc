"""Stress histories of materials in OpenSees, an independent implementation, in a process of its own.

It is an extra of the tests only; where it cannot be imported, tests that ask for it are skipped and say why.
"""

import functools
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = """
import json, sys
import openseespy.opensees as ops
asked, answers = json.load(sys.stdin), []
for material, path in asked:
    ops.wipe()
    ops.uniaxialMaterial(material[0], 1, *material[1:])
    ops.testUniaxialMaterial(1)
    history = []
    for strain in path:
        ops.setStrain(strain)
        history.append((ops.getStress(), ops.getTangent()))
    answers.append(history)
print(json.dumps(answers))
"""


def environment() -> dict[str, str]:
    """With OpenSees' own libraries where the system has none: its wheel for Python 3.11 does not find them itself."""
    found = importlib.util.find_spec("openseespylinux")
    if found is None or not found.submodule_search_locations:
        return dict(os.environ)
    return {**os.environ, "LD_LIBRARY_PATH": str(Path(found.submodule_search_locations[0]) / "lib")}


@functools.cache
def why_not() -> str:
    """Why OpenSees cannot be asked; nothing if it can."""
    if importlib.util.find_spec("openseespy") is None:
        return "openseespy is not installed"
    tried = subprocess.run(
        [sys.executable, "-c", "import openseespy.opensees"], env=environment(), capture_output=True, check=False
    )
    return "" if tried.returncode == 0 else "openseespy cannot be imported here"


def histories(asked: list[tuple[list, np.ndarray]]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Stresses and tangents of each material along its path, committed at every point; a material is its name, then
    its parameters as OpenSees takes them."""
    if why_not():
        pytest.skip(why_not())
    given = json.dumps([(material, list(path)) for material, path in asked])
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], input=given, env=environment(), capture_output=True, text=True, check=True
    )
    found = [np.array(one) for one in json.loads(ran.stdout)]
    return [(one[:, 0], one[:, 1]) for one in found]
