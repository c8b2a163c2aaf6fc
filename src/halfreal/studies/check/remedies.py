"""What would make an unstable loop stable, or bring a marginal test to a GO, each tried out on the loop that runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ... import units
from ...contracts.coupling import Coupling
from ...contracts.finding import Finding, verdict
from ...couplings.direct import Direct
from ...couplings.forward_prediction import ForwardPrediction
from ...definition.definition import Definition
from ...definition.paths import with_values
from ...errors import HalfrealError
from ...runs.alike import alike
from ...runs.loop_stability import LoopStability, linearised
from ...runs.pure_delay import with_pure_delay
from ...runs.reference import EmulationError, emulate
from .examined import Examined
from .nonlinear import scaled

WORST_CASE = "a smaller uncertainty, or a coupling that is stable in the worst case"
"""For a loop that is stable at rest as it is defined, and not for all it may be."""
TUNE = "'halfreal tune': it tunes the couplings for this rig and compares them in rehearsals"
OTHERWISE = (
    "a rig with less lag, a softer and lighter specimen relative to the virtual part, or more damping; 'halfreal "
    "chart' shows where the loop is stable over two numbers of the definition"
)
"""For a loop that is unstable, where nothing that was tried helps, and nothing can be tuned."""
SMALLER = (0.5, 0.1)
"""Times the excitation that is tried for a test that is unstable in motion."""
LEAST_SHARE = 0.01
"""Of the specimen: what has less of its mass and stiffness is another one."""
OUTCOME = {"GO": ": the test is a GO with it", "MARGINAL": ": stable with it, but below acceptance"}
"""Of a trial, by its verdict."""
BISECTIONS = 3
"""Trials towards each end of an interval."""
PARTS = (0.98, 0.8, 0.6, 0.4, 0.2)
"""Of the critical delay, which a rig's lag may be."""
ORDERS = (2, 3)
"""Of inverses that are fitted to the rig as it is measured."""


def stabilising(examined: Examined) -> list[str]:
    """Changes that make the loop stable; the size of the specimen where nothing else does."""
    definition, stability = examined.definition, examined.stability
    has = stability.rig_lag
    found = [
        *inverse_remedy(definition),
        *prediction_remedy(examined),
        *step_remedy(definition, has),
        *coupling_remedy(definition),
        *delay_remedy(definition, has, stability.critical_delay),
    ]
    return [*(found or size_remedy(definition, stability)), *general_remedy(examined, "" if found else OTHERWISE)]


def accepting(examined: Examined) -> list[str]:
    """Changes that bring a marginal test to a GO."""
    definition, stability = examined.definition, examined.stability
    found = []
    compensated = definition.coupling.compensates and definition.commands == "displacement"
    if compensated and trial(definition, Direct()) == "GO":
        found.append(f"without the coupling '{definition.coupling.kind}' the test is a GO")
    told: set[str] = set()
    for name, text, coupling in compensations(definition, stability.rig_lag):
        if name not in told and trial(definition, coupling) == "GO":
            told.add(name)
            found.append(f"{text}: the test is a GO with it")
    if not found:
        found = smaller_specimen(definition, stability)
    return [*found, *general_remedy(examined, "" if found else following(definition))]


def stabilising_motion(examined: Examined) -> list[str]:
    """Changes with which a test is stable in motion, each tried."""
    from .criteria.acceptance import of_margins

    definition, stability = examined.definition, examined.stability
    found, named = [], set[str]()
    compensated = definition.coupling.compensates and definition.commands == "displacement"
    if compensated and trial(definition, Direct()) == "GO":
        found.append(f"without the coupling '{definition.coupling.kind}' the test is a GO")
    for name, text, coupling in compensations(definition, stability.rig_lag):
        if name not in named and trial(definition, coupling) == "GO":
            named.add(name)
            found.append(f"{text}: the test is a GO with it")
    amplitudes_count = not of_margins(examined) or bool(stability.linearisation.equivalent)
    for factor in SMALLER if amplitudes_count else ():  # margins at rest are those of any excitation
        smaller = scaled(definition, factor)
        if smaller is None or not definition.excitation.virtual or found:
            break
        if trial(smaller, definition.coupling) == "GO":
            found.append(f"a smaller excitation: with {factor:g} times this one the test is a GO")
    return [*found, *general_remedy(examined, "" if found else OTHERWISE)]


def following(definition: Definition) -> str:
    """In the same way for a test that is below acceptance; quieter sensors only where there is noise."""
    sensors = definition.rig.known_sensors
    quiet = sensors is not None and sensors.displacement.noise == sensors.force.noise == 0.0
    quieter = "" if quiet else ", quieter sensors"
    return (
        f"a rig that tracks better, a shorter step or another integration scheme{quieter}; or another limit in "
        "[acceptance], if justified"
    )


def general_remedy(examined: Examined, otherwise: str) -> list[str]:
    """The search for a coupling, where there is one for the test and it was not made; else something else, if there is
    need."""
    from ..tuning.families import applies
    from ..tuning.mark import is_tuned

    definition = examined.definition
    searched = examined.text is not None and is_tuned(examined.text, definition)
    if not searched and (not applies(definition) or definition.rig.as_table is not None):
        return [TUNE]
    return [otherwise] if otherwise else []


