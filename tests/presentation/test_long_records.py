"""Reports of long records: their channels stay on disk, and are read one after another."""

import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from halfreal.presentation import html, measures, plots
from halfreal.records.on_disk import StoredSignal, load_on_disk
from halfreal.records.run_file import save
from halfreal.runs.judged_samples import as_slice, envelope, peak
from halfreal.runs.run import Run, Signal

CHANNELS, COLUMNS = 60, 10
"""Channels of a record, and how many of its columns a report may have in memory at a time."""


@pytest.fixture
def long(steady: Run, tmp_path: Path) -> Path:
    """A run file with many channels."""
    more = {f"extra.{i}": Signal("N", steady["target"] * i) for i in range(CHANNELS - len(steady.signals))}
    save(replace(steady, signals={**steady.signals, **more}), tmp_path / "long.h5")
    return tmp_path / "long.h5"


def test_a_page_about_a_record_on_disk_is_the_same(long: Path):
    in_memory, on_disk = load_on_disk(long), load_on_disk(long, large=0)
    assert not any(isinstance(one, StoredSignal) for one in in_memory.signals.values())
    assert all(isinstance(one, StoredSignal) for one in on_disk.signals.values())
    assert html.render(on_disk) == html.render(in_memory)


def peak_of_a_report(path: Path, large: int) -> int:
    """Bytes at the peak of what a page reads and computes; drawing the lines afterwards is the same for any record."""
    tracemalloc.start()
    run = load_on_disk(path, large)
    measures.measures(run, 0.0)
    plots.time_history(run)
    [html.channel_row(name, signal.unit, signal.values) for name, signal in run.signals.items()]
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def test_memory_grows_by_a_few_columns_not_by_all_channels(steady: Run, tmp_path: Path):
    grown = {}
    for large in (0, 10**12):
        peaks = []
        for times in (4, 20, 36):  # the first, to load all that a page needs, is not counted
            signals = {name: replace(one, values=np.tile(one.values, times)) for name, one in steady.signals.items()}
            more = {f"extra.{i}": signals["target"] for i in range(CHANNELS - len(signals))}
            long = replace(steady, time=steady.step * np.arange(times * len(steady.time)), signals={**signals, **more})
            save(long, tmp_path / "long.h5", overwrite=True)
            peaks.append(peak_of_a_report(tmp_path / "long.h5", large))
        grown[large] = (peaks[2] - peaks[1]) / (16 * steady.time.nbytes)
    assert grown[0] < COLUMNS < CHANNELS < grown[10**12]


def test_envelopes_and_peaks_of_long_records_are_found_piece_by_piece(monkeypatch: pytest.MonkeyPatch):
    values = np.random.default_rng(1).normal(size=100_003)
    values[500:700] = np.nan
    values[5], values[60_000] = np.inf, -1e13
    time = np.arange(len(values), dtype=float)
    found = envelope(time, values, 400), peak(values, None, 2 * values)
    monkeypatch.setattr("halfreal.runs.judged_samples.PIECE", 10**9)
    whole = envelope(time, values, 400), peak(values, None, 2 * values)
    np.testing.assert_array_equal(found[0], whole[0])
    assert found[1] == whole[1] == np.nanmax(2 * np.abs(np.delete(values, [5, 60_000])))


def test_samples_that_follow_each_other_are_a_view():
    values = np.arange(10.0)
    for kept in (values > 3, values < 3, values > 20, (values > 2) & (values < 7), values % 2 == 0, values[:0] > 0):
        np.testing.assert_array_equal(values[: len(kept)][as_slice(kept)], values[: len(kept)][kept])
    assert np.shares_memory(values[as_slice(values > 3)], values)


def test_one_axis_is_a_column_of_all(steady: Run):
    whole = steady.vector("target")
    assert whole is not None
    np.testing.assert_array_equal(steady.along_axis("target", 0), whole[:, 0])
    assert steady.along_axis("no such signal", 0) is None
