"""Responses and modes written for other programs and read again."""

import numpy as np
import pytest
import pyuff
from scipy.io import savemat

from halfreal.records.exchange_formats import (
    Contents,
    ExchangeError,
    Modes,
    Place,
    Responses,
    read_mat,
    read_modes_csv,
    read_responses_csv,
    write_mat,
    write_modes_csv,
    write_responses_csv,
)
from halfreal.records.universal_file import read_uff, write_uff

RANDOM = np.random.default_rng(1)
HZ = np.arange(1, 120) / 7.0
OUTPUTS = (Place(1, "x"), Place(13, "-z"), Place(13, "ry"))
INPUTS = (Place(13, "z"), Place(2, "x"))


def noise(*shape):
    return RANDOM.standard_normal(shape) + 1j * RANDOM.standard_normal(shape)


RESPONSES = Responses(HZ, 1e-6 * noise(3, 2, HZ.size), OUTPUTS, INPUTS, "acceleration")
MODES = Modes(np.array([-0.4 + 21j, -3.5 + 99.5j]), noise(3, 2), (Place(1, "y"), Place(1, "z"), Place(13, "z")))
NODES = {1: np.array([0.0, 1 / 3, -2.0]), 13: np.array([1e-3, 4.0, 0.35])}


def same_responses(found, expected, rtol, of_lines=0.0):
    assert (found.outputs, found.inputs, found.quantity) == (expected.outputs, expected.inputs, expected.quantity)
    np.testing.assert_allclose(found.frequency_hz, expected.frequency_hz, rtol=of_lines)
    np.testing.assert_allclose(found.values, expected.values, rtol=rtol)


def same_modes(found, expected, rtol):
    assert found.places == expected.places
    for mine, theirs in ((found.poles, expected.poles), (found.shapes, expected.shapes)):
        np.testing.assert_allclose(mine.real, theirs.real, rtol=rtol)
        np.testing.assert_allclose(mine.imag, theirs.imag, rtol=rtol)


@pytest.mark.parametrize(("kind", "digits"), [(2411, 1e-15), (15, 1e-5)])
def test_a_universal_file_is_read_as_it_was_written(tmp_path, kind, digits):
    """To the digits of the format: six for lines, modes, and nodes of set 15; twelve for values."""
    file = tmp_path / "test.uff"
    write_uff(file, Contents(RESPONSES, MODES, NODES), nodes_as=kind)
    found = read_uff(file)
    same_responses(found.responses, RESPONSES, 1e-11, 5e-6)
    assert np.ptp(np.diff(found.responses.frequency_hz)) < 1e-12  # equally far apart as they were
    same_modes(found.modes, MODES, 1e-5)
    assert found.nodes.keys() == NODES.keys()
    for number, place in NODES.items():
        np.testing.assert_allclose(found.nodes[number], place, rtol=digits)


def test_the_sets_of_a_universal_file_are_those_that_programs_look_for(tmp_path):
    file = tmp_path / "test.uff"
    write_uff(file, Contents(RESPONSES, MODES, NODES))
    plain = pyuff.UFF(str(file))
    assert plain.get_set_types().tolist() == [164, 2411, *[58] * 6, *[55] * 2]
    first = plain.read_sets(2)
    assert (first["func_type"], first["rsp_node"], first["rsp_dir"], first["ref_node"], first["ref_dir"]) == (
        4,
        1,
        1,
        13,
        3,
    )
    assert (first["ordinate_spec_data_type"], first["orddenom_spec_data_type"]) == (12, 13)
    assert plain.read_sets(5)["rsp_dir"] == -3
    assert plain.read_sets(8)["eig"] == pytest.approx(-0.4 + 21j)


def test_lines_that_are_not_equally_far_apart_are_written_one_by_one(tmp_path):
    uneven = Responses(np.array([1.0, 3.5, 4.25]), noise(1, 1, 3), (Place(1, "z"),), (Place(1, "z"),))
    write_uff(tmp_path / "test.uff", Contents(responses=uneven))
    same_responses(read_uff(tmp_path / "test.uff").responses, uneven, 1e-11, 1e-12)


