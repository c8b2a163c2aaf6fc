"""Actuators that act on each other, as one linear model from n commands to n strokes:

    y(s) = H(s) u(s),      H an n × n matrix of transfer functions

given in one of three ways:

"zeros and poles"       H_ij = g_ij Π_zeros r(s) / Π_poles r(s), with roots that have names and may be shared:
                        r(s) = 1 + s/ω, or 1 + 2ζ s/ω + s²/ω² of a pair; g_ij is the static gain
"state space"           x˙ = A x + B u, y = C x + D u
"frequency responses"   measured H_ij(f), each fitted by a rational function (``vector_fitting.py``)

A root or gain may have an ``actual`` share: the simulated rig has that part of it, while those that use the model (a
coupling that inverts it, an estimator) use the value itself.  So uncertainty on the share leaves what they know.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator, model_validator
from scipy.linalg import block_diag

from ..contracts.state_space import StateSpace
from ..settings import Matrix, Number, Settings, default_kind, fault
from .vector_fitting import vector_fit

WORST_FIT = 0.05
"""RMS of the misfit over that of a response, beyond which a fitted model does not stand for it."""
ALIKE = 1e-6
"""Smallest singular value of the static gains over the largest, below which actuators count as doing the same."""


class Actuators(Settings):
    """A matrix of actuators; its kinds say how it is written."""

    kind: str

    def model(self, actual: bool = False) -> StateSpace:
        """From commands to strokes, continuous: as it is known, or as the simulated rig has it."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        """Number of actuators."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _moves(self) -> Any:
        model = self.model(actual=True)
        slowest = max(model.poles(), key=lambda pole: pole.real, default=-1.0)
        if slowest.real >= 0.0:
            told = f"{slowest.real:.4g}" if slowest.imag == 0.0 else f"{slowest.real:.4g} ± {abs(slowest.imag):.4g}i"
            raise fault(
                f"a pole at {told} rad/s does not decay: the actuators are not stable on their own; give them as their "
                "controllers hold them, with all poles left of the imaginary axis"
            )
        static = self.model().response(np.zeros(1))[0].real
        sizes = np.linalg.svd(static, compute_uv=False)
        if sizes[-1] <= ALIKE * sizes[0]:
            raise fault(
                f"the actuators are alike: their static gains {static.round(4).tolist()} are a singular matrix: "
                "not every pair of strokes can be reached; check for equal rows or columns"
            )
        return self


class Root(Settings):
    """A real root at −ω, or with a damping ratio a pair of roots, of a transfer function."""

    frequency: Annotated[float, Number("Hz", above=0)]
    """ω/2π, frequency of the root."""
    damping: Annotated[float, Number("1", above=0)] | None = None
    """ζ of a pair; default: a real root."""
    actual: Annotated[float, Number("1", above=0)] = 1.0
    """Frequency of the simulated rig, relative to the given one."""

    def polynomial(self, actual: bool) -> np.ndarray:
        """Coefficients of s, the highest power first; the last is 1."""
        omega = 2.0 * np.pi * self.frequency * (self.actual if actual else 1.0)
        return np.array([1.0 / omega, 1.0] if self.damping is None else [omega**-2, 2.0 * self.damping / omega, 1.0])


class Entry(Settings):
    """From one command to one stroke."""

    gain: Annotated[float, Number("1")]
    """Static gain."""
    zeros: tuple[str, ...] = ()
    """Names of the roots."""
    poles: tuple[str, ...] = ()
    """Names of the roots."""
    actual: Annotated[float, Number("1")] = 1.0
    """Gain of the simulated rig, relative to the given one."""