def trial(definition: Definition, coupling: Coupling) -> str:
    """The verdict on the test with another coupling, by its stability, margins and rehearsal; "" if it cannot be."""
    from .criteria.acceptance import of_errors, of_margins
    from .criteria.limits import limits, ranges
    from .criteria.motion import motion
    from .criteria.rehearsal import rehearsal

    variant = Examined(definition.unchecked_copy({"coupling": coupling}), tries_remedies=False)
    try:
        if not variant.sound:
            return "NO-GO"
        found: list[Finding] = [*of_margins(variant)]
        found = found or [*rehearsal(variant), *of_errors(variant)]
        found = found or [*limits(variant), *ranges(variant)]
        return verdict(found if verdict(found) != "GO" else [*motion(variant)])
    except HalfrealError:
        return ""


def compensations(definition: Definition, lag: float | None) -> Iterator[tuple[str, str, Coupling]]:
    """Couplings that may make up for the rig's lag [s]: a name, how people would write it, and the coupling."""
    first = definition.coupling.predicting(lag) if lag and lag > 0.0 else None
    if first is not None:
        for order, points in dict.fromkeys(((first.order, first.points), (3, 12), (2, 12), (2, 40))):
            tried = ForwardPrediction(kind=first.kind, prediction=first.prediction, order=order, points=points)
            by = units.text(lag or 0.0, "s")
            yield "prediction", f"forward prediction (order {order}, {points} points) by the rig's lag of {by}", tried
    if first is not None or definition.coupling.compensates:
        from ...couplings.model_inverse import ModelInverse

        for inverse in inverses(definition):
            coefficients = ", ".join(f"{a:.6g}" for a in inverse)
            tried_inverse = ModelInverse(kind="model inverse", coefficients=inverse)
            yield "inverse", f'the coupling "model inverse" with coefficients = [{coefficients}]', tried_inverse


def inverses(definition: Definition) -> Iterator[np.ndarray]:
    """Coefficients of inverses of the rig: of its own model if it has one, else fitted to the rig as it is measured."""
    from ..tuning.plant import rig_response, undisturbed

    own = definition.rig.inverse_coefficients(definition.virtual.axes)
    if own is not None:
        yield own
        return
    plain = definition.commands == definition.targets == "displacement" and definition.kinematics is None
    if not plain or definition.passive or definition.slow is not None:
        return
    try:
        motion = emulate(definition, definition.timing.ticks, 1)
    except EmulationError:
        motion = None
    motion = undisturbed(definition) if motion is None else motion
    largest = motion[:, int(np.argmax(np.sum(motion**2, axis=0)))]
    if not np.any(largest) or not np.all(np.isfinite(largest)):
        return
    response = rig_response(definition, largest)
    for order in ORDERS:
        found = response.inverse(order)
        if found[0] > 0.0 and np.all(np.isfinite(found)):
            yield np.array([float(f"{a:.6g}") for a in found])


def inverse_remedy(definition: Definition) -> list[str]:
    """An inverse of the rig, where that alone makes the loop stable."""
    if not (definition.coupling.compensates or definition.coupling.predicting(definition.timing.step) is not None):
        return []
    from ...couplings.model_inverse import ModelInverse

    for inverse in inverses(definition):
        tried = ModelInverse(kind="model inverse", coefficients=inverse)
        if not linearised(definition.unchecked_copy({"coupling": tried})).stable:
            continue
        coefficients = ", ".join(f"{a:.6g}" for a in inverse)
        return [f'the coupling "model inverse" with coefficients = [{coefficients}]{so(definition, tried)}']
    return []


def so(definition: Definition, coupling: Coupling) -> str:
    """What the test is with a coupling that makes its loop stable, for people."""
    return OUTCOME.get(trial(definition, coupling), "")


def prediction_remedy(examined: Examined) -> list[str]:
    """A prediction by the rig's lag that makes the loop stable, and the interval about it in which the test is a GO."""
    definition, delay = examined.definition, examined.stability.rig_lag
    tried = definition.coupling.predicting(delay) if delay and delay > 0.0 else None
    if tried is None or not delay:
        return []
    if not linearised(definition.unchecked_copy({"coupling": tried})).stable:
        return []

    def go(time: float) -> bool:
        coupling = definition.coupling.predicting(time)
        return coupling is not None and trial(definition, coupling) == "GO"

    what, lag = f"forward prediction (order {tried.order}, {tried.points} points)", units.text(delay, "s")
    outcome = so(definition, tried)
    if outcome != OUTCOME["GO"] or not examined.stability.proven_linear:
        return [f"{what} by the rig's lag of {lag}{outcome}"]
    with alike():
        low, high = (go_end(go, delay, end) for end in (0.0, 4.0 * delay))
    if low == high:
        return [f"{what} by the rig's lag of {lag}{outcome}"]
    between = f"{units.text(low, 's')} to {units.text(high, 's')}"
    return [f"{what} by {between}, the rig's lag being {lag}{outcome}"]