def test_writing_again_replaces_the_file(tmp_path):
    file = tmp_path / "test.uff"
    for _ in range(2):
        write_uff(file, Contents(responses=RESPONSES))
    assert len(pyuff.UFF(str(file)).get_set_types()) == 7


TURNING = Modes(
    np.array([-1 + 9j, -0.2 + 15j]), noise(4, 2), (Place(1, "z"), Place(1, "ry"), Place(13, "x"), Place(13, "rz"))
)
FORCE = Place(13, "scalar", "0.6 x + 0.8 z, along the wing's axis")


def test_shapes_with_rotations_are_read_as_they_were_written(tmp_path):
    """A set of six values per node; of three for programs that know no rotations, if they may be left out."""
    write_uff(tmp_path / "test.uff", Contents(modes=TURNING))
    same_modes(read_uff(tmp_path / "test.uff").modes, TURNING, 1e-5)
    write_uff(tmp_path / "test.uff", Contents(modes=TURNING), leave_out_rotations=True)
    assert read_uff(tmp_path / "test.uff").modes.places == (Place(1, "z"), Place(13, "x"))
    np.testing.assert_allclose(
        pyuff.UFF(str(tmp_path / "test.uff")).read_sets(2)["r1"], [0.0, TURNING.shapes[2, 1]], 1e-5
    )


def test_a_set_of_complex_shapes_with_rotations_follows_the_format(tmp_path):
    """Records 6 to 10 of set 55, column by column: two lines of 6E13.5 at a node."""
    write_uff(tmp_path / "test.uff", Contents(modes=TURNING))
    lines = (tmp_path / "test.uff").read_text().splitlines()
    first = lines.index("    55")
    assert [len(line) for line in lines[first + 6 : first + 12]] == [60, 40, 78, 10, 78, 78]
    assert [int(word) for word in lines[first + 6].split()] == [1, 3, 3, 8, 5, 6]
    at_node = [float(line[i : i + 13]) for line in lines[first + 10 : first + 12] for i in range(0, 78, 13)]
    z, ry = TURNING.shapes[:2, 0]
    np.testing.assert_allclose(at_node, [0, 0, 0, 0, z.real, z.imag, 0, 0, ry.real, ry.imag, 0, 0], rtol=1e-5)


@pytest.mark.parametrize("rotations", [True, False])
def test_normal_modes_of_other_programs_are_read(tmp_path, rotations):
    """Written by pyuff; ω = 2πf, ζ as told."""
    values = {f"r{i}": np.array([0.5 * i, -1.0]) for i in range(1, 7 if rotations else 4)}
    given = {"type": 55, "analysis_type": 2, "data_ch": 3 if rotations else 2, "spec_data_type": 8, "load_case": 1}
    modes = [
        {**given, **values, "mode_n": i, "freq": 4.0 * i, "modal_damp_vis": 0.02, "node_nums": [3, 7]} for i in (1, 2)
    ]
    pyuff.UFF(str(tmp_path / "test.uff")).write_sets(modes, "add")
    found = read_uff(tmp_path / "test.uff").modes
    np.testing.assert_allclose(found.frequency_hz, [4.0, 8.0])
    np.testing.assert_allclose(found.damping, 0.02)
    assert [str(place) for place in found.places] == [
        f"{node}:{axis}" for node in (3, 7) for axis in ("x", "y", "z", "rx", "ry", "rz")[: len(values)]
    ]
    half = [0.5 * i for i in range(1, len(values) + 1)]
    np.testing.assert_allclose(found.shapes, np.tile([*half, *[-1.0] * len(values)], (2, 1)).T)


def test_stresses_at_nodes_are_no_shapes(tmp_path):
    """A symmetric tensor has six values too."""
    values = {f"r{i}": np.ones(1) for i in range(1, 7)}
    stress = {
        "type": 55,
        "analysis_type": 2,
        "data_ch": 4,
        "spec_data_type": 2,
        "load_case": 1,
        "mode_n": 1,
        "freq": 4.0,
    }
    pyuff.UFF(str(tmp_path / "test.uff")).write_sets([{**stress, **values, "node_nums": [3]}], "add")
    assert read_uff(tmp_path / "test.uff").modes is None


