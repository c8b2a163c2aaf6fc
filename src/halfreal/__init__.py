"""halfreal: real-time hybrid testing of structures.

One definition of a hybrid test (a TOML file with units, or the same objects in Python) is analysed, rehearsed, run and
reported::

    import halfreal

    definition = halfreal.load("test.toml")
    print(halfreal.check(definition).verdict)
    run = halfreal.rehearse(definition)
    halfreal.save(run, "test.h5")
    halfreal.report(run, "test.html")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy import lazy

__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import campaigns as campaigns
    from . import contracts as contracts
    from . import couplings as couplings
    from . import definition as definition
    from . import identification as identification
    from . import kernels as kernels
    from . import links as links
    from . import live as live
    from . import models as models
    from . import presentation as presentation
    from . import records as records
    from . import rigs as rigs
    from . import runs as runs
    from . import safety as safety
    from . import sites as sites
    from . import stability as stability
    from . import studies as studies
    from . import vrths as vrths
    from .campaigns.plan import Plan as Plan
    from .campaigns.store import load_results as load_results
    from .campaigns.sweep import sweep as sweep
    from .definition.definition import Definition as Definition
    from .definition.definition import load as load
    from .definition.faults import DefinitionError as DefinitionError
    from .errors import HalfrealError as HalfrealError
    from .identification.experiment import experiment as experiment
    from .live.session import Session as Session
    from .live.whole_test import run as run
    from .presentation.html import report as report
    from .records.export import export as export
    from .records.fmu import export_fmu as export_fmu
    from .records.run_file import load_run as load_run
    from .records.run_file import save as save
    from .runs.build import build as build
    from .runs.continuous import delay_system as delay_system
    from .runs.rehearse import rehearse as rehearse
    from .runs.run import Run as Run
    from .stability.linearise import linearise as linearise
    from .studies.charts.chart import chart as chart
    from .studies.check.check import Check as Check
    from .studies.check.check import check as check
    from .studies.cycles.continuation import continuation as continuation
    from .studies.cycles.forced import forced_response as forced_response
    from .studies.cycles.limit_cycles import limit_cycles as limit_cycles
    from .studies.identifying.identify import identify as identify
    from .studies.modal_analysis import modal_analysis as modal_analysis
    from .studies.open_loop.open_loop import bode as bode
    from .studies.open_loop.open_loop import nyquist as nyquist
    from .studies.poles.poles import poles as poles
    from .studies.tuning.from_runs import tune_from_runs as tune_from_runs
    from .studies.tuning.table import tune_table as tune_table
    from .studies.tuning.tune import tune as tune
    from .studies.uncertainty.uncertainty import study_uncertainty as study_uncertainty
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "": (
                "campaigns contracts couplings definition identification kernels links live models presentation "
                "records rigs runs safety sites stability studies vrths"
            ),
            "campaigns.plan": "Plan",
            "campaigns.store": "load_results",
            "campaigns.sweep": "sweep",
            "definition.definition": "Definition load",
            "definition.faults": "DefinitionError",
            "errors": "HalfrealError",
            "identification.experiment": "experiment",
            "live.whole_test": "run",
            "live.session": "Session",
            "presentation.html": "report",
            "records.export": "export",
            "records.fmu": "export_fmu",
            "records.run_file": "load_run save",
            "runs.build": "build",
            "runs.continuous": "delay_system",
            "runs.rehearse": "rehearse",
            "runs.run": "Run",
            "stability.linearise": "linearise",
            "studies.charts.chart": "chart",
            "studies.check.check": "Check check",
            "studies.cycles.continuation": "continuation",
            "studies.cycles.forced": "forced_response",
            "studies.cycles.limit_cycles": "limit_cycles",
            "studies.identifying.identify": "identify",
            "studies.modal_analysis": "modal_analysis",
            "studies.open_loop.open_loop": "bode nyquist",
            "studies.poles.poles": "poles",
            "studies.tuning.from_runs": "tune_from_runs",
            "studies.tuning.table": "tune_table",
            "studies.tuning.tune": "tune",
            "studies.uncertainty.uncertainty": "study_uncertainty",
        },
    )
