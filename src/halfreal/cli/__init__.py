"""The command line.  Heavy imports stand inside the commands: ``halfreal --help`` answers at once.

Exit codes: 0 all is well; 1 the answer is no (NO-GO or MARGINAL, or the test tripped); 2 the input is wrong
(definition, file, usage); 3 halfreal itself failed.
"""

from .commands import app, main

__all__ = ["app", "main"]
