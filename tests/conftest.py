"""Before any test.

Small matrices are fastest with one thread, above all when tests run side by side.  Property tests have no deadline (a
block may have to be compiled first), and where ``CI`` is set they try the same cases every time.

The tests of a file stay in one process, unless they are marked otherwise: then no two processes compile the same blocks
at the same time, and a fixture of the file is made once.  Files that take long come first, so that no process is left
with one of them at the end while the others have nothing to do.

Tests come in tiers, by their folder or file: "fast" are those of one part each, without processes and without the
gallery; "live" those of processes that talk to each other in wall time; "slow" the others.  Each test has a timeout,
generous enough for a busy machine that has to compile first.

Live tests run one after the other, all in one process: two of them on two cores keep each other from keeping time.  The
other tests give way to them.  So do patient ones, live tests that need processes but no punctual ones: their rigs work
in step, or their limits of time are seconds.  They run one after the other too, in another process.  A live test that
fails is tried once more, and the summary lists it: a computer that holds its loop up for longer than its limits fails
it.
"""

import gc
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["HALFREAL_TRUST"] = "1"  # what tests write as a user's file is run without a question

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).parent
TIERS = {
    "live": "live",
    "links": "live",
    "drivers/test_failures.py": "live",
    "campaigns/test_dask.py": "live",
    "drivers/test_ethercat.py": "live",
    "kernels/test_cache_between_processes.py": "live",
    "records/test_recorder.py": "live",
    "campaigns": "slow",
    "cli": "slow",
    "contracts/test_kinds.py": "slow",
    "examples": "slow",
    "plugin": "slow",
    "test_public_names.py": "slow",
    "test_wheel.py": "slow",
    "vrths": "slow",
}
"""Of a file or folder under ``tests``; all others are fast."""
PATIENT = (
    "campaigns/test_dask.py",
    "kernels/test_cache_between_processes.py",
    "live/test_beam_in_step.py",
    "live/test_fault_matrix.py",
    "live/test_held_force.py",
    "live/test_identify.py",
    "live/test_long_runs.py",
    "live/test_lost_records.py",
    "live/test_six_axes_in_step.py",
)
"""Live tests that other processes may hold up."""
TOGETHER = ("models/frame",)
"""Folders whose files stay in one process too: what they share takes long to compile."""
FIRST = ("live", "slow", "fast")
"""The order of tiers in a run."""
NICE = 10
"""How far the other tests give way to live ones."""
LONG = ("studies", "stability", "couplings", "identification")
"""Folders of the fast tier that come before its others."""
SECONDS = {"fast": 240, "slow": 600, "live": 600}
"""Time-out of a test in each tier."""

settings.register_profile("halfreal", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("halfreal")


@pytest.fixture(scope="session", autouse=True)
def _folders_of_a_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What halfreal keeps for a user, apart from compiled code, goes into folders of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name)))
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        tier = tier_of(item.path.relative_to(TESTS))
        item.add_marker(getattr(pytest.mark, tier))
        if tier == "live":
            item.add_marker(pytest.mark.flaky(reruns=1))
            item.add_marker(pytest.mark.xdist_group("patient" if is_patient(item) else tier))
        elif item.get_closest_marker("xdist_group") is None:
            folder = str(item.path.relative_to(TESTS).parent)
            item.add_marker(pytest.mark.xdist_group(folder if folder in TOGETHER else item.nodeid.partition("::")[0]))
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(SECONDS[tier]))
    items.sort(key=lambda item: place_in_a_run(item.path.relative_to(TESTS)))


def pytest_collection_finish() -> None:
    """What was collected stays until the end: to search it for garbage takes half a second, again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ and (item.get_closest_marker("live") is None or is_patient(item)):
        os.setpriority(os.PRIO_PROCESS, 0, NICE)


def is_patient(item: pytest.Item) -> bool:
    return str(item.path.relative_to(TESTS)) in PATIENT


def tier_of(path: Path) -> str:
    """The tier of a file, or of the nearest folder of it that has one."""
    return next((TIERS[str(place)] for place in (path, *path.parents) if str(place) in TIERS), "fast")


def place_in_a_run(path: Path) -> tuple[int, bool]:
    """What comes first is smaller; files of the same place keep their order."""
    return FIRST.index(tier_of(path)), path.parts[0] not in LONG
