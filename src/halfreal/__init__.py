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

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Imported on first use: `halfreal --help` must not wait for the compiler.
_HOMES = {
    "Definition": ("definition.definition", "Definition"),
    "DefinitionError": ("definition.faults", "DefinitionError"),
    "Plan": ("campaigns.plan", "Plan"),
    "Run": ("runs.run", "Run"),
    "Session": ("live.session", "Session"),
    "build": ("runs.build", "build"),
    "chart": ("studies.charts.chart", "chart"),
    "check": ("studies.check.check", "check"),
    "export": ("records.export", "export"),
    "linearise": ("stability.linearise", "linearise"),
    "load": ("definition.definition", "load"),
    "load_results": ("campaigns.store", "load_results"),
    "load_run": ("records.run_file", "load"),
    "modal_analysis": ("studies.modal_analysis", "modal_analysis"),
    "rehearse": ("runs.rehearse", "rehearse"),
    "report": ("presentation.html", "write"),
    "run": ("live.session", "run"),
    "save": ("records.run_file", "save"),
    "study_uncertainty": ("studies.uncertainty.uncertainty", "study_uncertainty"),
    "sweep": ("campaigns.sweep", "sweep"),
    "tune_table": ("studies.tuning.table", "tune_table"),
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'halfreal' has no attribute '{name}'")
    module, attribute = _HOMES[name]
    return getattr(import_module(f"{__name__}.{module}"), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
