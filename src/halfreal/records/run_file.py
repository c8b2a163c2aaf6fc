"""A run as one HDF5 file.

Layout, for any program that reads HDF5 (here in h5py's words; texts are UTF-8)::

    /                     attributes: format = "halfreal run", format_version, title, kind, outcome, reason,
                          step [s], axes (their names), rotations (which of them are), drives (commands are forces of
                          actuators, which are no axes), passive (axes that are not commanded) and actuators (names of
                          those that move the interface by their strokes), where there are such,
                          seed (decimal text: it may exceed 64 bits), started (ISO 8601, UTC)
    /time                 float64 (n,), attribute unit = "s"
    /channels/<name>      (n,), attributes name and unit; in the order of recording
    /events/time          float64 (e,), attribute unit = "s"
    /events/channel, /events/text      text (e,)
    /definition/toml      the definition as it was given
    /definition/json      the same normalised: SI numbers, every default written out
    /references           keys of the papers of the methods used, text (r,)
    /versions, /host      attributes: name = text
    /rig                  in the same way: nature ("simulated", "real" or "unknown"), name and address of the rig, how
                          its link was guarded
    /code                 in the same way: SHA-256 of each file of the user's that was run
    /about                in the same way, where they were given: operator, specimen, calibration, notes
    /judgement            attribute verdict; /judgement/reasons, remedies: text; /judgement/limits_used: attributes
    /after/accepted       once a run has been judged, JSON: word ("ACCEPTED" or "NOT ACCEPTED"), reasons, test (the
                          same of the test alone) and computer (``halfreal.runs.run.Computer``, or null); older files
                          lack the latter two
    /after/specimen_met   once a run has been looked at, JSON: properties of the specimen next to those of the model
                          (``halfreal.runs.run.Property``), and the reason if they are not known
    /after/scores         where the definition names criteria, JSON: their values and units, by name
    /stability            only if it was assessed; attributes spectral_radius, stable, text, and
                          where known delay_margin [s], critical_delay [s], phase_margin_deg, gain_margin_db
    /stability/frequency_hz, damping, magnitude      (p,)
    /stability/continuous where the delay equation of the loop is known: attributes text, verdict, root_real,
                          root_imaginary [1/s], and delay_margin [s] if it has one
    /stability/open_loop  where margins are known: frequency_hz (f,), values (f, c) complex (r, i), the eigenvalues of
                          the loop cut at its command; crossing_hz, lag_deg, harmful; gain_hz, gain_db; attribute text

``h5py.File(path)["channels/target"][:]`` is the target.  In the name of a channel's dataset ``/`` is written ``%2F``
and ``%`` is written ``%25``, a name of dots only ends in ``%2E``, and no name is ``%``; the attribute ``name`` is the
exact one.

Data are compressed (gzip after a byte shuffle) and carry checksums, and behind the end of the HDF5 file stands a
checksum of the whole (``seal.py``), so that a damaged file is noticed.  A file is written under a temporary name and
renamed when it is whole.

A file that is being recorded, or was until its recorder was killed or the disk was full, has the same layout, not
compressed, and holds ``/ending`` and ``/live`` besides (``live_layout.py``): there, ``/ending`` has the last word on
how the run ended, and of ``/time`` and the channels the first ``/live/written[1]`` values count.  Instead of a seal it
has checksums of its header and of each stretch of rows; those that do not match are not read.  While the recorder is
at work, and after it was killed, such a file opens with ``h5py.File(path, swmr=True)``.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np

from ..contracts.axes import Axes
from ..errors import HalfrealError
from ..runs.run import Event, Integrity, Run, Signal
from . import after_run, live_checksums, live_layout, seal, stability_group, superblock
from .bounded_file import BoundedFile, length_error
from .datasets import array, text_of
from .new_file import new_hdf5_file
from .whole_file import whole_file

FORMAT = "halfreal run"
FORMAT_VERSION = 2


SPECIMEN, ACCEPTED, SCORES = "after/specimen_met", "after/accepted", "after/scores"
"""What is found out after a run."""
FACTS = ("versions", "host", "rig", "code", "about")
"""Groups of texts."""


TRIES, PAUSE = 10, 0.05
"""Looks at a file that is being written while it is read, and the seconds between them."""


class RunFileError(HalfrealError):
    """A file that holds no run this version can read, or a run that cannot be written."""


def save(run: Run, path: str | Path, overwrite: bool = False, instead_of: tuple[int, int] | None = None) -> None:
    """Write a run to an HDF5 file, completely or not at all.

    Parameters
    ----------
    run
        A rehearsal or a run.
    path
        The file to write.
    overwrite
        Whether an existing file is replaced.
    instead_of
        Identity (device, inode) of the only file that may be replaced.
    """
    with whole_file(path, overwrite, instead_of) as temporary:
        with new_hdf5_file(temporary) as file:
            _write(run, file, f"'{path}'")
        seal.put(temporary)


def content(run: Run) -> bytes:
    """What ``save`` would write, made in memory."""
    import h5py

    made = io.BytesIO()
    with h5py.File(made, "w") as file:
        _write(run, file, "memory")
    return seal.sealed(made.getvalue())


def load_run(path: str | Path) -> Run:
    """Read a run file; one that is still being recorded, or was cut off, as far as it is complete.

    Parameters
    ----------
    path
        An HDF5 file written by ``save``, ``run`` or the command line.

    Returns
    -------
    Run
        Bit-identical to what was saved.
    """
    path = Path(path)
    for left in reversed(range(TRIES)):
        try:
            return _load(path)
        except RunFileError:
            if left == 0 or not _in_flux(path):
                raise
            time.sleep(PAUSE)  # a recorder had it in hand: the next look finds it whole
    raise AssertionError("the last try returns or raises")


def _in_flux(path: Path) -> bool:
    """Whether someone writes the file, or has just done so."""
    try:
        with path.open("rb") as file:
            return live_layout.is_locked(file.fileno()) or time.time() - path.stat().st_mtime < 1.0
    except OSError:
        return False


def _load(path: Path) -> Run:
    import h5py

    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is not an ordinary file" if path.exists() else "does not exist"
        raise RunFileError(f"'{path}' {what} where a run file is expected; check the name")
    if not h5py.is_hdf5(path):
        size = path.stat().st_size
        raise RunFileError(
            f"'{path}' ({size} bytes) is not an HDF5 file where a run file is expected; "
            "give a file that halfreal recorded, or copy it again if it was truncated"
        )
    found = seal.look(path)
    if found is seal.Seal.BROKEN:
        raise damaged(path, "; its content does not match the checksum at its end")
    try:
        with _opened(path) as (file, fd):
            if "format" not in file.attrs and superblock.is_flagged(fd):
                raise damaged(path, f"; it has {os.fstat(fd).st_size} bytes of a file that was being recorded")
            check_format(file, path)
            if "live" in file:
                return _recorded(path, file, fd)
            run = read_run(file)
            unsealed = None if found is seal.Seal.INTACT else Integrity(len(run.time), 0, has_checksums=False)
            return replace(run, integrity=unsealed)
    except RunFileError:
        raise
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:  # a damaged file may hold anything
        raise damaged(path) from error


def _recorded(path: Path, file: Any, fd: int) -> Run:
    """The run in a file that is being recorded or was cut off, as far as it matches its checksums."""
    state = live_layout.read_state(file, live_layout.is_locked(fd), os.fstat(fd).st_size)
    run, happened = read_run(file, state.rows), None
    integrity = Integrity(state.rows, 0, has_checksums=False)
    if live_checksums.NAME in file:
        entries = file[live_checksums.NAME][()]
        if len(entries) == 0 or live_checksums.digest_of(entries[0]) != live_checksums.of_header(file):
            raise damaged(path, "; its header does not match its checksum")
        columns = [signal.values for signal in run.signals.values()]
        count, happened = live_checksums.verified(entries, run.time, columns, state.changes_seen)
        integrity = Integrity(state.rows, count)
        signals = {name: Signal(one.unit, one.values[:count]) for name, one in run.signals.items()}
        run = replace(run, time=run.time[:count], signals=signals)
    ended = state.changes(float(run.time[-1]) if len(run.time) else None)
    return replace(run, events=run.events + state.events(happened), integrity=integrity, **ended)


def damaged(path: Path, why: str = "") -> RunFileError:
    return RunFileError(
        f"'{path}' is damaged or truncated{why}: a complete run file of format {FORMAT_VERSION} is expected; "
        "copy it again from where it was recorded"
    )


def definition_hash(definition: Mapping[str, Any]) -> str:
    """SHA-256 of the normalised definition: the same test has the same hash, however its file is laid out."""
    text = json.dumps(definition, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_plain)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# --- writing --------------------------------------------------------------------------------------------------------


def _write(run: Run, file: Any, where: str) -> None:
    _check(run)
    try:
        write_header(run, file)
        _write_data(run, file)
    except (TypeError, ValueError, UnicodeEncodeError) as error:
        raise RunFileError(f"the run '{run.title}' cannot be written to {where}: {error}") from error


def _check(run: Run) -> None:
    for name, signal in run.signals.items():
        if np.shape(signal.values) != np.shape(run.time):
            raise RunFileError(
                f"channel '{name}' has the shape {np.shape(signal.values)} where {np.shape(run.time)}, that of the "
                "run's times, is expected; record it at every time"
            )


def write_header(run: Run, file: Any) -> None:
    """Write everything but the times and the channels' values."""
    head = file.attrs
    head["format"], head["format_version"] = FORMAT, FORMAT_VERSION
    for key in ("title", "kind", "outcome", "reason", "started"):
        head[key] = text_of(getattr(run, key), key)
    head["step"], head["seed"] = float(run.step), str(int(run.seed))
    head["axes"], head["drives"] = list(run.interface.names), run.interface.drives
    head["rotations"] = run.interface.rotations
    if run.interface.passive:
        head["passive"] = list(run.interface.passive)
    if run.interface.moved_by is not None:
        head["actuators"] = list(run.interface.moved_by)

    events = file.create_group("events")
    array(events, "time", np.array([event.time for event in run.events], dtype=float)).attrs["unit"] = "s"
    _texts(events, "channel", [event.channel for event in run.events])
    _texts(events, "text", [event.text for event in run.events])

    definition = file.create_group("definition")
    definition["toml"] = text_of(run.definition_text, "definition_text")
    definition["json"] = text_of(json.dumps(run.definition, ensure_ascii=False, default=_plain), "definition")
    _texts(file, "references", run.references)
    for key in FACTS:
        group = file.create_group(key)
        for name, value in getattr(run, key).items():
            group.attrs[text_of(name, key)] = text_of(value, key)

    group = file.create_group("judgement")
    group.attrs["verdict"] = run.verdict
    for key in ("reasons", "remedies"):
        _texts(group, key, getattr(run, key))
    used = group.create_group("limits_used")
    for name, share in run.limits_used.items():
        used.attrs[text_of(name, "limits_used")] = float(share)

    if run.stability is not None:
        stability_group.write(file.create_group("stability"), run.stability)

    for place, found in ((SPECIMEN, run.specimen_met), (ACCEPTED, run.accepted)):
        if found is not None:
            file[place] = text_of(after_run.written(found), place)
    if run.scores:
        file[SCORES] = text_of(after_run.written_scores(run.scores), SCORES)