class ZerosAndPoles(Actuators):
    """Transfer functions by gains and roots that have names."""

    kind: Literal["zeros and poles"] = "zeros and poles"
    roots: dict[Annotated[str, Field(min_length=1)], Root]
    """Roots by name, which entries may share."""
    entries: Annotated[tuple[tuple[Entry, ...], ...], Field(min_length=1)]
    """One row per stroke, one column per command."""

    @field_validator("entries")
    @classmethod
    def _fit(cls, entries: tuple[tuple[Entry, ...], ...], info: ValidationInfo) -> tuple[tuple[Entry, ...], ...]:
        roots, n = info.data.get("roots"), len(entries)
        for i, row in enumerate(entries):
            if len(row) != n:
                raise fault(f"row {i + 1} has {len(row)} entries for {n} actuator(s); give {n}", i)
            for j, entry in enumerate(row):
                missing = [name for name in (*entry.zeros, *entry.poles) if roots is not None and name not in roots]
                if missing:
                    raise fault(f"'{missing[0]}' is none of the roots ({', '.join(roots or ())}); add it there", i, j)
                above, below = (
                    sum(1 if roots is None or roots[name].damping is None else 2 for name in names)
                    for names in (entry.zeros, entry.poles)
                )
                if above > below:
                    raise fault(
                        f"{above} zero(s) above {below} pole(s): it is not proper, and no actuator answers a step "
                        "without end; add the poles that it has",
                        *(i, j),
                    )
        return entries

    @property
    def count(self) -> int:
        return len(self.entries)

    def model(self, actual: bool = False) -> StateSpace:
        """Entries of a column that share their poles share their states."""
        n = self.count
        parts: list[StateSpace] = []
        for j in range(n):
            column = [row[j] for row in self.entries]
            for poles in dict.fromkeys(entry.poles for entry in column):
                denominator = self._product(poles, actual)
                numerators = [
                    entry.gain * (entry.actual if actual else 1.0) * self._product(entry.zeros, actual)
                    if entry.poles == poles
                    else np.zeros(1)
                    for entry in column
                ]
                parts.append(_from_command(j, n, denominator, numerators))
        a, b, c = block_diag(*(one.a for one in parts)), [one.b for one in parts], [one.c for one in parts]
        return StateSpace(a, np.vstack(b), np.hstack(c), np.sum([one.d for one in parts], axis=0))

    def _product(self, names: tuple[str, ...], actual: bool) -> np.ndarray:
        result = np.ones(1)
        for name in names:
            result = np.polymul(result, self.roots[name].polynomial(actual))
        return np.atleast_1d(result)


def _from_command(j: int, n: int, denominator: np.ndarray, numerators: list[np.ndarray]) -> StateSpace:
    """The transfer functions from command j to n strokes that have this denominator, as one chain of states."""
    order = len(denominator) - 1
    if order == 0:
        direct = np.zeros((n, n))
        direct[:, j] = [one[-1] / denominator[-1] for one in numerators]
        return StateSpace(np.zeros((0, 0)), np.zeros((0, n)), np.zeros((n, 0)), direct)
    # in a unit of time of its own, so that the coefficients are alike large
    unit = (denominator[0] / denominator[-1]) ** (1.0 / order)
    powers = unit ** -np.arange(order, -1.0, -1.0)
    scaled = denominator * powers
    lead = scaled[0]
    a, b, c, d = np.diag(np.ones(order - 1), -1), np.zeros((order, n)), np.zeros((n, order)), np.zeros((n, n))
    a[0], b[0, j] = -scaled[1:] / lead, 1.0
    for i, one in enumerate(numerators):
        whole = np.concatenate([np.zeros(order + 1 - len(one)), one]) * powers / lead
        d[i, j] = whole[0]
        c[i] = whole[1:] + whole[0] * a[0]
    return StateSpace(a / unit, b / unit, c, d)


