"""Between the virtual substructure's target and the rig's command: one method a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .adaptive_fir import AdaptiveFir as AdaptiveFir
    from .adaptive_forward_prediction import AdaptiveForwardPrediction as AdaptiveForwardPrediction
    from .adaptive_model_based import AdaptiveModelBased as AdaptiveModelBased
    from .adaptive_time_series import AdaptiveTimeSeries as AdaptiveTimeSeries
    from .axis_filters import AxisFilters as AxisFilters
    from .broad_band_inverse import BroadBandInverse as BroadBandInverse
    from .decoupling_inverse import DecouplingInverse as DecouplingInverse
    from .derivative_filter import DerivativeFilter as DerivativeFilter
    from .direct import Direct as Direct
    from .force_prediction import ForcePrediction as ForcePrediction
    from .forward_prediction import ForwardPrediction as ForwardPrediction
    from .forward_prediction import weights as weights
    from .harmonic.coupling import Harmonic as Harmonic
    from .harmonic.lms import HarmonicLms as HarmonicLms
    from .harmonic.lti import gap_response as gap_response
    from .harmonic.lti import largest_stable_gain as largest_stable_gain
    from .harmonic.lti import loop_response as loop_response
    from .harmonic.lti import resonator as resonator
    from .harmonic.lti import stability_map as stability_map
    from .harmonic.lti import tolerated_phase as tolerated_phase
    from .harmonic.rls import HarmonicRls as HarmonicRls
    from .harmonic.transfer import Transfer as Transfer
    from .kalman_filter import KalmanFilter as KalmanFilter
    from .linear_controller import LinearController as LinearController
    from .model_inverse import ModelInverse as ModelInverse
    from .narrow_band_table import NarrowBandTable as NarrowBandTable
    from .narrow_band_table import Tracking as Tracking
    from .programmed import FmuCoupling as FmuCoupling
    from .programmed import LibraryCoupling as LibraryCoupling
    from .programmed import UserCoupling as UserCoupling
    from .start_up import Measured as Measured
    from .start_up import Model as Model
    from .transfer_function import Lead as Lead
    from .transfer_function import Pi as Pi
    from .transfer_function import Polynomials as Polynomials
    from .transfer_function import Roots as Roots
    from .transfer_function import Section as Section
    from .transfer_function import Sections as Sections
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "adaptive_fir": "AdaptiveFir",
            "adaptive_forward_prediction": "AdaptiveForwardPrediction",
            "adaptive_model_based": "AdaptiveModelBased",
            "adaptive_time_series": "AdaptiveTimeSeries",
            "axis_filters": "AxisFilters",
            "broad_band_inverse": "BroadBandInverse",
            "decoupling_inverse": "DecouplingInverse",
            "derivative_filter": "DerivativeFilter",
            "direct": "Direct",
            "force_prediction": "ForcePrediction",
            "forward_prediction": "ForwardPrediction weights",
            "harmonic.coupling": "Harmonic",
            "harmonic.lms": "HarmonicLms",
            "harmonic.lti": "gap_response largest_stable_gain loop_response resonator stability_map tolerated_phase",
            "harmonic.rls": "HarmonicRls",
            "harmonic.transfer": "Transfer",
            "kalman_filter": "KalmanFilter",
            "linear_controller": "LinearController",
            "model_inverse": "ModelInverse",
            "narrow_band_table": "NarrowBandTable Tracking",
            "start_up": "Measured Model",
            "transfer_function": "Lead Pi Polynomials Roots Section Sections",
            "programmed": "FmuCoupling LibraryCoupling UserCoupling",
        },
    )
