"""The modes of the guard, which are the states of a test (``safety/guard.py``)."""

from __future__ import annotations

RUNNING, TRIPPED, FINISHED, ARMED, RAMPING, RAMP_DOWN, STOPPED_AT_REST = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0
"""FINISHED is the end of a trip, STOPPED_AT_REST that of a ramp-down."""
OVER = (TRIPPED, FINISHED, RAMP_DOWN, STOPPED_AT_REST)
"""Those in which the test is over."""
