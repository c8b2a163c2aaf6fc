"""Code that a definition names: users' files, compiled libraries, FMUs, drivers."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ..settings import Settings


class ForeignCode(Settings):
    """Code that is run and is not part of the definition itself."""

    @property
    def file(self) -> Path:
        """The file that the definition names."""
        raise NotImplementedError

    def hashes(self) -> dict[str, str]:
        """SHA-256 of all that it is made of, by file."""
        return {str(self.file): hashlib.sha256(self.file.read_bytes()).hexdigest() if self.file.exists() else ""}
