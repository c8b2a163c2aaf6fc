"""Reports of long records: their columns stay on disk, are read piece by piece, and need a fixed memory."""

import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from halfreal.presentation import compare, compare_html, html, measures, plots
from halfreal.presentation.common_times import common
from halfreal.presentation.spreads import Numbers
from halfreal.records.on_disk import StoredColumn, load_on_disk
from halfreal.records.run_file import save
from halfreal.runs import columns, error_measures, judged_samples, spectra
from halfreal.runs.columns import Computed, computed, part
from halfreal.runs.judged_samples import envelope, peak
from halfreal.runs.run import Run, Signal

CHANNELS = 24
STEP = 1e-3


@pytest.fixture
def long(steady: Run, tmp_path: Path) -> Path:
    """A run file with many channels."""
    more = {f"extra.{i}": Signal("N", steady["target"] * i) for i in range(CHANNELS - len(steady.signals))}
    save(replace(steady, signals={**steady.signals, **more}), tmp_path / "long.h5")
    return tmp_path / "long.h5"


def test_a_page_about_a_record_on_disk_is_the_same(long: Path):
    in_memory, on_disk = load_on_disk(long), load_on_disk(long, large=0)
    assert all(isinstance(one.values, np.ndarray) for one in in_memory.signals.values())
    assert all(isinstance(one.values, StoredColumn) for one in on_disk.signals.values())
    assert html.render(on_disk) == html.render(in_memory)


@pytest.mark.parametrize("kind", ["tripped", "stopped", "two_axes"])
def test_every_kind_of_record_has_the_same_page_from_disk(
    kind: str, request: pytest.FixtureRequest, small_pieces: None, tmp_path: Path
):
    save(request.getfixturevalue(kind), tmp_path / "run.h5")
    assert html.render(load_on_disk(tmp_path / "run.h5", large=0)) == html.render(load_on_disk(tmp_path / "run.h5"))


def test_a_comparison_of_records_on_disk_is_the_same(real: Run, steady: Run, small_pieces: None, tmp_path: Path):
    save(real, tmp_path / "one.h5")
    save(steady, tmp_path / "other.h5")
    pages = [
        compare_html.render(*(load_on_disk(tmp_path / name, large) for name in ("one.h5", "other.h5")))
        for large in (0, 10**12)
    ]
    assert pages[0] == pages[1]


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces, and transforms of parts, that are shorter than the records of the tests."""
    for module in (columns, judged_samples, spectra):
        monkeypatch.setattr(module, "PIECE", 700)
    monkeypatch.setattr(spectra, "MOST", 900)
    monkeypatch.setattr(spectra, "AT_ONCE", 2)


def peak_of_a_report(path: Path, large: int) -> int:
    """Bytes at the peak of what a page reads and computes; drawing the lines afterwards is the same for any record."""
    tracemalloc.start()
    run = load_on_disk(path, large)
    measures.measures(run, 0.0)
    html.phases(run), html.verdict(run), html.real_time(run)
    plots.time_history(run), plots.synchronisation(run, delay=2e-3)
    [html.channel_row(name, signal.unit, signal.values) for name, signal in run.signals.items()]
    compare.agreements(run, run)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def test_memory_does_not_grow_with_the_length_of_a_record(steady: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Less than a column of what a record grows by, where a record in memory takes more than all its channels."""
    for module, name in ((columns, "PIECE"), (judged_samples, "PIECE"), (spectra, "PIECE"), (spectra, "MOST")):
        monkeypatch.setattr(module, name, 1 << 13)
    monkeypatch.setattr(spectra, "AT_ONCE", 2)
    monkeypatch.setattr(plots, "MOST_POINTS", 2000)
    grown = {}
    for large in (0, 10**12):
        peaks = []
        for times in (4, 24, 48):  # the first, to load all that a page needs, is not counted
            signals = {name: replace(one, values=np.tile(one.values, times)) for name, one in steady.signals.items()}
            more = {f"extra.{i}": signals["target"] for i in range(CHANNELS - len(signals))}
            long = replace(steady, time=steady.step * np.arange(times * len(steady.time)), signals={**signals, **more})
            save(long, tmp_path / "long.h5", overwrite=True)
            peaks.append(peak_of_a_report(tmp_path / "long.h5", large))
        grown[large] = (peaks[2] - peaks[1]) / (24 * steady.time.nbytes)
    assert grown[0] < 0.5 < CHANNELS < grown[10**12]


def test_envelopes_and_peaks_of_long_records_are_found_piece_by_piece(monkeypatch: pytest.MonkeyPatch):
    values = np.random.default_rng(1).normal(size=100_003)
    values[500:700] = np.nan
    values[5], values[60_000] = np.inf, -1e13
    time = np.arange(len(values), dtype=float)
    found = envelope(time, values, 400), peak(values, None, 2 * values)
    for module in (columns, judged_samples):
        monkeypatch.setattr(module, "PIECE", 10**9)
    whole = envelope(time, values, 400), peak(values, None, 2 * values)
    np.testing.assert_array_equal(found[0], whole[0])
    assert found[1] == whole[1] == np.nanmax(2 * np.abs(np.delete(values, [5, 60_000])))
    assert found[0][0][-1] == time[-1] and len(found[0][0]) < 410


