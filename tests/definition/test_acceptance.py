"""What a test must reach to be accepted, as definitions write it."""

from __future__ import annotations

import json

import pytest

import halfreal
from halfreal import units
from halfreal.definition.acceptance import Acceptance
from halfreal.definition.write import to_toml

FROM_FILE = {"folder": "."}


def read(**values):
    return Acceptance.model_validate(values, context=FROM_FILE)


def test_decibels_are_read_as_they_are_and_as_nothing_else():
    assert read(gain_margin="6 dB").gain_margin == 6.0
    assert read(delay_margin="20 %", phase_margin="0.1 rad").phase_margin == pytest.approx(5.729578)
    for wrong in ("2", "50 %", "3 deg", "3 Hz"):
        with pytest.raises(ValueError, match="dB"):
            read(gain_margin=wrong)
    with pytest.raises(units.UnitError):
        units.parse("3 dB", "1")
    with pytest.raises(ValueError, match="no unit where dB"):
        read(gain_margin=3.0)
    with pytest.raises(ValueError, match="at least 0 dB"):
        read(gain_margin="-1 dB")


def test_what_is_turned_off_asks_for_nothing_and_survives_toml_and_json():
    given = read(gain_margin="none", phase_margin="none", fidelity="none", stale=0.0)
    assert given.least("gain_margin") == 0.0 and given.least_phase(40.0) == 0.0
    assert given.most("fidelity") == float("inf") and given.most("stale") == 0.0
    import tomllib

    assert Acceptance.model_validate(tomllib.loads(to_toml(given)), context=FROM_FILE) == given
    assert Acceptance.model_validate(json.loads(given.model_dump_json())) == given


def test_a_loop_of_little_damping_is_asked_for_half_of_its_own_phase_margin():
    usual = Acceptance()
    assert usual.least_phase(None) == usual.least_phase(40.0) == 5.0
    assert usual.least_phase(0.4) == pytest.approx(0.2)
    assert read(phase_margin="10 deg").least_phase(0.4) == 10.0


def test_it_is_a_section_of_the_definition():
    assert halfreal.Definition.model_fields["acceptance"].default == Acceptance()
