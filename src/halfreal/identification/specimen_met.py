"""How far the specimen that a run met differs from the model of it.

Both are looked at in the same way (``felt_specimen.py``): the run, and the rehearsal, whose specimen is the model, over
the same time.  So what sensors, sampling and amplitude do to the figures is in both, and their difference is that of
the specimens.  A difference counts if it is larger than chance explains and large enough to matter next to the dynamic
stiffness of the model, |K − ω²M + iωC| at the frequency ω of the motion.

Where mass and stiffness cannot be distinguished, as in a motion of one frequency, the stiffness is that which is
effective at this frequency, K − ω²M, of both.  Damping is all that takes up energy, viscous or hysteretic: the
equivalent damping is C ω / (2 K), and the energy per cycle C ∫ẋ² dt over the number of cycles.
"""

from __future__ import annotations

import math

import numpy as np

from ..runs.judged_samples import judged
from ..runs.run import Property, Run, SpecimenMet
from .felt_specimen import Felt, felt

BEYOND_CHANCE = 1.6
"""Times the half-width of the 95 % interval of a difference that chance hardly explains: about 3 standard errors."""
MATTERS = 0.01
"""Share of the dynamic stiffness from which on a difference is reported."""
STILL = 3e-3
"""Share of the largest motion of its unit: an axis that moves less determines nothing."""
NOT_LINEAR = 0.05
"""Share of the force by which a specimen may be less linear than its model before it is reported."""
UNKNOWN = 0.5
"""Of a figure that is known no better than this share of the dynamic stiffness, it is said that it is not known."""
REFERENCES = ("ljung1999", "newey1987", "kiefer2005")
"""Papers of the methods."""
NAMES = ("stiffness", "damping", "mass")
NAN = float("nan")


def specimen_met(run: Run, rehearsal: Run | None) -> SpecimenMet:
    """What the run shows of its specimen, next to what the rehearsal shows of the model."""
    try:
        met = _felt(run, None, run.time)
        if isinstance(met, str):
            return SpecimenMet((), met)
        model = "there is no rehearsal" if rehearsal is None else _felt(rehearsal, met, run.time)
    except (np.linalg.LinAlgError, ValueError) as error:  # no record may be lost by a figure that cannot be had
        return SpecimenMet((), f"its figures cannot be computed ({error})")
    if isinstance(model, str):
        return SpecimenMet(_properties(run, met, None), f"the model could not be identified in the same way: {model}")
    return SpecimenMet(_properties(run, met, model))


def _felt(run: Run, like: Felt | None, within: np.ndarray) -> Felt | str:
    """What a record shows, up to the end of the times of the run, or of the first number that is not finite."""
    vectors = [run.vector(name) for name in ("measured.displacement", "measured.force")]
    if vectors[0] is None or vectors[1] is None:
        return "measured displacement and force are not both on record; record them (record.channels)"
    if not len(within):
        return "the record is empty"
    kept = judged(run) & (run.time <= within[-1])
    given = [signal.values for name, signal in run.signals.items() if _drives_the_specimen(name)]
    driven = [one for one in given if kept.any() and np.ptp(one[kept]) > 0.0]
    others = np.column_stack(driven) if driven else None
    columns = [vectors[0][kept], vectors[1][kept], *([] if others is None else [others[kept]])]
    finite = np.all([np.isfinite(one).all(axis=1) for one in columns], axis=0)
    end = len(finite) if finite.all() else int(np.argmin(finite))
    if end < 16:
        return f"{end} samples of the test are on record"
    x, f = columns[0][:end], columns[1][:end]
    time = run.time[kept][:end]
    slow = run.definition.get("slow") is not None
    return felt(
        float(time[-1] - time[0]) / (end - 1),
        x,
        f,
        _targets(run, x, kept, end),
        None if others is None else columns[2][:end],
        window=None if like is None else like.window,
        axes=_moving(run, x) if like is None else like.axes,
        inertia=not slow,
    )


def _moving(run: Run, x: np.ndarray) -> tuple[int, ...]:
    """Axes that move enough next to those of their unit."""
    rms, turns = x.std(axis=0), run.interface.rotations
    return tuple(i for i in range(len(rms)) if rms[i] > STILL * rms[turns == turns[i]].max())


def _drives_the_specimen(name: str) -> bool:
    return name.startswith("excitation.specimen") and not name.endswith(".rate")


def _targets(run: Run, x: np.ndarray, kept: np.ndarray, end: int) -> np.ndarray | None:
    """Targets in the columns of the displacement; NaN on axes that have none."""
    target = run.vector("target")
    if target is None:
        return None
    found = np.full(x.shape, np.nan)
    for i in range(x.shape[1]):
        column = run.column("target", i)
        if column is not None and np.ptp(target[kept, column][:end]) > 0.0:
            found[:, i] = target[kept, column][:end]
    return found


