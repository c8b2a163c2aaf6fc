"""Before any test.

Small matrices are fastest with one thread, above all when tests run side by side.  Property tests have no deadline (a
block may have to be compiled first), and where ``CI`` is set they try the same cases every time.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hypothesis import settings

settings.register_profile("halfreal", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("halfreal")
