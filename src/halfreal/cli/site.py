"""``halfreal site``: serve the laboratory to a client such as OpenSees."""

from __future__ import annotations

from contextlib import nullcontext

import typer

from .options import (
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
from .running import Output, Start, WithoutGo, WithRig, run_session, tell_end


def site(
    path: DefinitionFile,
    output: Output = None,
    start: Start = False,
    with_rig: WithRig = False,
    without_go: WithoutGo = "",
    operator: OperatorName = "",
    specimen: SpecimenName = "",
    calibration: Calibration = "",
    note: Notes = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Serve the rig to OpenSees (element genericClient): apply its displacements, return measured forces."""
    definition, text = read(path)
    from ..live.console import check_operator, rig_beside
    from ..live.site import SiteSession

    target = free(output or path.with_suffix(".run.h5"), force)
    check_operator(start)
    said = said_of(operator, specimen, calibration, note)
    session = SiteSession(definition, target, text=text, without_go=without_go, overwrite=force, about=said)
    with rig_beside(path, lambda line: typer.echo(f"  {line}", err=as_json)) if with_rig else nullcontext():
        try:
            typer.echo(
                f"  listening for a client on {session.listen()}; it waits until the test has started", err=as_json
            )
            done = run_session(session, start, as_json)
        finally:
            session.close()
    tell_end(done, session.output, target, as_json)
