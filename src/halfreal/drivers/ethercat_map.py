"""Where the objects of EtherCAT slaves lie in the process data.

A terminal is named "SLAVE / 0xINDEX:SUB", slaves counted from 1 along the cable, indices as in the slave's manual:
"1 / 0x6000:17", or "slave 2 / 0x6064" for subindex 0.  Numbers of more than 8 bits count as signed, others not; where
that is wrong a type follows: "1 / 0x6000:17 uint16".  "2 / enable" is the power stage of a drive (``cia402.py``).

What a slave sends and receives in every cycle is a list of objects with their bits, one behind the other.  A slave with
a mailbox (CoE) shows its list by the objects 0x1C12 and 0x1C13, one without in its EEPROM, categories 50 and 51
(ETG.1000.6 and ETG.2010).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ..contracts.driver import DriverError

NAME = re.compile(
    r"(?:slave\s*)?(\d+)\s*/\s*(?:(enable)|0x([0-9a-f]{1,4})(?::(0x[0-9a-f]+|\d+))?(?:\s+(int|uint|real)(\d+))?)", re.I
)
Kind = Literal["int", "uint", "real"]
RECEIVES, SENDS = 0x1C12, 0x1C13
"""Objects with the lists of what a slave receives and sends."""
SENT_CATEGORY, HEARD_CATEGORY, LAST_CATEGORY = 50, 51, 0xFFFF
FIRST_CATEGORY, EEPROM_WORDS = 0x40, 2048
REALS = {32: "<f", 64: "<d"}


@dataclass(frozen=True)
class Terminal:
    """What a name of the channel table means."""

    name: str
    slave: int
    index: int
    """0: the power stage of a drive."""
    sub: int
    kind: Kind | None
    bits: int | None

    @classmethod
    def read(cls, name: str) -> Terminal:
        found = NAME.fullmatch(name.strip())
        if found is None or int(found[1]) < 1:
            raise DriverError(
                f"'{name}' is not an EtherCAT terminal; write slave and object, such as '1 / "
                "0x6000:17', or '2 / enable'"
            )
        bits = int(found[6]) if found[6] else None
        if bits is not None and (not 1 <= bits <= 64 or (found[5].lower() == "real" and bits not in REALS)):
            raise DriverError(
                f"'{name}': there is no type {found[5]}{bits}; integers have 1 to 64 bits, reals 32 or 64"
            )
        index, sub = int(found[3] or "0", 16), int(found[4] or "0", 0)
        return cls(name, int(found[1]), index, sub, found[5].lower() if found[5] else None, bits)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Entry:
    """An object in the process data of a slave."""

    index: int
    sub: int
    start: int
    """Bits before it."""
    bits: int


@dataclass(frozen=True)
class Place:
    """An object that is read or written, in the bytes of its slave."""

    slave: int
    start: int
    bits: int
    kind: Kind

    def get(self, data: bytes) -> float:
        raw = int.from_bytes(data, "little") >> self.start & ((1 << self.bits) - 1)
        if self.kind == "real":
            return float(struct.unpack(REALS[self.bits], raw.to_bytes(self.bits // 8, "little"))[0])
        if self.kind == "int" and raw >> (self.bits - 1):
            raw -= 1 << self.bits
        return float(raw)

    def put(self, data: bytes, value: float, name: str = "") -> bytes:
        if self.kind == "real":
            raw = int.from_bytes(struct.pack(REALS[self.bits], value), "little")
        else:
            low, high = (
                (-(1 << self.bits - 1), (1 << self.bits - 1) - 1) if self.kind == "int" else (0, (1 << self.bits) - 1)
            )
            if not low <= value <= high:  # also NaN
                raise DriverError(
                    f"'{name}' would be {value:g}, but its range is {low} to {high}; check its scale and range"
                )
            raw = round(value) & (1 << self.bits) - 1
        mask = (1 << self.bits) - 1 << self.start
        whole = int.from_bytes(data, "little") & ~mask | raw << self.start
        return whole.to_bytes(len(data), "little")


def one_behind_the_other(objects: Iterable[tuple[int, int, int]]) -> list[Entry]:
    entries: list[Entry] = []
    for index, sub, bits in objects:
        start = entries[-1].start + entries[-1].bits if entries else 0
        entries.append(Entry(index, sub, start, bits))
    return entries


def by_mailbox(read: Callable[[int, int], bytes], assignment: int) -> list[Entry]:
    """The list of a slave with a mailbox; ``read`` gives an object of it."""

    def number(index: int, sub: int) -> int:
        return int.from_bytes(read(index, sub), "little")

    objects = []
    for i in range(1, number(assignment, 0) + 1):
        mapped = number(assignment, i)
        words = (number(mapped, j) for j in range(1, number(mapped, 0) + 1))
        objects += [(word >> 16, word >> 8 & 0xFF, word & 0xFF) for word in words]
    return one_behind_the_other(objects)


def by_eeprom(words: Callable[[int], bytes], category: int) -> list[Entry]:
    """The list in a slave's EEPROM; ``words`` gives four bytes from a word on."""
    content: dict[int, int] = {}

    def word(at: int) -> int:
        if at not in content:
            data = words(at)
            content[at], content[at + 1] = struct.unpack("<HH", data[:4])
        return content[at]

    objects, at = [], FIRST_CATEGORY
    while at < EEPROM_WORDS and word(at) != LAST_CATEGORY:
        kind, size, at = word(at), word(at + 1), at + 2
        end = at + size
        while kind == category and at < end:
            entries = word(at + 1) & 0xFF
            for first in range(at + 4, at + 4 + 4 * entries, 4):
                objects.append((word(first), word(first + 1) & 0xFF, word(first + 2) >> 8))
            at += 4 + 4 * entries
        at = end
    return one_behind_the_other(objects)


def place_of(terminal: Terminal, entries: list[Entry], way: str) -> Place:
    for entry in entries:
        if (entry.index, entry.sub) == (terminal.index, terminal.sub):
            if terminal.bits not in (None, entry.bits):
                raise DriverError(f"'{terminal.name}' has {entry.bits} bits in slave {terminal.slave}; give that type")
            kind: Kind = terminal.kind or ("int" if entry.bits > 8 else "uint")
            return Place(terminal.slave, entry.start, entry.bits, kind)
    known = ", ".join(f"0x{entry.index:04X}:{entry.sub}" for entry in entries if entry.index) or "nothing"
    raise DriverError(f"'{terminal.name}': slave {terminal.slave} {way} {known} in its process data; name one of these")


def listed(text: Any, name: str) -> tuple[int, ...]:
    """Slaves that a setting names: "2, 3"."""
    parts = [part.strip() for part in str(text).split(",") if part.strip()]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise DriverError(f"driver.settings.{name} is {text!r}; write numbers of slaves from 1 on, such as '2, 3'")
    return tuple(int(part) for part in parts)