@pytest.mark.parametrize("decay", [0.0, 3.0], ids=["windowed", "transient"])
@pytest.mark.parametrize("count", [4096, 5000, 7919, 12_345])
def test_amplitude_and_delay_in_parts_are_those_of_the_whole(decay: float, count: int, monkeypatch: pytest.MonkeyPatch):
    time = STEP * np.arange(count)
    fading = np.exp(-decay * time / time[-1])
    noise = np.random.default_rng(2).normal(size=(2, count))
    r = 0.2 + fading * (np.sin(20 * time) + 0.3 * np.sin(71 * time)) + 1e-3 * noise[0]
    x = 0.9 * fading * (np.sin(20 * time - 0.1) + 0.3 * np.sin(71 * time - 0.3)) + 1e-3 * noise[1]
    monkeypatch.setattr(spectra, "MOST", 500)
    monkeypatch.setattr(columns, "PIECE", 300)
    parts, length = spectra.whole_parts(count)
    in_parts = error_measures.frequency_evaluation(r, x, STEP)
    errors = error_measures.sample_errors(r, x)
    monkeypatch.undo()
    assert parts > 1 and 0 <= count - parts * length < parts
    used = slice(parts * length)
    whole = error_measures.frequency_evaluation(r[used], x[used], STEP)
    for name in ("amplitude", "phase", "frequency_hz", "delay"):
        assert getattr(in_parts, name) == pytest.approx(getattr(whole, name), rel=1e-10)
    assert errors == pytest.approx(error_measures.sample_errors(r, x), rel=1e-12)


def test_transforms_in_parts_have_every_frequency_once(small_pieces: None):
    for count in (12, 901, 1800, 1802, 2703, 4500):
        parts, length = spectra.whole_parts(count)
        values = np.random.default_rng(count).normal(size=parts * length)
        pairs = [(numbers, transform) for numbers, (transform,) in spectra.transforms(values)]
        numbers, found = (np.concatenate(all_of) for all_of in zip(*pairs, strict=True))
        order = np.argsort(numbers)
        np.testing.assert_array_equal(numbers[order], np.arange(len(values) // 2 + 1))
        np.testing.assert_allclose(found[order], np.fft.rfft(values), rtol=0, atol=1e-11 * np.sqrt(count))


def test_percentiles_are_exact_in_pieces(small_pieces: None):
    values = np.random.default_rng(3).lognormal(-10, 2, size=5001) - 1e-5
    values[[3, 800, 4000]] = np.nan, np.inf, 0.0
    values[1000:2000] = 2e-5
    shares = (0.0, 12.3, 50.0, 99.0, 99.9, 100.0)
    for positive in (False, True):
        kept = values[np.isfinite(values) & ((values > 0) | (not positive))]
        found = Numbers(values, positive)
        assert found.percentiles(shares) == pytest.approx(np.percentile(kept, shares), rel=1e-14)
        assert (len(found), found.least, found.largest) == (len(kept), kept.min(), kept.max())
        assert found.last == kept[-1] and found.mean == pytest.approx(kept.mean(), rel=1e-12)


@pytest.mark.parametrize(("every", "other", "shift"), [(1, 1, 0), (2, 3, 1), (1, 4, 100), (2, 2, 1), (6, 4, 3)])
def test_common_times_are_slices_and_those_that_a_comparison_of_all_finds(
    steady: Run, every: int, other: int, shift: int
):
    first = replace(steady, time=STEP * np.arange(0, 500, every))
    second = replace(steady, time=STEP * np.arange(shift, 400, other))
    uneven = replace(second, time=np.append(second.time, 0.95))
    (i, j), (k, m) = (
        common(first, run, slice(5, len(first.time)), slice(0, len(run.time))) for run in (second, uneven)
    )
    assert isinstance(i, slice) and isinstance(k, np.ndarray)
    at = first.time[i]
    np.testing.assert_array_equal(at, first.time[k])
    np.testing.assert_allclose(at, second.time[j], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(second.time[j], uneven.time[m])


def test_parts_of_columns_are_read_when_they_are_used(long: Path):
    stored, values = load_on_disk(long, large=0).signals["target"].values, load_on_disk(long).signals["target"].values
    assert isinstance(part(stored, slice(3, 50)), Computed)
    for rows in (slice(None), slice(7, 4000), slice(3, 4990, 7), slice(40, 40), slice(4000, 9000)):
        np.testing.assert_array_equal(part(stored, rows)[:], values[rows])
        np.testing.assert_array_equal(part(part(stored, rows), slice(1, 9, 2))[:], values[rows][1:9:2])
        np.testing.assert_array_equal(computed(np.add, stored, values)[rows], 2 * values[rows])
    assert stored[-1] == values[-1] and np.shares_memory(part(values, slice(3, 9)), values)
    np.testing.assert_array_equal(np.asarray(stored), values)


def test_times_are_computed_only_if_they_are_the_same_to_the_bit(steady: Run, tmp_path: Path):
    later = np.nextafter(steady.time, np.inf)
    for time, expected in ((steady.time, Computed), (later, StoredColumn)):
        save(replace(steady, time=time), tmp_path / "run.h5", overwrite=True)
        found = load_on_disk(tmp_path / "run.h5", large=0).time
        assert isinstance(found, expected)
        np.testing.assert_array_equal(found[:], time)


def test_late_values_are_interpolated_in_pieces(small_pieces: None):
    time = STEP * np.arange(5000)
    values = np.sin(3 * time)
    at = np.linspace(-0.5, 5.5, 999)
    np.testing.assert_allclose(plots.interpolated(at, time, values), np.interp(at, time, values), rtol=0, atol=1e-15)


def test_one_axis_is_a_column_of_all(steady: Run):
    whole = steady.vector("target")
    assert whole is not None
    np.testing.assert_array_equal(steady.along_axis("target", 0), whole[:, 0])
    assert steady.along_axis("no such signal", 0) is None
