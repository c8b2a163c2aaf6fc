"""A test that is operated from its page: processes as in the laboratory, and a browser without a screen."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra 'page'")
pytest.importorskip("websockets", reason="needs the extra 'page'")

import halfreal
from live.pages import Browser, address
from live.processes import STEP, Process, Rig, assert_every_tick, begun, column, controller, wait_for
from live.slow import SPRING, TICKS, SlowRig, slow_file
from live.terminal import Terminal
from live.test_operator import LONG, SOFT, assert_stopped_by

PAGE = ("--page",)
SCRIPT = "<script>alert(1)</script>"


def page_of(pid: int) -> int:
    """The page's process of a controller."""

    def found() -> int | None:
        for status in Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(status.read_text().rpartition(")")[2].split()[1])
                if parent == pid and b"halfreal.page.process" in (status.parent / "cmdline").read_bytes():
                    return int(status.parent.name)
            except (FileNotFoundError, ProcessLookupError):  # it has just ended
                continue
        return None

    return int(wait_for(found, f"a page of process {pid}"))


def started(process: Process) -> Browser:
    """The operator's browser, after check, arming and start."""
    browser = Browser(address(process, "operate")).look()
    browser.asked("check")
    assert browser.say("arm", ticket=browser.say("arm")["ticket"])["refused"].startswith("the test is idle")
    assert browser.say("check") == {"refused": ""}
    browser.asked("arm")
    assert browser.say_twice("arm") == {"refused": ""}
    browser.asked("start")
    assert browser.say_twice("start") == {"refused": ""}
    return browser


def test_a_test_is_checked_armed_started_and_stopped_from_its_page(tmp_path: Path, rig: Rig) -> None:
    waits = {"title": SCRIPT, "excitation.release_at": ["0.1 s"], "excitation.virtual.frequency": "2 Hz"}
    with controller(tmp_path, rig.port, LONG, SOFT, waits, options=PAGE) as process:
        used = address(process, "operate")
        browser = started(process)
        assert not Browser(used).entered, "a token works once"
        browser.ran_for(0.1)
        watcher = Browser(address(process, "watch")).look()
        assert "view-only" in watcher.say("stop")["refused"]
        assert browser.told["status"]["released"] == 0 and browser.say("release") == {"refused": ""}
        browser.until(lambda told: told["status"]["released"] == 1, "the release")
        assert browser.say("note", text="a bolt is loose") == {"refused": ""}
        assert "empty" in browser.say("note", text=" ")["refused"]
        told = browser.until(lambda told: told.get("status", {}).get("notes") and told, "the note")
        assert told["test"]["title"] == SCRIPT and told["check"]["verdict"] == "GO"
        assert {"rate", "overruns", "late", "lost", "disk_left", "record_rate", "limits"} <= set(told["status"])
        assert browser.say("stop") == {"refused": ""}
        over = browser.until(lambda told: told.get("over"), "the end")
        assert over["text"].startswith("stopped: by the operator")
        status, _, html = browser.ask("GET", "/report")
        assert status == 200 and "a bolt is loose" in html and SCRIPT not in html
        assert browser.ask("GET", "/rehearsal")[0] == 200
        assert browser.say("start", ticket=browser.say("start")["ticket"])["refused"]
        browser.close()
        watcher.close()
        assert process.ends() == 1
    run = halfreal.load_run(tmp_path / "run.h5")
    assert run.outcome == "stopped"
    assert_every_tick(run)
    (note,) = [event for event in run.events if event.channel == "operator"]
    assert note.text.startswith("note at 20") and note.text.endswith("UTC: a bolt is loose")
    assert 0.1 < note.time <= run.time[-1]
    states = [event.text for event in run.events if event.channel == "guard.mode"]
    assert states == ["ramping", "running", "ramp-down", "stopped"]


def test_a_page_that_is_killed_leaves_the_test_alone_and_comes_back_with_its_operator(tmp_path: Path, rig: Rig) -> None:
    with controller(tmp_path, rig.port, LONG, options=PAGE) as process:
        browser = started(process)
        browser.ran_for(0.1)
        os.kill(page_of(process.pid), signal.SIGKILL)
        assert browser.gone()
        process.until("the page's process ended .* and was restarted; the test continues")
        browser.look()
        status = browser.until(lambda told: told.get("status"), "the status")
        assert (status["role"], status["state"]) == ("operate", "running")
        browser.until(lambda told: told.get("rows") and told.get("test"), "rows and definition, anew")
        assert browser.say("emergency stop") == {"refused": ""}
        over = browser.until(lambda told: told.get("over"), "the end")
        assert over["text"] == "tripped: emergency stop by the operator"
        browser.close()
        assert process.ends() == 1
        record = rig.record()
    assert_stopped_by(halfreal.load_run(tmp_path / "run.h5"), record)


def test_the_terminal_works_with_a_page_and_when_that_is_killed(tmp_path: Path, rig: Rig) -> None:
    with Terminal(tmp_path, rig.port, LONG, options=PAGE) as process:
        for question in (
            "press Enter or use the page: checks the test",
            "press Enter or use the page: arms the rig",
            "press Enter to start the test",
        ):
            process.until(question)
            process.press("\r")
        wait_for(lambda: begun(tmp_path / "run.h5"), "the test to begin")
        os.kill(page_of(process.pid), signal.SIGKILL)
        process.press(" ")
        assert process.ends() == 1
        record = rig.record()
    assert_stopped_by(halfreal.load_run(tmp_path / "run.h5"), record)


