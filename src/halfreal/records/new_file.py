"""New HDF5 files on disks that may be full.

What HDF5 could not write it tries to write again, when the file is closed and when the program ends, and crashes there.
So it never learns of an error of the disk: after the first one it writes to nowhere, and the error is raised when it
has let go of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO


class Sink:
    """A file as h5py wants it, whose first error is kept in ``error``."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._end = file, 0
        self.error: OSError | None = None

    def _attempt(self, action: Callable[[], object]) -> None:
        if self.error is None:
            try:
                action()
            except OSError as error:
                self.error = error

    def write(self, data: Any) -> int:
        rest = memoryview(data).cast("B")
        size = len(rest)

        def write_all() -> None:
            written = 0
            while written < size:
                written += self._file.write(rest[written:])

        self._attempt(write_all)
        return size

    def truncate(self, size: int) -> int:
        self._attempt(lambda: self._file.truncate(size))
        self._end = size
        return size

    def flush(self) -> None:
        self._attempt(self._file.flush)

    def seek(self, offset: int, whence: int = 0) -> int:
        if whence == 2 and self.error is not None:  # the file is shorter than HDF5 believes
            return max(self._end, self._file.seek(0, 2))
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int = -1) -> bytes:
        """h5py looks for it to know a file, and reads with ``readinto``."""
        return self._file.read(size)

    def readinto(self, room: Any) -> int:
        view = memoryview(room).cast("B")
        found = self._file.readinto(view)  # type: ignore[attr-defined]
        if self.error is not None and found < len(view):
            view[found:] = bytes(len(view) - found)
            return len(view)
        return int(found)


@contextmanager
def new_hdf5_file(path: Path, **how: Any) -> Iterator[Any]:
    """An ``h5py.File`` to be filled; OSError if it could not be written.  ``how`` as h5py has it."""
    import h5py

    with path.open("x+b", buffering=0) as file:
        sink = Sink(file)
        try:
            with h5py.File(sink, "w", **how) as made:
                yield made
        finally:
            if sink.error is not None:
                raise sink.error
