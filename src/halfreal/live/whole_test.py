"""A whole test in one call: checked, armed, run on its rig, and its record."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from ..definition.definition import Definition
from ..runs.run import Run
from .console import rig_beside
from .session import Session


def run(
    definition: Definition,
    output: Path | str,
    *,
    with_rig: bool = False,
    text: str | None = None,
    without_go: str = "",
    overwrite: bool = False,
) -> Run:
    """Check the test, run it at once on the rig behind the definition's link, and return its record.

    Parameters
    ----------
    definition
        The test; it needs a ``[link]``.
    output
        The run file to write.
    with_rig
        Start the definition's simulated rig too, as a process of its own.
    text
        The definition as its file has it, for the record.
    without_go
        The reason for running in spite of NO-GO or MARGINAL; it is recorded.
    overwrite
        Replace ``output`` if it exists.
    """
    session = Session(definition, output, text=text, without_go=without_go, overwrite=overwrite)
    with ExitStack() as at_the_end:
        at_the_end.callback(session.close)
        session.check()
        if with_rig:
            file = Path(at_the_end.enter_context(TemporaryDirectory(prefix="halfreal-"))) / "rig.toml"
            file.write_text(definition.to_toml(), encoding="utf-8")
            at_the_end.enter_context(rig_beside(file, lambda line: None))
        session.arm()
        session.wait()
        return session.finish()
