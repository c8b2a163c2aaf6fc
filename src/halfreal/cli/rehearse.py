"""``halfreal rehearse``: the whole test against its simulated rig."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from ..presentation.answers import console, run_json, tell, verdict_table, with_progress
from .options import (
    NO,
    OK,
    AsJson,
    Calibration,
    DefinitionFile,
    Force,
    Notes,
    OperatorName,
    SpecimenName,
    free,
    read,
    said_of,
)


def rehearse(
    path: DefinitionFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="RUN.h5", help="Run file; default: TEST.h5.")
    ] = None,
    operator: OperatorName = "",
    specimen: SpecimenName = "",
    calibration: Calibration = "",
    note: Notes = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Simulate the whole loop with the simulated rig, assess it as check does, and write a run file."""
    definition, text = read(path)
    from ..definition.sections import also_said
    from ..records.run_file import save
    from ..studies.check.check import check as judge

    target = free(output or path.with_suffix(".h5"), force)
    about = also_said(definition.record.about(), said_of(operator, specimen, calibration, note))
    answer = with_progress(lambda on_progress: judge(definition, text=text, on_progress=on_progress), quiet=as_json)
    run = dataclasses.replace(answer.rehearsal, about=about)
    save(run, target, overwrite=force)
    if as_json:
        typer.echo(json.dumps(run_json(run, target), indent=2))
    else:
        if answer.verdict == "GO":
            typer.echo(run.title)
        else:
            tell(answer, run.title)
        console().print(verdict_table(run))
        typer.echo(f"run file: {target}")
    raise typer.Exit(OK if answer.verdict == "GO" else NO)
