"""A hostile network: a listener who knows everything but the secret, against a rig and its controller.

    python soak/network.py [--seed 1] [--count 1000000] [--each 50]

``halfreal rig`` and ``halfreal run`` in step with it, over UDP on loopback, with a key.  The listener stands between
them: of each datagram it makes ``--each`` others, forged, sent again (also from the session before), sent back and with
turned bits, and sends them in either's name.  Lost is the test if the rig's own record has a command that its
controller did not send, or another order, or if the run is not the rehearsal to the bit.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from outcome import keep

import halfreal
from halfreal.links.secret import make_secret
from live import processes
from live.listener import Listener, Traffic
from live.processes import IN_STEP, Rig, assert_every_tick, assert_obeyed, assert_same, definition
from live.proxy import Proxy

processes.PATIENCE = 600.0  # seconds: a busy machine has to compile first


def session(folder: Path, ticks: int, each: int, traffic: Traffic, chance: random.Random) -> None:
    """One test under the listener's eyes, judged; an AssertionError if he has changed anything."""
    changes = {"link.key": str(folder / "rig.key"), "timing.duration": f"{ticks} ms"}
    listeners = [Listener(traffic, to_rig, each, chance) for to_rig in (True, False)]
    with Rig(folder, "--in-step", "--force", changes=changes) as rig, Proxy(rig.port, *listeners) as proxy:
        test = definition(folder, proxy.port, IN_STEP, changes)
        run = halfreal.run(test, folder / "run.h5", overwrite=True)
        record = rig.record()
    assert (run.outcome, run.reason) == ("completed", ""), f"the test {run.outcome}: {run.reason}"
    assert_every_tick(run)
    assert_obeyed(run, record)
    assert_same(run, halfreal.rehearse(test))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--each", type=int, default=50)
    asked = parser.parse_args()
    traffic, chance, lost, said = Traffic(), random.Random(asked.seed), 0, ""
    with tempfile.TemporaryDirectory() as name:
        make_secret(Path(name) / "rig.key")
        for ticks, each in ((400, 1), (asked.count // (2 * asked.each), asked.each)):
            try:
                session(Path(name), ticks, each, traffic, chance)
            except AssertionError as error:
                lost += 1
                said = f"; {str(error).splitlines()[0]}"
    sorts = ", ".join(f"{number:,} {sort}" for sort, number in sorted(traffic.said.items()))
    tried = sum(traffic.said.values())
    return keep("network", "datagrams of a listener who lacks only the secret", tried, lost, sorts + said)


if __name__ == "__main__":
    sys.exit(main())
