"""The door to a run's consumer."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import contextvars
import random
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from rxagent.streams import Outlet
from rxagent.streams.workers import workers

from .acting import LIMIT, Boom, Seen, fast_switches
from .repertoire import RACES, colour


def outlet_of(seen: Seen, broken: list[BaseException] | None = None) -> Outlet:
    told: list[BaseException] = [] if broken is None else broken
    return Outlet(seen, contextvars.copy_context(), told.append)  # type: ignore[arg-type]


def test_order() -> None:
    """Items are delivered when drained, in their order, and the end after them; nothing follows the end."""
    seen = Seen()
    outlet = outlet_of(seen)
    for item in "ab":
        outlet.put("next", item)
    assert seen.marbles == ""
    outlet.drain()
    outlet.put("end")
    outlet.put("next", "c")
    outlet.drain()
    outlet.put("error", Boom())
    outlet.drain()
    assert (seen.marbles, seen.faults) == ("ab|", [])


def test_error() -> None:
    """An error ends it."""
    seen, error = Seen(), Boom()
    outlet = outlet_of(seen)
    outlet.put("next", "a")
    outlet.put("error", error)
    outlet.drain()
    assert (seen.marbles, seen.error) == ("ax", error)


def test_close() -> None:
    """After a close nothing is delivered, neither what waits nor what comes, not even an end."""
    seen = Seen()
    outlet = outlet_of(seen)
    outlet.put("next", "a")
    outlet.close()
    outlet.put("end")
    outlet.drain()
    assert seen.marbles == ""


def test_close_inside_on_next() -> None:
    """A close from inside on_next drops what waits behind the item."""
    seen = Seen(lambda _: outlet.close())
    outlet = outlet_of(seen)
    for item in "ab":
        outlet.put("next", item)
    outlet.drain()
    assert seen.marbles == "a"


def test_drop_partials() -> None:
    """Waiting partial events can be dropped; the others stay in order."""
    seen = Seen(lambda event: names.append(event.name))
    names: list[str] = []
    outlet = outlet_of(seen)
    for name in "aBcD":
        outlet.put("next", SimpleNamespace(name=name, partial=name.islower()))
    assert outlet.drop_partials() == 2
    outlet.drain()
    assert names == ["B", "D"]


@pytest.mark.parametrize("error", [Boom("consumer"), KeyboardInterrupt(), SystemExit()])
def test_raising_consumer(error: BaseException) -> None:
    """What on_next raises is told once, drops what waits, and becomes the end whatever end is put."""

    def on_next(_: object) -> None:
        raise error

    for kind in ("end", "error"):
        broken: list[BaseException] = []
        seen = Seen(on_next)
        outlet = outlet_of(seen, broken)
        for item in "abc":
            outlet.put("next", item)
        outlet.drain()
        outlet.put("next", "d")
        outlet.drain()
        assert (seen.marbles, broken, outlet.raised) == ("a", [error], error)
        outlet.put(kind, Boom("run"))
        outlet.drain()
        assert (seen.marbles, seen.error) == ("ax", error)


def test_raising_consumer_while_the_end_waits() -> None:
    """An end that waits behind the item that raises is delivered, as the error."""
    error, inside, go = Boom("consumer"), threading.Event(), threading.Event()

    def on_next(_: object) -> None:
        inside.set()
        assert go.wait(LIMIT)
        raise error

    seen = Seen(on_next)
    outlet = outlet_of(seen)
    outlet.put("next", "a")
    workers.spawn(outlet.drain)
    assert inside.wait(LIMIT)
    outlet.put("next", "b")
    outlet.put("end")
    outlet.drain()
    go.set()
    assert (seen.wait(), seen.error) == ("ax", error)


def test_raising_on_broken() -> None:
    """Even when what is told of a raising consumer raises, the end is delivered."""
    error = Boom("consumer")

    def on_next(_: object) -> None:
        raise error

    def on_broken(_: object) -> None:
        raise Boom("on_broken")

    seen = Seen(on_next)
    outlet = Outlet(seen, contextvars.copy_context(), on_broken)  # type: ignore[arg-type]
    outlet.put("next", "a")
    outlet.drain()
    outlet.put("end")
    outlet.drain()
    assert (seen.marbles, seen.error) == ("ax", error)


def test_raising_end() -> None:
    """What on_completed or on_error raises is dropped."""

    class Bad(Seen):
        def on_completed(self) -> None:
            super().on_completed()
            raise Boom("on_completed")

    seen = Bad()
    outlet = outlet_of(seen)
    outlet.put("end")
    outlet.drain()
    assert seen.marbles == "|"


def test_reentrant() -> None:
    """A drain from inside on_next returns at once; the item comes after this one."""
    seen = Seen(lambda item: item == "a" and (outlet.put("next", "b"), outlet.drain()))
    outlet = outlet_of(seen)
    outlet.put("next", "a")
    outlet.drain()
    assert (seen.marbles, seen.faults) == ("ab", [])


def test_the_thread_inside_delivers_the_rest() -> None:
    """While a thread is inside on_next, a drain elsewhere returns at once, and that thread goes on with the rest."""
    inside, go = threading.Event(), threading.Event()
    seen = Seen(lambda item: item == "a" and (inside.set(), go.wait(LIMIT)))
    outlet = outlet_of(seen)
    outlet.put("next", "a")
    workers.spawn(outlet.drain)
    assert inside.wait(LIMIT)
    outlet.put("next", "b")
    outlet.put("end")
    outlet.drain()
    assert seen.marbles == "a"
    go.set()
    assert (seen.wait(), len(seen.threads)) == ("ab|", 1)


def test_context() -> None:
    """The consumer's callbacks run in the consumer's context."""
    found: list[str] = []
    context = contextvars.copy_context()
    context.run(colour.set, "red")
    outlet = Outlet(Seen(lambda _: found.append(colour.get())), context, found.append)  # type: ignore[arg-type]
    outlet.put("next", "a")
    outlet.drain()
    assert found == ["red"]


def test_races() -> None:
    """Of 500 races of puts, an end and a close from several threads each gives a valid stream."""
    rnd = random.Random(1)

    def feed(outlet: Outlet, items: list[tuple[Any, Any]], start: threading.Barrier) -> None:
        start.wait(LIMIT)
        for kind, value in items:
            outlet.put(kind, value)
            outlet.drain()
        start.wait(LIMIT)

    with fast_switches():
        for _ in range(RACES):
            seen = Seen()
            outlet = outlet_of(seen)
            start = threading.Barrier(3)
            workers.spawn(lambda o=outlet, s=start: feed(o, [("next", "a")] * 5, s))  # type: ignore[misc]
            workers.spawn(lambda o=outlet, s=start: feed(o, [("next", "b")] * 3 + [("end", None)], s))  # type: ignore[misc]
            start.wait(LIMIT)
            closes = rnd.random() < 0.5
            if closes:
                outlet.close()
            start.wait(LIMIT)
            outlet.drain()
            assert seen.faults == []
            assert closes or seen.marbles.endswith("|")
            assert seen.marbles.count("b") == 3 or closes
