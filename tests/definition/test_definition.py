"""The real definition: what the parts together must keep."""

import tomllib

import jsonschema
import pytest

import halfreal
from examples.wallace2005 import GALLERY, definition
from halfreal.definition.load import from_json, from_toml, to_toml
from halfreal.definition.schema import json_schema

FILES = sorted(GALLERY.parent.glob("*/*.toml"))


@pytest.fixture(scope="module")
def schema():
    return json_schema(halfreal.Definition)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_gallery_satisfies_the_printed_schema_and_round_trips(path, schema):
    jsonschema.Draft202012Validator(schema).validate(tomllib.loads(path.read_text()))
    test = halfreal.load(path)
    assert from_json(halfreal.Definition, test.model_dump_json()) == test
    assert from_toml(to_toml(test), halfreal.Definition, folder=path.parent) == test


def test_stored_definition_with_a_record_that_is_gone_can_still_be_read(tmp_path):
    record = tmp_path / "record.csv"
    record.write_text("0.0\n0.5\n-0.2\n")
    wanted = {"virtual": {"kind": "record", "force": 1.0, "file": str(record), "time_step": 0.01}}
    virtual = {"mass": 1.0, "stiffness": 100.0, "force_dof": 1}
    test = definition(excitation=wanted, virtual=virtual)
    stored = test.model_dump_json()
    record.unlink()
    assert from_json(halfreal.Definition, stored) == test


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"virtual": {"mass": [[1.0, 0], [0, 1.0]], "stiffness": 5.0}}, "the mass matrix is 2 × 2"),
        ({"virtual": {"mass": [[1.0, 0], [0, 0.0]], "stiffness": [[1, 0], [0, 0]]}}, "neither mass nor a stiffness"),
        (
            {"virtual": {"mass": 1.0, "stiffness": 1e8, "scheme": "central difference", "force_dof": 1}},
            "stable up to a step",
        ),
        ({"virtual": {"mass": 1.0, "stiffness": 100.0}}, "virtual.support"),
        ({"rig": {"specimen": {"stiffness": [[1.0, 0.0], [0.0, 1.0]]}}}, "where the interface has 1"),
        ({"start_up": {"kind": "model", "stiffness": [[1.0, 0.0], [0.0, 1.0]]}}, "where the interface has 1"),
        (
            {"excitation": {"specimen": {"kind": "step", "displacement": 1.0}}},
            "only be excited by a force",
        ),
        ({"excitation": {"virtual": {"kind": "step", "displacement": 1.0, "force": 1.0}}}, "exactly one of"),
        ({"timing": {"step": 1e-3, "duration": 1e-4}}, "shorter than one step"),
        ({"timing": {"step": 1e-3, "duration": 1.0, "soft_start": 1e9}}, "must be at most 600 s"),
        ({"timing": {"step": 1e-3, "duration": 1.0, "soft_stop": 600.1}}, "must be at most 600 s"),
        ({"rig": {"specimen": {"stiffness": 1.0, "excited_axis": 2}}}, "axis 2"),
        (
            {"limits": {"command": {"trip": 0.02}, "safe_position": [-0.025]}},
            "-25 mm on axis 1 is beyond limits.command.trip, 20 mm",
        ),
        (
            {"limits": {"displacement": {"trip": 0.02}, "safe_position": [0.025]}},
            "25 mm on axis 1 is beyond limits.displacement.trip, 20 mm",
        ),
        ({"real_time": {"overrun": "count"}}, "'hold' or 'trip'"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(more, told):
    with pytest.raises(ValueError) as error:
        definition(**more)
    assert told in str(error.value)