def _write_data(run: Run, file: Any) -> None:
    name_time(array(file, "time", run.time))
    channels = file.create_group("channels", track_order=True)
    for name, signal in run.signals.items():
        name_channel(array(channels, escaped(name), signal.values), name, signal.unit)


def name_time(dataset: Any) -> None:
    dataset.attrs["unit"] = "s"


def name_channel(dataset: Any, name: str, unit: str) -> None:
    dataset.attrs["name"], dataset.attrs["unit"] = text_of(name, "channel"), text_of(unit, "unit")


def _texts(group: Any, name: str, values: Any) -> None:
    import h5py

    texts = np.array([text_of(value, name) for value in values], dtype=object)
    group.create_dataset(name, data=texts, dtype=h5py.string_dtype())


def escaped(name: str) -> str:
    """A channel's name as that of an HDF5 link, in which ``/`` and ``.`` alone have a meaning of their own."""
    name = name.replace("%", "%25").replace("/", "%2F")
    if not name:
        return "%"
    return name if name.strip(".") else name[:-1] + "%2E"


def _plain(value: Any) -> Any:
    """What JSON has no word for: arrays become lists, paths become texts."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"its definition contains {value!r}, which is not a number, text, list or table")


# --- reading --------------------------------------------------------------------------------------------------------


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, int]]:
    """The open HDF5 file and a descriptor of the same, also next to a recorder at work or after one was killed."""
    import h5py

    fd = os.open(path, os.O_RDONLY)
    try:
        if not superblock.is_flagged(fd) and (why := length_error(fd)):
            raise damaged(path, why)
        with h5py.File(BoundedFile(fd), "r") as file:
            yield file, fd
    finally:
        os.close(fd)


def check_format(file: Any, path: Path) -> None:
    if file.attrs.get("format") != FORMAT:
        raise RunFileError(
            f"'{path}' is an HDF5 file, but not a run file: its attribute 'format' is "
            f"{file.attrs.get('format')!r} where "
            f"{FORMAT!r} is expected; give a file that halfreal recorded"
        )
    version = int(file.attrs["format_version"])
    if version > FORMAT_VERSION:
        raise RunFileError(
            f"'{path}' has format version {version} and this halfreal reads versions up to {FORMAT_VERSION}; "
            "update halfreal"
        )


def read_run(file: Any, rows: int | None = None, columns: tuple[np.ndarray, Mapping[str, Signal]] | None = None) -> Run:
    """The run in a file; of one that was being recorded, ``rows`` values; with these times and signals if given."""
    head, definition = file.attrs, file["definition"]
    time, signals = columns or (
        file["time"][:rows],
        {one.attrs["name"]: Signal(unit=one.attrs["unit"], values=one[:rows]) for one in file["channels"].values()},
    )
    run = Run(
        title=head["title"],
        kind=_one_of("kind", head["kind"]),
        definition=json.loads(definition["json"].asstr()[()]),
        definition_text=definition["toml"].asstr()[()],
        step=float(head["step"]),
        time=time,
        signals=signals,
        events=_events(file["events"]),
        outcome=_one_of("outcome", head["outcome"]),
        reason=head["reason"],
        seed=int(head["seed"]),
        started=head["started"],
        interface=_axes(head),
        stability=stability_group.read(file["stability"]) if "stability" in file else None,
        verdict=_one_of("verdict", file["judgement"].attrs["verdict"]),
        reasons=tuple(file["judgement/reasons"].asstr()[()]),
        remedies=tuple(file["judgement/remedies"].asstr()[()]),
        limits_used={name: float(share) for name, share in file["judgement/limits_used"].attrs.items()},
        references=tuple(file["references"].asstr()[()]),
        versions=_facts(file, "versions"),
        host=_facts(file, "host"),
        rig=_facts(file, "rig"),
        code=_facts(file, "code"),
        about=_facts(file, "about"),
        specimen_met=after_run.specimen(file[SPECIMEN].asstr()[()]) if SPECIMEN in file else None,
        accepted=after_run.judgement(file[ACCEPTED].asstr()[()]) if ACCEPTED in file else None,
        scores=after_run.scores(file[SCORES].asstr()[()]) if SCORES in file else {},
    )
    if columns is None:
        _check(run)
    return run


def _facts(file: Any, key: str) -> dict[str, str]:
    return dict(file[key].attrs) if key in file else {}


def _axes(head: Any) -> Axes:
    if int(head["format_version"]) == 1:
        return Axes.numbered(int(head["interface"]))
    turning = tuple(bool(one) for one in head["rotations"]) if "rotations" in head else None
    moved_by = tuple(map(str, head["actuators"])) if "actuators" in head else None
    passive = tuple(map(str, head.get("passive", ())))
    return Axes(tuple(head["axes"]), bool(head["drives"]), turning, passive, moved_by)


def _events(group: Any) -> tuple[Event, ...]:
    rows = zip(group["time"][()], group["channel"].asstr()[()], group["text"].asstr()[()], strict=True)
    return tuple(Event(float(time), channel, text) for time, channel, text in rows)


def _one_of(field: str, value: str) -> Any:
    allowed = get_args(get_type_hints(Run)[field])
    if value not in allowed:
        raise ValueError(f"{field} {value!r} is not one of {allowed}")
    return value
