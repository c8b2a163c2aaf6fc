import csv
import sys
from dataclasses import replace

import numpy as np
import pytest
import pyuff
from scipy.io import loadmat

from halfreal.identification.assembled_frf import frf_of_run, modes_of
from halfreal.records.exchange_formats import ExchangeError, Place, read_mat, read_modes_csv, read_responses_csv
from halfreal.records.export import export, field_names
from halfreal.records.modal_export import contents, read_places, write
from halfreal.records.universal_file import read_uff
from halfreal.runs.run import Signal
from two_modes import OUTPUTS, STEP, recorded


def test_csv_holds_names_units_and_every_digit(tmp_path):
    run = recorded(noise=1e-3)
    assert export(run, tmp_path / "out.csv", ["rig.*", "excitation.virtual"]) == ("rig.nose", "excitation.virtual")
    with (tmp_path / "out.csv").open(encoding="utf-8") as file:
        heading, *rows = list(csv.reader(file))
    assert heading == ["time [s]", "rig.nose [m]", "excitation.virtual [N]"]
    values = np.array(rows, dtype=float)
    np.testing.assert_array_equal(values[:, 0], run.time)
    np.testing.assert_array_equal(values[:, 1], run.signals["rig.nose"].values)


def test_mat_holds_a_field_for_each_channel(tmp_path):
    run = recorded()
    export(run, tmp_path / "out.mat")
    found = loadmat(tmp_path / "out.mat", simplify_cells=True)
    np.testing.assert_array_equal(found["channels"]["virtual_tip"], run.signals["virtual.tip"].values)
    assert dict(zip(found["names"], found["units"], strict=True)) == {
        name: signal.unit for name, signal in run.signals.items()
    }
    assert found["title"] == run.title
    names = field_names(["a.b", "a b", "2 m", "x" * 80, "x" * 79 + "y"])
    assert names[:3] == ["a_b", "a_b_2", "c2_m"]
    assert len(set(names)) == 5 and max(map(len, names)) <= 63


def test_universal_file_holds_time_records_of_twelve_digits(tmp_path):
    run = recorded(noise=1e-3)
    run.signals["measured.force.rz"] = Signal("N m", run.signals["virtual.tip"].values)
    export(run, tmp_path / "out.uff", ["virtual.tip", "excitation.virtual", "measured.force.rz"])
    file = pyuff.UFF(str(tmp_path / "out.uff"))
    tip, force, moment = (one for one in file.read_sets() if one["type"] == 58)
    assert (tip["func_type"], tip["id1"], tip["ordinate_axis_units_lab"]) == (1, "virtual.tip", "m")
    assert (tip["ordinate_spec_data_type"], force["ordinate_spec_data_type"]) == (8, 13)
    assert (tip["rsp_dir"], moment["rsp_dir"], moment["ordinate_spec_data_type"]) == (0, 6, 13)
    assert tip["abscissa_inc"] == STEP
    np.testing.assert_allclose(tip["data"], run.signals["virtual.tip"].values, rtol=1e-11)


def test_universal_file_of_a_soft_start_and_of_a_channel_that_the_test_alone_tells(tmp_path):
    """Every second tick of a record from −1 s on, with a reference that is known from 0 s to 16 s."""
    run = recorded()
    time = run.time[::2] - 1.0
    test = (time > -1e-9) & (time < 16.0)
    signals = {name: Signal(one.unit, one.values[::2]) for name, one in run.signals.items()}
    signals["reference"] = Signal("m", np.where(test, signals["virtual.tip"].values, np.nan))
    soft = replace(run, time=time, signals=signals)
    export(soft, tmp_path / "out.uff", ["virtual.tip", "reference"])
    tip, reference = (one for one in pyuff.UFF(str(tmp_path / "out.uff")).read_sets() if one["type"] == 58)
    np.testing.assert_allclose(tip["x"], time, atol=1e-9)
    np.testing.assert_allclose(reference["x"], time[test], atol=1e-9)
    np.testing.assert_allclose(reference["data"], signals["virtual.tip"].values[test], rtol=1e-11)
    signals["reference"].values[np.flatnonzero(test)[100]] = np.nan
    with pytest.raises(ExchangeError, match=r"'reference' contains values that are not finite, from 0\.396 s on"):
        export(soft, tmp_path / "gap.uff")


