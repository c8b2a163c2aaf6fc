"""A laboratory's own installed package adds a rig, a structure, a coupling, an excitation, a link and criteria.

Each of its kinds is one file and one line in its ``pyproject.toml``; halfreal knows none of them.
"""

import json
import socket

import pytest

from plugin.laboratory import Laboratory

PAPERS = ("Verlet", "Ricker", "Horiuchi", "Merritt")
DEFINITION = """
title = "a pendulum on a servo"

[timing]
step = "2 ms"
duration = "0.4 s"

[virtual]
kind = "pendulum"
mass = "2 kg"
length = "0.2 m"
damping = "20 N s/m"

[excitation.virtual]
kind = "ricker"
force = "5 N"
frequency = "4 Hz"
middle = "0.2 s"

[coupling]
kind = "linear lead"
lead = "10 ms"

[rig]
kind = "rate-limited servo"
time_constant = "8 ms"
fastest = "0.5 m/s"
stiffness = "300 N/m"

[limits]
command = {{ trip = "50 mm" }}
command_rate = {{ trip = "0.4 m/s" }}

[criteria]
kind = "peak force"
allowed = "1 kN"

[acceptance]
overruns = "none"  # a busy machine
stale = "none"
criteria = {{ "share of allowed" = "50 %" }}

[link]
kind = "loopback"
port = {port}
lease = "2 s"
"""
PLAN = """
title = "two servos"
kind = "grid"
scores = ["peak measured.displacement", "growth rate", "largest force"]

[vary]
"rig.time_constant" = ["6 ms", "10 ms"]
"""
AT_WORK = {
    "raises": "at_work.py, line 18, in blocks: AttributeError: 'Context' object has no attribute 'no_such_thing'",
    "gives one": "coupling of kind 'gives one': blocks() returned Block(",
    "beyond": "beyond_step raised IndexError: index 1 is out of bounds for axis 0 with size 1 at at_work.py",
    "says nothing": "no block writes command.asked; its channels must state what they are counted along",
}
"""Kinds that fail when they are used, and what is told."""


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.bind(("127.0.0.1", 0))
        return end.getsockname()[1]


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory):
    made = Laboratory(tmp_path_factory.mktemp("laboratory"), "ourlab", "broken")
    (made.folder / "test.toml").write_text(DEFINITION.format(port=free_port()))
    (made.folder / "plan.toml").write_text(PLAN)
    return made


@pytest.fixture(scope="module")
def used(laboratory):
    """What all commands that need no rig answer."""
    commands = (
        "check test.toml --json",
        "rehearse test.toml",
        "report test.h5",
        "sweep test.toml plan.toml --workers 1",
        "tune test.toml --workers 1 --samples 0",
        "info --schema",
        "kinds",
        "kinds rig",
    )
    answers = laboratory.run(*commands, ["kinds", "rig", "rate-limited servo"])
    return dict(zip([*commands, "kinds rig 'rate-limited servo'"], answers, strict=True))


def test_its_test_is_checked_and_rehearsed(used):
    code, out, _ = used["check test.toml --json"]
    assert (code, json.loads(out)["verdict"]) == (0, "GO")
    found = json.loads(out)["criteria"]
    assert found["largest force"]["unit"] == "N" and found["largest force"]["value"] > 0.0
    assert found["share of allowed"]["value"] == pytest.approx(0.1 * found["largest force"]["value"])
    assert used["rehearse test.toml"][0] == 0


def test_its_papers_stand_in_the_report(used, laboratory):
    assert used["report test.h5"][0] == 0
    page = (laboratory.folder / "test.html").read_text()
    assert all(name in page for name in PAPERS)
    assert "largest force" in page and "at most 50 %" in page


def test_it_is_swept_and_tuned(used, laboratory):
    assert used["sweep test.toml plan.toml --workers 1"][0] == 0
    assert used["tune test.toml --workers 1 --samples 0"][0] == 0
    assert 'kind = "rate-limited servo"' in (laboratory.folder / "test.tuned.toml").read_text()


