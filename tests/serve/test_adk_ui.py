"""ADK's own web UI, in a real browser, against `rxagent serve --adk-ui` in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from .agents import noting_module
from .browser import ADK_UI, Browser, browsing, missing
from .page_agent import STORY
from .served import Client, child

MISSING = missing() or ("" if (ADK_UI / "index.html").is_file() else "needs ADK's UI, which `make test` installs")
pytestmark = pytest.mark.skipif(MISSING != "", reason=MISSING)

CHAT, BOX, FORM = "app-chat-panel", "textarea", "app-long-running-response"
BARS = "mat-snack-bar-container, mat-dialog-container"
CONTROL, ENTER = "\ue009", "\ue007"
NOT_IN_IT = "prism-dark.css"  # the UI asks for this file, and does not bring it
TICK = 0.01  # seconds that two readings of the clock may differ; the page has milliseconds
POEM = "Roses are red, violets are blue, and when you press Stop the run stops, too."


class AdkUi:
    """ADK's UI as a user has it. Icons are words here: their font comes from the network."""

    def __init__(self, browser: Browser, server: Client, user: str) -> None:
        self.browser, self.server, self.user = browser, server, user

    def say(self, text: str) -> None:
        """Send a message. What is in the box goes: the first message of a session stays there, with ADK, too."""
        self.icon("send")
        box = self.browser.one(BOX)
        box.send_keys(CONTROL + "a")
        box.send_keys(text + ENTER)

    def icon(self, word: str) -> Any:
        """The button of this icon, once it is there."""
        return self._shown(f"//button[.//mat-icon[normalize-space()='{word}']]")

    def press(self, word: str) -> None:
        """Press the button of this icon."""
        self._click(lambda: self.icon(word))

    def choose(self, words: str) -> None:
        """Press what has these words: a tab, a toggle, a button."""
        path = f"[normalize-space()='{words}']"
        self.click(f"//*[@role='tab']{path} | //button{path}")

    def answers(self, text: str) -> None:
        """Wait until it stands in the conversation and nothing goes on."""
        self.browser.until(lambda: text in self.told())
        self.icon("send")

    def told(self) -> str:
        return " ".join(self.browser.text(CHAT).split())

    def rows(self, text: str) -> int:
        return self.told().count(text)

    @property
    def session_id(self) -> str:
        query = self.browser.until(lambda: parse_qs(urlsplit(self.browser.driver.current_url).query).get("session"))
        return str(query[0])

    def runs(self) -> list[Any]:
        """The session's runs, the latest first."""
        found: list[Any] = self.server.get(f"/runs?app=rxagent&user={self.user}&session={self.session_id}")
        return found

    def events(self) -> list[Any]:
        """What the server has stored."""
        events: list[Any] = self.server.session(self.session_id, self.user, "rxagent")["events"]
        return events

    def stop(self) -> tuple[Any, float]:
        """Press Stop; the run, once it has ended, and the second of the press, as the page saw it."""
        self.browser.js("addEventListener('click', () => { window.pressed = Date.now() / 1000 }, true)")
        self.press("stop")
        run = self.server.ended(self.runs()[0]["runId"])
        return run, self.browser.js("return window.pressed")

    def troubles(self) -> list[str]:
        """What of this server could not be loaded, and what the UI complains about."""
        logged = [one["message"] for one in self.browser.driver.get_log("browser") if one["level"] == "SEVERE"]
        here = [one for one in logged if f":{self.server.port}/" in one and "Failed to load" in one]
        bars: list[str] = self.browser.js(
            f"return [...document.querySelectorAll('{BARS}')].map((one) => one.innerText)"
        )
        return [one for one in here if NOT_IN_IT not in one] + bars

    def _shown(self, path: str) -> Any:
        def look() -> Any:
            found = self.browser.driver.find_elements("xpath", path)
            return next((one for one in found if one.is_displayed()), None)

        return self.browser.until(look)

    def click(self, path: str) -> None:
        """Click on what is at this XPath, once it is there."""
        self._click(lambda: self._shown(path))

    def _click(self, find: Callable[[], Any]) -> None:
        def click() -> bool:
            find().click()
            return True

        self.browser.until(click)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as browser:
        yield browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("agents")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Client]:
    with child(noting_module(folder), "--adk-ui", str(ADK_UI)) as client:
        yield client


@pytest.fixture
def ui(browser: Browser, server: Client, request: pytest.FixtureRequest) -> AdkUi:
    """The UI, for a user of the test's own, with token streaming."""
    user = request.node.name.replace("[", "-").replace("]", "")
    address = f"http://{server.host}:{server.port}/dev-ui/?app=rxagent&userId={user}"
    browser.open(address)
    browser.js("localStorage.clear(); localStorage.setItem('adk-use-sse', 'true')")
    browser.driver.get_log("browser")
    browser.open(address)
    browser.one(BOX)
    return AdkUi(browser, server, user)