def _properties(run: Run, met: Felt, model: Felt | None) -> tuple[Property, ...]:
    names = [run.interface.names[i] for i in met.axes]
    turns = [bool(run.interface.rotations[i]) for i in met.axes]
    of = met if model is None else model
    stiffness = _dynamic_stiffness(of)
    slow = run.definition.get("slow") is not None
    rows: list[Property] = []
    for k, (name, factor) in enumerate(zip(NAMES, _factors(met), strict=True)):
        if k == len(met.values):  # the mass, if it cannot be distinguished
            break
        if name == "damping" and slow:  # of time that is at rest only the energy has a meaning
            continue
        for i in range(len(names)):
            for j in range(len(names)):
                scale = math.sqrt(stiffness[i] * stiffness[j])
                row = _row(
                    name,
                    (names[i],) if i == j else (names[i], names[j]),
                    _unit(name, turns[i], turns[j]),
                    (met.values[k, i, j], met.spreads[k, i, j]),
                    None if model is None else (model.values[k, i, j], model.spreads[k, i, j]),
                    factor[j] / scale if scale > 0.0 else NAN,
                )
                if i == j or row.differs:
                    rows.append(row)
    for i, axis in enumerate(names):
        for name, unit, share in (("equivalent damping", "1", _equivalent), ("energy per cycle", "J", _energy)):
            rows.append(_row(name, (axis,), unit, share(met, i), None if model is None else share(model, i), None))
        left = NAN if model is None else float(model.unexplained[i])
        more = float(met.unexplained[i]) - left
        rows.append(
            Property("not linear", (axis,), "1", float(met.unexplained[i]), NAN, left, NAN, more, more > NOT_LINEAR)
        )
    return tuple(rows)


def _row(
    name: str,
    axes: tuple[str, ...],
    unit: str,
    met: tuple[float, float],
    model: tuple[float, float] | None,
    per_stiffness: float | None,
) -> Property:
    """``per_stiffness`` makes a share of the dynamic stiffness of it; None: it has no part in it of its own."""
    if per_stiffness is not None and not met[1] * per_stiffness < UNKNOWN:
        met = (NAN, NAN)
    if model is None:
        return Property(name, axes, unit, float(met[0]), float(met[1]), NAN, NAN, NAN, False)
    difference = met[0] - model[0]
    share = NAN if per_stiffness is None else difference * per_stiffness
    beyond = abs(difference) > BEYOND_CHANCE * math.hypot(met[1], model[1])
    differs = bool(beyond and abs(share) > MATTERS)
    known = [float(one) for one in (*met, *model)]
    return Property(name, axes, unit, known[0], known[1], known[2], known[3], float(share), differs)


def _factors(one: Felt) -> tuple[np.ndarray, ...]:
    """What makes a stiffness of K, C and M."""
    return np.ones_like(one.omega), one.omega, one.omega**2


def _dynamic_stiffness(one: Felt) -> np.ndarray:
    stiffness, damping, *mass = (part.diagonal() for part in one.values)
    inertia = one.omega**2 * mass[0] if mass else 0.0
    return np.asarray(np.hypot(stiffness - inertia, one.omega * damping))


def _equivalent(one: Felt, i: int) -> tuple[float, float]:
    """Equivalent damping ratio and its half-width; not known of a specimen without stiffness."""
    stiffness = float(one.values[0, i, i])
    if not abs(stiffness) > 2.0 * one.spreads[0, i, i]:
        return NAN, NAN
    per = one.omega[i] / (2.0 * abs(stiffness))
    ratio, own = one.values[1, i, i] * per, one.spreads[1, i, i] * per
    return float(ratio), float(math.hypot(own, ratio * one.spreads[0, i, i] / stiffness))


def _energy(one: Felt, i: int) -> tuple[float, float]:
    """Energy taken up in a cycle, in the mean [J], and its half-width."""
    per = one.travelled[i] / one.cycles[i]
    return float(one.values[1, i, i] * per), float(one.spreads[1, i, i] * per)


def _unit(name: str, turned: bool, by_turning: bool) -> str:
    """Of a force over a motion."""
    force, motion = "N m" if turned else "N", "rad" if by_turning else "m"
    per = {"stiffness": f"/{motion}", "damping": f" s/{motion}", "mass": f" s^2/{motion}"}[name]
    return "kg" if (force, motion, name) == ("N", "m", "mass") else force + per
