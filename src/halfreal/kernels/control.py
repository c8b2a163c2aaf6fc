"""Words through which a loop, its operator and its recorder speak to each other.

They stand in front of the ring of rows, 64-bit integers each, in memory that both processes map.  Plain numbers, so
that the recorder need not load the compiler.
"""

TICKS = 0
"""Ticks run."""
ROWS = 1
"""Rows written into the ring; row r is at r modulo its capacity."""
EVENTS = 2
EVENTS_LOST = 3
"""Events that found no room."""
ROWS_READ = 4
"""Rows that are safely in the file."""
ROWS_DROPPED = 5
"""Rows that found the ring full."""
REQUEST = 6
"""What is required of the loop: NONE, STOP, EMERGENCY_STOP or RECORD_FAILS."""
WAIT = 7
"""1: an armed loop waits, holding the rig where it is; 0: it continues."""
ENDED = 8
"""1: the loop has ended, no further rows will come."""
RECORDER_BEAT = 9
"""Counts the recorder's rounds."""
RECORDER_ERROR = 10
"""errno of what stopped the recorder; below 0, what happened to its file (records/kept_file.py); 0: all is well."""
PAUSE = 11
"""Of a slow test: 0, or one more than the tick from which on it is paused."""
SPEED = 12
"""Of a slow test: how fast the rig is moved, in thousandths of what the definition says; 0: as it says."""
AGAIN = 13
"""Of a slow test: counts the times that the operator said to continue."""
RELEASES = 14
"""Counts the times that the operator has released the excitation."""

WORDS = 64

NONE, STOP, EMERGENCY_STOP, RECORD_FAILS = 0, 1, 2, 3

CAPACITY, COLUMNS = WORDS - 2, WORDS - 1
"""Shape of the ring itself: rows it holds, and numbers in a row (the time and every channel)."""