def test_a_message_is_answered_and_stored(ui: AdkUi) -> None:
    """A session is made; the answer stands in the UI and in the log; nothing is missing, nothing is asked."""
    ui.say("poem please")
    ui.answers(POEM)
    assert [event["author"] for event in ui.events() if "content" in event] == ["user", "support"]
    assert " ".join(ui.events()[1]["content"]["parts"][-1]["text"].split()) == POEM
    (run,) = ui.runs()
    assert (run["state"], run["outcome"]["kind"]) == ("ended", "completed")
    assert ui.told().startswith("#1 poem please person #2")
    assert "#3" in ui.told()  # the agent's end, which a resumable app stores
    assert "#4" not in ui.told()
    assert ui.troubles() == []


def test_stop_in_the_middle_of_a_text(ui: AdkUi, folder: Path) -> None:
    """Within a second the model has stopped and the run has ended as aborted; the next message is answered."""
    ui.say("story please")
    ui.browser.until(lambda: ui.told().count("Once upon a time") > 1)
    run, pressed = ui.stop()
    assert (run["outcome"]["kind"], run["outcome"]["reason"]) == ("aborted", "client_disconnect")
    assert run["outcome"]["partialsDropped"] > 10
    assert pressed - TICK < run["endedAt"] < pressed + 1
    spoken = float((folder / "spoken").read_text().split()[-1])
    assert pressed - TICK < spoken <= run["endedAt"]
    assert STORY not in str(ui.events())
    assert ui.events()[-1]["errorCode"] == "INVOCATION_ABORTED"
    ui.say("go on")
    ui.answers("You said: go on")
    assert ui.runs()[0]["outcome"]["kind"] == "completed"


def test_stop_in_the_middle_of_a_tool(ui: AdkUi) -> None:
    """The call is sealed in the log, with a response; the next message is answered."""
    ui.say("export the report")
    ui.browser.until(lambda: "export_report" in ui.told())
    run, pressed = ui.stop()
    assert (run["outcome"]["kind"], run["outcome"]["callsSealed"]) == ("aborted", 1)
    assert pressed - TICK < run["endedAt"] < pressed + 1
    call, sealed = (event["content"]["parts"][0] for event in ui.events()[1:])
    assert call["functionCall"]["id"] == sealed["functionResponse"]["id"]
    response = sealed["functionResponse"]["response"]
    assert (response["status"], response["reason"]) == ("stopped", "client_disconnect")
    ui.say("go on")
    ui.answers("You said: go on")


@pytest.mark.parametrize(
    ("is_confirmed", "result"), [(True, {"status": "done", "order": 7, "amount": 19.9}), (False, None)]
)
def test_a_confirmation_is_answered(ui: AdkUi, is_confirmed: bool, result: Any) -> None:
    """The form of the question shows what is asked about; its answer lets the run go on."""
    ui.say("refund order 7")
    ui.browser.says(FORM, "refund")
    assert "19.9" in ui.browser.text(FORM)
    assert ui.runs()[0]["outcome"]["kind"] == "paused"
    if is_confirmed:
        ui.browser.click(f"{FORM} input[type=checkbox]")
    ui.choose("Submit")
    ui.answers("That is what the tool has found.")
    ui.browser.until(lambda: not ui.browser.text(FORM))
    parts = [part for event in ui.events() for part in event.get("content", {}).get("parts", ())]
    answers = [one["response"] for part in parts if (one := part.get("functionResponse", {})).get("name") == "refund"]
    assert answers[-1] == result if is_confirmed else "error" in answers[-1]
    assert ui.server.get(f"/apps/rxagent/users/{ui.user}/sessions/{ui.session_id}/pending") == []


def test_a_reload_shows_the_session(ui: AdkUi) -> None:
    """What the server has stored is read again, with the seal of a call that was stopped."""
    ui.say("export the report")
    ui.browser.until(lambda: "export_report" in ui.told())
    ui.stop()
    ui.say("poem please")
    ui.answers(POEM)
    ui.browser.driver.refresh()
    ui.answers(POEM)
    assert ui.rows("export the report") == 1
    assert "INVOCATION_ABORTED" in ui.told()
    assert ui.troubles() == []


def test_the_panes_have_what_they_show(ui: AdkUi) -> None:
    """Traces, the request of a model, state, artifacts, evaluations: all that is there is shown, the rest is empty."""
    ui.say("note")
    ui.answers("That is what the tool has found.")
    ui.choose("Traces")
    ui.browser.until(lambda: ui.rows("call_llm") == 2)
    assert f"INVOCATION ID: {ui.runs()[0]['runId']}" in ui.told()
    ui.choose("Events")
    ui.click("//app-event-row[contains(., 'That is what the tool has found.')]")
    ui.press("input")
    ui.browser.says("app-side-panel", 'Your internal name is "support".')
    ui.choose("State")
    ui.browser.says("app-side-panel", "displayName")
    ui.choose("Artifacts")
    ui.browser.says("app-side-panel", "notes/a.txt")
    ui.choose("Evals")
    ui.browser.says("app-side-panel", "Create Evaluation Set")
    assert ui.troubles() == []
