"""What authentication takes of a tick: tags of a command and a measurement, made and compared."""

from __future__ import annotations

import time

import numpy as np
from report import Row, duration

from halfreal.kernels.compile import kernel
from halfreal.kernels.datagram import HEADER, credentials, seal, sealed, write_header

TURNS, NUMBER = 20, 20_000


@kernel
def written_and_compared(buffer, count, session, number, tagged):  # type: ignore[no-untyped-def]
    genuine = 0
    for i in range(number):
        write_header(buffer, 5, count, session, float(i), 0.0, 0.0, i, 2.0, 0.0)
        if tagged:
            length = seal(buffer, count, session)
            genuine += sealed(buffer, length, session)
    return genuine


def rows() -> list[Row]:
    found = []
    session = credentials(1, bytes(range(16)))
    for axes in (1, 6):
        taken = []
        for channels in (axes, 2 * axes):
            buffer = np.zeros(HEADER // 8 + channels + 4)
            best = dict.fromkeys((False, True), np.inf)
            for _ in range(TURNS):
                for tagged in best:
                    start = time.perf_counter()
                    genuine = written_and_compared(buffer.ctypes.data, channels, session, NUMBER, tagged)
                    best[tagged] = min(best[tagged], (time.perf_counter() - start) / NUMBER)
                    if genuine != (NUMBER if tagged else 0):
                        raise RuntimeError("a tag that was just made does not fit")
            taken.append(best[True] - best[False])
        text = f"{duration(taken[0])} for a command, {duration(taken[1])} for a measurement, made and compared"
        what = f"tags of the link, {axes} {'axis' if axes == 1 else 'axes'}"
        found.append(Row(what, text, f"{duration(sum(taken))} a tick, both ends together"))
    return found
