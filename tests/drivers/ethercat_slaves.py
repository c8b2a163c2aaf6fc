"""Two EtherCAT slaves in software on one end of a virtual cable, for tests: what a master sees of ETG.1000.

    python ethercat_slaves.py INTERFACE

1, an analogue terminal without a mailbox: it sends 0x6000:1 (status, 16 bits) and 0x6000:17 (value), and hears
0x7000:17; its value is what it heard last.  2, a drive of CiA 402 with a mailbox (CoE), whose process data can be set
up; enabled it goes to its target position at once.  Registers, EEPROM, FMMUs, sync managers, AL states, working
counters, the watchdog of process data and the system time are as in an ESC, as far as SOEM looks at them.

Commands on standard input, a line each: "drop" (answer no more), "safeop N" (slave N leaves OP), "fault" (of the
drive), "push X" (the terminal measures X), "tell" (prints a line of JSON).
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import struct
import sys
import time

ECAT = 0x88A4
OUTGOING = 4
INIT, PREOP, SAFEOP, OP, FAILED = 1, 2, 4, 8, 0x10
INVALID_CHANGE, INVALID_OUTPUTS, INVALID_INPUTS, WATCHDOG = 0x11, 0x1D, 0x1E, 0x1B
NOP, APRD, APWR, APRW, FPRD, FPWR, FPRW, BRD, BWR, BRW, LRD, LWR, LRW, ARMW, FRMW = range(15)
READS = {APRD, APRW, FPRD, FPRW, BRD, BRW}
WRITES = {APWR, APRW, FPWR, FPRW, BWR, BRW}
BY_POSITION, BY_ADDRESS, BY_ALL = {APRD, APWR, APRW, ARMW}, {FPRD, FPWR, FPRW, FRMW}, {BRD, BWR, BRW}
STATION, DL_STATUS, AL_CONTROL, AL_STATUS, AL_CODE = 0x10, 0x110, 0x120, 0x130, 0x134
EEPROM_CONTROL, EEPROM_ADDRESS, EEPROM_DATA = 0x502, 0x504, 0x508
FMMU, SM, RECEIVE_TIME, SYSTEM_TIME, OFFSET, SYNC_ACTIVE, SYNC_CYCLE = 0x600, 0x800, 0x900, 0x910, 0x920, 0x981, 0x9A0
PATIENCE = 0.1
"""Seconds without process data after which outputs are let go."""


def category(kind: int, content: bytes) -> bytes:
    content += bytes(len(content) % 2)
    return struct.pack("<HH", kind, len(content) // 2) + content


def pdo(index: int, manager: int, entries: list[tuple[int, int, int, int]]) -> bytes:
    """Of objects: index, subindex, type, bits."""
    head = struct.pack("<HBBBBH", index, len(entries), manager, 0, 0, 0)
    return head + b"".join(struct.pack("<HBBBBH", one, sub, 0, kind, bits, 0) for one, sub, kind, bits in entries)


def eeprom(name: str, product: int, mailbox: bool, managers: list[tuple[int, int, int, int]], pdos: bytes) -> bytes:
    """Managers: start, length, control, type."""
    words = bytearray(128)
    struct.pack_into("<IIII", words, 16, 0x6F726C66, product, 1, 1)
    if mailbox:
        struct.pack_into("<HHHHH", words, 48, 0x1000, 128, 0x1080, 128, 0x0004)  # CoE
    struct.pack_into("<HH", words, 124, 7, 1)
    text = name.encode()
    general = bytearray(32)
    general[2] = general[3] = 1
    general[5] = 0x01 if mailbox else 0  # SDO
    content = category(10, bytes([1, len(text)]) + text) + category(30, bytes(general))
    content += category(40, bytes([1, 2]))
    content += category(41, b"".join(struct.pack("<HHBBBB", a, n, c, 0, 1, kind) for a, n, c, kind in managers))
    return bytes(words) + content + pdos + struct.pack("<H", 0xFFFF)


class Slave:
    """Registers and memory of an ESC."""

    outputs, inputs = 2, 3
    """Its sync managers of process data."""

    def __init__(self, content: bytes, last: bool) -> None:
        self.memory, self.eeprom = bytearray(0x10000), content + bytes(64)
        self.memory[0:8] = bytes([0x11, 1, 1, 0, 8, 8, 8, 0x0F])
        self.put(0x008, 0x000C)  # distributed clocks of 64 bits
        self.put(DL_STATUS, 0x0210 | (0 if last else 0x0820))
        self.put(AL_STATUS, INIT)
        self.fed = time.monotonic()
        self.begin()

    def begin(self) -> None:
        """Of what is behind the ESC."""

    def get(self, at: int, size: int = 2) -> int:
        return int.from_bytes(self.memory[at : at + size], "little")

    def put(self, at: int, value: int, size: int = 2) -> None:
        self.memory[at : at + size] = value.to_bytes(size, "little")

    @property
    def state(self) -> int:
        return self.get(AL_STATUS) & 0x0F

    def fall(self, state: int, code: int) -> None:
        self.put(AL_STATUS, state | FAILED)
        self.put(AL_CODE, code)

    def sizes(self) -> tuple[int, int]:
        """Bytes of process data that it hears and sends."""
        raise NotImplementedError

    def ask(self, wanted: int) -> None:
        """The master asks for a state."""
        if self.get(AL_STATUS) & FAILED and not wanted & FAILED:
            return
        wanted &= 0x0F
        allowed = {INIT: (INIT, PREOP), PREOP: (INIT, PREOP, SAFEOP), SAFEOP: (INIT, PREOP, SAFEOP, OP)}
        if self.state != OP and wanted not in allowed.get(self.state, ()):
            self.fall(self.state, INVALID_CHANGE)
            return
        if wanted == SAFEOP and self.state == PREOP:
            heard, sent = (self.get(SM + 8 * manager + 2) for manager in (self.outputs, self.inputs))
            if heard != self.sizes()[0]:
                self.fall(self.state, INVALID_OUTPUTS)
                return
            if sent != self.sizes()[1]:
                self.fall(self.state, INVALID_INPUTS)
                return
        self.fed = time.monotonic()
        self.put(AL_STATUS, wanted)
        self.put(AL_CODE, 0)

    # registers

    def read(self, at: int, size: int) -> bytes:
        if at <= SYSTEM_TIME < at + size:
            self.put(SYSTEM_TIME, time.monotonic_ns() + self.get(OFFSET, 8) & (1 << 64) - 1, 8)
        data = bytes(self.memory[at : at + size])
        if at == 0x1080:  # the mailbox is taken
            self.memory[SM + 8 + 5] &= ~0x08
        return data

    def write(self, at: int, data: bytes) -> None:
        if at == SYSTEM_TIME:  # of the reference clock: all are on one machine here
            return
        before = self.get(AL_STATUS), self.get(AL_CODE)
        self.memory[at : at + len(data)] = data
        if at <= AL_STATUS < at + len(data):
            self.put(AL_STATUS, before[0])
            self.put(AL_CODE, before[1])
        if at <= AL_CONTROL < at + len(data):
            self.ask(self.get(AL_CONTROL))
        if at <= EEPROM_CONTROL < at + len(data) and self.get(EEPROM_CONTROL) & 0x0700 == 0x0100:
            where = 2 * self.get(EEPROM_ADDRESS, 4)
            self.memory[EEPROM_DATA : EEPROM_DATA + 8] = self.eeprom[where : where + 8].ljust(8, b"\xff")
            self.put(EEPROM_CONTROL, 0x0040)  # it gives 8 bytes, and is not busy
        if at <= RECEIVE_TIME < at + len(data):
            now = time.monotonic_ns()
            for port in range(4):
                self.put(RECEIVE_TIME + 4 * port, now & 0xFFFFFFFF, 4)
            self.put(0x918, now, 8)
        if at == 0x1000 and at + len(data) >= 0x1000 + 128:
            self.memory[0x1080 : 0x1080 + 128] = self.answer(data).ljust(128, b"\0")
            self.memory[SM + 8 + 5] |= 0x08  # the other mailbox is full

    def answer(self, mail: bytes) -> bytes:
        return b""

    def logical(self, start: int, data: bytearray, reads: bool, writes: bool) -> int:
        """Its share of process data; what it adds to the working counter."""
        did_read = did_write = False
        for at in range(FMMU, FMMU + 16 * 8, 16):
            logical, length = self.get(at, 4), self.get(at + 4)
            physical, kind, active = self.get(at + 8), self.memory[at + 11], self.memory[at + 12]
            first = logical - start
            if not active or first < 0 or first + length > len(data):
                continue
            if self.state < SAFEOP:
                continue
            if kind & 1 and reads:
                data[first : first + length] = self.memory[physical : physical + length]
                did_read = True
            if kind & 2 and writes:
                self.memory[physical : physical + length] = data[first : first + length]
                did_write = True
        if did_write:
            self.fed = time.monotonic()
        if did_write or did_read:
            self.work()
        return did_read + did_write * (2 if reads else 1)

    def work(self) -> None:
        """What the device does with its process data."""

    def watch(self) -> None:
        if self.state == OP and time.monotonic() - self.fed > PATIENCE:
            self.fall(SAFEOP, WATCHDOG)
            self.let_go()

    def let_go(self) -> None:
        """Outputs as they are when no process data come."""


class Analogue(Slave):
    def begin(self) -> None:
        self.value, self.pushed = 0, None

    def sizes(self) -> tuple[int, int]:
        return 2, 4

    def work(self) -> None:
        if self.state == OP:
            (self.value,) = struct.unpack("<h", self.memory[0x1100:0x1102])
        self.memory[0x1180:0x1184] = struct.pack("<Hh", 0x0001, self.value if self.pushed is None else self.pushed)

    def let_go(self) -> None:
        self.value = 0


class Drive(Slave):
    def begin(self) -> None:
        self.control, self.status, self.target, self.actual = 0, 0x40, 0, 1000
        self.objects: dict[tuple[int, int], bytes] = {
            (0x1C00, 0): b"\4", (0x1C00, 1): b"\1", (0x1C00, 2): b"\2", (0x1C00, 3): b"\3", (0x1C00, 4): b"\4",
            (0x1C12, 0): b"\0", (0x1C13, 0): b"\0", (0x1600, 0): b"\0", (0x1A00, 0): b"\0",
            (0x6040, 0): bytes(2), (0x6041, 0): bytes(2), (0x6060, 0): b"\0", (0x6061, 0): b"\0",
            (0x6064, 0): bytes(4), (0x607A, 0): bytes(4), (0x6077, 0): bytes(2), (0x60C2, 1): b"\0", (0x60C2, 2): b"\0",
        }  # fmt: skip

    def mapped(self, assignment: int) -> list[tuple[int, int, int]]:
        found = []
        for i in range(1, self.objects[assignment, 0][0] + 1):
            (index,) = struct.unpack("<H", self.objects[assignment, i])
            for j in range(1, self.objects[index, 0][0] + 1):
                (word,) = struct.unpack("<I", self.objects[index, j])
                found.append((word >> 16, word >> 8 & 0xFF, (word & 0xFF) // 8))
        return found

    def sizes(self) -> tuple[int, int]:
        heard, sent = (sum(size for *_, size in self.mapped(one)) for one in (0x1C12, 0x1C13))
        return heard, sent

    def answer(self, mail: bytes) -> bytes:
        """CANopen over EtherCAT: objects uploaded and downloaded, each in one piece."""
        counter = mail[5] & 0x70
        command, index, sub = struct.unpack_from("<BHB", mail, 8)
        reply = struct.pack("<BHBI", 0x80, index, sub, 0x06020000)  # no such object
        service = 2
        if command & 0xE0 == 0x40 and (index, sub) in self.objects:
            data, service = self.objects[index, sub], 3
            reply = struct.pack("<BHB", 0x43 | 4 - len(data) << 2, index, sub) + data.ljust(4, b"\0")
        elif command & 0xE0 == 0x20:
            size = 4 - (command >> 2 & 3)
            known = self.objects.get((index, sub))
            if known is not None and len(known) != size and index < 0x2000:
                reply = struct.pack("<BHBI", 0x80, index, sub, 0x06070010)  # another length
            elif known is not None or index in (0x1600, 0x1A00, 0x1C12, 0x1C13):
                self.objects[index, sub], service = mail[12 : 12 + size], 3
                reply = struct.pack("<BHBI", 0x60, index, sub, 0)
        return struct.pack("<HHBB", 10, 0, 0, 3 | counter) + struct.pack("<H", service << 12) + reply

    def work(self) -> None:
        at = self.get(SM + 8 * 2)
        if self.state == OP:
            for index, sub, size in self.mapped(0x1C12):
                self.objects[index, sub] = bytes(self.memory[at : at + size])
                at += size
            (self.control,), (self.target,) = (
                struct.unpack("<H", self.objects[0x6040, 0]),
                struct.unpack("<i", self.objects[0x607A, 0]),
            )
            self.step()
        self.objects[0x6041, 0] = struct.pack("<H", self.status)
        self.objects[0x6064, 0] = struct.pack("<i", self.actual)
        at = self.get(SM + 8 * 3)
        for index, sub, size in self.mapped(0x1C13):
            self.memory[at : at + size] = self.objects[index, sub]
            at += size

    def step(self) -> None:
        if self.status & 0x08:
            return
        word, state = self.control & 0x0F, self.status & 0x6F
        if word & 0x02 == 0:
            self.status = 0x40
        elif word & 0x06 == 0x02:  # a quick stop holds, then lets go
            self.status = 0x40 if state in (0x40, 0x21, 0x23) else 0x07
        elif word == 0x06:
            self.status = 0x21
        elif word == 0x07 and state in (0x21, 0x23, 0x27):
            self.status = 0x23
        elif word == 0x0F and state in (0x23, 0x27):
            self.status = 0x27
        if self.status == 0x27 and self.objects[0x6060, 0] == b"\x08":
            self.actual = self.target

    def let_go(self) -> None:
        self.status = 0x40


class Chain:
    """The slaves in the order of the cable."""

    def __init__(self) -> None:
        words = pdo(0x1A00, 3, [(0x6000, 1, 6, 16), (0x6000, 17, 3, 16)])
        plain = category(50, words) + category(51, pdo(0x1600, 2, [(0x7000, 17, 3, 16)]))
        unused = [(0, 0, 0, 0), (0, 0, 0, 0)]
        self.analogue = Analogue(
            eeprom("simulated AI/AO", 1, False, [*unused, (0x1100, 2, 0x64, 3), (0x1180, 4, 0x20, 4)], plain), False
        )
        mail = [(0x1000, 128, 0x26, 1), (0x1080, 128, 0x22, 2)]
        self.drive = Drive(
            eeprom("simulated drive", 2, True, [*mail, (0x1100, 6, 0x64, 3), (0x1180, 6, 0x20, 4)], b""), True
        )
        self.slaves: list[Slave] = [self.analogue, self.drive]
        self.silent, self.frames = False, 0

    def datagram(self, command: int, address: bytes, data: bytearray) -> tuple[bytes, int]:
        """The address as it leaves the chain, and what is added to the working counter; data are changed in place."""
        counter = 0
        if command in (LRD, LWR, LRW):
            (start,) = struct.unpack("<I", address)
            heard = bytearray(data)
            for slave in self.slaves:
                share = bytearray(heard)
                counter += slave.logical(start, share, command != LWR, command != LRD)
                if command != LWR:
                    for i, (one, other) in enumerate(zip(share, heard, strict=True)):
                        if one != other:
                            data[i] = one
            return address, counter
        position, at = struct.unpack("<HH", address)
        for slave in self.slaves:
            hit = command in BY_ALL or (command in BY_POSITION and position == 0)
            hit = hit or (command in BY_ADDRESS and position == slave.get(STATION))
            if command in (ARMW, FRMW):
                if hit:
                    data[:] = slave.read(at, len(data))
                else:
                    slave.write(at, bytes(data))
                counter += 1
            elif hit:
                written = bytes(data)
                if command in READS:
                    found = slave.read(at, len(data))
                    data[:] = bytes(a | b for a, b in zip(found, data, strict=True)) if command in BY_ALL else found
                if command in WRITES:
                    slave.write(at, written)
                counter += (command in READS) + (command in WRITES) * (2 if command in READS else 1)
            if command in BY_POSITION or command in BY_ALL:
                position = position + 1 & 0xFFFF
        return struct.pack("<HH", position, at), counter

    def frame(self, frame: bytes) -> bytes:
        answer = bytearray(frame)
        answer[6] |= 0x02  # an ESC marks what it has processed
        at, more = 16, True
        while more and at + 12 <= len(frame):
            command, length = frame[at], struct.unpack_from("<H", frame, at + 6)[0]
            more, size = bool(length & 0x8000), length & 0x07FF
            data = bytearray(frame[at + 10 : at + 10 + size])
            address, added = self.datagram(command, frame[at + 2 : at + 6], data)
            answer[at + 2 : at + 6], answer[at + 10 : at + 10 + size] = address, data
            counter = struct.unpack_from("<H", frame, at + 10 + size)[0]
            struct.pack_into("<H", answer, at + 10 + size, counter + added & 0xFFFF)
            at += 12 + size
        return bytes(answer)

    def heed(self, line: str) -> None:
        word, *rest = line.split()
        if word == "drop":
            self.silent = True
        elif word == "safeop":
            self.slaves[int(rest[0]) - 1].fall(SAFEOP, 0x32)
        elif word == "fault":
            self.drive.status = 0x08
        elif word == "push":
            self.analogue.pushed = int(rest[0])
            self.analogue.work()
        elif word == "tell":
            drive, analogue = self.drive, self.analogue
            told = {
                "frames": self.frames,
                "states": [slave.state for slave in self.slaves],
                "value": analogue.value,
                "status": drive.status,
                "control": drive.control,
                "actual": drive.actual,
                "mode": drive.objects[0x6060, 0][0],
                "interpolation": [drive.objects[0x60C2, i][0] for i in (1, 2)],
                "sync": [drive.memory[SYNC_ACTIVE], drive.get(SYNC_CYCLE, 4)],
            }
            print(json.dumps(told), flush=True)


def serve(interface: str) -> None:
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ECAT))
    wire.bind((interface, ECAT))
    with contextlib.suppress(PermissionError):  # an ESC answers in a microsecond, a master waits for two milliseconds
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    chain = Chain()
    print("ready", flush=True)
    rest = ""
    while True:
        ready = select.select([wire, sys.stdin], [], [], 0.01)[0]
        if wire in ready:
            frame, (_, _, kind, *_) = wire.recvfrom(2048)
            if kind != OUTGOING and not chain.silent:
                chain.frames += 1
                wire.send(chain.frame(frame))
        for slave in chain.slaves:
            slave.watch()
        if sys.stdin in ready:
            came = os.read(sys.stdin.fileno(), 4096)  # not by lines: what a buffer holds, select does not see
            if not came:
                return
            *lines, rest = (rest + came.decode()).split("\n")
            for line in lines:
                chain.heed(line)


if __name__ == "__main__":
    serve(sys.argv[1])
