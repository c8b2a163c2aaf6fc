"""A part of a test that is an FMU: how it is wired, its parameters, and the block that steps it (``fmu_steps.py``)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from .. import units
from ..kernels import fmu_trial
from ..kernels.block import Block, flatten, layout
from ..kernels.fmi_calls import NEVER
from ..kernels.fmi_instance import Instance
from ..kernels.fmi_library import Fmu, FmuError, Variable, digest_of, opened, references
from ..kernels.foreign import as_field, place
from ..kernels.native import compiled_block
from ..kernels.played import PlayedError, played
from ..kernels.trust import check as check_trust
from ..settings import fault, folder
from ..settings import stored as from_a_run_file
from .fmu_derivatives import STAGES, WEIGHTS, Slopes
from .fmu_steps import FAULTS, co_simulation_step, linear_block, model_exchange_step
from .realisation import difference, realised, share
from .state_space import StateSpace
from .system import Method
from .user_code import Programmed

SAMPLES, MOST_SAMPLES = 2000, 32_000
"""Ticks of a pulse response: as many as it takes to end, or to begin."""
ENDED = 1e-9
"""Share of the largest value of a response up to which it has ended in its second half."""
Port = tuple[str, int, str]
"""What a part reads or writes: its name, of how many entries, and its unit."""


class FmuPart(Programmed):
    """An FMU, how it is wired, and its parameters."""

    foreign = "an FMU"
    fmu: str
    """File, relative to the definition's folder."""
    type: Literal["co-simulation", "model exchange"] = "co-simulation"
    """Co-simulation (the FMU integrates) or model exchange (derivatives are integrated here); only the latter is
    linearised exactly.
    """
    inputs: dict[str, str | tuple[str, ...]] = Field(default_factory=dict)
    """Names of the FMU's inputs: one per quantity that it reads, or one per axis."""
    outputs: dict[str, str | tuple[str, ...]]
    """Names of the FMU's outputs: one per quantity that it writes, or one per axis."""
    parameters: dict[str, float] = Field(default_factory=dict)
    """Values of the FMU's parameters by name, in the FMU's units."""
    substeps: Annotated[int, Field(ge=1, le=1000)] = 1
    """Model exchange: integration steps per tick."""

    @field_validator("fmu")
    @classmethod
    def _there(cls, name: str, info: ValidationInfo) -> str:
        if from_a_run_file(info):
            return name
        path = (folder(info) / name).resolve()
        if not path.is_file():
            raise fault(f"there is no file {path}; name it relative to the definition's folder")
        return str(path)

    @property
    def file(self) -> Path:
        return Path(self.fmu)

    def opened(self) -> Fmu:
        """The FMU itself: from here on its code is run."""
        check_trust(self.file)
        return opened(self.file, digest_of(self.file), self.type)

    def wired(self, given: Mapping[str, str | tuple[str, ...]], ports: Sequence[Port], causality: str) -> Wiring:
        """Which variables of the FMU belong to which entries of the ports, and by what they are multiplied."""
        fmu, wiring = self.opened(), Wiring([], [], [])
        unknown = [key for key in given if key not in [name for name, *_ in ports]]
        if unknown:
            named = ", ".join(name for name, *_ in ports)
            raise FmuError(f"{causality}s has '{unknown[0]}', but this part has {named}")
        first = 0
        for name, count, unit in ports:
            names = given.get(name, ())
            names = (names,) if isinstance(names, str) else names
            if names and len(names) != count:
                raise FmuError(
                    f"{causality}s.{name} names {len(names)} variable(s) for {count} axis(es); give one for each"
                )
            for number, one in enumerate(names):
                variable = fmu.variable(one, causality)
                wiring.variables.append(variable)
                wiring.places.append(first + number)
                wiring.factors.append(conversion(fmu, variable, unit))
            first += count
        return wiring

    def fmu_method(
        self,
        dt: float,
        reads: Sequence[Port],
        writes: Sequence[Port],
        also: Mapping[str, str] | None = None,
        *,
        holds: bool = False,
    ) -> Method:
        """A fresh instance of the FMU as a block's method; ``also`` are further variables that it writes.

        One that ``holds`` is given the inputs of a tick during the step that follows it, as a rig its command.
        """
        fmu = self.opened()
        ins, outs = (
            self.wired(self.inputs, reads, "input"),
            self.wired({**self.outputs, **(also or {})}, writes, "output"),
        )
        missing = [name for name, *_ in writes if name not in self.outputs and name not in (also or {})]
        if missing:
            raise FmuError(f"outputs lacks '{missing[0]}'; give the corresponding variable of {self.file.name}")
        self.check_alone(fmu, dt)
        instance = Instance(fmu, self.parameters)
        shared = Shared(instance, references(ins.variables), references(outs.variables), np.zeros(8))
        n, width = len(ins.variables), max(len(ins.variables), 1)
        parameters: dict[str, Any] = {
            **addresses(shared),
            "dt": dt,
            "inputs": float(n),
            "holds": float(holds),
            "wires": padded(ins.places, width),
            "into": padded([1.0 / one for one in ins.factors], width),
            "out": padded(outs.factors, len(outs.factors)),
        }
        state: dict[str, Any] = {
            "begun": 0.0,
            "time": 0.0,
            "last": np.zeros(width),
            "values": np.zeros(width),
            "results": np.zeros(len(outs.factors)),
        }
        frozen: tuple[str, ...] = ("begun", "time", "values", "results")
        if self.type == "co-simulation":
            return Method(co_simulation_step, parameters, state, frozen, faults=FAULTS, keeps=shared)
        states, indicators = max(fmu.states, 1), max(fmu.indicators, 1)
        parameters |= {"states": float(fmu.states), "indicators": float(fmu.indicators)}
        parameters |= {"substeps": float(self.substeps), "stages": STAGES, "weights": WEIGHTS}
        state |= {"x": np.zeros(states), "trial": np.zeros(states), "slopes": np.zeros((4, states))}
        state |= {"sign": np.zeros(indicators), "crossing": np.zeros(indicators), "next_event": NEVER}
        frozen = (*frozen, "trial", "slopes", "sign", "crossing", "next_event")
        return Method(model_exchange_step, parameters, state, frozen, faults=FAULTS, keeps=shared)

    def tried(self, block: Block) -> Block:
        """The block, after two ticks at rest; one whose state cannot be set has a stand-in to be linearised."""
        compiled, y, shared = compiled_block(block), np.zeros(len(block.outputs)), block.keeps
        p, s, u = flatten(block.parameters), flatten(block.state), np.zeros(max(len(block.inputs), 1))
        for tick in range(2):
            _, status = compiled(p, s, tick * float(p_of(block, "dt")), u, y)
            if status:
                said = shared.instance.message
                raise FmuError(f"{self.file.name}: {FAULTS.get(status, status)} at rest{': ' + said if said else ''}")
        bad = [channel.name for channel, value in zip(block.outputs, y, strict=True) if not np.isfinite(value)]
        if bad:
            raise FmuError(f"{self.file.name}: its output for '{bad[0]}' is not finite at rest")
        block = replace(block, said=lambda: str(shared.instance.message))
        if self.type == "model exchange" and not shared.instance.fmu.indicators:
            waits = s.view(layout(block.state))[0]["next_event"] < NEVER
            if not waits:
                return block
        fmu = shared.instance.fmu
        known = bool(fmu.derivatives) and (fmu.file, float(p_of(block, "dt"))) not in _unmet
        here = (lambda state: self.stand_in_here(block, state)) if known else None
        return replace(block, stand_in=lambda: self.stand_in(block), stand_in_here=here, by_experiment=True)

    def check_alone(self, fmu: Fmu, dt: float) -> None:
        """Raise an error unless the FMU runs at this step: tried in a process of its own, where it can do no harm."""
        step = fmu.fixed_step
        if step is not None and abs(dt / step - round(dt / step)) > 1e-6 * dt / step:
            raise FmuError(
                f"{self.file.name} has an internal step of {step:g} s, but is called every {dt:g} s; use a step "
                "that is a whole multiple"
            )
        if (fmu.file, dt) in _tried:  # not again for every value of a parameter
            return
        tuned = {fmu.variable(name, "parameter", "input").reference: value for name, value in self.parameters.items()}
        given = {
            "library": str(fmu.file),
            "version": fmu.version,
            "exchange": fmu.interface == "model exchange",
            "token": fmu.token,
            "name": fmu.identifier,
            "resources": str(fmu.resources),
            "states": fmu.states,
            "parameters": [list(tuned), list(tuned.values())],
            "dt": dt,
        }
        found = tried_out(json.dumps(given))
        if found:
            raise FmuError(f"{self.file.name} {found}")
        _tried.add((fmu.file, dt))

    def _played(self, block: Block, inputs: np.ndarray) -> np.ndarray:
        """Outputs of the instance from its beginning on for inputs (ticks, inputs)."""
        try:
            return played(block, inputs, float(p_of(block, "dt")))
        except PlayedError as error:
            text = FAULTS.get(error.status, error.status)
            raise FmuError(f"{self.file.name}: {text} in its pulse response") from error

    def _pulses(self, block: Block, samples: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Pulse responses (samples, outputs, inputs) until they have ended, the outputs at rest, and by how much those
        to pulses of half the size differ."""
        n, used = len(block.inputs), np.asarray(p_of(block, "wires"))[: int(p_of(block, "inputs"))].astype(int)
        rest = self._played(block, np.zeros((samples + 1, n)))
        pulses, of_half = np.zeros((2, samples, len(block.outputs), n))
        for found, size in ((pulses, PULSE), (of_half, 0.5 * PULSE)):
            for i in used:
                inputs = np.zeros((samples + 1, n))
                inputs[1, i] = size  # the first tick makes no step yet
                found[:, :, i] = (self._played(block, inputs) - rest)[1:] / size
        largest, late = (np.abs(part).max(axis=0) for part in (pulses, pulses[samples // 2 :]))
        if samples < MOST_SAMPLES and (np.any(late > ENDED * largest) or not np.any(largest > 0.0)):
            return self._pulses(block, min(2 * samples, MOST_SAMPLES))
        return pulses, rest[0], share(of_half - pulses, pulses)

    def stand_in(self, block: Block) -> Block:
        """The linear block whose pulse responses at rest are those of the FMU."""
        n, dt = len(block.inputs), float(p_of(block, "dt"))
        pulses, rest, off = self._pulses(block, SAMPLES)
        linear = f"; its response differs by {off:.1g} for half the pulse" if off > LINEAR else ""
        why = f"{self.file.name} does not expose its state: linearised "
        if block.keeps.instance.fmu.derivatives:
            self._played(block, np.zeros((1, n)))  # it is at rest again
            try:
                own = self._slopes(block)[0]
                missed = difference(own, pulses)
                told = f"{why}by its own directional derivatives, order {own.states}, "
                told += f"which match its pulse responses over {len(pulses)} ticks to {missed:.1g}{linear}"
                if missed < MEETS:
                    return linear_block(block, own, rest, told)
                linear += f"; its directional derivatives differ by {missed:.1g} and are not used"
            except FmuError as error:
                linear += f"; it gives no directional derivatives: {error}"
            _unmet.add((block.keeps.instance.fmu.file, dt))
        model = realised(pulses, dt)
        missed = difference(model, pulses)
        told = (
            f"by experiment, order {model.states} from pulse responses of {len(pulses)} ticks, matched to {missed:.1g}"
        )
        return linear_block(block, model, rest, f"{why}{told}{linear}")

    def _slopes(self, block: Block) -> tuple[StateSpace, np.ndarray, Slopes]:
        """The linear model of a call of the block where the FMU stands, G₁, and what they follow from, in SI units."""
        shared, n = block.keeps, int(p_of(block, "inputs"))
        own = Slopes.of(shared.instance, shared.inputs, shared.outputs)
        out, into = np.asarray(p_of(block, "out"))[:, None], np.zeros((n, len(block.inputs)))
        for i, wire in enumerate(np.asarray(p_of(block, "wires"))[:n].astype(int)):
            into[i, wire] = p_of(block, "into")[i]
        in_si = Slopes(own.a, own.b @ into, out * own.c, out * (own.d @ into), own.rate)
        substeps = self.substeps if self.type == "model exchange" else None
        return *in_si.model(float(p_of(block, "dt")), substeps, holds=p_of(block, "holds") != 0.0), in_si

    def stand_in_here(self, block: Block, state: Any) -> Block:
        """The linear block about where the FMU stands, which continues with the outputs that the FMU would have."""
        model, by_now, slopes = self._slopes(block)
        u, n = np.zeros(len(block.inputs)), int(p_of(block, "inputs"))
        u[np.asarray(p_of(block, "wires"))[:n].astype(int)] = state["last"][:n]
        outputs = np.asarray(p_of(block, "out")) * state["results"]
        begins = slopes.ahead(float(p_of(block, "dt"))) - by_now @ u
        return linear_block(block, model, outputs - slopes.d @ u, block.held, begins)


_tried: set[tuple[Path, float]] = set()
_unmet: set[tuple[Path, float]] = set()
"""FMUs whose directional derivatives are not those of what they do at rest: they are not believed in motion either."""


@cache
def tried_out(given: str) -> str:
    """What is wrong with an FMU at rest; nothing if empty."""
    words = [sys.executable, "-I", fmu_trial.__file__]
    try:
        done = subprocess.run(words, input=given, capture_output=True, text=True, timeout=LONGEST_TRIAL, check=False)
    except subprocess.TimeoutExpired:
        return f"did not finish: {fmu_trial.STEPS} steps at rest took more than {LONGEST_TRIAL:g} s"
    if done.returncode < 0:
        return f"crashed when it was stepped at rest, by signal {-done.returncode}"
    try:
        return str(json.loads(done.stdout.splitlines()[-1])["error"])
    except (ValueError, IndexError, KeyError):
        return f"ended its test process with exit code {done.returncode}"


LONGEST_TRIAL = 10.0
"""Seconds for all steps of a trial."""
PULSE = 1e-3
"""Size of pulses [N, m]: small, as the loop is linearised at rest."""
LINEAR = 1e-6
MEETS = 1e-3
"""Of pulse responses, as a share of the largest, that directional derivatives may differ by."""


@dataclass
class Wiring:
    """Variables of an FMU, the entries of a block's inputs or outputs that they are, and factors to SI units."""

    variables: list[Variable]
    places: list[int]
    factors: list[float]


@dataclass
class Shared:
    """Memory that compiled code and the FMU share; kept as long as the block."""

    instance: Instance
    inputs: np.ndarray
    outputs: np.ndarray
    scratch: np.ndarray


def addresses(shared: Shared) -> dict[str, float]:
    """Parameters of a block that steps an instance: addresses of functions and memory."""
    instance, fmu = shared.instance, shared.instance.fmu
    found = fmu.addresses
    two = fmu.version == "2.0"
    values = {
        "version": 2.0 if two else 3.0,
        "component": as_field(instance.component),
        "used": place(instance.used),
        "stands_at": place(instance.stands_at),
        "scratch": place(shared.scratch),
        "tunable": float(len(instance.tunable)),
        "tunable_references": place(instance.references),
        "tunable_values": place(instance.values),
        "input_references": place(shared.inputs),
        "output_references": place(shared.outputs),
        "set_numbers": as_field(found["SetReal" if two else "SetFloat64"]),
        "get_numbers": as_field(found["GetReal" if two else "GetFloat64"]),
        "reset": as_field(found["Reset"]),
        "setup": as_field(found.get("SetupExperiment", 0)),
        "enter_initialization": as_field(found["EnterInitializationMode"]),
        "exit_initialization": as_field(found["ExitInitializationMode"]),
    }
    if fmu.interface == "co-simulation":
        return {**values, "do_step": as_field(found["DoStep"])}
    exchange = {
        "set_time": "SetTime",
        "set_states": "SetContinuousStates",
        "get_states": "GetContinuousStates",
        "derivatives": "GetDerivatives" if two else "GetContinuousStateDerivatives",
        "get_indicators": "GetEventIndicators",
        "completed": "CompletedIntegratorStep",
        "event_mode": "EnterEventMode",
        "discrete": "NewDiscreteStates" if two else "UpdateDiscreteStates",
        "continuous_time": "EnterContinuousTimeMode",
    }
    return {**values, **{key: as_field(found[name]) for key, name in exchange.items()}}


def read_unit(unit: str) -> str:
    """A unit as Modelica writes it (N.m, m/s2) in our way."""
    return re.sub(r"(?<=[A-Za-z])(-?\d+)", r"^\1", unit.replace(".", " "))


def si_unit(unit: str) -> str:
    """The unit in which a variable of the FMU is recorded: its own."""
    return read_unit(unit) or "1"


def conversion(fmu: Fmu, variable: Variable, unit: str) -> float:
    """By what a variable's number is multiplied to be in ``unit``; 1 if either is none."""
    if not variable.unit or not unit:
        return 1.0
    ours = read_unit(variable.unit)
    try:
        return float(units.factor(ours, unit))
    except units.UnitError as error:
        raise FmuError(
            f"'{variable.name}' of {fmu.path.name} is in '{variable.unit}', but '{unit}' is expected: it {error}"
        ) from error


def padded(values: Sequence[float], width: int) -> np.ndarray:
    return np.array([*values, *[0.0] * (width - len(values))], dtype=float)


def p_of(block: Block, name: str) -> Any:
    return block.parameters[name]
