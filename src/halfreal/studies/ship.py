"""The folder of LLVM code that comes with halfreal (``kernels/shipped.py``): ``python -m halfreal.studies.ship``.

It is what a check and a rehearsal of some definitions need: of those given, of the first template and the first
example if none is, and of templates and examples of several kinds with ``--all``, as for a wheel.
Everything is compiled from the sources, in an empty cache.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

FIRST = ("new.toml", "examples/spring_mass_damper/forward_prediction.toml")
ALL = (
    *FIRST,
    "new_frame.toml",
    "examples/spring_mass_damper/adaptive.toml",
    "examples/spring_mass_damper/uncompensated.toml",
    "examples/spring_mass_damper/with_friction.toml",
    "examples/pseudo_dynamic_frame/operator_splitting.toml",
    "examples/force_controlled_bar/index_one.toml",
    "examples/shaking_table_rod/rod.toml",
    "examples/vrths_benchmark/case_4.toml",
    "examples/strut_braced_wing/stepped_narrow.toml",
)


def ship(definitions: Sequence[Path]) -> int:
    """Write the folder; return how many functions it has."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["NUMBA_CACHE_DIR"] = cache
        from ..definition.definition import load
        from ..errors import HalfrealError
        from ..kernels import shipped
        from ..runs.rehearse import rehearse
        from .check.check import check

        shutil.rmtree(shipped.HERE, ignore_errors=True)
        shipped.HERE.mkdir()
        shipped.writing = shipped.HERE
        for path in definitions:
            print(f"compiling for {path.name}", flush=True)
            try:
                definition = load(path)
                check(definition)
                rehearse(definition)
            except HalfrealError as error:
                print(f"{path}: {error}", file=sys.stderr)
        return sum(1 for _ in shipped.HERE.iterdir())


if __name__ == "__main__":
    package = Path(__file__).resolve().parent.parent
    given = [Path(one) for one in sys.argv[1:] if one != "--all"]
    given = given or [package / one for one in (ALL if "--all" in sys.argv else FIRST)]
    print(f"{ship(given)} functions in '{package / 'compiled'}'")
