"""Damaged run files: one changed bit is noticed, and none crashes the program that reads it."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halfreal.records import RunFileError, apart, load_run, save, seal
from halfreal.runs.run import Signal
from recording import header, names

RUN = replace(header(names(2)), time=np.arange(5.0), signals={name: Signal("m", np.arange(5.0)) for name in names(2)})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    save(RUN, tmp_path / "run.h5")
    return tmp_path / "run.h5"


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_any_changed_bit_is_noticed(path: Path, where: float, bit: int) -> None:
    whole = path.read_bytes()
    data = bytearray(whole)
    data[int(where * len(data))] ^= 1 << bit
    path.write_bytes(data)
    os.utime(path, (0, 0))  # not just written: it is looked at once
    try:
        with pytest.raises(RunFileError, match=r"does not match the checksum|is not an HDF5 file"):
            load_run(path)
    finally:
        path.write_bytes(whole)


def test_each_byte_of_the_seal_itself_counts(path: Path) -> None:
    whole = path.read_bytes()
    for at in range(len(whole) - seal.SIZE, len(whole)):
        data = bytearray(whole)
        data[at] ^= 1
        path.write_bytes(data)
        assert seal.look(path) is seal.Seal.BROKEN
    path.write_bytes(whole)
    assert seal.look(path) is seal.Seal.INTACT


def test_a_file_that_another_program_has_changed_has_no_seal_and_is_read_apart(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        file.attrs["title"] = "by another program"
        file["more"] = np.arange(100.0)
    assert seal.look(path) is seal.Seal.MISSING
    found = apart.load_apart(path)
    assert found.title == "by another program" and np.array_equal(found.time, RUN.time)


def test_a_reader_that_crashes_is_an_error_like_others(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(path.read_bytes()[: -seal.SIZE])
    crash = subprocess.CompletedProcess([], -signal.SIGSEGV)
    monkeypatch.setattr(apart.subprocess, "run", lambda *args, **kwargs: crash)
    with pytest.raises(RunFileError, match=r"damaged or truncated; reading it ended with SIGSEGV"):
        apart.load_apart(path)


def test_what_is_wrong_with_a_file_read_apart_is_told_as_ever(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        file.attrs["format"] = "other"
    with pytest.raises(RunFileError, match="an HDF5 file, but not a run file"):
        apart.load_apart(path)
    with pytest.raises(RunFileError, match="does not exist"):
        apart.load_apart(path.with_name("none.h5"))
