"""Datagrams on a line of bytes: kernels/stream.py and docs/link/halfreal_rig.c against COBS as its paper has it."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from halfreal.kernels.datagram import LONGEST
from halfreal.kernels.stream import DATAGRAM, FRAME, LINE, stream_receive, stream_send

LINK = Path(__file__).parents[2] / "docs" / "link"
CUT_OFF = 1
"""The length by which a frame is told that is no whole one."""
ROOM = 584
"""Bytes of a datagram that the rig's end in C keeps, HR_ROOM."""


def framed(datagram: bytes) -> bytes:
    """By the paper: cut at every zero, of which one more is thought at the end, and after 254 bytes without one."""
    frame, rest = b"", datagram + b"\0"
    while rest:
        block = rest[:254].split(b"\0")[0]
        frame += bytes([len(block) + 1]) + block
        rest = rest[len(block) :] if len(block) == 254 else rest[len(block) + 1 :]
        if rest == b"\0" and len(block) == 254:  # a full last block needs no other one behind it
            break
    return b"\0" + frame + b"\0"


def unframed(line: bytes) -> list[bytes | int]:
    """Whatever stands between two zeros, or the length by which it is told if it is no frame."""
    found: list[bytes | int] = []
    for frame in filter(None, line.split(b"\0")[:-1]):
        datagram, at, block = b"", 0, 255
        while at < len(frame):
            datagram += b"\0" if block < 255 else b""
            block = frame[at]
            datagram += frame[at + 1 : at + block]
            at += block
        found.append(datagram if at == len(frame) else CUT_OFF)
    return found


class InC:
    """halfreal_rig.c as a library."""

    class Unframed(ctypes.Structure):
        _fields_ = (
            ("bytes", ctypes.c_uint8 * ROOM),
            ("length", ctypes.c_size_t),
            ("block", ctypes.c_uint8),
            ("left", ctypes.c_uint8),
            ("ended", ctypes.c_bool),
        )

    def __init__(self, library: Path) -> None:
        functions = ctypes.CDLL(str(library))
        self._frame, self._unframe = functions.hr_frame, functions.hr_unframe
        self._frame.restype, self._unframe.restype = ctypes.c_size_t, ctypes.c_bool
        self._frame.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p]

    def send(self, datagram: bytes) -> bytes:
        frame = ctypes.create_string_buffer(FRAME)
        length = self._frame(datagram, len(datagram), frame)
        return frame.raw[:length]

    def hear(self, chunks: list[bytes]) -> list[tuple[int, bytes]]:
        line = self.Unframed()
        return [
            (line.length, bytes(line.bytes[: line.length]))
            for byte in b"".join(chunks)
            if self._unframe(ctypes.byref(line), ctypes.c_uint8(byte))
        ]


class Compiled:
    """kernels/stream.py, with a pipe for the line."""

    def __init__(self) -> None:
        self.out, self.into = os.pipe()
        os.set_blocking(self.out, False)
        os.set_blocking(self.into, False)

    def send(self, datagram: bytes) -> bytes:
        frame, room = np.zeros(FRAME, dtype=np.uint8), np.frombuffer(datagram + b"\0", dtype=np.uint8)
        assert stream_send(self.into, frame.ctypes.data, room.ctypes.data, len(datagram))
        return os.read(self.out, FRAME + 1)

    def hear(self, chunks: list[bytes]) -> list[tuple[int, bytes]]:
        line, heard = np.zeros(LINE, dtype=np.uint8), []
        for chunk in chunks:
            os.write(self.into, chunk)
            while (length := stream_receive(self.out, line.ctypes.data)) >= 0:
                heard.append((length, line[DATAGRAM : DATAGRAM + min(length, ROOM)].tobytes()))
        return heard


@pytest.fixture(scope="module", params=["compiled", "in C"])
def ends(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InC | Compiled]:
    if request.param == "compiled":
        pipe = Compiled()
        yield pipe
        os.close(pipe.into)
        os.close(pipe.out)
        return
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: there is no cc on PATH")
    library = tmp_path_factory.mktemp("framing") / "halfreal_rig.so"
    subprocess.run(
        [compiler, "-O1", "-std=c99", "-shared", "-fPIC", LINK / "halfreal_rig.c", "-o", library], check=True
    )
    yield InC(library)


pieces = st.one_of(st.binary(max_size=40), st.integers(250, 260).map(lambda n: b"\x7f" * n), st.just(bytes(20)))
datagrams = st.lists(pieces, max_size=4).map(b"".join)


@settings(max_examples=50)
@given(datagram=datagrams)
@example(datagram=b"")
@example(datagram=b"\1" * 254)
@example(datagram=b"\1" * 254 + b"\0")
@example(datagram=b"\1" * 255)
@example(datagram=b"\0" * LONGEST)
@example(datagram=b"\1" * LONGEST)
def test_a_frame_is_that_of_the_paper_without_a_zero_and_is_heard(ends: InC | Compiled, datagram: bytes) -> None:
    frame = ends.send(datagram)
    assert frame == framed(datagram)
    assert 0 not in frame[1:-1] and len(frame) <= FRAME
    assert ends.hear([frame]) == [(len(datagram), datagram[:ROOM])]


damages = st.one_of(
    st.none(),
    st.tuples(st.just("garbage"), st.binary(min_size=1, max_size=60)),
    st.tuples(st.sampled_from(["lost", "doubled", "turned"]), st.integers(0, 10**6)),
)


def damaged(frame: bytes, how: tuple[str, object] | None) -> bytes:
    if how is None:
        return frame
    kind, what = how
    if isinstance(what, bytes):
        return what
    at = int(what) % len(frame)  # type: ignore[call-overload]
    byte = {"lost": b"", "doubled": frame[at : at + 1] * 2, "turned": bytes([frame[at] ^ 1 << at % 8])}[kind]
    return frame[:at] + byte + frame[at + 1 :]


@settings(max_examples=50)
@given(
    said=st.lists(st.tuples(datagrams, damages), min_size=1, max_size=12),
    cuts=st.lists(st.integers(1, 200), min_size=1, max_size=20),
)
def test_whatever_is_lost_or_made_up_on_the_line_what_comes_whole_is_heard(
    ends: InC | Compiled, said: list[tuple[bytes, tuple[str, object] | None]], cuts: list[int]
) -> None:
    line, chunks, at = b"".join(damaged(framed(d), how) for d, how in said) + b"\0", [], 0
    while at < len(line):
        cut = cuts[len(chunks) % len(cuts)]
        chunks.append(line[at : at + cut])
        at += cut
    heard = ends.hear(chunks)
    expected = [(one, b"") if isinstance(one, int) else (len(one), one[:ROOM]) for one in unframed(line)]
    assert [one[0] for one in heard] == [one[0] for one in expected]
    assert all(one == other for one, other in zip(heard, expected, strict=True) if one[0] > CUT_OFF)
    whole = iter(heard)  # each frame that came as it was sent, in this order
    assert all((len(d), d[:ROOM]) in whole for d, how in said if how is None and len(d) > CUT_OFF)


def test_a_line_that_is_never_silent_is_told_as_one_datagram_too_long_and_the_next_is_heard(
    ends: InC | Compiled,
) -> None:
    noise = [b"\2" * 4096] * 5
    heard = ends.hear([*noise, framed(b"next")])
    assert heard[0][0] == LONGEST + 1
    assert heard[1:] == [(4, b"next")]