def test_a_page_that_is_held_up_holds_up_nobody(tmp_path: Path, rig: Rig) -> None:
    longer = {"timing.duration": "3 s"}
    with controller(tmp_path, rig.port, longer, options=("--start", "--page")) as process:
        browser = Browser(address(process, "operate")).look()  # and it takes nothing of what it is sent
        browser.until(lambda told: told.get("rows"), "the test to be armed")
        page = page_of(process.pid)
        os.kill(page, signal.SIGSTOP)
        assert process.ends() in (0, 1)
        browser.close()
    run = halfreal.load_run(tmp_path / "run.h5")
    assert run.outcome == "completed"
    assert_every_tick(run)
    assert not Path(f"/proc/{page}").exists()


def test_a_test_that_nobody_operates_any_more_does_what_its_definition_says(tmp_path: Path, rig: Rig) -> None:
    with controller(tmp_path, rig.port, LONG, SOFT, {"real_time.unattended": "stop"}, options=PAGE) as process:
        browser = started(process)
        browser.ran_for(0.1)
        browser.close()
        assert process.ends() == 1
    run = halfreal.load_run(tmp_path / "run.h5")
    assert run.outcome == "stopped"
    (alone,) = [event.text for event in run.events if event.channel == "page"]
    said = re.fullmatch(r"no operator's view has been connected for (\d+\.\d) s; the test is stopped smoothly", alone)
    assert said and float(said[1]) >= 5.0
    because = f"because no operator's view has been connected for {said[1]} s (real_time.unattended) at "
    assert run.reason.startswith(because) and "operator" not in run.reason.removeprefix(because)
    assert column(run, "command")[-1] == 0.0


def test_a_viewer_on_the_same_computer_stops_in_an_emergency(tmp_path: Path, rig: Rig) -> None:
    with controller(tmp_path, rig.port, LONG, options=PAGE) as process:
        watcher = Browser(address(process, "watch")).look()
        browser = started(process)
        browser.ran_for(0.1)
        assert watcher.say("emergency stop") == {"refused": ""}
        over = browser.until(lambda told: told.get("over"), "the end")
        assert over["text"] == "tripped: emergency stop by a viewer of the page (view 1)"
        browser.close()
        watcher.close()
        assert process.ends() == 1
        record = rig.record()
    assert_stopped_by(halfreal.load_run(tmp_path / "run.h5"), record, "a viewer of the page (view 1)")


def test_a_slow_test_is_paused_stepped_and_hurried_from_its_page(tmp_path: Path) -> None:
    with SlowRig(tmp_path, SPRING) as rig:
        file = slow_file(tmp_path / "test.toml", rig.port, SPRING)
        with Process(tmp_path, "run", "run", str(file), "--output", str(tmp_path / "run.h5"), *PAGE) as process:
            browser = Browser(address(process, "operate")).look()
            browser.asked("check")
            browser.say("check")
            browser.asked("arm")
            browser.say_twice("arm")
            browser.asked("start")
            assert browser.say("pause") == browser.say("faster") == {"refused": ""}
            browser.say_twice("start")

            def paused_at(tick: int) -> None:
                browser.until(
                    lambda told: (told["status"]["state"], told["status"]["motion"]["tick"]) == ("paused", tick),
                    f"a pause at tick {tick}",
                )

            paused_at(0)
            assert browser.told["status"]["motion"]["speed"] == 1.25 and browser.told["test"]["slow"] is True
            browser.say("step")
            paused_at(1)
            browser.say("resume")
            over = browser.until(lambda told: told.get("over"), "the end")
            assert over["text"] == "completed"
            browser.close()
            assert process.ends() == 0
    assert halfreal.load_run(tmp_path / "run.h5").time.size >= TICKS


def test_an_operator_who_stops_before_arming_arms_nothing(tmp_path: Path, rig: Rig) -> None:
    with controller(tmp_path, rig.port, LONG, options=PAGE) as process:
        browser = Browser(address(process, "operate")).look()
        browser.asked("check")
        assert browser.say("stop") == {"refused": ""}
        over = browser.until(lambda told: told.get("over"), "the end")
        assert over == {"kind": "over", "text": over["text"], "run": ""} and "it was not armed" in over["text"]
        browser.close()
        assert process.ends() == 2
    assert "ended by the operator before the rig was armed" in process.complained
    assert not (tmp_path / "run.h5").exists()


def test_a_run_file_is_shown_while_another_process_records_it_and_afterwards(tmp_path: Path, rig: Rig) -> None:
    with controller(tmp_path, rig.port, LONG) as process:
        wait_for(lambda: begun(tmp_path / "run.h5"), "the record")
        with Process(tmp_path, "page", "page", str(tmp_path / "run.h5")) as page:
            browser = Browser(address(page, "watch")).look()
            assert "view-only" in browser.say("emergency stop")["refused"]
            browser.ran_for(0.2)
            assert browser.told["status"]["state"] == "running" and browser.told["rows"]["step"] == STEP
            process.signal(signal.SIGINT)
            assert process.ends() == 1
            over = browser.until(lambda told: told.get("over"), "the end")
            assert "tripped: emergency stop by the operator" in over["text"]
            status = browser.until(lambda told: told["status"]["state"] == "tripped" and told["status"], "its state")
            assert status["operable"] is False
            assert browser.ask("GET", "/report")[0] == 200
            page.signal(signal.SIGINT)
            assert page.ends() == 0 and page.complained == ""
    assert_every_tick(halfreal.load_run(tmp_path / "run.h5"))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--page-at", "0.0.0.0:0"), "without TLS"),
        (("--page-at", "nowhere"), "HOST:PORT"),
        (("--page", "--page-key", "key.pem"), "give both"),
    ],
)
def test_a_page_that_is_not_safe_is_refused_before_anything_is_begun(
    tmp_path: Path, options: tuple[str, ...], text: str
) -> None:
    with controller(tmp_path, 9, options=options) as process:
        assert process.ends() == 2
    assert text in process.complained and not (tmp_path / "run.h5").exists()
