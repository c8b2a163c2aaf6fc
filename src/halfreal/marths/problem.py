"""The multi-axial benchmark problem for real-time hybrid simulation (maRTHS) as a scorecard.

J. W. Condori Uribe et al., Front. Built Environ. 9 (2023) 1270996.  Frame, actuators, coupler, specimen and noise are
those of the gallery's definitions (``examples/marths_benchmark``); a coupling, an estimator of the strokes and a motion
take the place of theirs.  Limits do not stop a run here; the largest force of an actuator is next to the criteria.

A run is unstable if a floor moves ``GROWN`` times as far as the reference does, or further than numbers go.  A
perturbed plant has zeros and poles drawn from the problem's normal distributions; static gains stay, as in its code.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..benchmark.problem import Motion, Problem
from ..contracts.coupling import Coupling
from ..contracts.system import System
from ..couplings.direct import Direct
from ..definition.definition import Definition, load
from ..definition.kinds import reader
from ..kernels.block import Block, channels, names
from ..kernels.loop import Loop
from ..models.actuator_matrix import StateSpaceActuators, ZerosAndPoles
from ..models.excitations import silence
from ..models.schemes.newmark import Newmark
from ..models.structures.partition import Partition
from ..rigs.coupled_actuators import CoupledActuators
from ..rigs.stroke_estimator import StrokeEstimator
from ..runs.build import build
from ..runs.reference import reference_specimen
from ..runs.run import Signal
from ..safety.limits import Limits
from .criteria import FLOORS, NAMES, POSE, RECORDED, SENSED, TARGET, UNITS, WANTED, score
from .perfect import perfect_rig, specimen_force
from .published import RODEAC, other_results
from .reach import FORCE_LIMIT, LATE, NOISY, PERFECT, out_of_reach

GALLERY = Path(__file__).parents[1] / "examples" / "marths_benchmark"
GROWN = 5.0
DEVIATIONS = {
    **dict.fromkeys(("z1", "z2"), 0.055),
    **dict.fromkeys(("p1", "p2"), 0.06),
    "frame": 0.05,
    **dict.fromkeys(("z12", "z22", "p3", "p4"), 0.03),
}
"""Of roots, as parts of them."""
FORCES = tuple(f"measured.force.{name}" for name in ("x", "rz"))
TOLD = (
    *("J1 a1", "J2 a1", "J2 a2", "J3 a1", "J3 a2", "J5 x", "J5 rz", "J6 x", "J6 rz"),
    *("J7 x", "J7 rz", "J8 x 2", "J8 rz 2"),
)
"""Criteria for the terminal."""
CHOSEN = "adaptive decoupling inverse"


@dataclass(frozen=True)
class Entry:
    """A coupling with the estimator of strokes that goes with it."""

    coupling: Coupling
    estimator: StrokeEstimator | None = None


@dataclass(frozen=True)
class Record:
    """Signals of a run or of the reference."""

    time: np.ndarray
    signals: dict[str, Signal]


# --- definitions ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def gallery(name: str) -> Definition:
    """A definition of the gallery, without limits."""
    return load(GALLERY / f"{name}.toml").unchecked_copy({"limits": Limits()})


def case(number: int = 1) -> Definition:
    """The one case, as RoDeAC has it: without an estimator."""
    return gallery("rodeac")


def bench(definition: Definition) -> CoupledActuators:
    """The rig: the gallery's files have this kind, and none but theirs come here."""
    return cast("CoupledActuators", definition.rig)


def motions() -> dict[str, Motion]:
    """The motion that comes with halfreal: the synthetic record."""
    first = case()
    assert first.excitation.virtual is not None
    return {"synthetic": Motion(first.excitation.virtual, first.timing.duration)}


def couplings() -> dict[str, Entry]:
    """The couplings compared, by name; what needs a model of the actuators has the nominal one's."""
    inverse, chosen = gallery("decoupling_inverse"), gallery("adaptive_inverse")
    estimator = bench(chosen).estimator
    by_state: dict[str, Any] = {"kind": "decoupling inverse", "form": "state space", "effort": 1e-3, "points": 16}
    return {
        "none": Entry(reader("coupling").validate_python({"kind": "none"})),
        RODEAC: Entry(gallery("rodeac").coupling),
        "RoDeAC, estimator": Entry(gallery("rodeac").coupling, estimator),
        "decoupling inverse": Entry(inverse.coupling, estimator),
        "decoupling inverse, state space": Entry(reader("coupling").validate_python(by_state), estimator),
        CHOSEN: Entry(chosen.coupling, estimator),
    }


