"""Before any test: small matrices are fastest with one thread, above all when tests run side by side."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
