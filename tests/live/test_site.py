"""Sites as laboratories run them: rig, controller, server and client are processes, or threads, of their own."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.live.site import SiteSession
from halfreal.live.slow_operator import RefusedError
from halfreal.runs.run import Run
from halfreal.sites.listener import PortError
from live.processes import Process, column, wait_for
from live.slow import SPRING, SlowRig, slow_file
from sites.by_hand import COMMIT, DIE, INITIAL, MASS, TRIAL, HandClient, header

K = 2250.0
SITE: dict[str, object] = {
    **{f"virtual.{key}": None for key in ("mass", "damping", "stiffness", "scheme", "initial_velocity")},
    **{f"virtual.support.{key}": None for key in ("stiffness", "damping")},
    **{f"excitation.virtual.{key}": None for key in ("kind", "displacement", "frequency", "ramp")},
    "virtual.kind": "client",
    "virtual.listen": "127.0.0.1:0",
    "limits.command.trip": "5 mm",
}
UDP: dict[str, object] = {"virtual.protocol": "udp"}


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlowRig]:
    with SlowRig(tmp_path_factory.mktemp("rig"), SPRING, SITE) as found:
        yield found


@contextmanager
def site(folder: Path, rig: SlowRig, *changes: Mapping[str, object]) -> Iterator[tuple[SiteSession, int, list[str]]]:
    """A session that is armed and running, its port, and what it says."""
    file = slow_file(folder / "test.toml", rig.port, SPRING, SITE, *changes)
    session, said = SiteSession(halfreal.load(file), folder / "run.h5"), list[str]()
    session.say = said.append
    try:
        port = int(session.listen().split()[0].rpartition(":")[2])
        session.check()
        session.arm()
        yield session, port, said
    finally:
        session.close()


def served(session: SiteSession, client: Callable[[], None]) -> Run:
    """The record of a test with a client, which has its own thread."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            client()
        except BaseException as error:
            failed.append(error)
            session.emergency_stop()

    thread = threading.Thread(target=run)
    thread.start()
    session.wait()
    done = session.finish()
    thread.join()
    if failed:
        raise failed[0]
    return done


@pytest.mark.parametrize("udp", [False, True])
def test_forces_are_those_of_the_specimen_and_the_end_is_the_clients(tmp_path: Path, rig: SlowRig, udp: bool) -> None:
    path = 1e-3 * np.sin(np.arange(1, 8))
    found: list[float] = []
    with site(tmp_path, rig, UDP if udp else {}) as (session, port, said):

        def client() -> None:
            with HandClient(port, udp=udp, numbers=1500) as hand:  # more than a datagram holds
                assert hand.matrix(INITIAL) == [[K]] and hand.matrix(MASS) == [[0.0]]
                for k, displacement in enumerate(path):
                    found.extend(hand.force(displacement, time=0.01 * k))
                    hand.tell(TRIAL, (displacement,), 0.01 * k)
                    hand.tell(COMMIT)
                hand.tell(DIE)

        run = served(session, client)
    np.testing.assert_allclose(found, K * path, rtol=1e-12)
    assert (run.outcome, run.reason) == ("completed", "")
    rows = column(run, "client.trial") > 0
    np.testing.assert_array_equal(column(run, "target")[rows][: path.size], path)
    np.testing.assert_allclose(column(run, "client.time")[rows][: path.size], 0.01 * np.arange(7))
    assert column(run, "client.commits").max() == 7
    assert "connected: 1 degree(s)" in said[0] and "has ended the test" in said[1]
    assert halfreal.load_run(tmp_path / "run.h5").outcome == "completed"


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("goes", "the client disconnected without ending the test"),
        ("garbles", "does not follow the protocol"),
        ("nan", "not finite"),
        ("far", "mm, beyond its limit of 5 mm"),
        ("silent", "no message from the client for 0.05 s"),
    ],
)
def test_what_a_client_may_do_wrong_holds_the_rig_and_is_on_record(
    tmp_path: Path, rig: SlowRig, how: str, reason: str
) -> None:
    last: list[float] = []
    patience = {"virtual.silence": "50 ms"} if how == "silent" else {}
    with site(tmp_path, rig, patience) as (session, port, _):

        def client() -> None:
            hand = HandClient(port)
            assert hand.force(1e-3) == [pytest.approx(K * 1e-3)]
            if how == "goes":
                hand.close()
                return
            if how == "garbles":
                hand.tell(42.0)
            if how == "nan":
                last.extend(hand.force(np.nan))
            if how == "far":
                last.extend(hand.force(6e-3))
            wait_for(lambda: not session.running, "the loop to end")
            if how == "silent":
                last.extend(hand.force(2e-3))
            hand.close()

        run = served(session, client)
    assert run.outcome == "tripped" and reason in run.reason
    assert np.isnan(last).all(), "what a client is told that the test is over"
    assert column(run, "command")[-1] == column(run, "command")[-2], "held"
    assert column(run, "command")[-1] <= 5e-3