def go_end(go: Callable[[float], bool], inside: float, outside: float) -> float:
    """How far from a value that is a GO towards another every trial is one: at the end, half-way, and in between."""
    end, beyond = inside, rounded(outside)
    if go(beyond):
        end = beyond
    else:
        for _ in range(BISECTIONS):
            middle = rounded(0.5 * (end + beyond))
            end, beyond = (middle, beyond) if go(middle) else (end, middle)
    middle = rounded(0.5 * (inside + end))
    return end if end == inside or go(middle) else go_end(go, inside, middle)


def rounded(value: float) -> float:
    """A value as it is printed."""
    return float(f"{value:.3g}")


def step_remedy(definition: Definition, has: float | None) -> list[str]:
    """Shorter steps, where that alone makes the loop stable; several if the test is a GO with each."""
    step = definition.timing.step
    if has is not None and has > 1.01 * step:
        return []  # the lag is not the step's
    stable = list[Definition]()
    for divisor in (10, 5, 2):  # from the shortest on: a light virtual part is unstable again with shorter ones
        try:
            shorter = with_values(definition, {"timing.step": step / divisor})
        except HalfrealError:
            return []
        if not linearised(shorter).stable:
            break
        stable.append(shorter)
    if not stable:
        return []
    outcomes = {units.text(one.timing.step, "s"): so(one, definition.coupling) for one in stable}
    going = [text for text, outcome in outcomes.items() if outcome == OUTCOME["GO"]]
    if not going:
        longest = list(outcomes)[-1]
        return [f"a step of {longest}{outcomes[longest]}"]
    several = " or ".join((", ".join(going[:-1]), going[-1])) if len(going) > 1 else going[0]
    return [f"a step of {several}{OUTCOME['GO']}"]


def coupling_remedy(definition: Definition) -> list[str]:
    """The coupling left out, where that alone makes the loop stable."""
    if not definition.coupling.compensates or definition.commands != "displacement":
        return []
    if not linearised(definition.unchecked_copy({"coupling": Direct()})).stable:
        return []
    kind = definition.coupling.kind
    return [f"without the coupling '{kind}' the loop is stable: use another one, or other settings"]


def delay_remedy(definition: Definition, has: float | None, critical: float | None) -> list[str]:
    """A rig that lags by less than the critical delay: the largest lag tried with which the test is a GO, else one with
    which it is stable."""
    if critical is None or has is None or has <= critical:
        return []
    lags = [rounded(part * critical) for part in PARTS]
    for lag in lags:
        prompt = with_pure_delay(definition, lag)
        if trial(prompt, prompt.coupling) == "GO":
            return [f"a rig with a lag of {units.text(lag, 's')}, without coupling{OUTCOME['GO']}"]
    longest = with_pure_delay(definition, lags[0])
    if not linearised(longest).stable:
        return []
    return [f"a rig with a lag of {units.text(lags[0], 's')}, without coupling{so(longest, longest.coupling)}"]


def size_remedy(definition: Definition, stability: LoopStability) -> list[str]:
    """A smaller specimen against the virtual part: it scales the gain of the loop."""
    margin = stability.margin
    if margin is None or definition.targets == "force":
        return []
    crossed = np.flatnonzero((margin.gains > 0.0) & (margin.gains < 1.0))  # none is below one if the gain is not known
    for place in sorted(crossed, key=lambda i: float(margin.gains[i])):
        share = 0.9 * float(margin.gains[place])
        rig = definition.rig.with_share_of_specimen(share)
        if rig is not None and linearised(definition.unchecked_copy({"rig": rig})).stable:
            hz = margin.gain_omega[place] / (2.0 * np.pi)
            hint = "" if definition.coupling.compensates else definition.rig.tuning_hint
            return [
                f"a specimen with {100 * share:.2g} % of the mass and stiffness, or a virtual part about "
                f"{1.0 / share:.2g} times as heavy and stiff: decisive is the loop gain near "
                f"{hz:.3g} Hz, the ratio of the "
                f"specimen's mass and stiffness to those of the virtual part{f'; {hint}' if hint else ''}"
            ]
    return []


def smaller_specimen(definition: Definition, stability: LoopStability) -> list[str]:
    """The share of the specimen with which the gain margin is what is requested, where the test is a GO with it."""
    from .criteria.truncation import high_frequency_gain_of

    margin, most = stability.gains, 10.0 ** (-definition.acceptance.least("gain_margin") / 20.0)
    if margin is None or definition.targets == "force":
        return []
    gain = max(10.0 ** (-margin.gain_margin_db / 20.0), high_frequency_gain_of(definition))
    if not most < gain < np.inf:
        return []
    share = float(f"{0.995 * most / gain:.2g}")
    if share < LEAST_SHARE:
        return []
    rig = definition.rig.with_share_of_specimen(share)
    if rig is None or trial(definition.unchecked_copy({"rig": rig}), definition.coupling) != "GO":
        return []
    return [f"a specimen with {100 * share:.2g} % of the mass and stiffness: the test is a GO with it"]
