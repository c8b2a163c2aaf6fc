"""One compiled function for all uniaxial laws, by their codes.

It is compiled once for all blocks and not inlined into them: a block that evaluates elements in several places would
else hold every law as many times.
"""

from __future__ import annotations

import numpy as np

from ...kernels.compile import kernel
from ...kernels.entry import entry
from .bilinear import BILINEAR, bilinear
from .bouc_wen import BOUC_WEN, bouc_wen
from .concrete_with_tension import CONCRETE_WITH_TENSION, concrete_with_tension
from .cubic import CUBIC, cubic
from .elastic import ELASTIC, elastic
from .elastoplastic import ELASTOPLASTIC, elastoplastic
from .friction import FRICTION, friction
from .gap import GAP, gap
from .ibarra_medina_krawinkler import IBARRA_MEDINA_KRAWINKLER, ibarra_medina_krawinkler
from .kent_park import KENT_PARK, kent_park
from .maxwell_damper import MAXWELL_DAMPER, maxwell_damper
from .menegotto_pinto import MENEGOTTO_PINTO, menegotto_pinto
from .mr_damper import MR_DAMPER, mr_damper
from .power_damper import POWER_DAMPER, power_damper


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
    elif code == IBARRA_MEDINA_KRAWINKLER:
        stress, tangent = ibarra_medina_krawinkler(p, s, strain, trial)
    elif code == KENT_PARK:
        stress, tangent = kent_park(p, s, strain, trial)
    elif code == CONCRETE_WITH_TENSION:
        stress, tangent = concrete_with_tension(p, s, strain, trial)
    elif code == POWER_DAMPER:
        tangent = 0.0
        stress, damping = power_damper(p, rate)
    elif code == MAXWELL_DAMPER:
        stress, tangent = maxwell_damper(p, s, strain, elapsed, trial)
    elif code == MR_DAMPER:
        stress, tangent, damping = mr_damper(p, s, strain, rate, elapsed, trial)
    elif code == FRICTION:
        stress, tangent, damping = friction(p, s, strain, rate, trial)
    elif code == GAP:
        stress, tangent = gap(p, strain)
    return stress, tangent, damping


uniaxial = kernel(all_laws)
"""stress, tangent, damping = uniaxial(code, p, s, strain, rate, elapsed, trial); see ``law.py``.  NaN for no code."""


@entry("f8", "f8[]", "f8[]", "f8[]", "f8[]", "f8", "f8[]", "f8[,]")
def _responses(code, p, s, strains, rates, elapsed, trial, found):  # type: ignore[no-untyped-def]
    for i in range(strains.shape[0]):
        found[i, 0], found[i, 1], found[i, 2] = uniaxial(code, p, s, strains[i], rates[i], elapsed, trial)
    return 0


def responses(
    code: float, p: np.ndarray, s: np.ndarray, strains: np.ndarray, rates: np.ndarray, elapsed: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Stress, tangent and damping at each of some strains, (·, 3), and the state on trial at the last; for Python."""
    found, trial = np.empty((len(strains), 3)), s.copy()
    _responses(float(code), p, s, strains, rates, elapsed, trial, found)
    return found, trial
