"""Damaged run files through the commands that read them: no traceback, no failure of halfreal's own, no crash.

    python soak/run_files.py [--seed 1] [--count 300] [--seconds 120] [--unsealed]

A run file of a rehearsal is damaged by a seeded random choice (a bit, some bytes, a stretch of zeros, two stretches
exchanged, cut short) and given to ``info``, ``report``, ``export``, ``modes`` and ``resume``.  With ``--unsealed`` the
checksum of the whole is taken off before, as of a file that another program has changed.  Prints what went wrong, and
ends with 1 if anything did, or if a damaged file with a checksum was accepted.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from outcome import Tries, keep
from worker import Worker, fault_of

from halfreal.records import seal

DEFINITION = Path(__file__).parents[1] / "examples/spring_mass_damper/forward_prediction.toml"
COMMANDS = (
    ["info", "--json"],
    ["report", "--force", "--output", "{folder}/page.html"],
    ["export", "--to", "{folder}/out.csv", "--force"],
    ["modes", "--force", "--output", "{folder}/modes.png"],
    ["resume", "--force", "--start", "--output", "{folder}/resumed.h5"],
)


def damaged(content: bytes, chance: random.Random) -> bytes:
    """The content of a file with some of it changed."""
    data, size = bytearray(content), len(content)
    way, at = chance.choice(("bit", "bit", "bytes", "bytes", "zeros", "exchanged", "cut")), chance.randrange(size)
    length = chance.randrange(1, 4096)
    if way == "bit":
        data[at] ^= 1 << chance.randrange(8)
    elif way == "bytes":
        for _ in range(chance.randrange(1, 20)):
            data[chance.randrange(size if chance.random() < 0.5 else min(size, 8192))] = chance.randrange(256)
    elif way == "zeros":
        data[at : at + length] = bytes(len(data[at : at + length]))
    elif way == "exchanged":
        other = chance.randrange(size)
        one, two = bytes(data[at : at + length]), bytes(data[other : other + length])
        data[at : at + len(two)] = two
        data[other : other + len(one)] = one
        del data[size:]
    else:
        del data[at:]
    return bytes(data)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--unsealed", action="store_true")
    asked = parser.parse_args()
    tries = Tries(asked.seed, asked.count)
    codes, bad, worker = Counter[str](), 0, Worker()
    with tempfile.TemporaryDirectory() as folder:
        whole, target = Path(folder) / "whole.h5", Path(folder) / "damaged.h5"
        short = Path(folder) / "short.toml"  # a small file, most of which is structure
        short.write_text(DEFINITION.read_text("utf-8").replace('"12 s"', '"0.1 s"'), "utf-8")
        worker.ask(["rehearse", str(short), "--output", str(whole)], asked.seconds)
        content = whole.read_bytes()
        if asked.unsealed:
            content = content[: -seal.SIZE]
        for seed in tries:
            chance = random.Random(seed)
            target.write_bytes(damaged(content, chance))
            command, *options = chance.choice(COMMANDS)
            arguments = [command, str(target), *(one.format(folder=folder) for one in options)]
            code, text = worker.ask(arguments, asked.seconds)
            wrong = text if code is None else fault_of(code, text)
            if code is None:
                worker = Worker()
            elif not wrong and code != 2 and not asked.unsealed and target.read_bytes() != content:
                wrong = "accepted, although it is damaged"
            codes[str(code)] += 1
            if wrong:
                bad += 1
                print(f"seed {seed} {command}: {wrong}", flush=True)
    text = "exit codes " + ", ".join(f"{code}: {number}" for code, number in sorted(codes.items()))
    name, what = ("run_files_unsealed", "without checksum") if asked.unsealed else ("run_files", "with checksum")
    return keep(name, f"damaged run files {what}, in the commands that read them", tries.done, bad, text)


if __name__ == "__main__":
    sys.exit(main())
