"""Users' functions in a run: a rig is armed with the code that was checked, and one that does not end is an answer."""

import threading

import pytest

import halfreal
from examples.wallace2005 import definition
from halfreal.live.rig import VirtualRig
from halfreal.live.session import RefusedError
from live.processes import IN_STEP, armed, written
from live.processes import definition as behind_a_link

ENDLESS = """
def coupling(p, s, t, u, y):
    left = 0.0 if t < p.when else 1.0
    while left > 0.0:
        left = 1.0 / left
    y[0] = u[0]
    return 0

def specimen(p, s, t, u, y):
    coupling(p, s, t, u, y)
    y[0] = 2250.0 * u[0]
    return 0
"""


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


@pytest.mark.parametrize("where", ["coupling", "rig.specimen"])
def test_a_function_that_does_not_end_in_a_run_ends_it_with_its_name(tmp_path, where):
    (tmp_path / "mine.py").write_text(ENDLESS)
    user = {f"{where}.kind": "user", f"{where}.function": f"mine.py:{where.removeprefix('rig.')}"}
    user[f"{where}.parameters.when"] = 1e9 if where == "coupling" else 0.05
    at_rig = {"rig.specimen.stiffness": None, **user} if where == "rig.specimen" else {}
    rig = VirtualRig(halfreal.load(written(tmp_path / "rig.toml", {"link.lease": "2 s"}, at_rig)), in_step=True)
    port, ended, said = int(rig.end.address.rpartition(":")[2]), threading.Event(), []
    thread = threading.Thread(target=rig.serve, args=(ended.is_set, said.append))
    thread.start()
    changes = {"link.lease": "2 s", "limits.stale.trip": "1 s", **(user if where == "coupling" else {})}
    try:
        test = behind_a_link(tmp_path, port, IN_STEP, changes)
        with armed(halfreal.Session(test, tmp_path / "run.h5"), wait=True) as session:
            if where == "coupling":
                session.loop.parameter("coupling")["when"] = 0.05  # which no check could have found
            session.start()
            session.wait()
            run = session.finish()
    finally:
        ended.set()
        thread.join()
        rig.close()
    assert run.outcome == "tripped"
    if where == "coupling":
        assert run.reason == "block 'coupling': its loops did not end within 100,000,000 passes in one call"
    else:
        assert said[-1].startswith("block 'specimen': its loops did not end within 100,000,000 passes in one call")
