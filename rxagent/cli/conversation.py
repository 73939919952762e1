"""Conversation: questions from stdin, answers on the screen, one session at a time."""

from __future__ import annotations

import contextlib
import importlib
import sys
import traceback
from datetime import datetime
from typing import Final, final

from rxagent.errors import RxAgentError
from rxagent.events import Message
from rxagent.runner import Runner
from rxagent.sessions import Question

from .answer import AnswerWriter
from .ask import Asked, ask, load_session
from .decide import decide
from .in_words import question_in_words, stop_in_words
from .screen import Screen

__all__ = ["Conversation"]

_PROMPT: Final = "> "
_NEW: Final = "/new"


@final
class Conversation:
    """Asks the runner's agent line by line, until the user leaves, or the process is to end.

    timeout: seconds for one answer.
    """

    __slots__ = ("_at_terminal", "_runner", "_screen", "_session", "_timeout", "_user", "is_shut_down")

    def __init__(
        self, runner: Runner, user: str, session: str, screen: Screen, *, timeout: float | None = None
    ) -> None:
        self.is_shut_down = False
        self._timeout = timeout
        self._runner = runner
        self._user = user
        self._session = session
        self._screen = screen
        self._at_terminal = sys.stdin.isatty()

    def hold(self) -> None:
        """Hold it, to its end."""
        if self._at_terminal:
            self._greet()
        while not self.is_shut_down and (line := self._read()) is not None:
            if line.strip() == _NEW:
                self._session = f"{datetime.now():%Y%m%d-%H%M%S}"
                self._screen.note(f"Session {self._session!r} begins.")
            elif line.strip():
                self._answer(line)
                if not self.is_shut_down:
                    self._ask_for_answers()

    def _greet(self) -> None:
        with contextlib.suppress(ImportError):
            importlib.import_module("readline")  # its import gives `input` a line editor
        self._screen.note(f"Ctrl-C stops an answer; at the prompt it leaves. {_NEW} begins a new session.")
        session = load_session(self._runner.session_service, self._user, self._session)
        if session is not None and session.last_seq:
            self._screen.note(f"Session {session.id!r} goes on; it holds {session.last_seq} events.")
            self._ask_for_answers()

    def _ask_for_answers(self) -> None:
        """Let the user decide what the session waits for, once each; behind a pipe the questions are told."""
        put_off: set[str] = set()
        while waiting := [one for one in self._pending() if one.call_id not in put_off]:
            question = waiting[0]
            if not self._at_terminal:
                self._screen.note(question_in_words(question))
            elif (message := decide(question, self._screen, self._read)) is not None:
                self._answer(message)
            put_off.add(question.call_id)

    def _pending(self) -> list[Question]:
        session = load_session(self._runner.session_service, self._user, self._session)
        return [] if session is None else session.pending()

    def _read(self, prompt: str = _PROMPT) -> str | None:
        """The next line, or None when the user leaves."""
        try:
            return input(prompt if self._at_terminal else "")
        except (EOFError, KeyboardInterrupt):
            if self._at_terminal:
                print()
            return None

    def _answer(self, message: Message) -> None:
        """One answer. A run that fails is told, and the conversation goes on."""
        writer = AnswerWriter(self._screen)
        try:
            asked = ask(self._runner, self._user, self._session, message, writer.show, timeout=self._timeout)
        except BrokenPipeError:
            raise
        except RxAgentError as error:
            self._screen.note(f"The run failed: {error}")
        except Exception:
            self._screen.end_line()
            traceback.print_exc()  # a mistake in the agent's code: its author needs the place
        except KeyboardInterrupt:  # a second one: what the first one stopped has not ended yet
            self._screen.note("Still stopping; the next question waits for it.")
        else:
            self._screen.end_line()
            self._tell_end(asked, writer.unsaved)
            self.is_shut_down = asked.is_shut_down

    def _tell_end(self, asked: Asked, unsaved: int) -> None:
        if asked.is_stopped:
            self._screen.note(stop_in_words(asked.saved, unsaved))
        elif asked.outcome is not None and asked.outcome.kind not in ("completed", "paused"):
            self._screen.note(str(asked.outcome))
