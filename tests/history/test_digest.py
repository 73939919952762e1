"""SessionDigest: what is known of a log is kept for the session's next run."""

from __future__ import annotations

from rxagent.events import Event
from rxagent.history import digest as module
from rxagent.history.digest import SessionDigest, give_back_digest, take_digest
from rxagent.sessions import SessionKey

from .logs import call, calls, responds, response, said, user

LOG = [user("Hi"), calls("a", call("c1", "t")), responds("a", response("c1", "t", r=1)), said("a", "Done.")]


def kept(name: str, events: list[Event]) -> SessionDigest:
    """A digest that has followed these events and was given back."""
    digest = take_digest(SessionKey("app", "me", name), events)
    digest.follow(events)
    give_back_digest(SessionKey("app", "me", name), digest)
    return digest


def test_the_next_run_goes_on_with_it() -> None:
    """The same log, or one that has grown, is followed by the same digest; only one run has it at a time."""
    key = SessionKey("app", "me", "grown")
    first = kept("grown", LOG[:3])
    assert take_digest(key, LOG[:3]) is first
    assert take_digest(key, LOG[:3]) is not first
    first = kept("grown", LOG[:3])
    assert take_digest(key, LOG) is first
    assert first.call_ids == {"c1"}


def test_another_log_has_another() -> None:
    """A log that was cut, or that went on otherwise, is read from its beginning."""
    for other in (LOG[:2], [*LOG[:2], said("a", "Other.")]):
        first = kept("other", LOG[:3])
        assert take_digest(SessionKey("app", "me", "other"), other) is not first


def test_the_oldest_are_dropped() -> None:
    """As many sessions are kept as there is room for, those of the latest runs."""
    first = kept("0", LOG)
    for number in range(1, module._MOST + 1):
        kept(str(number), LOG)
    assert take_digest(SessionKey("app", "me", "0"), LOG) is not first
    second = take_digest(SessionKey("app", "me", "1"), LOG)
    assert second.call_ids == {"c1"}
    assert len(module._digests) == module._MOST - 1


def test_the_parts_of_a_log() -> None:
    """The events of an invocation, and where it begins."""
    log = [Event(id=str(at), invocation_id=id, author="a") for at, id in enumerate(["x", "y", "x", "z"])]
    digest = SessionDigest()
    assert [event.id for event in digest.events_of("x", log)] == ["0", "2"]
    assert [digest.start_of(id, log) for id in ("x", "y", "z", "other")] == [0, 1, 3, None]
