"""Adaptive FIR inverse: the last targets of an actuator, weighted as its measured strokes and commands say.

M. Quiroz, C. Gálmez, G. Fermandois, "Robust decentralized adaptive compensation for the multi-axial real-time hybrid
simulation benchmark", Front. Built Environ. (2024), doi 10.3389/fbuil.2024.1394952 (RoDeAC).  Each actuator has a
filter of a few taps; recursive least squares find those that would have made its commands out of its measured strokes:

    u_k = θ_kᵀ (z_k, z_{k−m}, …),      φ_k = F(x_k, x_{k−m}, …),      g = P φ/(λ + φᵀP φ)
    θ_k = θ_{k−1} + g (F u_k − θ_{k−1}ᵀφ_k) + ℓΔ (θ_0 − θ_{k−1}),      P_k = (P_{k−1} − g φᵀP_{k−1})/λ

F is a Butterworth filter of order 4, the same on both sides.  u_k stands on both sides, and is solved for.  With
``cross`` the filter of an actuator has taps of all of them.  With an ``inverse`` the filters stand before a decoupling
inverse (``decoupling_inverse.py``), which does what is known beforehand, and adapt what it leaves: they begin with
1, 0, …  Where a covariance grows beyond its bounds nothing is forgotten, and where it falls below, it is lifted.

======== =================================================================================
z, x, u  targets, measured strokes, asked commands (or what is handed to the inverse)
θ_0, P_0 ``coefficients``, ``covariance`` in 1/m² (1/rad² of a rotation)
m        ``spacing`` in steps;  λ = exp(−Δ/``memory``);  ℓ ``leakage``
bounds   ``covariance_bounds``, of the trace of P, as parts of that of P_0
======== =================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from ..contracts.axes import Axes
from ..contracts.context import Context
from ..contracts.coupling import Coupling
from ..contracts.known import Known
from ..contracts.tuning import Known as KnownRig
from ..contracts.tuning import Trial
from ..errors import HalfrealError
from ..kernels.block import Block, Value, channels, names
from ..kernels.history import fill, push
from ..kernels.linear import dot, multiply_add, set_to
from ..settings import Matrix, Number, RowPerAxis, Vector, fault
from .decoupling_inverse import DecouplingInverse, Sampled

TRIED_SPACING = 8e-3
"""Time between the taps of filters that are tried [s]."""
SHAPED = "coupling.shaped"
"""What is handed to the inverse."""


def adaptive_fir_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n, size, taps, spacing = s.theta.shape[0], s.theta.shape[1], int(p.taps), int(p.spacing)
    if s.started == 0.0:  # as if targets and strokes had always stood where they start
        fill(s.targets, u)
        for c in range(n):
            s.now[c] = u[n + c]
            for i in range(4):
                s.sensed[c, i] = p.rest[i] * u[n + c]
                s.sent[c, i] = p.rest[i] * u[c]
        fill(s.strokes, s.now)
        s.started = 1.0
    push(s.targets, u)
    for c in range(n):
        value = p.b[0] * u[n + c] + s.sensed[c, 0]
        for i in range(3):
            s.sensed[c, i] = p.b[i + 1] * u[n + c] - p.a[i + 1] * value + s.sensed[c, i + 1]
        s.sensed[c, 3] = p.b[4] * u[n + c] - p.a[4] * value
        s.now[c] = value
    push(s.strokes, s.now)
    for c in range(n):
        for i in range(size):
            of = c if size == taps else i // taps
            back = (i % taps) * spacing
            s.phi[i] = s.strokes[back, of]
            s.z[i] = s.targets[back, of]
            s.kept[i] = s.theta[c, i] + p.leakage * (p.start[c, i] - s.theta[c, i])
        plain, known, moves = dot(s.kept, s.z), dot(s.theta[c], s.phi), 0.0
        adapts = abs(s.now[c]) > p.least
        if adapts:
            set_to(0.0, s.gain)
            multiply_add(s.covariance[c], s.phi, s.gain)
            below = p.fade + dot(s.gain, s.phi)
            moves = dot(s.gain, s.z) / below
        value = (plain + moves * (s.sent[c, 0] - known)) / (1.0 - moves * p.b[0])
        filtered = p.b[0] * value + s.sent[c, 0]
        if adapts:
            error, trace = filtered - known, 0.0
            for i in range(size):
                s.kept[i] += s.gain[i] * error / below
                trace += s.covariance[c, i, i]
            fade = p.fade if trace < p.most[c] else 1.0
            for i in range(size):
                for j in range(size):
                    s.covariance[c, i, j] = (s.covariance[c, i, j] - s.gain[i] * s.gain[j] / below) / fade
                if trace < p.fewest[c]:
                    s.covariance[c, i, i] += (p.fewest[c] - trace) / size
        for i in range(3):
            s.sent[c, i] = p.b[i + 1] * value - p.a[i + 1] * filtered + s.sent[c, i + 1]
        s.sent[c, 3] = p.b[4] * value - p.a[4] * filtered
        y[c] = value
        for i in range(size):
            s.theta[c, i] = s.kept[i]
            y[n + i * n + c] = s.kept[i]
    return 0


def _each(given: Any) -> Any:
    return given if isinstance(given, tuple | list) and not _is_matrix(given) else (given,)


def _is_matrix(given: Any) -> bool:
    """Whether lists are one matrix, and not one for each actuator."""
    return bool(given) and isinstance(given[0], list | tuple) and bool(given[0]) and not isinstance(given[0][0], list)


class AdaptiveFir(Coupling):
    """FIR filters of the targets that adapt by recursive least squares."""

    kind: Literal["adaptive fir"] = "adaptive fir"
    taps: Annotated[int, Field(ge=1, le=32)] = 4
    """Of a filter from one target."""
    spacing: Annotated[int, Field(ge=1, le=100)] = 1
    """Spacing of the taps, in steps."""
    cross: bool = False
    """Whether the filter of an actuator also uses the targets of all others."""
    coefficients: Annotated[np.ndarray, RowPerAxis("1")] | None = None
    """Initial coefficients, one row for all actuators or one per actuator; with ``cross`` those of the first
    actuator come first. Default: 1 and zeros.
    """
    covariance: Annotated[tuple[Annotated[np.ndarray, Matrix("1")], ...], BeforeValidator(_each)]
    """Initial covariance: one number for all coefficients, or a matrix; one for all actuators, or one per actuator."""
    memory: Annotated[float, Number("s", above=0)] | None = None
    """Time constant of forgetting; default: infinite."""
    leakage: Annotated[float, Number("1/s", least=0)] = 0.0
    """Leakage: rate at which coefficients return to their initial values."""
    covariance_bounds: Annotated[np.ndarray, Vector("1", least=0)] = np.array([0.0, 10.0])
    """Lower and upper bound of the covariance, relative to the initial one."""
    cutoff: Annotated[float, Number("Hz", above=0)] = 20.0
    """Cut-off frequency of the filter of strokes and commands used for the regression."""
    least_amplitude: Annotated[float, Number("m", least=0)] = 0.0
    """RMS of the filtered strokes below which adaptation stops; rotations in rad."""
    inverse: DecouplingInverse | None = None
    """Fixed decoupling inverse in series with the filters."""

    @field_validator("covariance_bounds")
    @classmethod
    def _in_order(cls, bounds: np.ndarray) -> np.ndarray:
        if len(bounds) != 2 or bounds[0] >= bounds[1]:
            raise fault(f"{bounds.tolist()}; give two numbers, the lower and the upper bound")
        return bounds

    @field_validator("coefficients")
    @classmethod
    def _as_many_as_taps(cls, coefficients: np.ndarray | None, info: ValidationInfo) -> np.ndarray | None:
        taps, cross = info.data.get("taps"), info.data.get("cross")
        count = 0 if coefficients is None else coefficients.shape[-1]
        if coefficients is not None and taps is not None and (count % taps or (count != taps and not cross)):
            raise fault(f"{count} coefficients for {taps} taps; give one for each, with cross for each actuator's")
        return coefficients

    def _sized(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """θ_0 (n, size) and P_0 (n, size, size)."""
        size = self.taps * (n if self.cross else 1)
        start = np.zeros((n, size))
        start[np.arange(n), self.taps * np.arange(n) if self.cross else 0] = 1.0
        if self.coefficients is not None:
            if self.coefficients.shape[-1] != size or np.atleast_2d(self.coefficients).shape[0] not in (1, n):
                raise fault(f"{self.coefficients.shape} coefficients for {n} × {size}; give as many", "coefficients")
            start = np.broadcast_to(np.atleast_2d(self.coefficients), (n, size)).copy()
        if len(self.covariance) not in (1, n):
            raise fault(f"{len(self.covariance)} of them for {n} actuator(s); give one, or one for each", "covariance")
        found = []
        for one in self.covariance if len(self.covariance) == n else self.covariance * n:
            if one.shape not in ((1, 1), (size, size)):
                raise fault(f"a matrix of {one.shape} for {size} coefficients; give one of their size", "covariance")
            whole = one[0, 0] * np.eye(size) if one.shape == (1, 1) else one
            if np.linalg.eigvalsh(0.5 * (whole + whole.T)).min() < 0.0:
                raise fault(
                    "a covariance with a negative eigenvalue lets coefficients diverge; give one without negative "
                    "eigenvalues",
                    "covariance",
                )
            found.append(whole)
        return start, np.array(found)

    def fits(self, known: Known) -> None:
        if known.coupled is not None:
            self._sized(known.coupled)
        if known.step is not None and self.cutoff >= 0.5 / known.step:
            raise fault(
                f"{self.cutoff:g} Hz; it must be below half the sampling rate, {0.5 / known.step:g} Hz", "cutoff"
            )
        if self.inverse is not None:
            self.inverse.fits(known)

    @property
    def predicts(self) -> bool:
        return True

    @classmethod
    def trials(cls, known: KnownRig) -> Iterable[Trial]:
        """Behind it the best decoupling inverse, if that could be run: how far may coefficients move, and how soon."""
        inverse = known.best.get("decoupling inverse")
        if inverse is None:
            return
        step = known.test.timing.step
        rms = np.sqrt(np.mean(known.motion**2, axis=0))
        rms[rms == 0.0] = np.inf  # one that stands still does not adapt
        settings = {"kind": "adaptive fir", "inverse": inverse, "spacing": max(round(TRIED_SPACING / step), 1)}
        yield Trial(
            [
                {**settings, "taps": taps, "covariance": (times / rms**2).tolist(), "leakage": leakage}
                for taps in (2, 3)
                for times in (10.0, 1000.0)
                for leakage in (0.0, 0.1)
            ]
        )

    def blocks(self, context: Context) -> list[Block]:
        axes, dt = context.axes, context.step
        self._check_units(axes)
        place = context.channels("measured.displacement")
        outputs = channels("command.asked", context.unit, len(axes), of="actuator")
        if self.inverse is None:
            return [self._block(dt, context.channels("target"), place, outputs, "coupling")]
        outputs = channels(SHAPED, context.unit, len(axes), of="axis")
        model, size = self.inverse.plant(context.test, len(axes))
        behind = self.inverse.block(Sampled(model, dt, size), size, names(outputs), context)
        return [self._block(dt, context.channels("target"), place, outputs, "adaptation"), behind]

    def _check_units(self, axes: Axes) -> None:
        if self.cross and len(set(axes.units("m"))) > 1:
            raise HalfrealError(
                f"coupling.cross: the axes {', '.join(axes.names)} are in {', '.join(axes.units('m'))}, which cannot "
                'be added; set kinematics.coupling_in = "actuators"'
            )

    def _block(
        self, dt: float, target: tuple[str, ...], place: tuple[str, ...], outputs: tuple[Any, ...], name: str
    ) -> Block:
        import scipy.signal

        n = len(target)
        start, covariance = self._sized(n)
        size, rows = start.shape[1], (self.taps - 1) * self.spacing + 1
        b, a = scipy.signal.butter(4, self.cutoff, fs=1.0 / dt)
        traces = np.trace(covariance, axis1=1, axis2=2)
        adapted: dict[str, Value] = {
            "theta": start,
            "covariance": covariance,
            "strokes": np.zeros((rows, n)),
            "sensed": np.zeros((n, 4)),
            "sent": np.zeros((n, 4)),
            "now": np.zeros(n),
            "phi": np.zeros(size),
            "z": np.zeros(size),
            "gain": np.zeros(size),
            "kept": np.zeros(size),
            "started": 0.0,
        }
        return Block(
            name=name,
            step=adaptive_fir_step,
            inputs=(*target, *place),
            outputs=(
                *outputs,
                *(one for i in range(size) for one in channels(f"coupling.c{i + 1}", "1", n, of="axis")),
            ),
            parameters={
                "taps": float(self.taps),
                "spacing": float(self.spacing),
                "start": start,
                "fade": 1.0 if self.memory is None else math.exp(-dt / self.memory),
                "leakage": self.leakage * dt,
                "fewest": self.covariance_bounds[0] * traces,
                "most": self.covariance_bounds[1] * traces,
                "least": self.least_amplitude,
                "b": b,
                "a": a,
                "rest": scipy.signal.lfilter_zi(b, a),
            },
            state={"targets": np.zeros((rows, n)), **adapted},
            frozen=tuple(adapted),
            held="the coupling adapts: assessed with its initial coefficients",
            references=("quiroz2024",),
        )