def test_what_cannot_be_exported_is_told_with_a_remedy(tmp_path):
    run = recorded()
    for name, channels, told in (
        ("out.csv", ["virtual.tpi"], "did you mean 'virtual.tip'"),
        ("out.csv", ["virtual"], "'virtual.mid'"),
        ("out.xls", [], "'.xls'"),
    ):
        with pytest.raises(ExchangeError, match=told):
            export(run, tmp_path / name, channels)
    run.time[100:] += STEP
    with pytest.raises(ExchangeError, match="not evenly spaced"):
        export(run, tmp_path / "out.uff")
    assert not list(tmp_path.iterdir())


def test_responses_and_modes_come_back_from_every_format(tmp_path):
    found = frf_of_run(recorded())
    modes = modes_of(found, highest_hz=18.0)
    texts = ("virtual.tip = 13:z", "virtual.mid = 6:z", "rig.nose = 101:-y", "excitation.virtual = 13:z")
    what = contents(found, modes, read_places(texts))
    for ending, rtol in ((".mat", 0.0), (".csv", 0.0), (".uff", 1e-4)):
        files = write(tmp_path / f"modes{ending}", what)
        if ending == ".csv":
            responses, shapes = read_responses_csv(files[1]), read_modes_csv(files[0])
        else:
            again = (read_mat if ending == ".mat" else read_uff)(files[0])
            responses, shapes = again.responses, again.modes
        np.testing.assert_allclose(responses.values[:, 0], found.values, rtol=max(rtol, 1e-15))
        np.testing.assert_allclose(shapes.poles, modes.poles, rtol=max(rtol, 1e-15))
        # told along the axis, though measured against it
        nose = shapes.shapes[shapes.places.index(Place(101, "y"))]
        np.testing.assert_allclose(nose, -modes.residues[OUTPUTS.index("rig.nose")], rtol=max(rtol, 1e-15))


def test_shapes_without_places_are_refused_by_a_universal_file_only(tmp_path):
    found = frf_of_run(recorded())
    what = contents(found, modes_of(found, highest_hz=18.0))
    with pytest.raises(ExchangeError, match=r"--place 'virtual\.tip = 1:z'"):
        write(tmp_path / "modes.uff", what)
    write(tmp_path / "modes.mat", what)
    with pytest.raises(ExchangeError, match=r"'virtual.tpi', which is not one of"):
        contents(found, modes_of(found, highest_hz=18.0), read_places(["virtual.tpi = 1:z"]))


def test_tdms_holds_units_waveforms_and_the_same_bits(tmp_path):
    nptdms = pytest.importorskip("nptdms", reason="needs the extra records")
    run = recorded(noise=1e-3)
    names = export(run, tmp_path / "out.tdms", ["virtual.tip", "excitation.virtual"])
    file = nptdms.TdmsFile.read(tmp_path / "out.tdms")
    assert (file.properties["title"], file.properties["outcome"]) == (run.title, run.outcome)
    np.testing.assert_array_equal(file["channels"]["time"][:], run.time)
    for name in names:
        channel = file["channels"][name]
        np.testing.assert_array_equal(channel[:], run.signals[name].values)
        assert channel.properties["unit_string"] == run.signals[name].unit
        np.testing.assert_allclose(channel.time_track(), run.time, atol=1e-9)
    gone = np.delete(np.arange(len(run.time)), 7)
    gap = replace(run, time=run.time[gone], signals={"a": Signal("N", run.signals["virtual.tip"].values[gone])})
    export(gap, tmp_path / "gap.tdms")
    assert "wf_increment" not in nptdms.TdmsFile.read(tmp_path / "gap.tdms")["channels"]["a"].properties


def test_tables_of_pandas_and_xarray_have_units():
    pytest.importorskip("pandas", reason="needs the extra records")
    pytest.importorskip("xarray", reason="needs the extra records")
    run = recorded(noise=1e-3)
    frame, dataset = run.to_dataframe(), run.to_xarray()
    assert list(frame.columns) == list(dataset.data_vars) == list(run.signals)
    assert frame.index.name == "time" and frame.attrs["title"] == dataset.attrs["title"] == run.title
    np.testing.assert_array_equal(frame.index, run.time)
    for name, signal in run.signals.items():
        np.testing.assert_array_equal(frame[name], signal.values)
        np.testing.assert_array_equal(dataset[name], signal.values)
        assert frame.attrs["units"][name] == dataset[name].attrs["units"] == signal.unit


def test_tables_say_which_package_they_need(monkeypatch):
    from halfreal.errors import HalfrealError

    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(HalfrealError, match=r"needs the package pandas: pip install 'halfreal\[records\]'"):
        recorded().to_dataframe()
    monkeypatch.setitem(sys.modules, "nptdms", None)
    with pytest.raises(ExchangeError, match="need the package npTDMS"):
        export(recorded(), "out.tdms")
