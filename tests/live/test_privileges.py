"""What the system refuses is said plainly, and nothing breaks."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

ASK = """
import json, os, resource
from halfreal.live.privileges import lock_memory, prioritise
for limit in (resource.RLIMIT_RTPRIO, resource.RLIMIT_MEMLOCK):
    resource.setrlimit(limit, (0, 0))
if os.geteuid() == 0:
    os.setuid(65534)
print(json.dumps({"memory": lock_memory(), **prioritise(80, 4095)}))
"""


def test_a_user_without_rights_is_told_what_was_refused_and_how_to_get_it():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(ASK)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["memory"].startswith("not locked: ")
    assert "ulimit -l" in told["memory"]
    assert told["realtime scheduling"].startswith("normal: SCHED_FIFO refused (Operation not permitted)")
    assert "ulimit -r" in told["realtime scheduling"]
    assert told["realtime processor"].startswith("any: processor 4095 refused")