def put(definition: Definition, entry: Entry) -> Definition:
    rig = definition.rig.unchecked_copy({"estimator": entry.estimator})
    return definition.unchecked_copy({"coupling": entry.coupling, "rig": rig})


def perturbed(definition: Definition, number: int) -> Definition:
    """The definition with the ``number``-th perturbed plant; 0 is the nominal one."""
    if number == 0:
        return definition
    rig = bench(definition)
    actuators = cast("ZerosAndPoles", rig.actuators)
    draw = np.random.default_rng(number).standard_normal(len(DEVIATIONS))
    roots = {
        name: actuators.roots[name].unchecked_copy({"actual": 1.0 + deviation * part})
        for (name, deviation), part in zip(DEVIATIONS.items(), draw.tolist(), strict=True)
    }
    changed = actuators.unchecked_copy({"roots": roots})
    return definition.unchecked_copy({"rig": rig.unchecked_copy({"actuators": changed})})


def with_seed(definition: Definition, seed: int) -> Definition:
    """The definition with another draw of the sensors' noise."""
    return definition.unchecked_copy({"timing": definition.timing.unchecked_copy({"seed": seed})})


def without_noise(definition: Definition) -> Definition:
    """The definition with ideal sensors."""
    rig = bench(definition)
    return definition.unchecked_copy({"rig": rig.unchecked_copy({"sensors": type(rig.sensors)()})})


# --- runs -------------------------------------------------------------------------------------------------------------


def whole_frame(definition: Definition) -> System:
    """The reference: the whole frame, all of whose mass is shaken."""
    virtual, specimen = cast("Partition", definition.virtual), reference_specimen(definition)
    assert specimen is not None  # the gallery's files have one
    shaken = virtual.removed.unchecked_copy({"ground_load_on": "virtual"})
    return specimen.attached_to(virtual.unchecked_copy({"removed": shaken}).system("ground"), virtual.axes)


def integrated(definition: Definition, system: System) -> np.ndarray:
    """Outputs of a system under the motion of a definition by Newmark's method, as the problem's code has it."""
    driven, step = definition.excitation.virtual, definition.timing.step
    assert driven is not None
    method = Newmark().method(system, step)
    outputs = channels("reference", "m", len(system.displacement_outputs))
    inputs = ("excitation.virtual", "excitation.virtual.rate", "excitation.specimen")
    block = Block("reference", method.step, inputs, outputs, method.parameters, method.state, method.frozen)
    loop = Loop([driven.block("excitation.virtual"), silence("excitation.specimen"), block], dt=step)
    return loop.run(definition.timing.ticks, record=names(outputs)).log[:, 1:]


def reference(definition: Definition) -> np.ndarray:
    """x and rz of floor 1, the other rotation there, x and rz of floors 2 and 3 of the whole frame, (ticks, 7)."""
    return integrated(definition, whole_frame(definition))


def recorded(definition: Definition, log: np.ndarray, names: tuple[str, ...]) -> Record:
    time = definition.timing.step * np.arange(len(log))
    units = ("rad" if "rz" in name else "m" for name in names)
    return Record(
        time, {name: Signal(unit, log[:, i]) for i, (name, unit) in enumerate(zip(names, units, strict=True))}
    )


