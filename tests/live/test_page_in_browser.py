"""The page in a real browser, driven by Playwright.

It needs ``pip install playwright`` (in the extra "test") and a Chromium of the system: ``apt-get install chromium`` on
Debian.  Without either it is skipped.  With HALFREAL_SCREENSHOTS=FOLDER it leaves a picture of each state there, as in
docs/images.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra 'page'")
pytest.importorskip("playwright.sync_api", reason="needs playwright from PyPI")

from playwright.sync_api import sync_playwright

import halfreal
from live.pages import address
from live.processes import PATIENCE, Process, Rig, column, controller, tripped_at, wait_for
from live.test_operator import LONG, assert_stopped_by
from live.test_page import PAGE, page_of

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
OPTIONS += ["--disable-sync"]
SCRIPT = "<script>document.body.dataset.broken = 'yes'</script><img src=x onerror='document.body.dataset.broken=1'>"
LIMITS = {f"limits.{key}": value for key, value in (("command.trip", "20 mm"), ("command.warn", "12 mm"))}
LIMITS |= {"limits.command_rate.trip": "400 mm/s", "limits.force.warn": "35 N", "limits.force.trip": "45 N"}
LIMITS |= {"limits.gap.trip": "5 mm"}
STATED = 1.0
"""Seconds of the test in which an emergency stop of the page is to be in the guard's record (docs/page.md)."""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium, as by apt-get install chromium")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture
def view(chromium: Any) -> Iterator[Any]:
    """A page of a browser with cookies of its own; what its scripts complain about fails the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(1e3 * PATIENCE)
    page, errors = context.new_page(), list[str]()
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert errors == []


def shoot(view: Any, name: str) -> None:
    folder = os.environ.get("HALFREAL_SCREENSHOTS")
    if folder:
        view.evaluate("window.scrollTo(0, 0)")
        view.screenshot(path=str(Path(folder) / f"page_{name}.png"))


def opened(view: Any, url: str) -> None:
    """Come in; a server that is just starting is waited for by the system, which holds its socket."""
    answer = view.goto(url)
    assert answer is not None and answer.status == 200, answer and answer.text()


def shows(view: Any, place: str, words: str) -> None:
    view.locator(place, has_text=re.compile(words)).wait_for()


def twice(view: Any, word: str) -> None:
    """The two deliberate actions."""
    view.locator(f"#{word}:enabled").click()
    view.locator("#yes").wait_for()
    shoot(view, f"{word}_asked")
    view.locator("#yes").click()


def started(view: Any, process: Process) -> None:
    opened(view, address(process, "operate"))
    shows(view, "#state-word", "^idle$")
    view.locator("#check:enabled").wait_for()
    shoot(view, "idle")
    view.locator("#check").click()
    shows(view, "#verdict", "^(GO|NO-GO|MARGINAL)$")
    shows(view, "#state-word", "^checked$")
    shoot(view, "checked")
    twice(view, "arm")
    shows(view, "#state-word", "^armed$")
    twice(view, "start")
    shows(view, "#state-word", "^running$")


def test_an_operator_arms_starts_watches_and_stops(tmp_path: Path, rig: Rig, view: Any) -> None:
    with controller(tmp_path, rig.port, LONG, {"title": SCRIPT}, options=PAGE) as process:
        url = address(process, "operate")
        refused = view.goto(re.sub("token=.*", "token=wrong", url))
        assert refused.status == 403 and "was already used, or is wrong" in view.content()
        started(view, process)
        assert view.locator("#name").text_content() == SCRIPT
        assert view.locator("body").get_attribute("data-broken") is None
        view.locator("#definition summary").click()
        shows(view, "#sections caption", "^timing$")
        view.locator("#definition summary").click()
        # values move
        shows(view, "#time", r"^[1-9]\d*\.\d\d s$")
        before = int(view.locator("body").get_attribute("data-bins"))
        wait_for(lambda: int(view.locator("body").get_attribute("data-bins")) > before + 200, "further bins")
        view.locator("#pause").click()
        shows(view, "#pause", "^Go on$")
        view.locator("#pause").click()
        view.locator("#any").select_option("measured.force")
        shows(view, "#plot-any figcaption", r"measured\.force -?\d")
        view.locator("#note-text").fill("seen in the browser")
        view.locator("#note button").click()
        shows(view, "#events", "UTC: seen in the browser")
        # the server is killed, and comes back at the same address
        os.kill(page_of(process.pid), signal.SIGKILL)
        view.locator("#lost").wait_for()
        shoot(view, "lost")
        view.locator("#lost").wait_for(state="hidden")
        shows(view, "#role", "this browser operates")
        shows(view, "#state-word", "^running$")
        view.locator("#emergency").click()
        pressed = float(view.locator("body").get_attribute("data-said"))  # the time that was shown then
        shows(view, "#state-word", "^tripped")
        shows(view, "#over-text", "tripped: emergency stop by the operator")
        view.frame_locator("#report").locator("h1").wait_for()
        view.close()
        assert process.ends() == 1
        record = rig.record()
    run = halfreal.load_run(tmp_path / "run.h5")
    assert_stopped_by(run, record)
    assert 0.0 <= tripped_at(run) * run.step - pressed < STATED


def test_a_trip_is_shown_with_its_cause(tmp_path: Path, rig: Rig, view: Any) -> None:
    near = {"limits.force.trip": "4 N", "limits.force.warn": "2 N", "excitation.virtual.ramp": "3 s"}
    near |= {"excitation.virtual.displacement": "10 mm"}
    options = (*PAGE, "--without-go", "a trip is wanted")
    with controller(tmp_path, rig.port, LONG, near, options=options) as process:
        started(view, process)
        shows(view, "#state-more", r"measured\.force was .* beyond its limit of 4 N")
        shows(view, "#limits .limit:first-child", r"measured\.force1\d\d % of 4 N")
        shows(view, "#events", "warning: measured.force beyond its warning limit")
        shoot(view, "tripped")
        view.emulate_media(color_scheme="dark")
        view.set_viewport_size({"width": 800, "height": 1100})  # a tablet
        view.reload()
        shows(view, "#state-word", "^tripped")
        view.frame_locator("#report").locator("h1").wait_for()
        assert view.evaluate("document.documentElement.dataset.theme") == "dark"
        assert view.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "it does not fit a tablet"
        shoot(view, "tablet")
        view.close()
        assert process.ends() == 1
    run = halfreal.load_run(tmp_path / "run.h5")
    assert run.outcome == "tripped" and column(run, "guard.cause")[-1] != 0.0


def test_keys_stop_the_test_and_those_who_watch_have_none(tmp_path: Path, rig: Rig, view: Any, chromium: Any) -> None:
    with controller(tmp_path, rig.port, LONG, LIMITS, options=PAGE) as process:
        started(view, process)
        if "HALFREAL_SCREENSHOTS" in os.environ:
            shows(view, "#time", r"^(4|5|6|7|8)\.")
            shoot(view, "running")
        other = chromium.new_context()
        other.set_default_timeout(1e3 * PATIENCE)
        watching = other.new_page()
        opened(watching, address(process, "watch"))
        shows(watching, "#role", "this browser is view-only")
        for place in ("#stop", "#steps", "#note", "#invite"):
            assert not watching.locator(place).is_visible()
        assert watching.locator("#emergency").is_visible(), "a viewer on the same computer may stop the test"
        watching.keyboard.press("Escape")
        watching.locator("#ask").click()
        shows(view, "#hand-over", "Hand over to view 2")
        view.locator("#hand-over").click()
        shows(watching, "#role", "this browser operates")
        shows(view, "#role", "this browser is view-only")
        shows(watching, "#state-word", "^running$")
        watching.locator("#note-text").focus()
        watching.keyboard.press("s")  # a letter of a note
        watching.keyboard.press("Escape")
        shows(watching, "#state-word", "^tripped")
        watching.frame_locator("#report").locator("h1").wait_for()
        shoot(watching, "over")
        other.close()
        view.close()
        assert process.ends() == 1
    assert halfreal.load_run(tmp_path / "run.h5").reason == "emergency stop by the operator"
