"""The rig's end in C under the compiler's sanitizers: forged, flipped, replayed, reflected and random datagrams.

    python soak/rig_in_c.py [--seed 1] [--count 500000]

``docs/link/rig.c`` and its library are built with the address and undefined-behaviour sanitizers, which end the program
at the first access out of bounds, overflow or shift too far.  Two parts, each half of the count.  *With a key*: a
listener who lacks the secret writes from the controller's own socket; the rig must stand still, and answer every true
command.  *Without one*: tags are checksums, which all datagrams here have right but for the random ones, so that sizes,
counts, sequences and numbers of any sort get as far into the program as they can; lost is the rig's end only, as it may
move and make itself safe.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import select
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from outcome import keep

from halfreal.kernels.siphash import tag
from halfreal.links.secret import make_secret, read_secret
from links.by_hand import ARM, ARMED, COMMAND, HELLO, MEASUREMENT, OFFER, OPEN, STOP, Controller, Datagram
from links.reference import LONG, STEP, Process, running

LINK = Path(__file__).parents[1] / "docs" / "link"
SOURCES = [str(LINK / name) for name in ("rig.c", "halfreal_rig.c", "simulated.c")]
SANITIZED = ["-O1", "-g", "-std=gnu11", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
EACH = 50
"""Datagrams of the listener to each true command."""
NUMBERS = (0, 1, 63, 64, 65, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)
CHANNELS = (0.0, -0.0, 1e-3, 1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan)
Heard = dict[str, list[bytes]]
Made = Callable[[random.Random, Datagram, bytes, Heard], tuple[str, bytes]]


def sealed(datagram: Datagram, key: bytes, count: int | None = None) -> bytes:
    body = datagram.packed(count, tag=b"")
    return body + tag(body, key)


def without_the_secret(chance: random.Random, wanted: Datagram, true: bytes, heard: Heard) -> tuple[str, bytes]:
    """A datagram that would move the rig, end its session or open another, if it were taken."""
    sort = chance.choice(("forged", "flipped", "replayed", "reflected", "random"))
    if sort == "flipped":
        data = bytearray(true)
        for _ in range(chance.choice((1, 1, 2, 8))):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        return sort, bytes(data)
    if sort in ("replayed", "reflected"):
        return sort, chance.choice(heard[sort])
    if sort == "random":
        return sort, chance.randbytes(chance.choice((0, 1, 71, 72, 80, chance.randrange(4000))))
    kind = chance.choice((COMMAND, COMMAND, STOP, ARM, HELLO))
    channels = {STOP: (), ARM: (STEP, 1.0, LONG, 0.0), HELLO: (STEP, 1.0, LONG, 0.0)}.get(kind, (0.1,))
    forged = replace(wanted, kind=kind, channels=channels, session=0 if kind == HELLO else wanted.session)
    if chance.random() < 0.3:
        return sort, sealed(forged, OPEN)
    return sort, forged.packed(tag=chance.choice((chance.randbytes(16), bytes(16), true[-16:])))


def with_a_checksum(chance: random.Random, wanted: Datagram, true: bytes, heard: Heard) -> tuple[str, bytes]:
    """A datagram of any numbers, with the tag that belongs to them."""
    if chance.random() < 0.2:
        return without_the_secret(chance, wanted, true, heard)

    def number(usual: int) -> int:
        return chance.choice((usual, usual, usual + chance.randrange(70), chance.choice(NUMBERS))) % 2**64

    count = chance.choice((0, 1, 1, 1, 4, 4, 397, 398, chance.randrange(400)))
    strange = Datagram(
        kind=chance.choice((HELLO, ARM, COMMAND, COMMAND, COMMAND, STOP, chance.randrange(256))),
        session=chance.choice((0, wanted.session, wanted.session, number(wanted.session))),
        sequence=number(wanted.sequence),
        answers=number(wanted.answers),
        tick=number(0) - 2**63,
        timestamp=number(0),
        state=number(2) % 2**32,
        code=number(0) % 2**32,
        channels=tuple(chance.choice((*CHANNELS, chance.uniform(-1, 1), STEP, 1.0, LONG)) for _ in range(count)),
    )
    claimed = count if chance.random() < 0.9 else number(count) % 2**16
    return "sealed", sealed(strange, OPEN, claimed)


def attacked(rig: Process, secret: bytes, made: Made, count: int, chance: random.Random) -> Counter[str]:
    """Write to a rig in step with its controller; with a secret, what it measures is looked at."""
    said: Counter[str] = Counter()
    with Controller(rig.port, STEP, secret=secret) as controller:
        controller.arm(LONG)
        before = sealed(Datagram(COMMAND, controller.session, 1, (0.1,)), controller.key)
        heard: Heard = {"replayed": [before], "reflected": [before]}
        while sum(said.values()) < count:
            wanted = controller.next(COMMAND, (0.0,))
            true = sealed(wanted, controller.key)
            for _ in range(EACH):
                sort, data = made(chance, wanted, true, heard)
                said[sort] += 1
                controller.send(data)
            if secret == OPEN:
                armed_again(controller)
                continue
            controller.send(true)
            answer = controller.socket.recv(2000)
            assert (answer[5], answer[48]) == (MEASUREMENT, ARMED), "the session was ended"
            assert answer[56:72] == bytes(16), "it moved"
            heard = {"replayed": [*heard["replayed"][-20:], true], "reflected": [*heard["reflected"][-20:], answer]}
    return said


def armed_again(controller: Controller) -> None:
    """See that the rig is there, and open a session if the one before was ended."""
    asked = random.getrandbits(64)
    controller.send(Datagram(HELLO, sequence=asked, channels=controller.wanted(LONG)))
    while int.from_bytes((answer := controller.socket.recv(65536))[24:32], "little") != asked:
        pass
    if answer[5] == OFFER:
        controller.session, controller.sequence = int.from_bytes(answer[8:16], "little"), 0
        controller.send(replace(controller.next(ARM, controller.wanted(LONG)), answers=asked))


def drain(rig: Process) -> None:
    """Read what it has printed: it drops a line that would not fit into a full pipe, also its last one."""
    assert rig.process.stdout is not None
    while select.select([rig.process.stdout], [], [], 0.0)[0] and os.read(rig.process.stdout.fileno(), 65536):
        pass


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=500_000)
    asked = parser.parse_args()
    chance, said, lost, text = random.Random(asked.seed), Counter[str](), 0, ""
    compiler = shutil.which("cc")
    if compiler is None:
        sys.exit("no C compiler: there is no cc on PATH")
    with tempfile.TemporaryDirectory() as name:
        program, key = Path(name) / "rig", Path(name) / "rig.key"
        make_secret(key)
        subprocess.run([compiler, *SANITIZED, *SOURCES, "-o", str(program), "-lm"], check=True)
        with running(program) as start:
            for options, secret, made in (
                (["--key", str(key)], read_secret(key), without_the_secret),
                ([], OPEN, with_a_checksum),
            ):
                rig = start("--in-step", *options)
                try:
                    said += attacked(rig, secret, made, asked.count // 2, chance)
                    drain(rig)
                    rig.end()
                except (AssertionError, OSError) as error:  # a rig that has ended refuses
                    lost += 1
                    text += f"; {error or type(error).__name__}"
    sorts = ", ".join(f"{number:,} {sort}" for sort, number in sorted(said.items()))
    return keep("rig_in_c", "datagrams to rig.c under sanitizers", sum(said.values()), lost, sorts + text)


if __name__ == "__main__":
    sys.exit(main())
