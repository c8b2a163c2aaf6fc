"""Recorded channels of a run for other programs: CSV, MAT, TDMS and universal files.

===== =================================================================================================
.csv  a column for the time and each channel under "name [unit]", every number to its last digit
.mat  version 5, for MATLAB, Octave and scipy: ``time``; the structure ``channels`` with a field for each
      channel, in whose name all but letters and digits is ``_``; cells ``names``, ``fields`` and ``units``
      in one order; ``title``, ``kind``, ``outcome``, ``started``, and the ``definition`` as TOML
.tdms for LabVIEW, VeriStand and DIAdem: the group "channels", its channels with their ``unit_string`` and,
      where samples are equally far apart, the waveform properties; the times as a channel too; ``title``,
      ``kind``, ``outcome``, ``started`` and ``definition`` as properties of the file
.uff  a set 58 of function type 1 (time response) for each channel, which is node 1, 2, … and has the
      direction of its axis where it has one; name, title and start in its first lines; twelve digits
===== =================================================================================================

Times in a universal file are a start and a step of six digits: a record with gaps is refused there.
"""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from ..runs.run import Run, Signal
from .exchange_formats import ExchangeError, Place
from .universal_file import UNITS, direction_of, load_pyuff, ordinate
from .whole_file import whole_file

TIME, TIME_RESPONSE = 17, 1
GROUP = "channels"
"""Of a TDMS file."""
EVEN = 1e-6
"""Part of the step by which times may be off it, and still count as equally far apart."""
LONGEST_FIELD = 63
"""Characters of a name in MATLAB."""


def export(run: Run, path: str | Path, channels: Sequence[str] = (), *, overwrite: bool = False) -> tuple[str, ...]:
    """Write recorded channels to another format.

    Parameters
    ----------
    run
        A rehearsal or a run.
    path
        The file to write; its suffix selects the format: .csv, .mat, .tdms or .uff.
    channels
        Names or patterns with ``*``, such as ``measured.*``; default: all.
    overwrite
        Whether an existing file is replaced.

    Returns
    -------
    tuple of str
        Names of the channels written.
    """
    path = Path(path)
    known = {".csv": _write_csv, ".mat": _write_mat, ".tdms": _write_tdms, ".uff": _write_uff}
    write = known.get(path.suffix.lower())
    if write is None:
        raise ExchangeError(f"'{path.name}' has the extension '{path.suffix}'; use .csv, .mat, .tdms or .uff")
    signals = chosen(run.signals, channels)
    if not len(run.time):
        raise ExchangeError(f"the {run.kind} '{run.title}' has no samples; there is nothing to export")
    with whole_file(path, overwrite) as temporary:
        write(run, signals, temporary)
    return tuple(signals)


def chosen(signals: Mapping[str, Signal], patterns: Sequence[str]) -> dict[str, Signal]:
    """The channels of these names and patterns, each once, in the order of asking."""
    found: dict[str, Signal] = {}
    for pattern in patterns or ("*",):
        names = [pattern] if pattern in signals else [name for name in signals if fnmatchcase(name, pattern)]
        if not names:
            near = difflib.get_close_matches(pattern, signals, n=3)
            near += [name for name in signals if name.startswith(f"{pattern}.") and name not in near][:6]
            meant = ", ".join(f"'{name}'" for name in near)
            hint = f"did you mean {meant}?" if near else "'halfreal info' lists those of a run file"
            raise ExchangeError(f"no channel '{pattern}' was recorded; {hint}")
        found |= {name: signals[name] for name in names}
    return found


def _write_csv(run: Run, signals: Mapping[str, Signal], path: Path) -> None:
    columns = [np.asarray(run.time, dtype=float), *(signal.values for signal in signals.values())]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["time [s]", *(f"{name} [{signal.unit}]" for name, signal in signals.items())])
        writer.writerows(zip(*(column.tolist() for column in columns), strict=True))


def _write_mat(run: Run, signals: Mapping[str, Signal], path: Path) -> None:
    from scipy.io import savemat

    fields = field_names(list(signals))
    columns = [_column(signal.values) for signal in signals.values()]
    contents: dict[str, Any] = {
        "time": _column(run.time),
        "channels": dict(zip(fields, columns, strict=True)),
        "names": _cells(signals),
        "fields": _cells(fields),
        "units": _cells([signal.unit for signal in signals.values()]),
        "definition": run.definition_text,
    }
    contents |= {key: getattr(run, key) for key in ("title", "kind", "outcome", "started")}
    savemat(path, contents, appendmat=False, long_field_names=True)