def test_a_force_along_no_axis_is_a_scalar_with_its_name(tmp_path):
    """In a set 58 the direction is 0, the name in the fifth line; every format keeps it."""
    given = Responses(HZ, noise(2, 2, HZ.size), (Place(1, "x"), Place(0, "scalar", "twist")), (FORCE, Place(13, "z")))
    write_uff(tmp_path / "test.uff", Contents(given))
    same_responses(read_uff(tmp_path / "test.uff").responses, given, 1e-11, 5e-6)
    plain = pyuff.UFF(str(tmp_path / "test.uff")).read_sets(1)
    assert (plain["ref_node"], plain["ref_dir"], plain["orddenom_force_unit_exp"]) == (13, 0, 1)
    assert plain["id5"] == "REFERENCE NAME: 0.6 x + 0.8 z, along the wing's axis"
    write_mat(tmp_path / "test.mat", Contents(given))
    same_responses(read_mat(tmp_path / "test.mat").responses, given, 0)
    write_responses_csv(tmp_path / "test.csv", given)
    same_responses(read_responses_csv(tmp_path / "test.csv"), given, 0)


def test_scalars_of_shapes_are_kept_by_tables_and_refused_by_universal_files(tmp_path):
    modes = Modes(np.array([-1 + 9j]), noise(2, 1), (Place(0, "scalar", "virtual.tip"), Place(0, "scalar", "rig.nose")))
    write_modes_csv(tmp_path / "modes.csv", modes)
    same_modes(read_modes_csv(tmp_path / "modes.csv"), modes, 0)
    write_mat(tmp_path / "modes.mat", Contents(modes=modes))
    same_modes(read_mat(tmp_path / "modes.mat").modes, modes, 0)
    with pytest.raises(ExchangeError, match=r"a scalar among their places \(0:scalar:virtual.tip\)"):
        write_uff(tmp_path / "test.uff", Contents(modes=modes))


def test_a_mat_file_is_read_as_it_was_written(tmp_path):
    file = tmp_path / "test.mat"
    write_mat(file, Contents(RESPONSES, TURNING, NODES))
    found = read_mat(file)
    same_responses(found.responses, RESPONSES, 0)
    same_modes(found.modes, TURNING, 0)
    assert {number: place.tolist() for number, place in found.nodes.items()} == {
        number: place.tolist() for number, place in NODES.items()
    }


def test_tables_are_read_as_they_were_written(tmp_path):
    write_responses_csv(tmp_path / "responses.csv", RESPONSES)
    same_responses(read_responses_csv(tmp_path / "responses.csv"), RESPONSES, 0)
    write_modes_csv(tmp_path / "modes.csv", TURNING)
    same_modes(read_modes_csv(tmp_path / "modes.csv"), TURNING, 0)
    heading = (tmp_path / "modes.csv").read_text().splitlines()[0]
    assert heading.startswith("frequency_hz,damping,pole_real,pole_imag,real 1:z,imag 1:z,real 1:ry,imag 1:ry,")


@pytest.mark.parametrize(
    ("text", "read", "told"),
    [
        ("", read_uff, "contains no data sets"),
        ("a,b\n1,2\n", read_responses_csv, "not a table of responses"),
        ("a,b\n1,2\n", read_modes_csv, "not a table of modes"),
        ("frequency_hz,real 1:z/1:z,imag 1:z/1:z\n1,2\n", read_responses_csv, "not as many numbers"),
        ("frequency_hz,real one/1:z,imag one/1:z\n1,2,3\n", read_responses_csv, "'one' is not a place"),
        ("# quantity: strain\nfrequency_hz\n1\n", read_responses_csv, "quantity 'strain'"),
        ("frequency_hz,damping,pole_real,pole_imag,real 1:z\n1,2,3,4,5\n", read_modes_csv, "not a table of modes"),
        ("a,b\n1,2\n", read_mat, "not a MAT file"),
        ("    -1\n    58\nnothing\n    -1\n", read_uff, "cannot be read as a universal file"),
    ],
)
def test_files_of_another_kind_are_refused(tmp_path, text, read, told):
    (tmp_path / "file").write_text(text)
    with pytest.raises(ExchangeError, match=told):
        read(tmp_path / "file")


