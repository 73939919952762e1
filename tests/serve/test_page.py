"""The page, in a real browser, against `rxagent serve` in a process of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .browser import AXE, Browser, browsing, missing
from .served import Client, child

pytestmark = pytest.mark.skipif(missing() != "", reason=missing())

AGENT = Path(__file__).with_name("page_agent.py")
LIVE = "return document.querySelector('.words.live')?.textContent ?? ''"
ESCAPE, TAB, ENTER = "\ue00c", "\ue004", "\ue007"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as browser:
        yield browser


@pytest.fixture(scope="module")
def server() -> Iterator[Client]:
    with child(AGENT) as client:
        yield client


@pytest.fixture
def page(browser: Browser, server: Client, request: pytest.FixtureRequest) -> Browser:
    """The page, for a user of the test's own."""
    browser.open(f"http://{server.host}:{server.port}/?user={request.node.name}")
    browser.says("#name", "support")
    browser.says("#title", "New session")
    return browser


def told(page: Browser) -> str:
    return page.text("#chat")


def test_a_message_is_answered_and_is_there_after_a_reload(page: Browser) -> None:
    """A session is made with the first message; its log, thoughts and end are shown, live and when read again."""
    page.send("poem please")
    page.says("#chat", "Completed")
    page.idle()
    assert "the run stops, too." in told(page)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d\.\d\d\.\d\d", page.text("#title"))
    assert page.text("#title") in page.text("#list")
    live = told(page)
    page.driver.refresh()
    page.says("#chat", "Completed")
    assert told(page) == live
    page.press("Reload")
    page.says("#said", "Read again from the session")
    assert told(page) == live


def test_text_comes_while_it_is_made_and_stop_ends_it(page: Browser) -> None:
    """It streams; Stop waits for the end of the run, tells what was saved, and marks what was not; the next turn works.

    The reader of a screen is told the end, not each word.
    """
    page.send("story please")
    first = page.until(lambda: page.js(LIVE))
    page.until(lambda: len(page.js(LIVE)) > len(first) + 50)
    assert page.text("#said") == ""
    page.press("Stop")
    page.says("#chat", "Stopped (user_stop)")
    page.idle()
    assert "Not saved: the run ended before this answer was whole." in told(page)
    assert re.search(r"\d+ partials dropped", told(page))
    assert page.text("#said").startswith("Stopped (user_stop)")
    page.send("go on")
    page.says("#chat", "You said: go on")


def test_stop_ends_a_tool(page: Browser) -> None:
    """The call that was cut is shown as stopped, with the response that seals it in the log."""
    page.send("export the report")
    page.one(".tool[data-is=running]")
    page.press("Stop")
    page.says("#chat", "1 call sealed")
    page.click(".tool[data-is=stopped] summary")
    page.says(".tool[data-is=stopped]", "It has no result; part of it may have happened.")
    page.idle()
    page.send("go on")
    page.says("#chat", "You said: go on")


@pytest.mark.parametrize(
    ("answer", "shown", "result"), [("Approve", "Approved", "done"), ("Reject", "Rejected", "error")]
)
def test_a_confirmation_is_answered_inline(page: Browser, answer: str, shown: str, result: str) -> None:
    """The question shows what is asked about; after a reload, too, it can be answered, and the run goes on."""
    page.send("refund order 7")
    page.button(answer)
    page.driver.refresh()
    page.says(".question", "May refund run?")
    page.press(answer)
    page.says("#chat", "That is what the tool has found.")
    page.says(".question", shown)
    page.says("#chat", "Completed")
    page.one(f".tool[data-is={result}]")
    page.idle()
    text = told(page)
    page.press("Reload")
    page.says("#said", "Read again")
    assert told(page) == text


def test_a_long_running_call_is_answered_inline(page: Browser) -> None:
    """It is asked for its result, as text or JSON, and the run goes on with it."""
    page.send("parcel please")
    page.one(".answers textarea").send_keys("in Oslo")
    page.press("Answer")
    page.says("#chat", "That is what the tool has found.")
    page.says(".tool[data-is=done]", '"result": "in Oslo"')


def test_a_reload_in_mid_run_finds_the_run_again(page: Browser) -> None:
    """The run goes on without the page; the text so far and what follows are shown, and Stop reaches it."""
    page.send("story please")
    page.until(lambda: len(page.js(LIVE)) > 60)
    page.driver.refresh()
    page.until(lambda: len(page.js(LIVE)) > 200)
    assert str(page.js(LIVE)).startswith("Once upon a time")
    page.press("Stop")
    page.says("#chat", "Stopped (user_stop)")


def test_a_session_that_is_left_and_visited_again_shows_its_run(page: Browser) -> None:
    """Another session can be used meanwhile; the list says which one has a run."""
    page.send("export the report")
    page.one(".tool[data-is=running]")
    name = page.text("#title")
    page.press("New")
    page.says("#list .live", "running")
    page.send("hello")
    page.says("#chat", "You said: hello")
    page.click(f"#list [data-session='{name}']")
    page.one(".tool[data-is=running]")
    page.press("Stop")
    page.says("#chat", "1 call sealed")


