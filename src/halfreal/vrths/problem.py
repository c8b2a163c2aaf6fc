"""The benchmark problem for real-time hybrid simulation as a scorecard: cases × motions × couplings, nine criteria.

C. E. Silva, D. Gomez, A. Maghareh, S. J. Dyke, B. F. Spencer, "Benchmark control problem for real-time hybrid
simulation", Mech. Syst. Signal Process. 135 (2020) 106381.  Frame, actuator, converters and noise are those of the
gallery's definitions (``examples/vrths_benchmark``); a coupling and a motion take the place of theirs.  Limits do not
stop a run here: the benchmark scores what exceeds them too, and the largest force is listed next to the criteria.

A run is unstable if a floor moves ``GROWN`` times as far as the reference does, or further than numbers go.  A
perturbed plant has leakage, valve and specimen drawn from the benchmark's normal distributions; the specimen's share is
taken out of the frame as it was drawn, so that the reference remains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..benchmark.problem import Motion, Problem, Score
from ..benchmark.problem import scorecard as runs_of
from ..benchmark.problem import with_motion as with_motion  # others take it from here
from ..contracts.coupling import Coupling
from ..contracts.criteria import Criteria
from ..definition.definition import Definition, load
from ..definition.kinds import reader
from ..kernels.block import Block, channels, names
from ..kernels.loop import Loop
from ..models.excitations import Chirp, silence
from ..models.schemes.exact import Exact
from ..models.structures.partition import Partition
from ..rigs.sensors import IDEAL
from ..rigs.servo_hydraulic import ServoHydraulic
from ..runs.lean import lean_rehearsal
from ..runs.reference import assembled
from ..runs.run import Signal
from ..runs.scored import score as scored
from ..safety.limits import Limits
from .criteria import FLOORS, MEASURED, NAMES
from .published import other_results, worst_results

GALLERY = Path(__file__).parents[1] / "examples" / "vrths_benchmark"
CASES = (1, 2, 3, 4)
GROWN = 5.0
DEVIATIONS = {"leakage": 1.3, "valve_damping": 3.3, "valve_stiffness": 3.3e3}
STIFFNESS_DEVIATION, DAMPING_RATIO = 5e4, 0.0097
FORCE_LIMIT = 8900.0
CRITERIA: Criteria = reader("criteria").validate_python({"kind": "vrths"})
CHANNELS = (MEASURED, *FLOORS, "rig.force")


# --- definitions ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=len(CASES))
def case(number: int) -> Definition:
    """A case as the gallery has it, without limits and without what only a check needs."""
    definition = load(GALLERY / f"case_{number}.toml")
    return definition.unchecked_copy({"limits": Limits(), "uncertainty": {}})


def bench(definition: Definition) -> ServoHydraulic:
    """The rig of a case: the gallery's files have this kind, and none but theirs come here."""
    return cast("ServoHydraulic", definition.rig)


def motions() -> dict[str, Motion]:
    """The motions that come with halfreal: the synthetic record, and the benchmark's chirp."""
    first = case(CASES[0])
    assert first.excitation.virtual is not None
    chirp = Chirp(acceleration=0.4, frequency=0.1, to=40.0, duration=90.0)
    return {"synthetic": Motion(first.excitation.virtual, first.timing.duration), "chirp": Motion(chirp, 90.0)}


def couplings() -> dict[str, Coupling]:
    """The couplings compared, by name; what needs a model of the rig has the nominal one's."""
    rig = bench(case(CASES[0]))
    inverse = rig.inverse()
    feedback = case(CASES[0]).coupling.model_dump(mode="json")
    late = {"prediction": rig.sensors.force.slow_delay}
    kalman = {
        "coefficients": rig.inverse(5),
        "command_noise": 1e-4,
        "measurement_noise": rig.sensors.displacement.noise,
    }
    adaptive = {"kind": "adaptive model based", "coefficients": inverse}
    predicted = {"prediction": 0.0225, "order": 2, "points": 80}
    given: dict[str, dict[str, Any]] = {
        "none": {"kind": "none"},
        "PI + lead": feedback,
        "PI + lead, Kalman": {**feedback, "filter": kalman},
        "forward prediction": {"kind": "forward prediction", **predicted},
        "adaptive prediction": {"kind": "adaptive forward prediction", **predicted, "highest_order": 2},
        "model inverse": {"kind": "model inverse", "coefficients": inverse},
        "adaptive time series": {"kind": "adaptive time series", "coefficients": rig.inverse(2)},
        "adaptive model": adaptive,
        "adaptive model, force": {**adaptive, "force_prediction": late},
    }
    return {name: reader("coupling").validate_python(settings) for name, settings in given.items()}