def test_what_does_not_fit_together_is_refused(tmp_path):
    with pytest.raises(ExchangeError, match="outputs × inputs × lines"):
        Responses(HZ, noise(2, 2, HZ.size), OUTPUTS, INPUTS)
    with pytest.raises(ExchangeError, match="places × modes"):
        Modes(np.array([1j]), noise(2, 2), (Place(1, "x"), Place(1, "y")))
    with pytest.raises(ExchangeError, match="along a negative axis"):
        Modes(np.array([1j]), noise(1, 1), (Place(1, "-x"),))
    with pytest.raises(ExchangeError, match="is not one of x, y, z"):
        _ = Place(1, "up").code
    with pytest.raises(ExchangeError, match="1:x is listed twice among the outputs"):
        Responses(HZ, noise(2, 1, HZ.size), (Place(1, "x"), Place(1, "x")), INPUTS[:1])
    for name, told in (("a/b", "without '/'"), ("a" * 61, "61 characters"), (" a", "starts or ends with a blank")):
        with pytest.raises(ExchangeError, match=told):
            Responses(HZ, noise(1, 1, HZ.size), (Place(1, "x"),), (Place(0, "scalar", name),))
    with pytest.raises(ExchangeError, match="only scalars have names"):
        Responses(HZ, noise(1, 1, HZ.size), (Place(1, "x", "tip"),), INPUTS[:1])
    for read in (read_uff, read_mat, read_responses_csv, read_modes_csv):
        with pytest.raises(ExchangeError, match="there is no file"):
            read(tmp_path / "nowhere")
    with pytest.raises(ExchangeError, match="a response is not finite"):
        write_uff(tmp_path / "test.uff", Contents(Responses(HZ, RESPONSES.values * np.nan, OUTPUTS, INPUTS)))
    with pytest.raises(ExchangeError, match="cannot be written"):
        write_uff(tmp_path / "nowhere" / "test.uff", Contents(RESPONSES))


def test_a_foreign_mat_file_is_refused(tmp_path):
    savemat(tmp_path / "test.mat", {"modes": {"poles": [1.0]}})
    with pytest.raises(ExchangeError, match="that were not written by write_mat"):
        read_mat(tmp_path / "test.mat")


MILLIMETRES = {"units_code": 5, "length": 1000.0, "force": 1000.0}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda units, responses, modes: [units, *responses[:-1]], "no response of 13:ry to 2:x"),
        (lambda units, responses, modes: [*responses, responses[0]], "more than one response of 1:x to 13:z"),
        (lambda units, responses, modes: [{**units, **MILLIMETRES}, *responses], "1000 of its units in 1 m"),
        (lambda units, responses, modes: [modes[0], {**modes[1], "node_nums": [1, 2]}], "modes at different nodes"),
    ],
    ids=["hole", "twice", "millimetres", "nodes"],
)
def test_universal_files_that_cannot_be_told_apart_or_together_are_refused(tmp_path, change, told):
    file = tmp_path / "test.uff"
    write_uff(file, Contents(RESPONSES, MODES))
    sets = pyuff.UFF(str(file)).read_sets()
    file.unlink()
    pyuff.UFF(str(file)).write_sets(change(sets[0], sets[1:7], sets[7:]), "add")
    with pytest.raises(ExchangeError, match=told):
        read_uff(file)


def test_a_universal_file_that_was_cut_off_is_refused(tmp_path):
    file = tmp_path / "test.uff"
    write_uff(file, Contents(RESPONSES))
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) - 500])
    with pytest.raises(ExchangeError, match=r"13 marks .* it is truncated"):
        read_uff(file)
    rows = whole.splitlines(keepends=True)
    file.write_bytes(b"".join(rows[:-9] + rows[-1:]))  # values are lost, the mark is there
    with pytest.raises(ExchangeError, match="104 values, but states 119"):
        read_uff(file)
    write_uff(file, Contents(modes=TURNING))
    rows = file.read_text().splitlines(keepends=True)
    file.write_text("".join(rows[:-2] + rows[-1:]))
    with pytest.raises(ExchangeError, match="a node has 6 values instead of 12: it is truncated"):
        read_uff(file)
