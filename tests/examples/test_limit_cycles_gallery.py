"""The figures that the gallery's limit cycles are told with."""

import pytest

import halfreal
from examples.scripts import GALLERY, loaded

FOLDER = GALLERY / "limit_cycles"


@pytest.mark.parametrize(
    ("name", "cycles"),
    [
        ("saturating_late", [(6.61, 6.567, True)]),
        ("hardening", [(6.00, 7.033, False)]),
        ("hardening_yielding", [(6.00, 7.033, False), (12.74, 7.042, True)]),
        ("friction_late", [(5.10, 7.118, False)]),
    ],
)
def test_cycles(name, cycles):
    found = halfreal.limit_cycles(halfreal.load(FOLDER / f"{name}.toml"))
    assert [one.stable for one in found] == [stable for *_, stable in cycles]
    for one, (millimetres, hz, _) in zip(found, cycles, strict=True):
        assert 1e3 * one.amplitude == pytest.approx(millimetres, rel=2e-3)
        assert one.frequency_hz == pytest.approx(hz, rel=2e-4)


def test_describing_functions_and_free_motion_of_the_study():
    study = loaded("limit_cycles", "study")
    amplitude, hz = study.described("saturating_late", 9.4e-3)
    assert 1e3 * amplitude == pytest.approx(6.54, abs=5e-3) and hz == pytest.approx(6.584, abs=5e-4)
    test = halfreal.load(FOLDER / "hardening.toml")
    (cycle,) = halfreal.limit_cycles(test)
    assert [study.said(study.rehearsed(test, cycle, factor)[-1]) for factor in (0.97, 1.03)] == ["at rest", "diverged"]
