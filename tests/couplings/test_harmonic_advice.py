"""What a check says of harmonic couplings: the gap that is left, what would close it, and a drive lost in noise."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import halfreal
from couplings import lumped
from halfreal.couplings.harmonic.advice import NMSE, advice, at_rest, on_answer, on_gap
from halfreal.couplings.harmonic.memory import CLOSES
from halfreal.definition.definition import Definition
from halfreal.definition.paths import with_values
from halfreal.definition.sections import RecordSettings
from halfreal.studies.check.examined import Examined

pytestmark = pytest.mark.xdist_group("harmonic")  # one process compiles for all

FOLDER = Path(__file__).parents[2] / "examples" / "harmonic_feedforward"


def given(name: str, **changes: object) -> Definition:
    return with_values(halfreal.load(FOLDER / f"{name}.toml"), {"timing.duration": 30.0, **changes})


@pytest.mark.parametrize(
    ("name", "severity", "told"),
    [
        ("lms", "warning: ", " % of the target; it is still closing: lengthen timing.duration"),
        (
            "rls_sequential",
            "",
            ' % of the target; use coupling.mode = "simultaneous", or lengthen coupling.identification_',
        ),
    ],
)
def test_open_gap_is_told_with_what_would_close_it(name, severity, told):
    answer = halfreal.check(given(name))
    warning = next(reason for reason in answer.reasons if "gap at the end" in reason)
    run = answer.rehearsal
    last = run.time > run.time[-1] - 0.5
    gap, target = (
        run.signals["measured.displacement"].values - run.signals["target"].values,
        run.signals["target"].values,
    )
    share = float(warning.split("rehearsal: ")[1].split(" %")[0]) / 100
    assert share == pytest.approx(np.std(gap[last]) / np.std(target[last]), rel=0.3) and share > 0.1
    assert warning.startswith(f"{severity}gap") and told in warning
    assert severity or answer.verdict == "NO-GO"  # one that does not close, and not only a test that is too short


def test_closed_gap_is_a_note_with_its_rate_which_an_open_one_contradicts():
    test = given("rls_simultaneous", **{"timing.duration": 60.0})
    examined = Examined(test)
    (closed,) = on_gap(test.coupling, examined)
    assert (closed.severity, closed.text) == (
        "note",
        "gap at the end of the rehearsal: less than 0.01 % of the target",
    )
    assert list(on_answer(test.coupling, examined)) == []
    assert [event.text for event in examined.rehearsal.events] == ["adaptation: the drive closes the gap"]
    assert any(CLOSES in one.text for one in advice(test.coupling, examined))
    contradicted, nmse = Examined(test), examined.rehearsal.signals[NMSE]
    signals = {**examined.rehearsal.signals, NMSE: replace(nmse, values=np.ones_like(nmse.values))}
    contradicted.__dict__["rehearsal"] = replace(examined.rehearsal, signals=signals)
    assert not any(CLOSES in one.text for one in advice(test.coupling, contradicted))
    short = given("rls_simultaneous", **{"timing.duration": 2.0})
    (told,) = on_gap(short.coupling, Examined(short))
    assert "the test ends before the identification of 20 s" in told.text
    silent = given("lms", **{"timing.duration": 1.0}).model_copy(update={"record": RecordSettings(channels=("gap",))})
    (told,) = on_gap(silent.coupling, Examined(silent))
    assert "coupling.nmse is not recorded" in told.text


def test_random_drive_that_is_lost_in_noise_is_told_before_the_test():
    """The answer is A|H|/√3; three times the noise are wanted."""
    size = float(np.abs(lumped.seen(8.0)[0, 0, 0])) / np.sqrt(3)
    for share, lost in ((0.98, False), (1.02, True)):
        noise = share * size / 3
        test = given("rls_simultaneous", **{"rig.sensors.displacement.noise": noise})
        examined = Examined(test)
        assert at_rest(test.coupling, examined) == pytest.approx(noise, rel=0.02)
        found = list(on_answer(test.coupling, examined))
        assert bool(found) == lost
        assert not lost or "raise coupling.amplitude from 1 N to 1 N if the rig permits it" in found[0].text
