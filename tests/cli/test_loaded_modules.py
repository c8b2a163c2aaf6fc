"""What a command loads: most of the time of a short command is that of its imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from halfreal.definition.kinds import OWN
from halfreal.kernels import disk_cache
from halfreal.models.materials.kinds import FIBRES, HINGES, SPRINGS
from halfreal.models.schemes.any_scheme import SCHEMES
from halfreal.rigs.any_actuator import ACTUATORS
from halfreal.rigs.any_specimen import PROGRAMS, WITH_MATRICES

PROGRAM = """
import sys
sys.argv = ["halfreal", *{arguments}]
from halfreal.cli import main
try:
    main()
except SystemExit:
    pass
print("LOADED", *sys.modules)
"""
TEMPLATE = {
    *("rigs.simulated", "rigs.actuator", "rigs.specimen", "links.udp", "couplings.direct"),
    *("couplings.forward_prediction", "models.excitations.sine", "models.structures.structure", "models.schemes.exact"),
}
"""Modules of the kinds that the template names, and of the coupling that is the usual one."""


def modules(places: dict[str, str], package: str = "") -> set[str]:
    return {package + place.partition(":")[0] for place in places.values()}


KINDS = set[str]().union(
    *(modules(family) for family in OWN.values()),
    modules(SPRINGS | HINGES | FIBRES, "models.materials."),
    modules(SCHEMES, "models.schemes."),
    modules(ACTUATORS | WITH_MATRICES | PROGRAMS, "rigs."),
)


@pytest.fixture
def template(tmp_path: Path) -> Path:
    loaded("new", tmp_path / "test.toml")
    return tmp_path / "test.toml"


def loaded(*arguments: object) -> set[str]:
    """Modules in the memory of a process that has run a command."""
    program = PROGRAM.format(arguments=[str(one) for one in arguments])
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not run.stderr
    return set(run.stdout.splitlines()[-1].split()[1:])


def test_a_template_lists_all_kinds_and_loads_none(tmp_path: Path) -> None:
    found = loaded("new", tmp_path / "test.toml")
    assert not kinds_of(found) and not {"numba", "scipy", "llvmlite"} & found
    text = " ".join((tmp_path / "test.toml").read_text().replace("#", " ").split())
    assert all(kind in text for kind in OWN["coupling"])


def kinds_of(found: set[str]) -> set[str]:
    return {one for one in KINDS if f"halfreal.{one}" in found}


def test_reading_a_definition_loads_only_the_kinds_that_it_names_and_no_scipy(template: Path) -> None:
    found = loaded("info", template)
    assert kinds_of(found) == TEMPLATE
    assert not {"numba", "scipy", "pint", "matplotlib", "h5py", "rich"} & found


def test_a_check_loads_only_the_kinds_that_its_definition_names_and_of_scipy_only_linear_algebra(
    template: Path,
) -> None:
    """Twice in fresh processes, as a user does it: code that is kept needs no compiler."""
    if disk_cache.folder() is None:
        pytest.skip("nothing is kept on disk here")
    loaded("check", template)
    found = loaded("check", template)
    assert kinds_of(found) == TEMPLATE
    assert not {"numba", "pint", "matplotlib", "h5py", "rich"} & found
    parts = {one.split(".")[1] for one in found if one.startswith("scipy.") and not one.startswith("scipy._")}
    assert parts == {"linalg", "version"}
    assert not {"numpy.polynomial.polynomial", "numpy.f2py.crackfortran", "numpy.testing._private"} & found
    only_of_some_tests = {"studies.check.motion", "studies.check.influence", "runs.in_motion", "stability.loop_loci"}
    assert not {f"halfreal.{one}" for one in only_of_some_tests} & found
