"""The check is a list of criteria, and its verdict is that of a rehearsal too."""

from dataclasses import replace

import pytest

import halfreal
from examples.wallace2005 import DELAY, definition
from halfreal.contracts.finding import Finding
from halfreal.couplings.direct import Direct
from halfreal.models.structures.structure import Structure
from halfreal.records import run_file
from halfreal.rigs.simulated import SimulatedRig
from halfreal.studies.check.criteria import CRITERIA
from halfreal.studies.check.criteria.reach import reach
from halfreal.studies.check.examined import Examined

PREDICTED = {"kind": "forward prediction", "prediction": DELAY, "order": 3, "points": 12}
BRIEF = {"step": 1e-3, "duration": 0.2}
CALM = {"rig": {"actuator": {"delay": 2e-3}, "specimen": {"stiffness": 2250.0}}, "timing": BRIEF}


def test_a_rehearsal_that_was_not_judged_carries_no_verdict(tmp_path):
    wide = {"rig.actuator.delay": {"low": "8 ms", "high": "20 ms"}}
    test = definition(coupling=PREDICTED, uncertainty=wide, timing=BRIEF)
    run = halfreal.rehearse(test)
    assert (run.outcome, run.verdict, run.reasons) == ("completed", "", ())
    answer = halfreal.check(test)
    assert answer.verdict == answer.rehearsal.verdict == "NO-GO"
    (finding,) = (one for one in answer.findings if one.severity == "no-go")
    assert finding.text.startswith("not stable over the stated uncertainty") and finding.value > finding.limit == 0.0
    assert answer.remedies == finding.remedies
    assert answer.binding.startswith("uncertainty, 0 %")
    run_file.save(run, tmp_path / "run.h5")
    assert run_file.load_run(tmp_path / "run.h5").verdict == ""


def test_parts_add_findings_of_their_own_and_a_no_go_of_theirs_decides(monkeypatch):
    test = definition(**CALM)
    assert halfreal.check(test).verdict == "GO"
    for part in (Structure, Direct, SimulatedRig):

        def findings(self, examined, called=part.__name__):
            assert examined.rehearsal is examined.rehearsal and examined.definition.title == test.title
            yield Finding("no-go" if called == "Direct" else "warning", called)

        monkeypatch.setattr(part, "findings", findings)
    answer = halfreal.check(test)
    assert answer.verdict == "NO-GO"
    own = [reason for reason in answer.reasons if reason.split()[-1] in ("Structure", "Direct", "SimulatedRig")]
    assert own == ["warning: SimulatedRig", "warning: Structure", "Direct"]


def test_what_is_examined_is_found_out_once_and_only_what_is_asked_for():
    examined = Examined(definition(**CALM))
    assert list(reach(examined)) == []
    assert examined.rehearsal is examined.rehearsal and "uncertainty" not in vars(examined)


def test_without_remedies_none_is_tried(monkeypatch):
    monkeypatch.setattr("halfreal.studies.check.remedies.linearised", lambda *_: pytest.fail("a remedy was tried"))
    answer = halfreal.check(definition(timing=BRIEF), remedies=False)
    assert answer.verdict == "NO-GO" and answer.remedies == ()


def test_every_criterion_answers_for_a_test_that_is_in_order_and_for_one_that_is_not():
    for test in (definition(**CALM), definition(timing=BRIEF)):
        examined = replace(Examined(test), tries_remedies=False)
        severities = [finding.severity for criterion in CRITERIA for finding in criterion(examined)]
        assert severities[0] == ("note" if examined.stable else "no-go")
