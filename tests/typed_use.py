"""What type checkers see of halfreal: read by mypy in ``test_public_names.py``, never run."""

from typing import reveal_type

import halfreal
from halfreal.rigs import ShakingTable

test = halfreal.load("test.toml")
reveal_type(test)
reveal_type(halfreal.rehearse(test))
reveal_type(halfreal.load_run("test.h5"))
reveal_type(halfreal.tune(test).best)
reveal_type(ShakingTable)
reveal_type(halfreal.models.Structure)
halfreal.rehears(test)
halfreal.load(3)
