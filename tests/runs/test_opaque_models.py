"""What a user's part remembers beyond the fields that are linearised is found; what does no harm is not."""

import subprocess

import numpy as np
import pytest

import halfreal
from contracts.native import COMPILER, NO_COMPILER
from examples.wallace2005 import definition
from halfreal.runs.lag_in_motion import lag
from halfreal.runs.opaque_models import opaque_parts

RIGS = """
def delayed(s, u, y):
    n = s.size
    y[0] = s[n - 1]
    y[1] = 2250.0 * y[0]
    for j in range(n - 1, 0, -1):
        s[j] = s[j - 1]
    s[0] = u[0]


def shifts(p, s, t, u, y):
    s.count += 1.0
    delayed(s.line, u, y)
    return 0


def turns(p, s, t, u, y):
    now = int(s.count)
    y[0] = s.line[now]
    y[1] = 2250.0 * y[0]
    s.line[now] = u[0]
    s.count = float((now + 1) % s.line.size)
    return 0


def writes(p, s, t, u, y):
    delayed(p.line, u, y)
    return 0
"""
LINE = [0.0] * 4
HIDDEN = """
#include <stdint.h>
static double line[5];
int32_t step(const double *p, double *s, double t, const double *u, double *y) {
    y[0] = line[4]; y[1] = 2250.0 * line[4];
    for (int j = 4; j > 0; j--) line[j] = line[j - 1];
    line[0] = u[0];
    return 0;
}
"""


@pytest.mark.parametrize(
    ("name", "settings", "unknown", "untried"),
    [
        ("shifts", {"state": {"line": LINE, "count": 0.0}, "frozen": ["count"]}, "", False),
        ("shifts", {"state": {"line": LINE, "count": 0.0}, "frozen": ["line", "count"]}, "has frozen fields", False),
        ("turns", {"state": {"line": LINE, "count": 0.0}}, "treats its state differently from tick to tick", False),
        ("writes", {"parameters": {"line": LINE}}, "writes to its parameters", True),
    ],
)
def test_what_a_users_rig_remembers(tmp_path, name, settings, unknown, untried):
    (tmp_path / "rigs.py").write_text(RIGS)
    rig = {"kind": "user", "function": f"{tmp_path / 'rigs.py'}:{name}", **settings}
    found = opaque_parts(definition(timing={"step": 1e-3, "duration": 1.0}, rig=rig, reference=None))
    assert unknown in found.unknown and bool(unknown) == bool(found.unknown) and bool(found.untried) == untried


@pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)
def test_a_library_with_memory_of_its_own_is_no_go(tmp_path):
    (tmp_path / "rig.c").write_text(HIDDEN)
    words = [COMPILER, "-shared", "-fPIC", str(tmp_path / "rig.c"), "-o", str(tmp_path / "rig.so")]
    subprocess.run(words, check=True)
    rig = {"kind": "library", "function": f"{tmp_path / 'rig.so'}:step"}
    found = halfreal.check(definition(timing={"step": 1e-3, "duration": 1.0}, rig=rig, reference=None), remedies=False)
    assert found.verdict == "NO-GO" and found.motion is None
    assert "remembers what is not in the fields of its state" in found.reasons[0]


def test_the_lag_in_motion_is_that_of_a_delayed_history():
    time = 1e-3 * np.arange(4000)
    history = np.minimum(time, 1.0) * np.sin(2.0 * np.pi * 1.5 * time)
    late = np.interp(time - 7.3e-3, time, history, left=0.0)
    assert lag(history, late) == pytest.approx(7.3, abs=0.1)
