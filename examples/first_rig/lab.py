"""The skeleton of a driver in Python: replace what is marked.  As it stands it moves nothing.

halfreal serve bench.toml --driver lab.py:Lab --try
"""

from collections.abc import Sequence

from halfreal.contracts import Driver, DriverError, Opening

KNOWN_INPUTS = ("position", "force", "zero", "bit0")
KNOWN_OUTPUTS = ("ao0", "do0", "do1")


class Lab(Driver):
    nature = "simulated"  # yours: "real"
    name = "skeleton of a driver 1.0"

    def open(self, opening: Opening) -> None:
        opening.known("device")
        self.device = opening.setting("device", "Dev1")
        for terminal in opening.inputs:
            if terminal not in KNOWN_INPUTS:
                raise DriverError(f"there is no input '{terminal}'; this device has {', '.join(KNOWN_INPUTS)}")
        for terminal in opening.outputs:
            if terminal not in KNOWN_OUTPUTS:
                raise DriverError(f"there is no output '{terminal}'; this device has {', '.join(KNOWN_OUTPUTS)}")
        self.inputs, self.written, self.is_safe = opening.inputs, [0.0] * len(opening.outputs), False
        # yours: open the device, leave its outputs as they are, start its watchdog

    def read(self) -> Sequence[float]:
        # yours: one sample of each input, now
        return [1.0 if terminal.startswith("bit") else 0.0 for terminal in self.inputs]

    def write(self, commands: Sequence[float]) -> None:
        if not self.is_safe:
            self.written = list(commands)  # yours: hand them over

    def safe(self) -> None:
        self.is_safe = True  # yours: enable off, by the shortest way, from any thread

    def close(self) -> None:
        self.safe()  # yours: let go of the device
