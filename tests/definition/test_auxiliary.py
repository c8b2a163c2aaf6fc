"""Auxiliary channels and excitations from them, as definitions have them: what is read, and what is refused how."""

import pytest

import halfreal
from halfreal.definition.definition import Definition
from halfreal.definition.faults import DefinitionError
from halfreal.definition.write import to_toml

BEFORE = """
title = "from the rig"
timing = { step = "1 ms", duration = "0.2 s" }
"""
AFTER = """
[virtual]
mass = "2.2 kg"
damping = "30 N s/m"
stiffness = "4500 N/m"
force_dof = 1

[rig.specimen]
stiffness = "2250 N/m"
"""
GENERATOR = """
[auxiliary.generator]
unit = "V"
signal = { kind = "sine", value = "500 mV", frequency = "3 Hz" }
"""
CELL = """
[auxiliary.load_cell]
unit = "kN"
reads = "rig.force"
"""
FROM = """
[excitation.virtual]
kind = "channel"
channel = "generator"
gain = "40 N/V"
limit = "25 N"
"""
PULSE = """
[excitation.virtual]
kind = "pulse"
force = "20 N"
duration = "20 ms"
"""


def read(folder, *parts):
    file = folder / "test.toml"
    file.write_text("".join((BEFORE, *parts, AFTER)))
    return halfreal.load(file)


def test_a_definition_with_auxiliary_channels_goes_through_toml_and_json(tmp_path):
    mine = read(tmp_path, CELL, GENERATOR, FROM)
    assert list(mine.auxiliary) == ["load_cell", "generator"]  # as they cross the link
    file = tmp_path / "again.toml"
    file.write_text(to_toml(mine))
    again = halfreal.load(file)
    assert again == mine and list(again.auxiliary) == list(mine.auxiliary)
    stored = Definition.model_validate(mine.model_dump(mode="json"), context={"stored": True})
    assert stored == mine and list(stored.auxiliary) == list(mine.auxiliary)


@pytest.mark.parametrize(
    ("limit", "quantity", "acts_as", "gain"),
    [
        ("25 N", "force", "force", "40 N/V"),
        ("2 mm", "displacement", "support", "1 mm/V"),
        ("0.1 g_0", "acceleration", "ground", "2 m/s^2/V"),
    ],
)
def test_the_unit_of_the_limit_says_how_it_acts(limit, quantity, acts_as, gain):
    from halfreal.models.excitations import FromChannel

    driven = FromChannel(channel="generator", gain=gain, limit=limit)
    assert (driven.quantity, driven.acts_as) == (quantity, acts_as)
    assert driven.on_channel("mV").gain == pytest.approx(1e-3 * driven.on_channel("V").gain)


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ((GENERATOR, FROM.replace('"generator"', '"genrator"')), "'genrator' is not an .*did you mean 'generator'?"),
        ((CELL, FROM), r"channel: 'generator' is not an auxiliary channel; available: load_cell"),
        ((FROM,), r"'generator' is not an auxiliary channel; available: none"),
        ((GENERATOR, FROM.replace("N/V", "N/m")), r"virtual.gain: '40 N/m' is in N/m where N/V is expected"),
        ((GENERATOR, FROM.replace("N/V", "m/V")), r"virtual.gain: '40 m/V' is in m/V where N/V is expected"),
        ((GENERATOR, FROM.replace('"40 N/V"', "40")), r"virtual.gain: 40 has no unit where N/V is expected"),
        ((GENERATOR, FROM.replace('limit = "25 N"', "")), r"virtual.limit: .*(missing|must be given|required)"),
        ((GENERATOR, FROM.replace("25 N", "25 V")), r"virtual.limit: '25 V' is not a displacement, force or accel"),
        ((GENERATOR, FROM.replace("25 N", "-25 N")), r"virtual.limit: '-25 N' must be greater than 0 N"),
        ((GENERATOR, FROM.replace("25 N", "nan N")), r"virtual.limit: 'nan N' is not a displacement"),
        ((CELL, FROM.replace("generator", "load_cell")), "reads rig.force: the rig's motion would excite the test"),
        ((GENERATOR, CELL, GENERATOR), "twice|overwrite|already|Cannot declare"),
        ((GENERATOR.replace("auxiliary.generator", "auxiliary.force"),), "measured.force is a channel of every rig"),
        ((GENERATOR.replace("auxiliary.generator", 'auxiliary."a b"'),), "'a b' is not a valid channel name"),
        ((GENERATOR.replace('"V"', '"Volt/"'),), r"generator.unit: 'Volt/' has the unfinished unit"),
        ((GENERATOR.replace('"V"', '"quux"'),), r"generator.unit: 'quux' has an unknown unit"),
        ((GENERATOR.replace("500 mV", "500 N"),), r"signal.value: '500 N' is in N where V is expected"),
        (
            (GENERATOR.replace('value = "500 mV"', 'force = "1 N"'),),
            r"signal: .*without value .*give its amplitude as v",
        ),
        ((GENERATOR + 'reads = "rig.force"\n',), "both signal and reads are given"),
        ((GENERATOR, PULSE.replace('force = "20 N"', 'value = "2 V"')), "value is the amplitude of a signal"),
        ((GENERATOR, FROM.replace(".virtual", ".specimen")), "cannot excite its specimen"),
        ((GENERATOR, "[limits]\n", 'channels."measured.generator".trip = "1 N"\n'), r"'1 N' is in N where V is exp"),
        ((GENERATOR, FROM, "[limits]\n", 'channels."excitation.virtual".trip = "1 N"\n'), "virtual.limit is its limit"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_remedy(tmp_path, parts, told):
    with pytest.raises(DefinitionError, match=told):
        read(tmp_path, *parts)


@pytest.mark.parametrize(
    ("by", "told"),
    [
        ('{ channel = "generator", threshold = "0.2 N" }', r"threshold: '0.2 N' is in N where V is expected"),
        ('{ channel = "genertor", threshold = "0.2 V" }', "did you mean 'generator'?"),
        ('{ channel = "load_cell", threshold = "1 kN" }', "a feedback loop that the check does not include"),
    ],
)
def test_a_release_that_does_not_fit_is_refused(tmp_path, by, told):
    with pytest.raises(DefinitionError, match=told):
        read(tmp_path, GENERATOR, CELL, f"[excitation]\nrelease_by = {by}\n", PULSE)


def test_what_comes_from_outside_cannot_be_released(tmp_path):
    by = '[excitation]\nrelease_by = { channel = "generator", threshold = "0.2 V" }\n'
    with pytest.raises(DefinitionError, match="of kind 'channel' cannot be released"):
        read(tmp_path, GENERATOR, by, FROM)


def test_a_slow_test_is_not_excited_from_outside(tmp_path):
    slow = '[slow]\nperiod = "10 ms"\nramp = "0.1 s"\n'
    with pytest.raises(DefinitionError, match="a channel of the rig cannot be the excitation"):
        read(tmp_path, GENERATOR, FROM, slow)


def test_a_link_carries_so_many_and_no_more(tmp_path):
    many = "".join(f'[auxiliary.c{i}]\nunit = "V"\n' for i in range(65))
    with pytest.raises(DefinitionError, match="65 auxiliary channels; a link carries at most 64"):
        read(tmp_path, many)
