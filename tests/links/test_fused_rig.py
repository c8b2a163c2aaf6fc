"""The loop of a rig in step with its test is fused when the rig begins, and answers as the general one does."""

import numpy as np
import pytest

import halfreal
from examples.scripts import GALLERY
from halfreal.kernels import disk_cache, fused
from halfreal.links.rig_end import RigSession
from halfreal.live.rig import VirtualRig
from links.by_hand import ARMED, COMMAND, Datagram, unpacked
from links.ends import KEY, LONG, link, sockets

TICKS = 50
SMALL = 1e-9
"""Of a command from the one before [m]: within the rig's rate limit, however little time has passed."""


@pytest.fixture(scope="module")
def rig():
    test = halfreal.load(GALLERY / "spring_mass_damper" / "forward_prediction.toml")
    serving = VirtualRig(test.model_copy(update={"link": link("udp")}), in_step=True)
    yield serving
    serving.close()


def answers(rig: VirtualRig, *, whole: bool) -> list[tuple[float, ...]]:
    """Measurements and states of a session whose commands are all there at once."""
    with sockets() as (near, far):
        loop = rig._loop(RigSession(KEY, LONG, near))
        if whole:
            assert loop.fuse(make=False)
        loop.general = not whole
        for k in range(TICKS):
            far.send(Datagram(COMMAND, KEY, k + 2, (SMALL * np.sin(k),), tick=k).packed())
        assert loop.run(TICKS).ticks == TICKS
        heard = [unpacked(far.recv(2000)) for _ in range(TICKS)]
    return [(d.sequence, d.answers, d.tick, d.state, d.code, *d.channels) for d in heard]


def test_it_answers_the_same_to_the_bit(rig):
    whole = answers(rig, whole=True)
    assert answers(rig, whole=False) == whole
    assert {one[3] for one in whole} == {ARMED}
    assert len({one[5] for one in whole}) > TICKS / 2  # it has moved


def test_nothing_is_compiled_or_read_when_a_session_begins(rig, monkeypatch):
    for place, name in ((fused, "_emitted"), (disk_cache, "kept")):
        monkeypatch.setattr(place, name, None)
    with sockets() as (near, _):
        assert rig._loop(RigSession(KEY, LONG, near)).fuse(make=False)
