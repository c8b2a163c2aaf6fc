"""A serial line, over pseudo-terminals: sessions, bytes that are lost, what cannot be opened, and silence."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.errors import HalfrealError
from halfreal.links.controller_end import ControllerEnd, begin
from halfreal.links.rig_end import RigEnd, RigSession
from halfreal.links.serial import Serial, SerialWire
from halfreal.links.wires import LinkError, NoWire
from links.by_hand import ARMED, IDLE, MEASUREMENT, Datagram
from links.ends import KEY, LEASE, STEP, STIFFNESS, controller_loop, link, offer_of, rig_loop, value
from links.test_controller_end import fault
from links.test_framing import framed
from live.processes import written

PATIENCE = 20.0
AT = (np.zeros(1), np.zeros(1))


def measured(sequence: int, displacement: float) -> bytes:
    return framed(Datagram(MEASUREMENT, KEY, sequence, (displacement, 500.0), state=ARMED).packed())


@pytest.fixture
def line() -> Iterator[tuple[SerialWire, int]]:
    """The controller's end of a line, and the far end as a plain file."""
    far, near = os.openpty()  # near stays open: a port that nobody has open is gone
    with closing(Serial(kind="serial", port=os.ttyname(near)).to_rig()) as wire:
        yield wire, far
        os.close(near)
        os.close(far)


def test_a_session_from_hello_to_stop_in_step() -> None:
    where, ended = link("serial"), []
    with closing(RigEnd.listen(where, 1, STEP)) as rig, closing(ControllerEnd.connect(where)) as controller:

        def serve() -> None:
            session = rig.await_session(lambda: AT, lambda: False)
            assert session is not None
            rig.ready(session, AT)
            loop = rig_loop(rig, session, waits=True)
            while value(loop, "rig.state") in (0.0, ARMED):
                loop.run(1)
            ended.append(value(loop, "rig.state"))

        rig_loop(rig, RigSession(1, 1.0, NoWire()), waits=True)  # compiled before anyone waits for it
        controller_loop(controller, offer_of(), waits=True)
        thread = threading.Thread(target=serve)
        thread.start()
        offer = controller.hello(1, STEP, LEASE, PATIENCE)
        loop = controller_loop(controller, offer, waits=True)
        begin(loop, controller.arm(PATIENCE), controller.wire)
        for _ in range(100):
            loop.run(1)
            assert value(loop, "measured.displacement") == value(loop, "command")
            assert value(loop, "measured.force") == STIFFNESS * value(loop, "command")
        assert value(loop, "command") > 0.0
        assert [value(loop, f"link.{name}") for name in ("truncated", "corrupted", "lost", "late")] == [0.0] * 4
        controller.stop(value(loop, "link.sent"))
        thread.join(PATIENCE)
    assert ended == [IDLE]


def test_what_is_lost_or_made_up_on_the_line_is_counted_and_the_next_measurement_is_heard(
    line: tuple[SerialWire, int],
) -> None:
    wire, far = line
    loop = controller_loop(ControllerEnd(wire), offer_of(), waits=False)
    os.write(far, measured(1, 0.1))
    loop.run(1)
    assert value(loop, "measured.displacement") == 0.1
    cut, turned, noise = measured(2, 0.2)[:40], bytearray(measured(3, 0.3)), b"\x05\x00no frame of ours\x00"
    turned[60] ^= 4
    os.write(far, cut + bytes(turned) + noise + measured(4, 0.4))
    loop.run(1)
    assert value(loop, "measured.displacement") == 0.4
    assert (value(loop, "link.corrupted"), value(loop, "link.lost")) == (1.0, 2.0)
    assert value(loop, "link.truncated") >= 2.0
    half = measured(5, 0.5)
    os.write(far, half[:50])
    loop.run(1)
    assert (value(loop, "measured.displacement"), value(loop, "link.late")) == (0.4, 1.0)
    os.write(far, half[50:])
    loop.run(1)
    assert value(loop, "measured.displacement") == 0.5


def test_a_port_that_is_unplugged_trips_as_silence_does(line: tuple[SerialWire, int]) -> None:
    wire, far = line
    loop = controller_loop(ControllerEnd(wire), offer_of(), waits=True, trip=5 * STEP)
    os.write(far, measured(1, 0.1))
    loop.run(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, far)  # the far end of the pair is closed
    os.close(nowhere)
    loop.run(1)
    assert "limits.stale.trip" in fault(loop)


@pytest.mark.parametrize(
    ("said", "message"), [(b"", "No byte was received"), (b"\xe0\x1c\x80" * 9, "27 bytes were received")]
)
def test_silence_and_a_wrong_rate_are_told_apart(line: tuple[SerialWire, int], said: bytes, message: str) -> None:
    wire, far = line
    os.write(far, said)
    with pytest.raises(LinkError, match=rf"no response from a rig at serial port .*1000000 baud within .*{message}"):
        ControllerEnd(wire).hello(1, STEP, LEASE, 0.1)


def test_what_cannot_be_opened_is_told_with_the_remedy(tmp_path: Path, line: tuple[SerialWire, int]) -> None:
    def tried(port: Path) -> str:
        with pytest.raises(LinkError) as told:
            Serial(kind="serial", port=str(port)).to_rig()
        return str(told.value)

    assert "there is no serial port" in tried(tmp_path / "ttyUSB7") and "plugged in" in tried(tmp_path / "ttyUSB7")
    (tmp_path / "file").write_text("")
    assert "is not a serial port; give one, e.g. /dev/ttyUSB0" in tried(tmp_path / "file")
    assert "is not a serial port" in tried(Path(os.devnull))
    taken = Path(line[0].address.split("'")[1])
    assert "is in use; close the other program" in tried(taken)


def test_a_pseudo_terminal_leaves_the_name_of_others_alone_and_takes_away_its_own(tmp_path: Path) -> None:
    port = tmp_path / "line"
    rig = Serial(kind="serial", port=str(port), rig="pty")
    port.write_text("somebody's")
    with pytest.raises(LinkError, match=r"a file of that name exists; if no rig uses it, remove it"):
        rig.listen()
    port.unlink()
    port.symlink_to(tmp_path / "gone")  # of a rig that was killed
    with closing(rig.listen()):
        assert port.is_char_device()
    assert not port.is_symlink()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"port": ""}, "'' is not a serial port; give its device file, e.g. '/dev/ttyUSB0'"),
        ({"port": "line", "baud": 123456}, "123456 baud cannot be set here; choose one of 9600, "),
        ({}, "port: is missing; write port = 'text'"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Serial(kind="serial", **settings)  # type: ignore[arg-type]


def test_a_line_too_slow_for_the_test_is_refused_unless_the_rig_sets_the_pace(tmp_path: Path) -> None:
    slow = {"link.kind": "serial", "link.port": "line", "link.rig": None, "link.baud": 115200}
    with pytest.raises(
        HalfrealError,
        match=r"at 115200 baud a measurement of 91 bytes takes 7\.9 ms, longer than a period of 1 ms; "
        r"give both ends 921600 baud or more",
    ):
        halfreal.load(written(tmp_path / "slow.toml", slow))
    paced = halfreal.load(written(tmp_path / "paced.toml", slow, {"real_time.pacing": "rig"}))
    assert paced.link is not None and paced.link.port == str(tmp_path / "line")  # type: ignore[attr-defined]
