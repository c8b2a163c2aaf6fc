"""Models from measurements: frequency responses, rational fits, physical parameters, delays over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .assembled_frf import AssembledFRF as AssembledFRF
    from .assembled_frf import frf_of_run as frf_of_run
    from .assembled_frf import modes_of as modes_of
    from .complex_exponential import lsce as lsce
    from .complex_exponential import lsce_supported as lsce_supported
    from .complex_frequency import candidates as candidates
    from .complex_frequency import chosen as chosen
    from .complex_frequency import lscf as lscf
    from .complex_frequency import synthesised as synthesised
    from .delay_tracking import DelayTrack as DelayTrack
    from .delay_tracking import track_delay as track_delay
    from .experiment import Measurement as Measurement
    from .experiment import measured as measured
    from .experiment import programme as programme
    from .feed_forward import delay_from_phase as delay_from_phase
    from .feed_forward import inverse_filter as inverse_filter
    from .frf import Estimate as Estimate
    from .frf import combined as combined
    from .frf import estimate as estimate
    from .frf import pair as pair
    from .frf import read_frf as read_frf
    from .frf import stepped_sine as stepped_sine
    from .parameters import ParameterFit as ParameterFit
    from .parameters import fit_parameters as fit_parameters
    from .poles import ModalError as ModalError
    from .poles import Poles as Poles
    from .refined_poles import RefinedPoles as RefinedPoles
    from .refined_poles import Spectra as Spectra
    from .refined_poles import refined as refined
    from .rig_parameters import Fitted as Fitted
    from .rig_parameters import RigFit as RigFit
    from .rig_parameters import fit_rig as fit_rig
    from .rig_record import NotIdentifiableError as NotIdentifiableError
    from .rig_record import RigRecord as RigRecord
    from .rig_response import RigResponse as RigResponse
    from .sought import Sought as Sought
    from .sought import sought_in as sought_in
    from .stabilisation import Stabilisation as Stabilisation
    from .vector_fitting import RationalFit as RationalFit
    from .vector_fitting import vector_fit as vector_fit
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "assembled_frf": "AssembledFRF frf_of_run modes_of",
            "complex_exponential": "lsce lsce_supported",
            "complex_frequency": "candidates chosen lscf synthesised",
            "delay_tracking": "DelayTrack track_delay",
            "experiment": "Measurement measured programme",
            "feed_forward": "delay_from_phase inverse_filter",
            "frf": "Estimate combined estimate pair read_frf stepped_sine",
            "parameters": "ParameterFit fit_parameters",
            "poles": "ModalError Poles",
            "refined_poles": "RefinedPoles Spectra refined",
            "rig_parameters": "Fitted RigFit fit_rig",
            "rig_record": "NotIdentifiableError RigRecord",
            "rig_response": "RigResponse",
            "sought": "Sought sought_in",
            "stabilisation": "Stabilisation",
            "vector_fitting": "RationalFit vector_fit",
        },
    )
