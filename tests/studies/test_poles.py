"""Poles over a number of the definition: closed forms, the delay equation, records laid over, and what is refused."""

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import GALLERY, KS, C, K, M, critical_delay, definition
from halfreal.definition.faults import DefinitionError
from halfreal.errors import HalfrealError
from halfreal.stability.linearise import Linearisation
from halfreal.studies.poles.follow import GONE, follow, upper
from halfreal.studies.poles.identified import identified
from two_modes import FREQUENCY, recorded

DELAY = "rig.actuator.delay"
PUSHED = {
    "virtual": {"mass": M, "damping": C, "stiffness": K, "force_dof": 1},
    "excitation": {"virtual": {"kind": "pulse", "force": 20.0, "duration": 5e-3}},
}


def test_without_a_sweep_they_are_those_of_the_linearised_loop():
    test = definition()
    found = halfreal.poles(test)
    loop = halfreal.runs.linearised(test)
    assert isinstance(loop, Linearisation)
    lead = loop.continuous[0]
    assert found.frequency_hz[0, 0] == pytest.approx(abs(lead) / (2 * np.pi), rel=1e-12)
    assert found.damping[0, 0] == pytest.approx(-lead.real / abs(lead), rel=1e-9)
    assert not found.stable[0] and found.summary().startswith("unstable")
    kept = (np.abs(loop.eigenvalues) > GONE) & (loop.eigenvalues.imag >= 0.0)
    assert found.poles.shape == (1, kept.sum())


def test_over_the_delay_stability_is_lost_where_the_paper_says():
    found = halfreal.poles(definition(), (DELAY, 1e-3, 15e-3), points=15, delay_equation=True)
    assert found.stable[0] and not found.stable[-1]
    assert found.limits == pytest.approx([critical_delay()], rel=2e-3)
    assert found.equation.limits == pytest.approx([critical_delay()], rel=5e-3)
    # one track is the oscillation from end to end, and the delay equation's root lies on it
    (track,) = [i for i in range(found.poles.shape[1]) if np.all(np.abs(found.frequency_hz[:, i] - 7.0) < 0.3)]
    roots = found.equation.roots
    near = np.nanmin(np.abs(roots - found.poles[:, [track]]), axis=1)
    assert np.all(near < 0.02)
    s = found.poles[0, track]
    assert abs(M * s**2 + C * s + K + KS * np.exp(-1e-3 * s)) < 0.01 * abs(M * s**2)  # 1 ms: one step
    assert f"changes at {1e3 * found.limits[0]:.4g} ms" in found.summary()
    assert [axes.get_xlabel() for axes in found.plot().axes] == ["", f"{DELAY} [ms]"]


def test_over_a_stiffness_the_static_limit_of_a_loop_without_delay_is_followed():
    """The oscillation is that of the whole structure: its frequency grows as √(K + k)."""
    found = halfreal.poles(definition(delay=1e-3), ("rig.specimen.stiffness", 500.0, 4000.0), points=6)
    expected = np.sqrt((K + found.values) / M) / (2 * np.pi)
    (track,) = [
        i for i in range(found.poles.shape[1]) if np.all(np.abs(found.frequency_hz[:, i] / expected - 1) < 0.05)
    ]
    np.testing.assert_allclose(found.frequency_hz[:, track], expected, rtol=0.01)


def test_poles_identified_from_a_decay_lie_on_those_computed():
    tests = [definition(delay=delay, **PUSHED) for delay in (2e-3, 4e-3)]
    runs = [halfreal.rehearse(test.with_values({"timing.duration": 2.0})) for test in tests]
    found = halfreal.poles(tests[0], (DELAY, 1e-3, 5e-3), points=5, runs=runs, modes=1)
    assert [one.value for one in found.identified] == [2e-3, 4e-3]
    for one in found.identified:
        at = int(np.argmin(np.abs(found.values - one.value)))
        lead = found.poles[at, np.nanargmax(found.poles[at].real)]
        assert one.frequency_hz[0] == pytest.approx(abs(lead) / (2 * np.pi), rel=2e-3)
        assert one.damping[0] == pytest.approx(-lead.real / abs(lead), rel=0.02)
    assert "identified from records" in {text.get_text() for text in found.plot().legends[0].get_texts()}


def test_whole_numbers_are_swept_in_whole_steps():
    coupling = {"kind": "forward prediction", "prediction": 9.4e-3}
    found = halfreal.poles(definition(coupling=coupling), ("coupling.points", 8.0, 12.0), points=40)
    assert found.values.tolist() == [8.0, 9.0, 10.0, 11.0, 12.0]


def test_slow_tests_and_several_exchanges_have_poles_but_no_delay_equation():
    slow = halfreal.load(GALLERY.parent / "pseudo_dynamic_frame" / "explicit_newmark.toml")
    assert halfreal.poles(slow).poles.size
    with pytest.raises(HalfrealError, match="in real time"):
        halfreal.poles(slow, delay_equation=True)


@pytest.mark.parametrize(
    ("over", "told"),
    [
        ("rig.actuator.dely", "did you mean 'rig.actuator.delay'"),
        ((DELAY, 5e-3, 1e-3), "from 5 ms to 1 ms; it must increase"),
        (("virtual.mass", -1.0, 1.0), "not positive"),
    ],
)
def test_what_cannot_be_swept_is_told(over, told):
    with pytest.raises((HalfrealError, DefinitionError), match=told):
        halfreal.poles(definition(), over, points=3)


def test_runs_that_do_not_serve_are_told():
    run = halfreal.rehearse(definition().with_values({"timing.duration": 0.2}))
    with pytest.raises(HalfrealError, match="kind 'sine'"):
        halfreal.poles(definition(), runs=[run])
    with pytest.raises(HalfrealError, match=r"no number 'rig\.delay'"):
        halfreal.poles(definition(), "rig.delay", runs=[run])


def test_tracks_begin_and_end_and_are_not_swapped():
    """Two poles that pass each other, one that comes up from zero, and one that is taken away."""
    values = np.linspace(0.0, 1.0, 21)
    poles = []
    for v in values:
        angles = [0.3 + 0.2 * v, 0.5 - 0.2 * v]
        now = [0.98 * np.exp(1j * angle) for angle in angles] + [0.9 * v * np.exp(2j)]
        poles.append(upper(np.array(now + [0.6j] * int(v < 0.44) + [complex(0.5 * GONE)])))
    tracks = follow(values, poles)
    ends = sorted(np.angle(tracks[-1][~np.isnan(tracks[-1])]))
    assert tracks.shape == (21, 4)
    assert ends == pytest.approx([0.3, 0.5, 2.0])
    crossing = tracks[:, np.nanargmin(np.abs(np.angle(tracks[0]) - 0.3))]
    np.testing.assert_allclose(np.angle(crossing), 0.3 + 0.2 * values)
    (gone,) = [track for track in tracks.T if np.isnan(track[-1])]
    assert np.isnan(gone[9:]).all() and not np.isnan(gone[:9]).any()


def test_modes_of_a_random_test_are_identified():
    pytest.importorskip("sdypy.EMA")
    run = recorded()
    found = identified(run, np.nan, definition(), 4, 18.0)
    assert found.frequency_hz == pytest.approx(FREQUENCY, rel=1e-3) and not found.why_none