def field_names(names: Sequence[str]) -> list[str]:
    """Names that MATLAB takes for fields: letters, digits and ``_``, a letter first, none twice."""
    found: list[str] = []
    for name in names:
        field = re.sub(r"[^A-Za-z0-9]", "_", name)
        field = (field if field[:1].isalpha() else f"c{field}")[:LONGEST_FIELD]
        number = 2
        base = field
        while field in found:
            field, number = f"{base[: LONGEST_FIELD - 4]}_{number}", number + 1
        found.append(field)
    return found


def _column(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, dtype=float).reshape(-1, 1)


def _cells(texts: Any) -> np.ndarray:
    return np.array(list(texts), dtype=object).reshape(-1, 1)


def _write_tdms(run: Run, signals: Mapping[str, Signal], path: Path) -> None:
    try:
        from nptdms import ChannelObject, RootObject, TdmsWriter
    except ImportError as error:
        raise ExchangeError("TDMS files need the package npTDMS: pip install 'halfreal[records]'") from error
    time = np.asarray(run.time, dtype=float)
    step = even_step(time)
    even = {} if step is None else {"wf_start_offset": float(time[0]), "wf_increment": step, "wf_samples": time.size}
    about = {key: getattr(run, key) for key in ("title", "kind", "outcome", "started")}
    found: list[Any] = [RootObject({"name": run.title, **about, "definition": run.definition_text})]
    found.append(ChannelObject(GROUP, "time", time, {"unit_string": "s"}))
    for name, signal in signals.items():
        values = np.asarray(signal.values, dtype=float)
        found.append(ChannelObject(GROUP, name, values, {"unit_string": signal.unit, **even}))
    with TdmsWriter(str(path)) as file:
        file.write_segment(found)


def even_step(time: np.ndarray) -> float | None:
    """What samples are apart [s], if that is the same for all; a record may hold every tenth tick."""
    step = float(np.median(np.diff(time))) if time.size > 1 else 0.0
    return step if step > 0.0 and np.abs(np.diff(time) / step - 1.0).max() <= EVEN else None


def _write_uff(run: Run, signals: Mapping[str, Signal], path: Path) -> None:
    time = np.asarray(run.time, dtype=float)
    step = even_step(time)
    if step is None:
        raise ExchangeError(
            f"the samples of this record, {time.size}, are not evenly spaced, but a universal file stores only "
            "the first time and the step; export it to .csv or .mat"
        )
    sets = []
    for number, (name, signal) in enumerate(signals.items(), start=1):
        # a channel may be finite during the test only, and not before and after it: each set has its own start
        told = np.flatnonzero(np.isfinite(np.asarray(signal.values, dtype=float)))
        first, last = (int(told[0]), int(told[-1]) + 1) if told.size else (0, 0)
        if told.size < 2 or told.size != last - first:
            gap = int(np.argmax(np.diff(told) > 1)) if told.size > 1 else 0
            where = f"from {time[told[gap]]:g} s on" if told.size > 1 else "throughout"
            raise ExchangeError(
                f"channel '{name}' contains values that are not finite, {where}, but a universal "
                "file stores numbers only; "
                "omit it (--channels), or export to .csv or .mat"
            )
        values = np.asarray(signal.values, dtype=float)[first:last]
        lines = (name, run.title, run.started, f"{run.kind}, {run.outcome}")
        sets.append(
            {
                "type": 58,
                "func_type": TIME_RESPONSE,
                **{f"id{i}": line[:80] for i, line in enumerate(lines, start=1)},
                "rsp_node": number,
                "rsp_dir": Place(number, direction_of(name)).code,
                "ref_node": 0,
                "ref_dir": 0,
                "abscissa_spacing": 1,
                "abscissa_spec_data_type": TIME,
                "abscissa_axis_lab": "time",
                "abscissa_axis_units_lab": "s",
                "ordinate_spec_data_type": ordinate(signal.unit),
                "ordinate_axis_lab": name[:20],
                "ordinate_axis_units_lab": signal.unit,
                "orddenom_spec_data_type": 0,
                "x": time[first] + step * np.arange(2),  # pyuff takes start and step from its first two
                "data": values,
            }
        )
    try:
        load_pyuff().UFF(str(path)).write_sets([UNITS, *sets], "add")
    except OSError as error:
        raise ExchangeError(f"'{path}' cannot be written: {error}") from error
