"""Before any test.

Small matrices are fastest with one thread, above all when tests run side by side.  Property tests have no deadline (a
block may have to be compiled first), and where ``CI`` is set they try the same cases every time.

The tests of a file stay in one process, unless they are marked otherwise: then no two processes compile the same blocks
at the same time, and a fixture of the file is made once.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings

settings.register_profile("halfreal", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("halfreal")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
