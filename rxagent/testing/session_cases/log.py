"""Cases of the log: sessions, events, what is written entirely or not at all."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from rxagent.errors import AlreadyClaimedError, AppendError, SessionNotFoundError, StaleSessionError, UsageError
from rxagent.events import Content, Event, EventActions, FunctionCall, FunctionResponse, Part
from rxagent.sessions import BaseSessionService

from .base import APP, USER, SessionCases, said, texts

__all__ = ["LogCases"]


class LogCases(SessionCases):
    """Sessions and their events."""

    def test_a_new_session_is_empty(self, service: BaseSessionService) -> None:
        """A created session has its name, no events, and is found again."""
        made = self.create(service)
        found = self.get(service)
        assert (made.app_name, made.user_id, made.id) == (APP, USER, "s1") == found.key
        assert (made.events, made.last_seq, found.events, found.last_seq) == ([], 0, [], 0)

    def test_an_id_is_made_when_none_is_given(self, service: BaseSessionService) -> None:
        """Sessions without a given id get different ones."""
        first, second = self.create(service, None), self.create(service, None)
        assert first.id != second.id
        assert self.find(service, first.id) is not None

    def test_an_id_is_taken_once(self, service: BaseSessionService) -> None:
        """Creating a session again is an error and leaves the session as it is."""
        self.append(service, self.create(service), said("Hi"))
        with pytest.raises(UsageError, match="s1"):
            self.create(service)
        assert texts(self.get(service)) == ["Hi"]

    def test_an_unknown_session_is_none(self, service: BaseSessionService) -> None:
        """A session that does not exist is None; deleting it is no error."""
        assert self.find(service, "nobody") is None
        self.done(service.delete_session(APP, USER, "nobody"))

    def test_sessions_are_told_apart_by_the_whole_key(self, service: BaseSessionService) -> None:
        """The same id under another user or app is another session."""
        self.append(service, self.create(service), said("Hi"))
        self.done(service.create_session(APP, "you", session_id="s1"))
        self.done(service.create_session("other", USER, session_id="s1"))
        assert self.done(service.get_session(APP, "you", "s1")).events == []
        assert self.done(service.get_session("other", USER, "s1")).events == []

    def test_a_deleted_session_leaves_nothing(self, service: BaseSessionService) -> None:
        """A session made again under a deleted id starts empty, with free claims and from number 1."""
        self.append(service, self.create(service), said("Hi", delta={"k": 1}), claims=["call"])
        assert texts(self.get(service)) == ["Hi"]
        self.done(service.delete_session(APP, USER, "s1"))
        assert self.find(service) is None
        again = self.create(service)
        assert (again.events, again.state, again.last_seq) == ([], {}, 0)
        assert [event.seq for event in self.append(service, again, said("Ho"), claims=["call"])] == [1]
        assert texts(self.get(service)) == ["Ho"]

    def test_listing(self, service: BaseSessionService) -> None:
        """A list has the sessions of the user, or of all, without events, the latest changed first."""
        for number in (1, 2, 3):
            session = self.create(service, f"s{number}", state={"n": number})
            self.append(service, session, said("Hi", timestamp=9_999_999_999_000 - 1000 * number))
        self.done(service.create_session(APP, "you", session_id="s9"))
        self.done(service.create_session("other", USER, session_id="s8"))
        found = self.done(service.list_sessions(APP, USER))
        assert [session.id for session in found] == ["s1", "s2", "s3"]
        assert [(session.events, session.last_seq, session.state["n"]) for session in found] == [
            ([], 1, 1),
            ([], 1, 2),
            ([], 1, 3),
        ]
        assert {session.id for session in self.done(service.list_sessions(APP))} == {"s1", "s2", "s3", "s9"}

    def test_events_are_numbered_from_one(self, service: BaseSessionService) -> None:
        """Each event gets the next number; the caller's session and the stored one agree."""
        session = self.create(service)
        one = self.done(service.append_event(session, said("a")))
        two, three = self.append(service, session, said("b"), said("c"))
        assert (one.seq, two.seq, three.seq, session.last_seq) == (1, 2, 3, 3)
        stored = self.get(service)
        assert texts(session) == texts(stored) == ["a", "b", "c"]
        assert [event.seq for event in stored.events] == [1, 2, 3]
        assert stored.events == session.events
        assert stored.last_update_time == three.timestamp == session.last_update_time

    def test_order_is_not_a_matter_of_time(self, service: BaseSessionService) -> None:
        """Events stand in the order of their appends, whatever their timestamps say."""
        session = self.create(service)
        self.append(service, session, said("late", timestamp=2000), said("early", timestamp=1000))
        assert texts(self.get(service)) == ["late", "early"]

    def test_partial_events_are_not_stored(self, service: BaseSessionService) -> None:
        """A partial event comes back untouched and leaves no trace."""
        session, part = self.create(service), said("H", partial=True, delta={"k": 1})
        assert self.done(service.append_event(session, part)) is part
        assert self.append(service, session, part, said("Hi"))[0] is part
        assert texts(self.get(service)) == texts(session) == ["Hi"]
        assert self.get(service).state == session.state == {}

    def test_append_without_a_session(self, service: BaseSessionService) -> None:
        """Appending to a session that was deleted is an error, and does not bring it back."""
        session = self.create(service)
        self.done(service.delete_session(APP, USER, "s1"))
        with pytest.raises(SessionNotFoundError, match="s1"):
            self.append(service, session, said("Hi"))
        assert session.events == []
        assert self.find(service) is None

    def test_what_is_read_is_what_was_stored(self, service: BaseSessionService) -> None:
        """Calls, responses, bytes, thoughts, unknown fields, None inside maps and any text survive."""
        event = Event.model_validate(
            {
                "author": "agent",
                "invocationId": "i1",
                "branch": "a.b",
                "content": {
                    "role": "model",
                    "parts": [
                        {"text": "hm", "thought": True, "thoughtSignature": "c2ln+/=="},
                        {"functionCall": {"id": "1", "name": "f", "args": {"x": None, "deep": [1, {"y": None}]}}},
                        {"functionResponse": {"id": "1", "name": "f", "response": {"ok": "ü 🙂 \u2028 \x00 '\""}}},
                        {"newKind": {"a": [1, 2.5, None]}},
                    ],
                },
                "longRunningToolIds": ["1"],
                "customMetadata": {"k": None},
                "usageMetadata": {"totalTokenCount": 7, "newCount": 3},
                "newField": {"b": True},
            }
        )
        inline = Event(author="user", content=Content(role="user", parts=(Part.model_validate({"inlineData": {}}),)))
        self.append(service, self.create(service), event, inline)
        stored = self.get(service).events[0]
        assert stored == event.model_copy(update={"seq": 1})
        assert stored.model_dump(by_alias=True) == event.model_dump(by_alias=True)

    def test_bytes_survive(self, service: BaseSessionService) -> None:
        """Inline data comes back byte for byte."""
        data = bytes(range(256))
        part = Part.model_validate({"inline_data": {"mime_type": "image/png", "data": data}})
        self.append(service, self.create(service), Event(author="user", content=Content(parts=(part,))))
        blob = self.get(service).events[0].parts[0].inline_data
        assert blob is not None
        assert blob.data == data

    def test_a_big_event(self, service: BaseSessionService) -> None:
        """An event of several megabytes is stored whole."""
        text = "0123456789abcdef" * (3 << 16)
        self.append(service, self.create(service), said(text))
        assert texts(self.get(service)) == [text]

    def test_ids_may_be_any_text(self, service: BaseSessionService) -> None:
        """Names with quotes, slashes, percent signs and letters of any script are just names."""
        for name in ("a/b", "o'b\"", "%_*", "ünïcödé 🙂", " "):
            self.append(service, self.create(service, name), said(name))
            assert texts(self.get(service, name)) == [name]

    def test_copies_are_independent(self, service: BaseSessionService) -> None:
        """Changing a session that was read, or an event's maps after the append, changes nothing stored."""
        args: dict[str, Any] = {"list": [1]}
        call = Part(function_call=FunctionCall(id="1", name="f", args=args))
        session = self.create(service)
        self.append(service, session, Event(author="a", content=Content(parts=(call,))), said("x", delta={"k": [1]}))
        args["list"].append(2)
        session.state["k"].append(2)
        read = self.get(service)
        read.events.clear()
        read.state["k"].append(3)
        read.state["more"] = 1
        found = self.get(service)
        assert found.events[0].function_calls[0].args == {"list": [1]}
        assert found.state == {"k": [1]}
        assert self.get(service).events[1].actions.state_delta == {"k": [1]}

    def test_reading_the_end_of_a_log(self, service: BaseSessionService) -> None:
        """The last N, those behind a number, those from a time on, and both together; the end is known each time."""
        session = self.create(service)
        self.append(service, session, *(said(str(number), timestamp=1000 * number) for number in range(1, 11)))
        assert texts(self.get(service, num_recent_events=2)) == ["9", "10"]
        assert texts(self.get(service, num_recent_events=0)) == []
        assert texts(self.get(service, num_recent_events=99)) == texts(session)
        assert texts(self.get(service, after_seq=7)) == ["8", "9", "10"]
        assert texts(self.get(service, after_seq=10)) == texts(self.get(service, after_seq=99)) == []
        assert texts(self.get(service, after_timestamp=9000)) == ["9", "10"]
        assert texts(self.get(service, num_recent_events=5, after_timestamp=9000)) == ["9", "10"]
        assert texts(self.get(service, num_recent_events=1, after_seq=7)) == ["10"]
        assert self.get(service, num_recent_events=0).last_seq == 10
        self.append(service, session, said("11", timestamp=11_000))
        assert texts(self.get(service, num_recent_events=2)) == ["10", "11"]
        assert texts(self.get(service)) == texts(session)

    def test_reading_a_log_by_pages(self, service: BaseSessionService) -> None:
        """The first N of what else was asked for; the end of the log is known each time, also while it grows."""
        session = self.create(service)
        self.append(service, session, *(said(str(number), timestamp=1000 * number) for number in range(1, 11)))
        assert texts(self.get(service, limit=3)) == ["1", "2", "3"]
        assert texts(self.get(service, after_seq=3, limit=3)) == ["4", "5", "6"]
        assert texts(self.get(service, after_seq=9, limit=3)) == ["10"]
        assert texts(self.get(service, after_seq=10, limit=3)) == texts(self.get(service, limit=0)) == []
        assert texts(self.get(service, num_recent_events=4, limit=3)) == ["7", "8", "9"]
        assert texts(self.get(service, after_timestamp=8000, limit=2)) == ["8", "9"]
        assert texts(self.get(service, after_timestamp=8000, after_seq=9, limit=2)) == ["10"]
        assert [event.seq for event in self.get(service, after_seq=4, limit=2).events] == [5, 6]
        assert self.get(service, limit=3).last_seq == 10
        texts(self.get(service))  # now the service may know what it has read
        self.append(service, session, said("11"))
        assert texts(self.get(service, after_seq=8, limit=99)) == ["9", "10", "11"]
        assert texts(self.get(service, after_seq=1, limit=2)) == ["2", "3"]

    def test_a_stale_writer_writes_nothing(self, service: BaseSessionService) -> None:
        """Who expects another end of the log gets an error; its event, state and claims are not stored."""
        first, second = self.create(service), self.get(service)
        self.append(service, first, said("a"), expected_seq=0)
        with pytest.raises(StaleSessionError):
            self.append(service, second, said("b", delta={"k": 1}), expected_seq=0, claims=["c"])
        assert (second.events, second.last_seq) == ([], 0)
        stored = self.get(service)
        assert (texts(stored), stored.state) == (["a"], {})
        self.append(service, stored, said("b"), expected_seq=1, claims=["c"])

    def test_seals_answers_and_message_in_one_act(self, service: BaseSessionService) -> None:
        """Several events and their claims are stored together, in order."""
        session = self.create(service)
        response = Part(function_response=FunctionResponse(id="1", name="f", response={"status": "stopped"}))
        seal = Event(author="agent", invocation_id="i1", content=Content(role="user", parts=(response,)))
        stored = self.append(service, session, seal, said("next", invocation_id="i2"), claims=["1@1", "2@1"])
        assert [event.seq for event in stored] == [1, 2]
        assert [event.invocation_id for event in self.get(service).events] == ["i1", "i2"]

    def test_a_claim_is_given_once(self, service: BaseSessionService) -> None:
        """A second answer to a call writes nothing: no event, no state, none of its other claims."""
        session = self.create(service)
        self.append(service, session, said("yes"), claims=["call"])
        with pytest.raises(AlreadyClaimedError, match="call"):
            self.append(service, session, said("no", delta={"k": 1}), claims=["other", "call"])
        stored = self.get(service)
        assert (texts(stored), stored.state, texts(session)) == (["yes"], {}, ["yes"])
        self.append(service, session, said("other"), claims=["other"])

    def test_what_cannot_be_stored_is_refused(self, service: BaseSessionService) -> None:
        """An event with a value that JSON cannot hold is an AppendError; nothing of its batch is stored."""
        session = self.create(service)
        broken = Event(author="a", actions=EventActions(state_delta={"k": object()}))
        with pytest.raises(AppendError, match="JSON"):
            self.append(service, session, said("a"), broken)
        assert (session.events, self.get(service).events) == ([], [])

    def test_many_threads(self, service: BaseSessionService) -> None:
        """Eight threads append to one session: no event is lost, the numbers have no gaps."""
        if isawaitable_service(self, service):
            pytest.skip("an asynchronous service is tested on one loop")
        self.create(service)
        start, failures = threading.Barrier(8), list[Exception]()

        def work(name: str) -> None:
            try:
                session = self.get(service)
                start.wait(10)
                for number in range(25):
                    self.append(service, session, said(f"{name}{number}"))
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(name,)) for name in "abcdefgh"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert failures == []
        events = self.get(service).events
        assert [event.seq for event in events] == list(range(1, 201))
        for name in "abcdefgh":
            assert [event.text for event in events if event.text[0] == name] == [f"{name}{n}" for n in range(25)]


def isawaitable_service(cases: SessionCases, service: BaseSessionService) -> bool:
    """True when the service's answers had to be awaited so far."""
    cases.find(service)
    return cases._loop is not None
