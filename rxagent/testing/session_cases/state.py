"""Cases of the state: scopes, values, removals."""

from __future__ import annotations

import pytest

from rxagent.errors import StaleSessionError
from rxagent.events import REMOVED
from rxagent.sessions import BaseSessionService

from .base import APP, USER, SessionCases, said

__all__ = ["StateCases"]


class StateCases(SessionCases):
    """State changes by the deltas of stored events."""

    def test_a_delta_is_applied_with_its_event(self, service: BaseSessionService) -> None:
        """Keys of a delta are set for the caller's session and for later readers."""
        session = self.create(service)
        self.append(service, session, said("a", delta={"k": 1}), said("b", delta={"k": 2, "l": "x"}))
        assert session.state == self.get(service).state == {"k": 2, "l": "x"}

    def test_initial_state(self, service: BaseSessionService) -> None:
        """State given at creation goes to its scopes; temp: keys are not kept."""
        made = self.create(service, state={"k": None, "app:a": 1, "user:u": 2, "temp:t": 3})
        assert made.state == self.get(service).state == {"k": None, "app:a": 1, "user:u": 2}
        assert self.create(service, "s2").state == {"app:a": 1, "user:u": 2}

    def test_scopes(self, service: BaseSessionService) -> None:
        """app: reaches all users of the app, user: all sessions of the user, all else only its session."""
        session = self.create(service)
        self.append(service, session, said("a", delta={"k": 1, "app:k": 2, "user:k": 3}))
        assert self.get(service).state == {"k": 1, "app:k": 2, "user:k": 3}
        assert self.create(service, "s2").state == {"app:k": 2, "user:k": 3}
        assert self.done(service.create_session(APP, "you", session_id="s1")).state == {"app:k": 2}
        assert self.done(service.create_session("other", USER, session_id="s1")).state == {}

    def test_shared_scopes_outlive_a_session(self, service: BaseSessionService) -> None:
        """Deleting a session leaves the state of its user and app."""
        self.append(service, self.create(service), said("a", delta={"k": 1, "app:k": 2, "user:k": 3}))
        self.done(service.delete_session(APP, USER, "s1"))
        assert self.create(service).state == {"app:k": 2, "user:k": 3}

    def test_temp_is_never_stored(self, service: BaseSessionService) -> None:
        """temp: keys stand neither in the state nor in the stored event's delta; the caller's event keeps them."""
        session, event = self.create(service), said("a", delta={"temp:t": 1, "k": 2})
        (stored,) = self.append(service, session, event)
        assert stored.actions.state_delta == {"k": 2}
        assert self.get(service).events[0].actions.state_delta == {"k": 2}
        assert session.state == self.get(service).state == {"k": 2}
        assert event.actions.state_delta == {"temp:t": 1, "k": 2}

    def test_none_is_a_value(self, service: BaseSessionService) -> None:
        """None is stored and replaces what was there, in every scope, also inside maps."""
        session = self.create(service, state={"k": 1, "app:k": 1, "user:k": 1})
        delta = {"k": None, "app:k": None, "user:k": None, "m": {"x": None}}
        self.append(service, session, said("a", delta=delta))
        stored = self.get(service)
        assert stored.state == session.state == delta
        assert stored.events[0].actions.state_delta == delta

    def test_removal(self, service: BaseSessionService) -> None:
        """REMOVED removes a key, in every scope; a key that is not there may be removed; it can be set again."""
        session = self.create(service, state={"k": 1, "app:k": 1, "user:k": 1})
        removal = {"k": REMOVED, "app:k": REMOVED, "user:k": REMOVED, "none": REMOVED}
        self.append(service, session, said("a", delta=removal))
        stored = self.get(service)
        assert stored.state == session.state == {}
        assert stored.events[0].actions.state_delta == removal
        self.append(service, session, said("b", delta={"k": 2}))
        assert self.get(service).state == {"k": 2}

    def test_values_are_replaced_not_merged(self, service: BaseSessionService) -> None:
        """A map replaces a map as a whole."""
        session = self.create(service, state={"m": {"a": 1}})
        self.append(service, session, said("a", delta={"m": {"b": [1, 2.5, "ü", True, None]}}))
        assert self.get(service).state == session.state == {"m": {"b": [1, 2.5, "ü", True, None]}}

    def test_the_last_of_a_batch_wins(self, service: BaseSessionService) -> None:
        """The deltas of one act are applied in the order of its events."""
        session = self.create(service)
        self.append(
            service,
            session,
            said("a", delta={"k": 1, "l": 1}),
            said("b", delta={"k": REMOVED}),
            said("c", delta={"l": 3}),
        )
        assert self.get(service).state == session.state == {"l": 3}

    def test_an_event_that_is_not_stored_changes_no_state(self, service: BaseSessionService) -> None:
        """State of all scopes is changed in the act that stores the event, or not at all."""
        first, second = self.create(service), self.get(service)
        self.append(service, first, said("a"))
        with pytest.raises(StaleSessionError):
            self.append(service, second, said("b", delta={"k": 1, "app:k": 1, "user:k": 1}), expected_seq=0)
        assert self.get(service).state == second.state == {}

    def test_listed_states_are_independent(self, service: BaseSessionService) -> None:
        """Changing the state of a listed session in place changes no other one and nothing stored."""
        self.create(service, "s1", state={"app:k": [1], "user:k": [1]})
        self.create(service, "s2")
        first, second = self.done(service.list_sessions(APP, USER))
        first.state["app:k"].append(2)
        first.state["user:k"].append(2)
        assert second.state == self.get(service).state == {"app:k": [1], "user:k": [1]}