def perturbed(definition: Definition, number: int) -> Definition:
    """The definition with the ``number``-th perturbed plant; 0 is the nominal one."""
    if number == 0:
        return definition
    rig, virtual = bench(definition), cast("Partition", definition.virtual)
    draw = np.random.default_rng(number).standard_normal(4)
    actuator = rig.actuator.unchecked_copy(
        {
            key: getattr(rig.actuator, key) + deviation * part
            for (key, deviation), part in zip(DEVIATIONS.items(), draw, strict=False)
        }
    )
    mass, _, stiffness = rig.specimen.matrices(1)
    stiffness = stiffness + STIFFNESS_DEVIATION * draw[3]
    part = {"stiffness": stiffness, "damping": 2.0 * DAMPING_RATIO * np.sqrt(stiffness * mass)}
    return definition.unchecked_copy(
        {
            "rig": rig.unchecked_copy({"actuator": actuator, "specimen": rig.specimen.unchecked_copy(part)}),
            "virtual": virtual.unchecked_copy({"removed": virtual.removed.unchecked_copy(part)}),
        }
    )


def without_noise(definition: Definition) -> Definition:
    """The definition with ideal sensors that keep their delay."""
    rig = bench(definition)
    return definition.unchecked_copy({"rig": rig.with_sensors(rig.sensors.changed(IDEAL, IDEAL))})


# --- runs -------------------------------------------------------------------------------------------------------------


def reference(definition: Definition) -> np.ndarray:
    """Floors 1 to 3 of the whole frame, (ticks, 3); exact for a motion that is linear between ticks."""
    rig, driven = bench(definition), definition.excitation.virtual
    assert driven is not None
    method = Exact().method(assembled(definition, rig.specimen), definition.timing.step)
    outputs = channels("reference", "m", 3)
    inputs = ("excitation.virtual", "excitation.virtual.rate", "excitation.specimen")
    block = Block("reference", method.step, inputs, outputs, method.parameters, method.state, method.frozen)
    loop = Loop([driven.block("excitation.virtual"), silence("excitation.specimen"), block], dt=definition.timing.step)
    # each floor in one piece of memory, as criteria read them one by one
    return np.asfortranarray(loop.run(definition.timing.ticks, record=names(outputs)).log[:, 1:])


def noise_floor(definition: Definition, whole: np.ndarray) -> float:
    """J₂ and J₄ [%] that the displacement sensor's noise alone makes of the reference's first floor."""
    return float(100.0 * bench(definition).sensors.displacement.noise / np.std(whole[:, 0]))


def score(definition: Definition, whole: np.ndarray) -> tuple[bool, np.ndarray, float]:
    """Whether the run was stable, its criteria against the floors of ``reference``, and its largest force."""
    bare = definition.unchecked_copy({"reference": None})  # what is compared with is the exact one, ``whole``
    run = lean_rehearsal(bare, CHANNELS)
    signals = {name: replace(one, values=np.ascontiguousarray(one.values)) for name, one in run.signals.items()}
    largest = np.array([np.max(np.abs(signals[name].values)) for name in CHANNELS])  # NaN if one is not a number
    force = float(largest[4])
    bounded = len(run.time) == len(whole) and np.all(np.isfinite(largest))
    if not bounded or np.any(largest[1:4] > GROWN * np.abs(whole).max(0)):
        return False, np.full(len(NAMES), np.nan), force
    due = {name: Signal("m", whole[:, i]) for i, name in enumerate(FLOORS)}
    found = scored(CRITERIA, replace(run, signals=signals), replace(run, signals=due))
    return True, np.array([found[name].value for name in NAMES]), force


PROBLEM = Problem(
    key="vrths",
    title="Benchmark problem for real-time hybrid simulation",
    about=(
        "J1: delay in ms. In %: J2, J3 tracking (root mean square, peak); J4, J5 first floor against the reference; "
        "J6, J7 root mean square and J8, J9 peak of floors 2 and 3. The order is that of the problem's code and of "
        "Table 3 of its paper."
    ),
    reading=(
        "Floor is J2 and J4 of a perfect test: J2 to J5 are computed from the noisy measurement, and the noise alone "
        "makes this much of the reference's first floor. No coupling can be below it but by changing the response "
        "itself. Perturbed plants have leakage, valve and specimen drawn from the problem's distributions, and are run "
        "with the first motion. Problem's code are values recomputed with the code that came with the problem; the "
        "plants drawn there are others."
    ),
    papers=("silva2020",),
    names=NAMES,
    units=("ms", *("%",) * (len(NAMES) - 1)),
    cases=CASES,
    force_limit=FORCE_LIMIT,
    shown=(1, 3),
    summed=(0, 1, 3, 6),
    told=tuple(range(len(NAMES))),
    case=case,
    motions=motions,
    couplings=couplings,
    put=lambda definition, coupling: definition.unchecked_copy({"coupling": coupling}),
    perturbed=perturbed,
    reference=reference,
    score=score,
    floor=noise_floor,
    published=other_results,
    worst=worst_results,
)


def scorecard(
    given_motions: Mapping[str, Motion] | None = None,
    given_couplings: Mapping[str, Coupling] | None = None,
    cases: Sequence[int] = CASES,
    plants: int = 0,
    workers: int = 2,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[Score]:
    """All runs: every case, motion and coupling, each with the nominal and ``plants`` perturbed plants."""
    return runs_of(PROBLEM, given_motions, given_couplings, cases, plants, workers, on_progress)
