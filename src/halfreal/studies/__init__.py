"""Analyses of a definition before a test: go, marginal or no-go, charts, uncertainty, continuous limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .charts.chart import Axis as Axis
    from .charts.chart import Chart as Chart
    from .charts.gain_phase import GainPhaseChart as GainPhaseChart
    from .charts.gain_phase import gain_phase_chart as gain_phase_chart
    from .check.check import Check as Check
    from .check.nonlinear import Nonlinear as Nonlinear
    from .cycles.continuation import Branch as Branch
    from .cycles.continuation import Continuation as Continuation
    from .cycles.hopf import Hopf as Hopf
    from .cycles.periodic_motion import PeriodicMotion as PeriodicMotion
    from .identifying.experiment import plan as plan
    from .identifying.identify import Identified as Identified
    from .modal_analysis import ModalAnalysis as ModalAnalysis
    from .modal_analysis import Mode as Mode
    from .open_loop.open_loop import Bode as Bode
    from .open_loop.open_loop import Nyquist as Nyquist
    from .poles.identified import IdentifiedPoles as IdentifiedPoles
    from .poles.poles import LoopPoles as LoopPoles
    from .tuning.from_runs import TableCorrection as TableCorrection
    from .tuning.from_runs import tune_from_runs as tune_from_runs
    from .tuning.table import AxisFollowing as AxisFollowing
    from .tuning.table import TableTuning as TableTuning
    from .tuning.table import follows as follows
    from .tuning.table import tune_table as tune_table
    from .tuning.tune import Tuning as Tuning
    from .tuning.tune import TuningRow as TuningRow
    from .tuning.tune import tune as tune
    from .uncertainty.compensator_uncertainty import SHAKER_RANGES as SHAKER_RANGES
    from .uncertainty.compensator_uncertainty import CompensatorBands as CompensatorBands
    from .uncertainty.compensator_uncertainty import compensator_bands as compensator_bands
    from .uncertainty.uncertainty import UncertaintyStudy as UncertaintyStudy
    from .uncertainty.uncertainty import study_uncertainty as study_uncertainty
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "charts.chart": "Axis Chart",
            "charts.gain_phase": "GainPhaseChart gain_phase_chart",
            "check.check": "Check",
            "check.nonlinear": "Nonlinear",
            "cycles.continuation": "Branch Continuation",
            "cycles.hopf": "Hopf",
            "cycles.periodic_motion": "PeriodicMotion",
            "identifying.experiment": "plan",
            "identifying.identify": "Identified",
            "modal_analysis": "ModalAnalysis Mode",
            "open_loop.open_loop": "Bode Nyquist",
            "poles.identified": "IdentifiedPoles",
            "poles.poles": "LoopPoles",
            "tuning.from_runs": "TableCorrection tune_from_runs",
            "tuning.table": "AxisFollowing TableTuning follows tune_table",
            "tuning.tune": "Tuning TuningRow tune",
            "uncertainty.compensator_uncertainty": "SHAKER_RANGES CompensatorBands compensator_bands",
            "uncertainty.uncertainty": "UncertaintyStudy study_uncertainty",
        },
    )
