"""Columns packed here are what HDF5's own filters make of them."""

import h5py
import numpy as np
import pytest

from halfreal.records.datasets import CHUNK, PACKED, array, fletcher32

CHANCE = np.random.default_rng(3)
COLUMNS = {
    "noise, a whole number of chunks": CHANCE.normal(size=3 * CHUNK),
    "a record with a rest": np.cumsum(CHANCE.normal(size=2 * CHUNK + 37)).round(3),
    "zeros": np.zeros(2 * CHUNK),
    "bits that no arithmetic makes": CHANCE.integers(0, 2**63, 2 * CHUNK + 1).view(float),
    "strided": np.arange(8.0 * CHUNK).reshape(-1, 4)[:, 1],
}


@pytest.mark.parametrize("name", COLUMNS)
def test_hdf5_reads_our_chunks_to_the_bit_and_has_the_same_checksums(tmp_path, name):
    values = COLUMNS[name]
    with h5py.File(tmp_path / "a.h5", "w") as file:
        ours = array(file, "ours", values)
        plain = file.create_dataset("plain", data=values, chunks=(CHUNK,), **PACKED)
        assert ours.fletcher32 and ours.shuffle and ours.compression == "gzip" and ours.chunks == (CHUNK,)
        for place in range(0, values.size, CHUNK):
            _, content = plain.id.read_direct_chunk((place,))
            assert fletcher32(content[:-4]) == int.from_bytes(content[-4:], "little")
    with h5py.File(tmp_path / "a.h5") as file:  # HDF5 looks at the checksums
        assert file["ours"][:].tobytes() == file["plain"][:].tobytes() == np.ascontiguousarray(values).tobytes()


def test_a_damaged_chunk_is_noticed(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        dataset = array(file, "x", COLUMNS["a record with a rest"])
        mask, content = dataset.id.read_direct_chunk((CHUNK,))
        spoilt = bytearray(content)
        spoilt[len(spoilt) // 2] ^= 4
        dataset.id.write_direct_chunk((CHUNK,), bytes(spoilt), mask)
    with h5py.File(tmp_path / "a.h5") as file, pytest.raises(OSError, match=r"filter|checksum"):
        file["x"][:]


def test_fletchers_checksum_of_few_bytes_by_hand():
    assert fletcher32(b"") == 0
    assert fletcher32(b"\x00\x00") == 0
    assert fletcher32(b"\xff\xff") == 0xFFFFFFFF  # 65535 stands for 0
    assert fletcher32(b"\x01\x02\x03") == ((2 * 0x0102 + 0x0300) << 16 | 0x0102 + 0x0300)
