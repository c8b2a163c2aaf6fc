"""A local worker: a process that takes points of a campaign from its standard input and answers on its output.

It is a program of its own, and not a copy of the one that requested it: that may have threads, windows, or no guard
around its main part.  Messages are pickled and come from the process that started it only.  It ends with its input,
and with the process that started it, also in the middle of a point.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys

from ..orphans import end_with_parent


def main() -> None:
    """Answer until there is nothing more to read."""
    end_with_parent(int(sys.argv[1]), signal.SIGKILL)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a user's function prints is no answer
    from ..runs.alike import alike_from_now
    from .evaluate import evaluate

    alike_from_now()
    while True:
        try:
            job, points = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(evaluate(job, points), answers)
        answers.flush()


if __name__ == "__main__":
    main()