def test_a_client_with_other_degrees_of_freedom_is_refused_and_the_next_one_served(
    tmp_path: Path, rig: SlowRig
) -> None:
    with site(tmp_path, rig) as (session, port, said):

        def client() -> None:
            with HandClient(port, 2) as other:
                assert np.isnan(other.force(1e-3, 2e-3)).all()
                with HandClient(port) as hand:
                    assert hand.force(1e-3) == [pytest.approx(K * 1e-3)]
                    with HandClient(port) as third:
                        assert np.isnan(third.force(2e-3)).all()
                    hand.tell(DIE)

        run = served(session, client)
    assert run.outcome == "completed" and np.abs(column(run, "command")).max() == 1e-3
    assert "has 2 degree(s) of freedom, but the site has 1 axis(es)" in said[0]
    assert any("this test already had its client" in line for line in said)
    told = [event.text for event in run.events if event.channel == "client"]
    assert told == said, "all of it is on record"


def test_a_client_that_comes_back_is_refused(tmp_path: Path, rig: SlowRig) -> None:
    with site(tmp_path, rig) as (session, port, said):

        def client() -> None:
            HandClient(port, first=header(1)[:20]).close()  # went before it said who it is
            with HandClient(port) as hand:
                hand.force(1e-3)
            with HandClient(port) as again:
                assert np.isnan(again.force(0.0)).all()

        run = served(session, client)
    assert run.outcome == "tripped" and "disconnected without ending the test" in run.reason
    assert any("refused" in line for line in said)


def test_other_sessions_say_which_command_serves(tmp_path: Path, rig: SlowRig) -> None:
    given = halfreal.load(slow_file(tmp_path / "site.toml", rig.port, SPRING, SITE))
    with pytest.raises(RefusedError, match="serve it with halfreal site"):
        halfreal.Session(given, tmp_path / "run.h5")
    usual = halfreal.load(slow_file(tmp_path / "run.toml", rig.port, SPRING))
    with pytest.raises(RefusedError, match=r'use virtual.kind = "client", or halfreal run'):
        SiteSession(usual, tmp_path / "run.h5")


def test_two_sites_at_one_port(tmp_path: Path, rig: SlowRig) -> None:
    with site(tmp_path, rig) as (session, port, _):
        taken = halfreal.load(
            slow_file(tmp_path / "b.toml", rig.port, SPRING, SITE, {"virtual.listen": f"127.0.0.1:{port}"})
        )
        other = SiteSession(taken, tmp_path / "other.h5")
        with pytest.raises(PortError, match=f"cannot listen on 127.0.0.1:{port}: Address already in use"):
            other.listen()
        session.stop()
        session.wait()
        assert session.finish().outcome == "stopped"


def test_the_command_serves_with_a_rig_of_its_own(tmp_path: Path) -> None:
    """The whole of it from the command line, in real time: the client is a second command's process in a laboratory."""
    file = slow_file(tmp_path / "test.toml", 7639, SPRING, SITE, {"timing.duration": "20 s"})
    with Process(
        tmp_path, "site", "site", str(file), "--with-rig", "--start", "-o", str(tmp_path / "run.h5")
    ) as process:
        port = int(process.until(r"listening for a client on \S+?:(\d+) \(tcp\)")[1])
        with HandClient(port) as hand:
            assert hand.force(1e-3) == [pytest.approx(K * 1e-3)]
            hand.tell(DIE)
        assert process.ends() == 0, process.said + process.complained
        assert "ACCEPTED" in process.said and "has ended the test" in process.said


def test_when_the_site_is_killed_its_client_is_told(tmp_path: Path) -> None:
    file = slow_file(tmp_path / "test.toml", 7641, SPRING, SITE, {"timing.duration": "20 s"})
    words = ["site", str(file), "--with-rig", "--start", "-o", str(tmp_path / "run.h5")]
    with Process(tmp_path, "site", *words) as process:
        port = int(process.until(r"listening for a client on \S+?:(\d+) \(tcp\)")[1])
        with HandClient(port) as hand:
            assert hand.force(1e-3) == [pytest.approx(K * 1e-3)]
            process.signal(signal.SIGKILL)
            process.ends()
            assert np.isnan(hand.force(2e-3)).all()
