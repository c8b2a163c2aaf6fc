"""Rigs that tests share: a process that has the compiler loaded takes longer to start than a test takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from live.processes import Rig


@pytest.fixture(scope="session")
def rigs() -> Iterator[dict[str, Rig]]:
    found: dict[str, Rig] = {}
    yield found
    with ExitStack() as stack:
        for rig in found.values():
            stack.push(rig)


def at_home(rigs: dict[str, Rig], folders: pytest.TempPathFactory, *options: str) -> Rig:
    name = " ".join(options)
    if name not in rigs or rigs[name].process.poll() is not None:
        rigs[name] = Rig(folders.mktemp("rig"), *options)
    rigs[name].go_home()
    return rigs[name]


@pytest.fixture
def rig(rigs: dict[str, Rig], tmp_path_factory: pytest.TempPathFactory) -> Rig:
    """The rig of BASE on its own clock, standing at 0."""
    return at_home(rigs, tmp_path_factory)


@pytest.fixture
def rig_in_step(rigs: dict[str, Rig], tmp_path_factory: pytest.TempPathFactory) -> Rig:
    """The rig of BASE in step with the loop, standing at 0."""
    return at_home(rigs, tmp_path_factory, "--in-step")
