"""Measured frequency responses from files."""

import numpy as np
import pytest

from halfreal.errors import HalfrealError
from halfreal.records.exchange_formats import Contents, Place, Responses
from halfreal.records.response_file import read_response

HZ = np.linspace(1.0, 20.0, 20)


def test_tables_keep_their_unit(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("# unit: N/mm\nfrequency_hz,real,imag\n1,2,3\n2,3,4\n", encoding="utf-8")
    found = read_response(path)
    assert found.unit == "N/mm" and found.response[0, 0, 0] == 2 + 3j
    np.savez(tmp_path / "a.npz", frequency_hz=HZ, response=HZ * 1j)
    assert read_response(tmp_path / "a.npz", "N/m").unit == "N/m"


def test_universal_files_are_motions_for_forces_in_the_order_of_the_forces(tmp_path):
    pytest.importorskip("pyuff")
    from halfreal.records.universal_file import write_uff

    x, z = Place(1, "x"), Place(2, "z")
    values = np.arange(4.0).reshape(2, 2)[:, :, None] * np.exp(1j * HZ)
    write_uff(tmp_path / "a.uff", Contents(Responses(HZ, values, (z, x), (x, z), "acceleration")))
    found = read_response(tmp_path / "a.uff")
    assert found.unit == "m/s^2/N"
    np.testing.assert_allclose(found.response[:, 0, 1], values[1, 1], rtol=1e-9)  # of x to a force at z
    np.testing.assert_allclose(found.response[:, 1, 0], values[0, 0], rtol=1e-9)
    with pytest.raises(HalfrealError, match="omit --unit"):
        read_response(tmp_path / "a.uff", "N/m")
    write_uff(tmp_path / "b.uff", Contents(Responses(HZ, values[:1], (z,), (x, z))))
    with pytest.raises(HalfrealError, match="at the same place"):
        read_response(tmp_path / "b.uff")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.csv", "", "empty"),
        ("a.csv", "frequency_hz,real,imag\n1,2,3\n", "at least 2 lines"),
        ("a.csv", "frequency_hz,real,imag\n1,2\n", "without the 3 numbers"),
        ("a.csv", "hz,real,imag\n1,2,3\n2,3,4\n", "no frequency_hz"),
        ("a.npz", "junk", "cannot be read"),
        ("a.h5", "", "not a frequency response file"),
    ],
)
def test_files_that_are_none_are_told(tmp_path, name, text, told):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(HalfrealError, match=told):
        read_response(tmp_path / name)
    with pytest.raises(HalfrealError, match="there is no file"):
        read_response(tmp_path / "other.csv")