def test_a_run_that_fails_says_why(page: Browser) -> None:
    """The model's error stands at the end of the run, and the next message works."""
    page.send("fail please")
    page.says("#chat", "the model's server is on fire")
    page.send("hello again")
    page.says("#chat", "You said: hello again")


def test_the_inspector_shows_events_with_the_models_request_and_response(page: Browser) -> None:
    """Each event as JSON, and what the model was asked and answered for it."""
    page.send("hello there")
    page.says("#chat", "Completed")
    page.idle()
    page.press("Inspector")
    page.says("#inspector-title", "Event 2 of 3")
    assert page.focused() == "inspector-title"
    page.says("#event-json", '"author": "support"')
    page.until(lambda: "hello there" in page.js("return document.getElementById('request-json').textContent"))
    page.until(
        lambda: "You said: hello there" in page.js("return document.getElementById('response-json').textContent")
    )
    page.press("Previous")
    page.says("#inspector-title", "Event 1 of 3")
    page.until(lambda: "No model was asked" in page.js("return document.getElementById('request-json').textContent"))
    page.keys(ESCAPE)
    page.until(lambda: page.focused() == "open-inspector")


def test_a_session_can_be_deleted(page: Browser) -> None:
    """After a question; the list no longer has it."""
    page.send("hello")
    page.says("#chat", "Completed")
    page.idle()
    page.press("Delete")
    page.driver.switch_to.alert.accept()
    page.says("#title", "New session")
    page.until(lambda: page.text("#list") == "")


def test_the_keyboard_reaches_everything_in_a_sensible_order(page: Browser) -> None:
    """From the top: skip link, inspector, sessions, the session's buttons, conversation, message, Send."""
    page.send("hello")
    page.says("#chat", "Completed")
    page.idle()
    page.js("document.querySelector('.skip').focus()")
    name = page.text("#title")
    expected = [
        "Skip to the message",
        "open-inspector",
        "new",
        name,
        "reload",
        "delete",
        "scroll",
        "Inspect",
        "Inspect",
        "text",
        "send",
    ]
    seen = [page.focused()]
    for _ in expected[1:]:
        page.keys(TAB)
        seen.append(page.focused().split("\n")[0])
    assert seen == expected


def test_a_whole_turn_by_keyboard(page: Browser) -> None:
    """Enter sends, the focus stays; Tab and Enter stop; the focus is at the message again."""
    assert page.focused() == "text"
    page.keys("story", ENTER)
    page.until(lambda: page.js(LIVE))
    assert page.focused() == "text"
    page.keys(TAB)
    assert page.focused() == "stop"
    page.keys(ENTER)
    page.says("#chat", "Stopped (user_stop)")
    page.idle()
    assert page.focused() == "text"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page: Browser, width: int, scheme: str) -> None:
    """No violation of accessibility rules in a session with all kinds of items, with and without the inspector."""
    if not AXE.exists():
        pytest.skip("needs npm's axe-core, which `make test` installs where there is npm")
    for text in ("poem please", "refund please"):
        page.send(text)
        page.idle()
    page.look(width, 800, scheme)
    page.js(AXE.read_text())
    no_violations(page)
    page.click("#open-inspector")
    page.one("#facts")
    no_violations(page)


def no_violations(page: Browser) -> None:
    found = page.driver.execute_async_script(
        "axe.run().then(({violations}) => arguments[0](violations.map("
        "(one) => [one.impact, one.id, one.nodes.map((node) => node.html)])))"
    )
    assert found == []
    assert page.js("return document.documentElement.scrollWidth <= innerWidth")


def test_narrow_windows_have_the_sessions_behind_a_button(page: Browser) -> None:
    """It opens them over the conversation, which the keyboard then cannot reach; Escape goes back."""
    page.look(390)
    assert not page.driver.find_element("id", "sessions").is_displayed()
    page.click("#open-sessions")
    page.one("#sessions")
    assert page.focused() == "sessions-title"
    assert page.js("return document.querySelector('main').inert") is True
    page.keys(ESCAPE)
    assert page.focused() == "open-sessions"
    assert page.js("return document.querySelector('main').inert") is False


def test_a_server_that_comes_back_is_found_again(browser: Browser, tmp_path: Path) -> None:
    """The page says that the connection is lost; once a server is there again it shows what is stored, and goes on."""
    options = ["--db", str(tmp_path / "chat.db")]
    with child(AGENT, *options) as first:
        browser.open(f"http://{first.host}:{first.port}/")
        browser.send("export the report")
        browser.one(".tool[data-is=running]")
    browser.says("#chat", "Stopped (worker_shutdown)")
    with child(AGENT, *options, "--port", str(first.port)):
        browser.until(lambda: browser.one("#send"))
        browser.send("hello")
        browser.says("#chat", "You said: hello")


def test_a_token_is_asked_for(browser: Browser) -> None:
    """The page itself needs none; it asks, and goes on with what it is given."""
    with child(AGENT, "--token", "s3cret") as client:
        browser.open(f"http://{client.host}:{client.port}/")
        browser.one("#token").send_keys("wrong\n")
        browser.until(lambda: browser.one("#token").get_attribute("value") == "")
        browser.one("#token").send_keys("s3cret\n")
        browser.says("#name", "support")
        browser.send("hello")
        browser.says("#chat", "You said: hello")
