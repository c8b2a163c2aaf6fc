"""Results and definitions as a notebook or a prompt shows them: short, escaped, with their units."""

import numpy as np
import pytest

import halfreal
from halfreal.errors import DefinitionError, HalfrealError

TITLE = "<script>alert(1)</script> & more"


@pytest.fixture(scope="module")
def test():
    return halfreal.load("examples/spring_mass_damper/forward_prediction.toml").with_values(
        {"title": TITLE, "timing.duration": "1 s"}
    )


@pytest.fixture(scope="module")
def check(test):
    return halfreal.check(test)


@pytest.fixture(scope="module")
def run(check):
    return check.rehearsal


def test_what_a_prompt_echoes_is_short(test, check, run):
    for one in (test, check, run, halfreal.nyquist(test), halfreal.poles(test)):
        assert len(repr(one)) < 400, type(one)
    assert repr(run).startswith("<Run: rehearsal of '<script>")
    assert repr(check).startswith(f"<Check: {check.verdict}: ")


def test_html_for_notebooks_is_escaped(test, check, run):
    for one in (test, check, run, halfreal.poles(test)):
        shown = one._repr_html_()
        assert "<script>" not in shown
    assert "&lt;script&gt;" in run._repr_html_()


def test_channels_are_taken_by_name_and_a_wrong_name_gives_the_nearest(run):
    np.testing.assert_array_equal(run["target"], run.signals["target"].values)
    with pytest.raises(HalfrealError, match="'targt' is not a channel of this rehearsal; did you mean 'target'"):
        run["targt"]


def test_a_run_is_drawn_by_units_in_its_own_style(run):
    figure = run.plot("target", "measured.force", "measured.displacement")
    assert [axes.get_ylabel() for axes in figure.axes] == ["[mm]", "measured.force [N]"]
    assert [line.get_label() for line in figure.axes[0].lines] == ["target", "measured.displacement"]
    drawn = figure.axes[0].lines[0].get_ydata()
    assert np.max(np.abs(drawn)) == pytest.approx(1e3 * np.max(np.abs(run["target"])), rel=1e-12)
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_a_check_is_drawn_with_the_limits_that_it_uses(check):
    figure = check.plot()
    bars = figure.axes[-1].patches
    used = check.rehearsal.limits_used
    assert sorted(bar.get_width() for bar in bars) == pytest.approx(sorted(100.0 * share for share in used.values()))


def test_studies_give_data_frames_with_units(test):
    frame = halfreal.chart(test, "rig.actuator.delay", "rig.specimen.stiffness", points=(5, 4)).to_dataframe()
    assert frame.shape == (4, 5)
    assert frame.attrs["units"] == {"rig.actuator.delay": "s", "rig.specimen.stiffness": "N/m", "margin": "s"}
    poles = halfreal.poles(test)
    table = poles.to_dataframe()
    assert table["frequency"].iloc[0] == poles.frequency_hz[0, 0]
    assert table.attrs["units"]["frequency"] == "Hz"


def test_a_definition_gives_its_toml(test, tmp_path):
    file = tmp_path / "test.toml"
    file.write_text(test.to_toml(), encoding="utf-8")
    assert halfreal.load(file) == test


def test_parts_made_in_python_name_their_faults_as_a_file_does():
    with pytest.raises(DefinitionError, match=r"^stiffness: '3 m' is in m where N/m is expected; give a quantity"):
        halfreal.rigs.Specimen(stiffness="3 m")
    with pytest.raises(DefinitionError, match=r"frequncy: 'frequncy' is not a key here; did you mean 'frequency'"):
        halfreal.models.Sine(force="1 N", frequncy="2 Hz")
