"""Types of values: numbers, vectors, matrices and files, from files, from Python and from run files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import halfreal
from halfreal.couplings.forward_prediction import ForwardPrediction
from halfreal.errors import DefinitionError
from halfreal.settings import ExistingFile, Matrix, Number, Settings, Vector, fault

from .stand_in import UNHURRIED


class Values(Settings):
    mass: Annotated[np.ndarray, Matrix("kg", symmetric=True, definite="positive")] = np.eye(1)
    stiffness: Annotated[np.ndarray, Matrix("N/m", symmetric=True, definite="semi")] = np.eye(1)
    damping: Annotated[np.ndarray, Matrix("N s/m", definite="semi")] = np.eye(1)
    any: Annotated[np.ndarray, Matrix("N")] = np.eye(1)
    shape: Annotated[np.ndarray, Matrix("1")] = np.eye(1)
    start: Annotated[np.ndarray, Vector("m")] = np.zeros(1)
    poles: Annotated[np.ndarray, Vector("Hz", above=0, most=100)] = np.ones(1)
    step: Annotated[float, Number("s", above=0)] = 1.0
    delay: Annotated[float, Number("s", least=0)] = 0.0
    ratio: Annotated[float, Number("1", least=0, most=1)] = 0.0
    file: ExistingFile | None = None


FILE = {"folder": Path()}
STORED = {"stored": True}


def read(key: str, value: Any, context: dict[str, Any] | None = None) -> Any:
    return getattr(Values.model_validate({key: value}, context=context), key)


def wrong(key: str, value: Any, context: dict[str, Any] | None = None) -> str:
    with pytest.raises(DefinitionError) as caught:
        read(key, value, context)
    return "; ".join(one.message for one in caught.value.faults)


# --- numbers ----------------------------------------------------------------------------------------------------------


def test_a_bare_number_is_si_in_python_and_in_run_files_but_a_fault_in_a_file() -> None:
    assert read("step", 0.002) == read("step", 0.002, STORED) == read("step", "2 ms", FILE) == 0.002
    assert read("step", np.float32(0.5)) == 0.5
    message = wrong("step", 0.002, FILE)
    assert "no unit" in message and "'0.002 s'" in message
    assert read("ratio", 0.5, FILE) == read("ratio", "50 %", FILE) == 0.5


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("step", "0 ms", ["'0 ms'", "greater than 0 s"]),
        ("step", -1, ["-1 must be greater than 0 s"]),
        ("delay", "-3 ms", ["'-3 ms' must be at least 0 s"]),
        ("ratio", "500 %", ["'500 %' is 5", "at most 1"]),
        ("step", "3 m", ["m where s is expected"]),
        ("step", float("nan"), ["nan is not finite"]),
        ("step", float("inf"), ["inf is not finite"]),
        ("step", 10**400, ["not finite"]),
        pytest.param("step", 16**5000, ["very long int is not finite"], id="huge"),
        ("step", True, ["true where a quantity in s"]),
        ("step", [1], ["[1] where a quantity in s", "'1.5 s'"]),
        ("step", None, ["None where"]),
    ],
)
def test_a_number_out_of_its_type_is_a_fault_that_says_what_is_allowed(key: str, value: Any, words: list[str]) -> None:
    message = wrong(key, value)
    assert all(word in message for word in words), message


# --- arrays -----------------------------------------------------------------------------------------------------------

STIFFNESS = np.array([[2e6, -1e6], [-1e6, 1e6]])


@pytest.mark.parametrize(
    "value",
    [
        [["2 kN/mm", "-1 kN/mm"], ["-1e6 N/m", "1 MN/m"]],
        {"unit": "kN/mm", "values": [[2, -1], [-1.0, 1]]},
    ],
)
@pytest.mark.parametrize("context", [None, FILE, STORED])
def test_a_matrix_has_several_forms(value: Any, context: dict[str, Any] | None) -> None:
    found = read("stiffness", value, context)
    assert found.dtype == np.float64
    assert found.tolist() == STIFFNESS.tolist()


@pytest.mark.parametrize("value", [STIFFNESS, STIFFNESS.tolist(), tuple(STIFFNESS), STIFFNESS.astype(np.int64)])
def test_arrays_of_si_numbers_are_for_python_and_run_files(value: Any) -> None:
    assert read("stiffness", value).tolist() == read("stiffness", value, STORED).tolist() == STIFFNESS.tolist()
    assert "no unit" in wrong("stiffness", STIFFNESS.tolist(), FILE)


def test_one_quantity_is_an_array_of_one_entry() -> None:
    assert read("mass", "2.2 kg", FILE).tolist() == [[2.2]]
    assert read("mass", 2.2).tolist() == [[2.2]]
    assert read("start", "3 mm", FILE).tolist() == [0.003]
    assert read("start", np.array(0.003)).tolist() == [0.003]


def test_entries_of_rotations_have_units_of_their_own() -> None:
    given = [["20 kg", "2000 kg mm"], ["2 kg m", "0.6 kg m^2"]]
    assert np.array_equal(read("mass", given), [[20.0, 2.0], [2.0, 0.6]])
    assert np.array_equal(read("stiffness", [["5 kN m/rad"]]), [[5000.0]])
    assert np.array_equal(read("mass", [["20 kg", "0 kg"], ["0 kg", "0.6 kg m^2"]]), np.diag([20.0, 0.6]))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([["20 kg", "2 kg"], ["2 kg", "0.6 kg m^2"]], "one of a displacement and a rotation; give it in kg m"),
        ([["20 kg", "2 kg m"], ["2 kg m", "3 kg"]], "one of displacements; give it in kg"),
        ([["20 kg m"]], "give kg on the diagonal, or of a rotation kg m^2"),
        ([["20 kg s"]], "where kg is expected"),
    ],
)
def test_units_that_no_rotation_explains_are_refused(given: Any, told: str) -> None:
    assert told in wrong("mass", given)


def test_plain_numbers_need_no_unit() -> None:
    assert read("shape", [[1, 0.5]], FILE).tolist() == [[1.0, 0.5]]
    assert read("shape", {"values": [[1, 0.5]]}, FILE).tolist() == [[1.0, 0.5]]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("k.csv", "# kN/mm\n2, -1\n-1, 1\n"),
        ("k.csv", "2;-1\n\n-1;1.0"),
        ("k.txt", "\ufeff2e0   -1\n-1\t1\n"),
        ("k.npy", np.array([[2, -1], [-1, 1]])),
    ],
)
def test_a_matrix_may_stand_in_a_file_beside_the_definition(tmp_path: Path, name: str, content: Any) -> None:
    if isinstance(content, str):
        (tmp_path / name).write_text(content, encoding="utf-8")
    else:
        np.save(tmp_path / name, content)
    found = read("stiffness", {"unit": "kN/mm", "file": name}, {"folder": tmp_path})
    assert found.tolist() == STIFFNESS.tolist()


@pytest.mark.parametrize("content", ["1\n2\n3\n", "1,2,3"])
def test_a_row_or_a_column_of_a_file_is_a_vector(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.csv").write_text(content)
    assert read("start", {"unit": "mm", "file": "x.csv"}, {"folder": tmp_path}).tolist() == [0.001, 0.002, 0.003]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"1,5;2,5\n", ["line 1", "'1,5'", "point"]),
        (b"x, y\n1, 2\n", ["line 1", "'x'", "#"]),
        (b"1, 2\n3\n", ["line 2", "1 numbers", "2"]),
        (b"1, nan\n", ["'nan'"]),
        (b"1, 1e999\n", ["entry (1, 2)", "inf"]),
        (b"", ["empty"]),
        (b"\xff\xfe", ["UTF-8"]),
        (b"1_000", ["'1_000'"]),
        (b"__import__('os')", ["where a number is expected"]),
    ],
)
def test_a_bad_file_is_a_fault_that_names_the_line(tmp_path: Path, content: bytes, words: list[str]) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    message = wrong("any", {"unit": "N", "file": "a.csv"}, {"folder": tmp_path})
    assert all(word in message for word in words), message


def test_a_missing_file_is_named_with_its_folder(tmp_path: Path) -> None:
    for value, key in (({"unit": "N", "file": "no.csv"}, "any"), ("no.csv", "file")):
        message = wrong(key, value, {"folder": tmp_path})
        assert str(tmp_path / "no.csv") in message and "does not exist" in message
    assert "is a folder" in wrong("file", str(tmp_path))
    for name in ("", 3, "a\0b", "a" * 5000):
        assert "file" in wrong("file", name)


class Trap:
    """Unpickling this would be noticed."""

    sprung = False

    def __reduce__(self) -> Any:
        return (setattr, (Trap, "sprung", True))


def test_pickled_objects_in_a_file_are_not_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([Trap()], dtype=object), allow_pickle=True)
    assert "cannot be read" in wrong("any", {"unit": "N", "file": "a.npy"}, {"folder": tmp_path})
    assert not Trap.sprung
    np.savez(tmp_path / "z.npz", a=np.eye(2))
    (tmp_path / "z.npz").rename(tmp_path / "z.npy")
    assert "real numbers" in wrong("any", {"unit": "N", "file": "z.npy"}, {"folder": tmp_path})


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("mass", "0 kg", ["'0 kg' is singular", "smallest eigenvalue is 0 kg"]),
        ("mass", [[1, 1], [1, 1]], ["singular"]),
        ("mass", "-2 kg", ["not positive definite", "-2 kg"]),
        ("mass", [[1, 2], [2, 1]], ["not positive definite", "-1 kg"]),
        ("stiffness", [[1000, 2000], [2000, 1000]], ["not positive semidefinite", "-1 kN/m"]),
        (
            "stiffness",
            [[9, 1, 2], [1, 9, 3], [2, 4, 9]],
            ["not symmetric", "entry (2, 3) is 3 N/m", "entry (3, 2) is 4 N/m"],
        ),
        ("damping", [[1, 4], [0, 1]], ["not positive semidefinite", "-1 N s/m"]),  # by its symmetric part
        ("mass", np.ones((2, 3)), ["2 × 3", "square"]),
        ("damping", np.ones((2, 3)), ["2 × 3", "square"]),
        ("any", [1, 2], ["rows"]),
        ("any", [[1, 2], [3]], ["row 2 has 1 entries where row 1 has 2"]),
        ("any", [[1, 2], 3], ["3 where a row"]),
        ("any", np.ones(3), ["shape 3", "matrix"]),
        ("any", [[]], ["empty"]),
        ("any", [], ["empty"]),
        ("any", np.array([[1.0, np.nan]]), ["entry (1, 2) is nan"]),
        ("any", np.array([[1j]]), ["1j"]),
        ("any", [["1 N", "2 kg"]], ["'2 kg' is in kg where N"]),
        ("any", {"unit": "kg", "values": [[1]]}, ["kg where N"]),
        ("any", {"values": [[1]]}, ["unit = 'N'"]),
        ("any", {"unit": "N"}, ["values or file"]),
        ("any", {"unit": "N", "values": [[1]], "file": "x"}, ["either"]),
        ("any", {"unti": "N", "values": [[1]]}, ["'unti'", "did you mean 'unit'"]),
        ("any", {"unit": "N", "values": [["1 N"]]}, ["'1 N' where a number"]),
        ("any", {"unit": "N", "values": [[10**400]]}, ["not finite"]),
        ("any", {"unit": "GN", "values": [[1e305]]}, ["inf"]),
        ("start", [[1, 2]], ["[1, 2] where a quantity in m"]),
        ("start", np.eye(2), ["2 × 2", "vector"]),
        ("poles", [1, -1, 200], ["entry 2 is -1 Hz; it must be greater than 0 Hz", "entry 3 is 200 Hz", "at most 100"]),
    ],
)
def test_an_array_out_of_its_type_is_a_fault_that_says_where(key: str, value: Any, words: list[str]) -> None:
    message = wrong(key, value)
    assert all(word in message for word in words), message


def test_gyroscopic_terms_do_not_make_damping_indefinite() -> None:
    assert read("damping", [[1, 50], [-50, 1]]).tolist() == [[1.0, 50.0], [-50.0, 1.0]]


def test_every_wrong_entry_is_told_with_its_place() -> None:
    with pytest.raises(DefinitionError) as caught:
        Values(any=[["1 kg", "1 N"], ["x", 1]])
    assert [fault.path for fault in caught.value.faults] == ["any[1][1]", "any[2][1]"]


@settings(UNHURRIED, max_examples=50)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.floats(0.1, 10), min_size=1, max_size=5),
    st.sampled_from([1.0, 0.0, -1.0]),
    st.sampled_from([1e-20, 1e-6, 1.0, 1e6, 1e20]),
)
def test_definiteness_is_judged_by_the_eigenvalues_at_any_scale(
    seed: int, eigenvalues: list[float], sign: float, size: float
) -> None:
    eigenvalues[0] *= sign
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(eigenvalues),) * 2))[0]
    matrix = rotation @ np.diag(eigenvalues) @ rotation.T
    matrix = size * (matrix + matrix.T) / 2
    if sign == 0.0 and len(eigenvalues) > 1:
        # what rounding leaves of a zero eigenvalue is at most a few units in the last place
        assert read("stiffness", matrix).shape == matrix.shape
    elif sign == 0.0:
        assert "singular" in wrong("mass", matrix)
    elif sign < 0:
        assert "definite" in wrong("mass", matrix)
        assert "semidefinite" in wrong("stiffness", matrix)
    else:
        assert read("mass", matrix).tolist() == matrix.tolist()


# --- parts ------------------------------------------------------------------------------------------------------------


def test_arrays_are_read_only_and_own_their_numbers() -> None:
    mine = np.eye(2)
    values = Values(mass=mine)
    mine[0, 0] = 5.0
    assert values.mass.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(ValueError, match="read-only"):
        values.mass[0, 0] = 2.0


def test_parts_stay_as_they_are_and_say_how_a_changed_one_is_made() -> None:
    values = Values(mass=np.eye(2))
    with pytest.raises(AttributeError, match=r"step cannot be assigned: .* test\.with_values\(\{\"step\": …\}\), "):
        values.step = 2.0  # type: ignore[misc]
    changed = values.model_copy(update={"step": "2 ms", "any": [[3.0]]})
    assert changed.step == 0.002 and changed.any.tolist() == [[3.0]] and changed.mass.tolist() == values.mass.tolist()
    assert values.step == 1.0 and values.model_copy() == values


@pytest.mark.parametrize("update", [{"step": -1.0}, {"step": "2 kg"}, {"stp": 1.0}, {"mass": [[-1.0]]}])
def test_copies_with_nonsense_are_refused(update: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError):
        Values().model_copy(update=update)


def test_only_copies_that_are_known_to_be_good_go_unchecked() -> None:
    """Within halfreal ``unchecked_copy`` says so, and what is shown to users checks."""
    root = Path(halfreal.__file__).parent
    files = [path for path in root.rglob("*.py") if "examples" not in path.parts and path.name != "settings.py"]
    assert not [path for path in files if "model_copy(" in path.read_text()]
    assert not [path for path in (root / "examples").rglob("*.py") if "unchecked_copy" in path.read_text()]


def test_parts_are_equal_if_their_values_are() -> None:
    one, same = Values(mass=np.eye(2)), Values(mass=[["1 kg", "0 kg"], ["0 kg", "1 kg"]])
    assert one == same and hash(one) == hash(same)
    assert one != Values(mass=np.eye(3)) and one != Values() and one != "Values"
    assert Values(start=[0.0]) == Values(start=[-0.0])
    assert hash(Values(start=[0.0])) == hash(Values(start=[-0.0]))

    class Other(Values):
        pass

    assert Values() != Other()


finite = st.floats(-1e30, 1e30)


@settings(UNHURRIED, max_examples=50)
@given(
    st.builds(
        Values,
        any=arrays(float, st.tuples(st.integers(1, 3), st.integers(1, 3)), elements=finite),
        start=arrays(float, st.integers(1, 4), elements=finite),
        step=st.floats(1e-25, 1e25),
        file=st.none() | st.just(__file__),
    )
)
def test_json_of_a_part_reads_back_as_an_equal_part(values: Values) -> None:
    data = values.model_dump(mode="json")
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert isinstance(data["any"], list) and isinstance(data["step"], float)
    assert Values.model_validate(data, context=STORED) == values
    assert Values.model_validate_json(values.model_dump_json(), context=STORED) == values


def test_files_named_in_a_run_file_may_be_gone(tmp_path: Path) -> None:
    path = tmp_path / "record.csv"
    path.write_text("1\n2\n")
    values = Values.model_validate({"file": "record.csv"}, context={"folder": tmp_path})
    assert values.file == path
    data = values.model_dump(mode="json")
    path.unlink()
    assert Values.model_validate(data, context=STORED) == values
    assert "does not exist" in wrong("file", data["file"])


def test_a_fault_keeps_braces_and_places() -> None:
    error = fault("{value} is {wrong}", "virtual", 0)
    assert error.message() == "{value} is {wrong}"
    assert error.context is not None and error.context["items"] == [(("virtual", 0), "{value} is {wrong}")]


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("step", "1e31 s", "'1e31 s' is larger than 1e+30 in s"),
        ("step", 1e-31, "1e-31 is smaller than 1e-30 in s"),
        ("mass", "1e300 kg", "entry (1, 1) is larger than 1e+30 in kg"),
        ("mass", [[1e-300]], "entry (1, 1) is smaller than 1e-30 in kg"),
    ],
)
def test_numbers_that_would_overflow_are_refused(key: str, value: Any, words: str) -> None:
    assert words in wrong(key, value)


def test_a_part_made_in_python_needs_no_kind_because_its_class_states_it() -> None:
    made = ForwardPrediction(prediction=0.011)  # type: ignore[call-arg]
    assert made == ForwardPrediction(kind="forward prediction", prediction=0.011)
    with pytest.raises(DefinitionError, match="kind"):
        ForwardPrediction(kind="forward predictoin", prediction=0.011)  # type: ignore[arg-type]
