"""What can be known of a loop before it runs: poles, margins, spectra and charts.

Every analysis returns an object with arrays, a ``summary()`` of one line and, where there is something to see, a
``plot()``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .bare_loop import ContinuousLimitError as ContinuousLimitError
    from .dde import Spectrum as Spectrum
    from .dde import abscissa as abscissa
    from .dde import roots as roots
    from .dde_sweep import Sweep as Sweep
    from .dde_sweep import limit as limit
    from .dde_sweep import sweep as sweep
    from .dde_system import DelayError as DelayError
    from .dde_system import DelaySystem as DelaySystem
    from .elementwise import ElementMargins as ElementMargins
    from .elementwise import element_margins as element_margins
    from .force_control import Convergence as Convergence
    from .force_control import Curves as Curves
    from .force_control import ForceControl as ForceControl
    from .force_control import ForceControlError as ForceControlError
    from .force_control import LinearSpecimen as LinearSpecimen
    from .force_control import alpha_beta_map as alpha_beta_map
    from .force_control import convergence as convergence
    from .force_control import free_vibration as free_vibration
    from .force_method import Forecast as Forecast
    from .force_method import recommend as recommend
    from .frf import FRF as FRF
    from .frf import DataMargins as DataMargins
    from .frf import data_margins as data_margins
    from .ideal_compensator import Follower as Follower
    from .ideal_compensator import Following as Following
    from .ideal_compensator import Ideal as Ideal
    from .ideal_compensator import Performance as Performance
    from .ideal_compensator import ideal as ideal
    from .ideal_compensator import ideal_response as ideal_response
    from .ideal_compensator import performance as performance
    from .linearise import Linearisation as Linearisation
    from .linearise import derivative as derivative
    from .margins import DelayMargin as DelayMargin
    from .margins import delay_margin as delay_margin
    from .matching import extrapolated as extrapolated
    from .matching import matched as matched
    from .nyquist import curve as curve
    from .nyquist import encirclements as encirclements
    from .nyquist import frequency_response as frequency_response
    from .nyquist import product as product
    from .open_loop import PROBE as PROBE
    from .open_loop import probe as probe
    from .open_loop import probe_step as probe_step
    from .regulated_plant import Part as Part
    from .regulated_plant import bilinear as bilinear
    from .regulated_plant import closed_loop as closed_loop
    from .regulated_plant import growth as growth
    from .regulated_plant import hybrid_plant as hybrid_plant
    from .regulated_plant import integrator as integrator
    from .regulated_plant import lqg as lqg
    from .regulated_plant import regulated as regulated
    from .regulated_plant import regulator as regulator
    from .substructures import physical_part as physical_part
    from .substructures import substructured_loop as substructured_loop
    from .substructures import virtual_part as virtual_part
    from .tracking import Tracks as Tracks
    from .tracking import delayed as delayed
    from .tracking import track as track
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "bare_loop": "ContinuousLimitError",
            "dde": "Spectrum abscissa roots",
            "dde_sweep": "Sweep limit sweep",
            "dde_system": "DelayError DelaySystem",
            "force_control": (
                "Convergence Curves ForceControl ForceControlError LinearSpecimen alpha_beta_map convergence "
                "free_vibration"
            ),
            "force_method": "Forecast recommend",
            "elementwise": "ElementMargins element_margins",
            "frf": "DataMargins FRF data_margins",
            "ideal_compensator": "Follower Following Ideal Performance ideal ideal_response performance",
            "linearise": "Linearisation derivative",
            "margins": "DelayMargin delay_margin",
            "matching": "extrapolated matched",
            "nyquist": "curve encirclements frequency_response product",
            "open_loop": "PROBE probe probe_step",
            "regulated_plant": "Part bilinear closed_loop growth hybrid_plant integrator lqg regulated regulator",
            "substructures": "physical_part substructured_loop virtual_part",
            "tracking": "Tracks delayed track",
        },
    )