def test_its_kinds_are_in_the_schema_and_on_the_reference_page(used):
    schema = json.loads(used["info --schema"][1])
    assert {"Pendulum", "Ricker", "LinearLead", "RateLimitedServo", "Loopback", "PeakForce"} <= set(schema["$defs"])
    listed = used["kinds"][1]
    assert all(f"\n  {kind} " in listed for kind in ("pendulum", "ricker", "linear lead", "loopback", "peak force"))
    assert "rate-limited servo" in used["kinds rig"][1] and "(ourlab)" in used["kinds rig"][1]
    page = used["kinds rig 'rate-limited servo'"][1]
    assert "Hydraulic Control Systems" in page
    assert "| `time_constant` | quantity in s, above 0 s | required | Of the servos. |" in page


def test_it_runs_in_real_time_with_its_rig(laboratory):
    done = laboratory.halfreal("run", "test.toml", "--with-rig", "--start")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (laboratory.folder / "test.run.h5").exists()


def test_faults_of_its_settings_are_told_with_their_lines(laboratory):
    text = (laboratory.folder / "test.toml").read_text()
    (laboratory.folder / "bad.toml").write_text(text.replace('"8 ms"', '"1 ms"').replace('"0.2 m"', '"0.2 kg"'))
    (answer,) = laboratory.run("check bad.toml")
    assert answer[0] == 2
    assert "bad.toml:11  virtual.length" in answer[2]
    assert "rig.time_constant: 0.001 s is shorter than a step" in answer[2]


def test_what_is_broken_is_told_and_disables_nothing_else(used, laboratory):
    warnings = used["kinds"][2]
    for told in (
        "the virtual 'no contract' of the installed package 'brokenlab' cannot be used: "
        "brokenlab.no_contract:Anything is not a subclass of halfreal.contracts.virtual.Virtual",
        "the excitation 'other name' of the installed package 'brokenlab' cannot be used: "
        "its field 'kind' must be Literal['other name']",
        "the coupling 'none' of the installed package 'brokenlab' cannot be used: "
        "halfreal.couplings.direct.Direct already has that kind; choose another name",
        "the coupling 'unfinished' of the installed package 'brokenlab' cannot be used: "
        "brokenlab.unfinished:Unfinished does not define blocks, as its contract requires",
        "the rig 'needs another library' of the installed package 'brokenlab' cannot be used: "
        "ModuleNotFoundError: No module named 'a_library_that_nobody_has'",
        "the link 'not there' of the installed package 'brokenlab' cannot be used: "
        "ModuleNotFoundError: No module named 'brokenlab.not_there'",
    ):
        assert f"warning: {told}\n" in warnings


@pytest.fixture(scope="module")
def failing(laboratory):
    """What check says of kinds that are broken, or fail at work: without a process for each."""
    text = (laboratory.folder / "test.toml").read_text()
    for kind in AT_WORK:
        given = text.replace('kind = "linear lead"\nlead = "10 ms"', f'kind = "{kind}"')
        (laboratory.folder / f"{kind}.toml").write_text(given)
    broken = text.replace('"rate-limited servo"', '"needs another library"')
    (laboratory.folder / "broken.toml").write_text(broken)
    kinds = (*AT_WORK, "broken")
    return dict(zip(kinds, laboratory.run(*(["check", f"{kind}.toml"] for kind in kinds)), strict=True))


def test_whoever_names_a_broken_kind_is_told_why(failing):
    code, _, told = failing["broken"]
    assert code == 2
    assert "rig.kind" in told and "a_library_that_nobody_has" in told.split("rig.kind")[1]
    assert "Traceback" not in told


@pytest.mark.parametrize("kind", AT_WORK)
def test_a_kind_that_fails_at_work_is_told_without_a_traceback(failing, kind):
    code, _, told = failing[kind]
    assert code == 2 and AT_WORK[kind] in told, told
    assert "Traceback" not in told
