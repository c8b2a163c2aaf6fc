"""One compiled function for all uniaxial laws, by their codes.

It is compiled once for all blocks and not inlined into them: a block that evaluates elements in several places would
else hold every law as many times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...kernels.compile import INSIDE, cacheable, shared
from .bilinear import BILINEAR, bilinear
from .bouc_wen import BOUC_WEN, bouc_wen
from .cubic import CUBIC, cubic
from .elastic import ELASTIC, elastic
from .elastoplastic import ELASTOPLASTIC, elastoplastic
from .menegotto_pinto import MENEGOTTO_PINTO, menegotto_pinto


def all_laws(code, p, s, strain, rate, elapsed, trial):  # type: ignore[no-untyped-def]
    stress, tangent, damping = np.nan, np.nan, 0.0
    if code == ELASTIC:
        stress, tangent = elastic(p, strain)
    elif code == CUBIC:
        stress, tangent = cubic(p, strain)
    elif code == BILINEAR:
        stress, tangent = bilinear(p, strain)
    elif code == ELASTOPLASTIC:
        stress, tangent = elastoplastic(p, s, strain, trial)
    elif code == BOUC_WEN:
        stress, tangent = bouc_wen(p, s, strain, trial)
    elif code == MENEGOTTO_PINTO:
        stress, tangent = menegotto_pinto(p, s, strain, trial)
    return stress, tangent, damping


def _calling(laws: Any) -> Callable[..., tuple[float, float, float]]:
    def uniaxial(code, p, s, strain, rate, elapsed, trial):  # type: ignore[no-untyped-def]
        return laws(code, p, s, strain, rate, elapsed, trial)

    return uniaxial


_inside = cacheable(all_laws, INSIDE)
uniaxial = shared(_calling(_inside), _inside)
"""stress, tangent, damping = uniaxial(code, p, s, strain, rate, elapsed, trial); see ``law.py``.  NaN for no code."""