class StateSpaceActuators(Actuators):
    """A state-space model of all actuators, in SI units."""

    kind: Literal["state space"] = "state space"
    A: Annotated[np.ndarray, Matrix("1")]
    """Matrix A, (states, states) [1/s]."""
    B: Annotated[np.ndarray, Matrix("1")]
    """Matrix B, (states, actuators)."""
    C: Annotated[np.ndarray, Matrix("1")]
    """Matrix C, (actuators, states)."""
    D: Annotated[np.ndarray, Matrix("1")] | None = None
    """Matrix D, (actuators, actuators); default: none."""

    @field_validator("A", "B", "C", "D")
    @classmethod
    def _fit(cls, matrix: np.ndarray | None, info: ValidationInfo) -> np.ndarray | None:
        a, b = info.data.get("A"), info.data.get("B")
        states = None if a is None else len(a)
        actuators = None if b is None else b.shape[1]
        wanted = {
            "A": (len(matrix) if matrix is not None else None,) * 2,
            "B": (states, None),
            "C": (actuators, states),
            "D": (actuators, actuators),
        }[str(info.field_name)]
        for got, want, of in zip(() if matrix is None else matrix.shape, wanted, ("rows", "columns"), strict=False):
            if want is not None and got != want:
                raise fault(f"{got} {of} where {want} belong: A is states × states, and there are as many strokes as "
                            "commands")  # fmt: skip
        return matrix

    @property
    def count(self) -> int:
        return int(self.B.shape[1])

    def model(self, actual: bool = False) -> StateSpace:
        return StateSpace(self.A, self.B, self.C, np.zeros((self.count, self.count)) if self.D is None else self.D)


class MeasuredResponses(Actuators):
    """Measured frequency responses, fitted by rational functions."""

    kind: Literal["frequency responses"] = "frequency responses"
    poles: Annotated[int, Field(ge=1, le=30)] = 6
    """Order of the rational function that is fitted to each response."""
    responses: Annotated[tuple[tuple[Annotated[np.ndarray, Matrix("1")], ...], ...], Field(min_length=1)]
    """One row per stroke, one column per command; each entry has three columns: frequency in Hz, real and imaginary
    part, e.g. { file = "h11.csv" }.
    """

    @field_validator("responses")
    @classmethod
    def _fit(cls, responses: tuple[tuple[np.ndarray, ...], ...]) -> tuple[tuple[np.ndarray, ...], ...]:
        n, first = len(responses), responses[0][0]
        for i, row in enumerate(responses):
            if len(row) != n:
                raise fault(f"row {i + 1} has {len(row)} responses for {n} actuator(s); give {n}", i)
            for j, one in enumerate(row):
                if one.shape[1] != 3:
                    raise fault(f"{one.shape[1]} columns; give frequency in Hz, real part and imaginary part", i, j)
                if len(one) != len(first) or not np.allclose(one[:, 0], first[:, 0]):
                    raise fault(
                        f"{len(one)} frequencies from {one[0, 0]:g} to {one[-1, 0]:g} Hz where the first response has "
                        f"{len(first)} from {first[0, 0]:g} to {first[-1, 0]:g} Hz; measure all of them at the same",
                        *(i, j),
                    )
        return responses

    @property
    def count(self) -> int:
        return len(self.responses)

    def model(self, actual: bool = False) -> StateSpace:
        n = self.count
        a, b, c, d = list[np.ndarray](), list[np.ndarray](), list[np.ndarray](), np.zeros((n, n))
        for i, row in enumerate(self.responses):
            for j, one in enumerate(row):
                fitted = vector_fit(one[:, 0], one[:, 1] + 1j * one[:, 2], self.poles)
                if fitted.error > WORST_FIT:
                    raise fault(
                        f"{self.poles} poles leave {100 * fitted.error:.1f} % of this response, over "
                        f"{100 * WORST_FIT:g} %; give more poles, or a band in which it is measured well",
                        *("responses", i, j),
                    )
                part = fitted.state_space()
                a.append(part.a)
                b.append(part.b @ np.eye(n)[[j]])
                c.append(np.eye(n)[:, [i]] @ part.c)
                d[i, j] = part.d[0, 0]
        return StateSpace(block_diag(*a), np.vstack(b), np.hstack(c), d)


AnyActuators = Annotated[
    ZerosAndPoles | StateSpaceActuators | MeasuredResponses,
    Field(discriminator="kind"),
    default_kind("zeros and poles"),
]
