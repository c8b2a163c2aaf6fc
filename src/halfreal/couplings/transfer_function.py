"""Transfer functions in a definition: products of sections, and their discrete form by Tustin's rule.

    H(s) = Π_i H_i(s),      s → (2/Δt) (z − 1)/(z + 1)

A section is a PI controller k_p + k_i/s, a lead or lag (1 + s/ω_z)/(1 + s/ω_p), or any ratio of polynomials, given by
its zeros, poles and gain or by its coefficients.  Each is discretised by itself and they are put in series: nothing is
lost in the coefficients of a long product (A. V. Oppenheim, R. W. Schafer, Discrete-Time Signal Processing).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Discriminator, Field, Tag, model_validator

from ..settings import Matrix, Number, Settings, Vector, fault
from .per_axis import EachAxis

Discrete = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""A, B, C, D of x[k + 1] = A x[k] + B u[k], y[k] = C x[k] + D u[k]."""


class Pi(Settings):
    """k_p + k_i/s."""

    kind: Literal["pi"] = "pi"
    proportional: Annotated[float, Number("1")]
    integral: Annotated[float, Number("1/s")] = 0.0

    def ratio(self) -> tuple[np.ndarray, np.ndarray]:
        if self.integral == 0.0:
            return np.array([self.proportional]), np.array([1.0])
        return np.array([self.proportional, self.integral]), np.array([1.0, 0.0])


class Lead(Settings):
    """(1 + s/zero)/(1 + s/pole), of gain 1 at rest: a lead if the zero is below the pole, else a lag."""

    kind: Literal["lead"] = "lead"
    zero: Annotated[float, Number("rad/s", above=0)]
    pole: Annotated[float, Number("rad/s", above=0)]

    def ratio(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([1.0 / self.zero, 1.0]), np.array([1.0 / self.pole, 1.0])


class Roots(Settings):
    """gain · Π(s − zero)/Π(s − pole), in rad/s; a row (a, b) of the pairs means a ± ib."""

    kind: Literal["zeros and poles"] = "zeros and poles"
    gain: Annotated[float, Number("1")]
    zeros: Annotated[np.ndarray, Vector("1")] | None = None
    poles: Annotated[np.ndarray, Vector("1")] | None = None
    zero_pairs: Annotated[np.ndarray, Matrix("1")] | None = None
    pole_pairs: Annotated[np.ndarray, Matrix("1")] | None = None

    @model_validator(mode="after")
    def _proper(self) -> Roots:
        for key in ("zero_pairs", "pole_pairs"):
            pairs = getattr(self, key)
            if pairs is not None and pairs.shape[1] != 2:
                raise fault(f"rows of {pairs.shape[1]} numbers; write a ± ib as [a, b]", key)
        _check_proper(*self.ratio())
        return self

    def ratio(self) -> tuple[np.ndarray, np.ndarray]:
        return self.gain * _polynomial(self.zeros, self.zero_pairs), _polynomial(self.poles, self.pole_pairs)


class Polynomials(Settings):
    """A ratio of polynomials in s (rad/s), coefficients of the highest power first."""

    kind: Literal["polynomials"] = "polynomials"
    numerator: Annotated[np.ndarray, Vector("1")]
    denominator: Annotated[np.ndarray, Vector("1")]

    @model_validator(mode="after")
    def _proper(self) -> Polynomials:
        if self.denominator[0] == 0.0:
            raise fault("its first coefficient is 0; remove it", "denominator")
        _check_proper(*self.ratio())
        return self

    def ratio(self) -> tuple[np.ndarray, np.ndarray]:
        return np.trim_zeros(self.numerator, "f"), self.denominator


Section = Annotated[Pi | Lead | Roots | Polynomials, Field(discriminator="kind")]
Sections = tuple[Section, ...]


def _which(given: Any) -> str:
    return "each" if isinstance(given, list | tuple) and given and isinstance(given[0], list | tuple) else "all"


SectionsPerAxis = Annotated[
    Annotated[Sections, Tag("all")] | Annotated[tuple[Sections, ...], Tag("each")], Discriminator(_which), EachAxis()
]
"""A product of sections for all axes, or a list of them, one for each."""


def sections(given: SectionsPerAxis) -> Sections:
    """The sections of a coupling on one axis, or of all axes together."""
    assert _which(given) == "all", "sections that differ between axes: take those of one axis first (of_axis)"
    return given  # type: ignore[return-value]


def _polynomial(roots: np.ndarray | None, pairs: np.ndarray | None) -> np.ndarray:
    result = np.poly(np.zeros(0) if roots is None else roots)
    for real, imaginary in () if pairs is None else pairs:
        result = np.polymul(result, [1.0, -2.0 * real, real**2 + imaginary**2])
    return np.atleast_1d(result)


def _check_proper(numerator: np.ndarray, denominator: np.ndarray) -> None:
    if len(numerator) > len(denominator):
        raise fault(
            f"{len(numerator) - 1} zero(s) above {len(denominator) - 1} pole(s): it would amplify noise without "
            "bound; add poles well above the band of the test"
        )


def gain(value: float) -> Discrete:
    return np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), np.array([[value]])


def tustin(sections: Sections, dt: float) -> Discrete:
    """The product of the sections, discrete."""
    total = gain(1.0)
    for section in sections:
        numerator, denominator = section.ratio()
        if len(denominator) == 1:
            part = gain(float(numerator[-1] / denominator[0]))
        else:
            # with time in steps: coefficients of s in a range of many decades would spoil the state space
            part = _bilinear(*(c * dt ** -np.arange(len(c) - 1.0, -1.0, -1.0) for c in (numerator, denominator)))
        total = series(total, part)
    return total


def _bilinear(numerator: np.ndarray, denominator: np.ndarray) -> Discrete:
    """A ratio of polynomials in s, in controller form, at steps of one by s = 2 (z − 1)/(z + 1).

    As ``scipy.signal.cont2discrete`` gives it, which takes half a second to load.
    """
    n = len(denominator) - 1
    over = np.zeros(n + 1)
    over[n + 1 - len(numerator) :] = numerator
    over, under = over / denominator[0], denominator / denominator[0]
    a, b, c, d = np.eye(n, k=-1), np.eye(n, 1), (over[1:] - over[0] * under[1:])[None], over[:1, None]
    a[0] = -under[1:]
    back = np.eye(n) - a / 2.0
    step = np.linalg.solve(back, b)
    return np.linalg.solve(back, np.eye(n) + a / 2.0), step, np.linalg.solve(back.T, c.T).T, d + c @ step / 2.0


def series(first: Discrete, second: Discrete) -> Discrete:
    """The second system behind the first, which may have several inputs."""
    a1, b1, c1, d1 = first
    a2, b2, c2, d2 = second
    return (
        np.block([[a1, np.zeros((len(a1), len(a2)))], [b2 @ c1, a2]]),
        np.vstack([b1, b2 @ d1]),
        np.hstack([d2 @ c1, c2]),
        d2 @ d1,
    )
