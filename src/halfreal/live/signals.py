"""Signals that end a test or a rig, and what the record says of where they came from.

Those that a terminal's keys send are the operator's: Ctrl-C (SIGINT), Ctrl-\\ (SIGQUIT) and Ctrl-Z (SIGTSTP), none of
which may kill or suspend a process that moves a rig.
"""

from __future__ import annotations

import signal

OPERATOR = "the operator"
LOST_TERMINAL = "the loss of its terminal"
SENDERS = {
    signal.SIGINT: OPERATOR,
    signal.SIGQUIT: OPERATOR,
    signal.SIGTSTP: OPERATOR,
    signal.SIGTERM: "signal SIGTERM",
    signal.SIGHUP: LOST_TERMINAL,
}
"""The signals, and by what they are an emergency stop."""
