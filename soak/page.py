"""docs/reliability.md from what the parts of ``make soak`` have kept: what was tried, how often, what was lost.

python soak/page.py
"""

from __future__ import annotations

import json
from pathlib import Path

from outcome import FOLDER

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
ORDER = (
    "network",
    "rig_in_c",
    "random_faults",
    "margins",
    "broken_promises",
    "long_run_in_step",
    "long_run_by_the_clock",
    "random_loops",
    "random_verdicts",
    "definitions",
    "run_files",
    "run_files_unsealed",
    "compiler_cache",
)
BEGINS = """# Reliability: soak tests

Written by `make soak` from the results of its parts, each with the day on which it was run. The counts are those that
were run, which may be fewer than `make soak` requests; minutes are those of wall time, longer on a computer that is
busy with other work. Each part is a program in [soak](../soak/page.py); its first
lines say what it does and what counts as lost. The suite (`make test`) has smaller tests of the same kind.

| | run on | minutes | tried | lost | details |
|---|---|---|---|---|---|
"""
ENDS = """
- **The network**: `halfreal run` and `halfreal rig` over UDP with a key, and between them a listener who receives
  everything, knows the protocol and speaks in either's name, without the secret. The rig's own record is the witness;
  the run is the rehearsal to the bit.
- **The rig in C**: [rig.c](link/rig.c) under the compiler's sanitizers. With a key, such an attacker must not move it;
  without, datagrams with right tags and any numbers must not make it read or write out of bounds, or overflow.
- **Random faults**: tests in real time with one or two faults in any state, with `halfreal rig` and with rig.c. The
  rig's own record is the witness. Lost is a rig or a command that exceeds its limit of speed or step in wall time, or
  that moves without measurements. [The margins](margins.md) of every cell of the fault matrix are a page of their own.
- **Broken promises**: each promise of [safety.md](safety.md#mutants) about the motion is broken in a copy of the
  project. Lost is a mutant that the test named there does not find.
- **Long runs**: 8 h at 1 kHz are 28.8 million ticks. *In step* runs ticks with a rig that has no clock, one after the
  other at a step of 20 µs: it tests memory and rows, not hours of wall time. *By the clock* takes some minutes of
  wall time: it also tests the clocks. Memory is what each process allocates, and the ring that controller and recorder
  share (RssAnon and RssShmem of Linux), after the first third of a part compared with its end. Pages of libraries are
  left out: whether Linux counts them to a process depends on which other programs use them at the moment.
- **Random loops**: [convergence.md](convergence.md) describes them. Lost is a loop whose verdict on stability differs
  from what its rehearsal shows.
- **Random tests**: [verdict.md](verdict.md#verdicts-compared-with-independent-simulations) describes them. Lost is a
  GO of a test that diverges or grows as it is defined, or with what its acceptance promises.
- **Mutated definitions**: examples with keys, numbers, units and lines changed at random. Lost is a traceback, a
  warning, a crash, or more than two minutes of work of a processor. Exit code 2 is a definition that is refused with a
  message, 1 one that is judged NO-GO or MARGINAL, 0 a GO.
- **Damaged run files and caches**: bits, bytes and stretches changed at random. Lost is a traceback, a crash, or a file
  with a checksum that is taken for whole.
"""


def main() -> None:
    rows, left_out = "", []
    for name in ORDER:
        path = FOLDER / f"{name}.json"
        if not path.exists():
            left_out.append(name.replace("_", " "))
        else:
            found = json.loads(path.read_text("utf-8"))
            counts = f"{found['minutes']:.0f} | {found['tried']:,} | {found['lost']}"
            rows += f"| {found['what']} | {found['day']} | {counts} | {found['text']} |\n"
    if left_out:
        rows += f"\nNot run this time: {', '.join(left_out)}.\n"
    PAGE.write_text(BEGINS + rows + ENDS, "utf-8")
    print(f"{PAGE} has what was tried", flush=True)


if __name__ == "__main__":
    main()
