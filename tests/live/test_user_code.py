"""A rig is armed with the code that was checked."""

import pytest

import halfreal
from examples.wallace2005 import definition
from halfreal.live.session import RefusedError


def test_a_users_code_that_has_changed_since_the_check_is_not_armed(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from law import GAIN\ndef step(p, s, t, u, y):\n    y[0] = GAIN * u[0]\n    return 0\n"
    )
    (tmp_path / "law.py").write_text("GAIN = 1.0\n")
    test = definition(
        delay=2e-3,
        coupling={"kind": "user", "function": f"{tmp_path / 'mine.py'}:step"},
        timing={"step": 1e-3, "duration": 0.2},
        link={"kind": "shared memory", "name": "nobody-there"},
        reference=None,
    )
    session = halfreal.Session(test, tmp_path / "run.h5", without_go="a test of the refusal")
    session.check()
    (tmp_path / "law.py").write_text("GAIN = 9.0\n")
    with pytest.raises(RefusedError, match=r"law.py has changed since the check; check again"):
        session.arm()
    session.check()
    with pytest.raises(ValueError, match="no rig at shared memory 'nobody-there'"):
        session.arm()