def against(definition: Definition, log: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Criteria of a log of the channels ``RECORDED``."""
    frame = recorded(definition, whole[:, [0, 1, 3, 4, 5, 6]], (*TARGET, *FLOORS))
    found = score(recorded(definition, log, RECORDED), frame)
    return np.array([found[name] for name in NAMES])


def scored(definition: Definition, whole: np.ndarray) -> tuple[bool, np.ndarray, float]:
    """Whether the run was stable, its criteria against the reference, and the largest force of an actuator."""
    kept = (*RECORDED, *FORCES)
    log = build(definition).run(definition.timing.ticks, record=kept).log[:, 1:]
    bounded = len(log) == len(whole) and bool(np.all(np.isfinite(log)))
    largest = largest_force(definition, log[:, -2:])
    floors = log[:, [RECORDED.index(name) for name in (*TARGET, *FLOORS)]]
    if not bounded or np.any(np.abs(floors).max(0) > GROWN * np.abs(whole[:, [0, 1, 3, 4, 5, 6]]).max(0)):
        return False, np.full(len(NAMES), np.nan), largest
    return True, against(definition, log[:, : len(RECORDED)], whole), largest


def largest_force(definition: Definition, at_node: np.ndarray) -> float:
    """Of an actuator [N], of force and moment at the node that they move, (ticks, 2)."""
    assert definition.kinematics is not None
    arms = np.linalg.inv(definition.kinematics.jacobian(np.zeros(2)).T)
    forces = np.abs(at_node @ arms.T)
    return float(np.max(forces[np.isfinite(forces)], initial=0.0))


def bounds(definition: Definition, whole: np.ndarray) -> dict[str, tuple[np.ndarray, float]]:
    """What a perfect rig would score, and the largest force of its actuators: without noise, then with commands that it
    follows at the next tick, and with sensors that have noise and nothing that filters it."""
    rig, kinematics, ticks = bench(definition), definition.kinematics, definition.timing.ticks
    assert kinematics is not None
    found = integrated(definition, perfect_rig(definition))
    moves = kinematics.jacobian(np.zeros(2))
    strokes = found[:, :2] @ moves.T
    noise = np.array([one.noise for one in rig.sensors.of_strokes(2)])
    read = noise * np.random.default_rng(definition.timing.seed).standard_normal((ticks, 2))
    rest = found[:, [3, 4, 5, 6]]

    def log(error: np.ndarray) -> np.ndarray:
        pose = found[:, :2] + error @ np.linalg.inv(moves).T
        whole_log = {WANTED: strokes, SENSED: strokes + error, TARGET: found[:, :2], POSE: pose, FLOORS: rest}
        return np.hstack([whole_log[part] for part in (WANTED, SENSED, TARGET, POSE, FLOORS)])

    late = without_noise(definition)
    eye, fast = np.eye(2), 1e3 / definition.timing.step
    at_once = StateSpaceActuators(kind="state space", A=-fast * eye, B=fast * eye, C=eye)
    late = late.unchecked_copy({"coupling": Direct(), "rig": late.rig.unchecked_copy({"actuators": at_once})})
    needed = largest_force(definition, specimen_force(definition, found[:, :2])[:, :2])
    return {
        PERFECT: (against(definition, log(0.0 * read), whole), needed),
        LATE: scored(late, whole)[1:],
        NOISY: (against(definition, log(read), whole), np.nan),
    }


PROBLEM = Problem(
    key="marths",
    title="Multi-axial benchmark problem for real-time hybrid simulation",
    about=(
        "J1, J4: delay of each actuator in ms. In %: J2, J3 tracking of each actuator (root mean square, peak); J5, J6 "
        "measured or estimated pose against the target; J7, J9 pose against the reference; J8, J10 floors 2 and 3 "
        "against the reference. a1, a2: actuators; x: displacement; rz: rotation."
    ),
    reading=(
        "Perfect rig: its pose is the target at all times, or that of a step before. What J7 to J10 have left then is "
        "the difference between the specimen in the laboratory and the part that was taken out of the frame; no "
        "coupling can change it. Its force is what the problem asks of an actuator: more than the actuators have, as "
        "the specimen's moment is held on arms of 127 mm. Noisy sensors: the same with the noise of the strokes; no "
        "coupling can have a lower J2, which compares noisy strokes. J5 and J6 may be lower where the strokes are "
        "estimated: they then compare the estimate, which is as good as its model. Perturbed plants have zeros and "
        "poles drawn from the problem's distributions."
    ),
    papers=("condori2023", "quiroz2024"),
    names=NAMES,
    units=tuple(UNITS[name] for name in NAMES),
    cases=(1,),
    force_limit=FORCE_LIMIT,
    shown=(NAMES.index("J2 a1"), NAMES.index("J5 rz")),
    summed=tuple(NAMES.index(name) for name in ("J2 a1", "J2 a2", "J5 x", "J5 rz", "J7 x", "J7 rz")),
    told=tuple(NAMES.index(name) for name in TOLD),
    case=case,
    motions=motions,
    couplings=couplings,
    put=put,
    perturbed=perturbed,
    reference=reference,
    score=scored,
    floor=lambda definition, whole: float("nan"),
    published=other_results,
    worst=lambda case, motion, coupling: None,
    bounds=bounds,
    out_of_reach=out_of_reach,
    plants_with_every_motion=True,
)
