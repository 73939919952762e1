"""InMemoryMemoryService: what is found, and what is not."""

from __future__ import annotations

import threading

import pytest

from rxagent.events import Content, Event, FunctionCall, Part
from rxagent.memory import BaseMemoryService, InMemoryMemoryService
from rxagent.sessions import Session


def said(text: str, author: str = "user") -> Event:
    return Event(author=author, content=Content.user(text), timestamp=1_767_225_600_250)


def session(id: str, *events: Event, user: str = "me", app: str = "app") -> Session:
    return Session(app, user, id, events=events)


def found(memory: InMemoryMemoryService, query: str, user: str = "me", app: str = "app") -> list[str]:
    return [entry.content.text for entry in memory.search_memory(app, user, query).memories]


def test_a_word_finds_what_has_it() -> None:
    """One word of the query is enough; what has none of them is not found; sessions and events keep their order."""
    memory = InMemoryMemoryService()
    memory.add_session_to_memory(session("s2", said("My name is Ada."), said("I like tea."), said("A name again.")))
    memory.add_session_to_memory(session("s1", said("Another name")))
    assert found(memory, "what name") == ["My name is Ada.", "A name again.", "Another name"]
    assert found(memory, "coffee") == []
    assert found(memory, "") == []


def test_an_entry_says_who_and_when() -> None:
    """An entry has the event's content, its author, and its time in ISO 8601, from milliseconds."""
    memory = InMemoryMemoryService()
    memory.add_session_to_memory(session("s", said("tea", author="root")))
    [entry] = memory.search_memory("app", "me", "tea").memories
    assert (entry.author, entry.timestamp) == ("root", "2026-01-01T00:00:00.250Z")


@pytest.mark.parametrize("query", ["name?", "NAME", "the NAME!"])
def test_case_and_punctuation_do_not_count(query: str) -> None:
    """A query is words as well: a question mark hides nothing."""
    memory = InMemoryMemoryService()
    memory.add_session_to_memory(session("s", said("My Name: Ada")))
    assert found(memory, query) == ["My Name: Ada"]


@pytest.mark.parametrize(
    ("text", "query"), [("Order 7 came", "7"), ("Grüße aus Zürich", "ZÜRICH"), ("東京 です", "東京")]
)
def test_words_of_any_script(text: str, query: str) -> None:
    """Numbers and letters beyond ASCII are words."""
    memory = InMemoryMemoryService()
    memory.add_session_to_memory(session("s", said(text)))
    assert found(memory, query) == [text]


def test_parts_without_text() -> None:
    """Events with calls, with bytes or with no content are passed over, and so are thoughts."""
    call = Part(function_call=FunctionCall(id="c", name="tea"))
    mixed = Event(author="root", content=Content(role="model", parts=(call, Part(text="cup of tea"))))
    thought = Event(author="root", content=Content(role="model", parts=(Part(text="tea", thought=True),)))
    calling = Event(author="root", content=Content(role="model", parts=(call,)))
    memory = InMemoryMemoryService()
    memory.add_session_to_memory(session("s", calling, thought, Event(author="root"), mixed))
    assert found(memory, "tea") == ["cup of tea"]


def test_a_session_is_replaced() -> None:
    """A session that is added again is remembered as it stands then."""
    memory = InMemoryMemoryService()
    memory.add_session_to_memory(session("s", said("tea")))
    grown = session("s", said("tea"), said("more tea"))
    memory.add_session_to_memory(grown)
    grown.events.append(said("late tea"))
    assert found(memory, "tea") == ["tea", "more tea"]


def test_users_and_apps_are_apart() -> None:
    """A user's memory of an app is nobody else's, whatever their names are."""
    memory = InMemoryMemoryService()
    memory.add_session_to_memory(session("s", said("tea"), user="b/c", app="a"))
    assert found(memory, "tea", user="c", app="a/b") == []
    assert found(memory, "tea", user="b/c", app="a") == ["tea"]


def test_from_several_threads() -> None:
    """Sessions added and searched by several threads at once are all there."""
    memory, start = InMemoryMemoryService(), threading.Barrier(4, timeout=10)

    def add(who: int) -> None:
        start.wait()
        for number in range(20):
            memory.add_session_to_memory(session(f"{who}.{number}", said("tea")))
            memory.search_memory("app", "me", "tea")

    threads = [threading.Thread(target=add, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(found(memory, "tea")) == 80


def test_it_is_a_memory_service() -> None:
    """It stands where a BaseMemoryService is wanted, and closing it is nothing."""
    memory: BaseMemoryService = InMemoryMemoryService()
    assert memory.close() is None
