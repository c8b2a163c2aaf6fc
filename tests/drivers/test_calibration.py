"""Tare and shunt: what the loop reads, what is written into the definition, and what is refused."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lfilter

import halfreal
from halfreal.definition.definition import Definition
from halfreal.definition.edit import edited
from halfreal.definition.paths import with_values
from halfreal.live import calibration
from halfreal.live.calibration import Calibration, CalibrationError, changed, mean_of
from halfreal.live.driver_trial import Found
from halfreal.live.pretest import Idle, PretestError, Procedure, channels, noise, polarity

EXAMPLE = Path(__file__).parents[2] / "examples" / "first_rig" / "bench.toml"
OFFSET = 0.2
SHUNT = 2.5


@pytest.fixture(scope="module")
def bench() -> Definition:
    relay = {"terminal": "shunt", "on": []}
    outputs = {**halfreal.load(EXAMPLE).model_dump(mode="json")["channels"]["outputs"], "relay": relay}
    return with_values(
        halfreal.load(EXAMPLE),
        {
            "driver.settings": {"offset": OFFSET, "shunt": SHUNT, "noise": 5e-4, "lag": 0.0},
            "channels.inputs.load_cell.terminal": "shunt",
            "channels.inputs.lvdt.offset": f"{OFFSET} V",  # so that it is held where it stands
            "channels.outputs": outputs,
            "link.lease": "5 s",
        },
    )


@pytest.fixture(scope="module")
def at_work(bench: Definition):
    with pytest.MonkeyPatch.context() as patch, Calibration(bench, writes=True) as found:
        patch.setattr(calibration, "SECONDS", 0.3)
        patch.setattr(calibration, "SETTLES", 0.05)
        yield found


def test_a_tare_is_the_mean_of_what_an_idle_channel_reads_and_is_written_with_where_it_comes_from(bench, at_work):
    new, said = at_work.tare("load_cell", 0.5)
    text = EXAMPLE.read_text()
    plain = halfreal.load(EXAMPLE)
    after = changed(plain, "load_cell", new)
    assert after.channels.inputs["load_cell"].zero == pytest.approx(OFFSET, abs=6 * 5e-4 / np.sqrt(500))
    written, kept = edited(text, plain, after, EXAMPLE.parent, EXAMPLE.parent)
    assert kept and f'offset = "{new["offset"]}"' in written and "tare 20" in written and "± " in said
    assert len(written.splitlines()) == len(text.splitlines()) + 1  # its offset is changed, and the reason is added


def test_a_shunt_tells_the_scale_and_its_sign(bench, at_work):
    new, said = at_work.shunt("load_cell", 25.2, "relay")
    assert float(str(new["scale"]).split()[0]) == pytest.approx(25.2 / SHUNT, rel=1e-4)
    assert "+0.8" in said and "polarity" not in new
    with pytest.raises(CalibrationError, match=r"gives a scale \+20.00 % from the table's.*give the reason"):
        at_work.shunt("load_cell", 30.0, "relay")
    turned, said = at_work.shunt("load_cell", -25.0, "relay", reason="the cell is mounted upside down")
    assert turned["polarity"] == -1 and "because the cell is mounted upside down" in said


def test_what_cannot_be_calibrated_is_refused(bench, at_work):
    with pytest.raises(CalibrationError, match=r"changed by .* only: the shunt was not connected"):
        at_work.shunt("load_cell", 25.0, "high_pressure")
    with pytest.raises(CalibrationError, match="'valve' is not a digital output"):
        at_work.shunt("load_cell", 25.0, "valve")
    with pytest.raises(CalibrationError, match="'e_stop' is a digital input"):
        at_work.tare("e_stop")
    with pytest.raises(CalibrationError, match=r"'load_sell' is not an input of \[channels\]; inputs: lvdt"):
        at_work.tare("load_sell")


def test_a_mean_has_the_error_of_samples_that_hang_together():
    """Of first order: the variance of the mean is (1 + a)/(1 − a) times that of white noise."""
    source, a, count = np.random.default_rng(3), 0.9, 2000
    means, told = [], []
    for _ in range(200):
        try:
            found = mean_of(lfilter([1.0], [1.0, -a], source.normal(0.0, 1.0, count)))
        except CalibrationError:
            continue
        means.append(found.value)
        told.append(found.error)
    assert len(means) > 195
    assert np.mean(told) == pytest.approx(np.sqrt((1 + a) / (1 - a) / count / (1 - a**2)), rel=0.15)
    assert np.mean(told) == pytest.approx(np.std(means), rel=0.2)
    with pytest.raises(CalibrationError, match="the channel drifts"):
        mean_of(source.normal(0.0, 1e-3, count) + np.linspace(0.0, 0.1, count))


def test_steps_before_a_test_are_kept_and_none_is_skipped_without_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "test.toml"
    procedure = Procedure(path, "text", "a test")
    assert procedure.next() == "channels"
    procedure.keep("channels", [Found("one", "is well", "good")], operator="M. T.")
    procedure.keep("noise", [Found("one", "is loud", "BAD")])
    again = Procedure(path, "text", "a test")
    assert again.next() == "noise" and again.taken[0].operator == "M. T."
    with pytest.raises(PretestError, match="'noise' cannot be skipped without a reason"):
        again.skip("noise", " ")
    again.skip("noise", "a fan that is off in the test")
    assert Procedure(path, "text", "a test").next() == "polarity"
    changed_ = Procedure(path, "another text", "a test")
    assert changed_.next() == "channels" and "starts again" in changed_.begun_anew
    procedure.file.write_text("{}")
    with pytest.raises(PretestError, match="move it away to start again"):
        Procedure(path, "text", "a test")


class Recorded:
    """An idle rig whose rows the test gives."""

    def __init__(self, definition: Definition, *rows: np.ndarray) -> None:
        self.names = ("measured.displacement", "measured.force", "measured.accelerometer", "measured.e_stop")
        self.units, self._rows = ("m", "N", "m/s^2", "1"), iter(rows)

    def rows(self) -> np.ndarray:
        return next(self._rows)


def test_findings_of_an_idle_rig(bench: Definition) -> None:
    source = np.random.default_rng(5)
    at_rest = source.normal(0.0, [5e-6, 4e-3, 5e-3, 0.0], (500, 4)) + np.array([0.0, 0.0, 0.0, 1.0])
    today = datetime.date(2027, 5, 5)
    idle: Idle = Recorded(bench)  # type: ignore[assignment]
    found = {one.what: one.verdict for one in channels(bench, at_rest, idle, today)}
    assert found["measured.force"] == "good" and found["calibration of load_cell"] == "BAD"  # 366 days
    assert found["calibration of lvdt"] == "note"
    at_rest[3, 1] = np.nan
    assert {one.what: one.verdict for one in channels(bench, at_rest, idle, today)}["measured.force"] == "BAD"
    at_rest[3, 1] = 0.0
    assert {one.what: one.verdict for one in noise(bench, at_rest, idle)}["noise of measured.force"] == "good"
    loud = at_rest.copy()
    loud[:, 1] *= 300.0
    assert {one.what: one.verdict for one in noise(bench, loud, idle)}["noise of measured.force"] == "BAD"
    pushed = [at_rest + push for push in ([1e-3, 0, 0, 0], [0, -5.0, 0, 0], [0, 0, 1e-3, 0])]
    by_hand: Idle = Recorded(bench, at_rest, *pushed)  # type: ignore[assignment]
    verdicts = [(one.verdict, one.found) for one in polarity(bench, by_hand, lambda question: True)]
    assert [verdict for verdict, _ in verdicts] == ["good", "BAD", "BAD"]
    assert "polarity is reversed" in verdicts[1][1] and "not detectable" in verdicts[2][1]
