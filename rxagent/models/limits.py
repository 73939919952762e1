"""Time limits of a model call: what may take how long, and which limit is over."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import Final, Literal, TypeAlias, final

from rxagent.errors import (
    ConfigError,
    ModelConnectTimeoutError,
    ModelFirstByteTimeoutError,
    ModelIdleTimeoutError,
    ModelTimeoutError,
    ModelTotalTimeoutError,
)

__all__ = ["Limits", "Phase", "Timeouts"]

Phase: TypeAlias = Literal["connect", "first_byte", "idle"]


@final
@dataclass(frozen=True, slots=True)
class Timeouts:
    """Time limits of a model call in seconds; None for none.

    ::

        name, TCP, TLS   request, headers    text ------ text --- text     end
        |-- connect --|  |-- first_byte --|      | idle |    |idle|
        |------------------------------ total ------------------------------|

    connect: until the connection stands, through a proxy too. first_byte: from there to the first byte of the
    answer's body: sending the request, and the model's reading of the prompt. idle: silence in mid-answer; comments
    that a server sends count as life. total: everything, retries and the consumer's own time included.
    """

    connect: float | None = 10.0
    first_byte: float | None = 300.0
    idle: float | None = 120.0
    total: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and value <= 0:
                raise ConfigError(f"the {field.name} limit is {value} s; give a positive number of seconds, or None")


_ERRORS: Final[dict[Phase, tuple[type[ModelTimeoutError], str]]] = {
    "connect": (ModelConnectTimeoutError, "no connection to {peer} within {seconds:g} s"),
    "first_byte": (ModelFirstByteTimeoutError, "no answer from {peer} within {seconds:g} s"),
    "idle": (ModelIdleTimeoutError, "{peer} was silent for {seconds:g} s in mid-answer"),
}


@final
class Limits:
    """The clock of one model call; its one user is the thread that makes the call.

    No thread and no timer: `remaining` is asked ahead of each blocking step and given to that step as its time limit.
    """

    __slots__ = ("_began", "_finish_by", "_peer", "_phase", "_phase_began", "_timeouts")

    def __init__(self, timeouts: Timeouts, peer: str) -> None:
        self._timeouts = timeouts
        self._peer = peer
        self._began = self._phase_began = time.monotonic()
        self._phase: Phase = "connect"
        self._finish_by: float | None = None

    def enter(self, phase: Phase) -> None:
        """A phase begins now."""
        self._phase = phase
        self._phase_began = time.monotonic()

    def finish_within(self, seconds: float) -> None:
        """All that is left may take no longer than this."""
        self._finish_by = time.monotonic() + seconds

    def remaining(self) -> float | None:
        """Seconds that the next blocking step may take, None for any. Raises the error of a limit that is over."""
        now = time.monotonic()
        ends = [end for end in (self._phase_end, self._total_end, self._finish_by) if end is not None]
        if not ends:
            return None
        left = min(ends) - now
        if left <= 0:
            raise self.error()
        return left

    def check_pause(self, seconds: float) -> None:
        """Raise ModelTotalTimeoutError at once when so long a pause would pass the total limit."""
        end = self._total_end
        if end is not None and time.monotonic() + seconds >= end:
            raise self._total_error()

    def error(self) -> ModelTimeoutError:
        """The error of the limit that is over, or nearest to it."""
        phase_end, total_end = self._phase_end, self._total_end
        if total_end is not None and (phase_end is None or total_end <= phase_end):
            return self._total_error()
        kind, message = _ERRORS[self._phase]
        seconds = getattr(self._timeouts, self._phase) or 0.0
        what = message.format(peer=self._peer, seconds=seconds)
        return kind(f"{what}; raise Timeouts({self._phase}=...) if it needs longer", seconds=seconds)

    @property
    def _phase_end(self) -> float | None:
        limit: float | None = getattr(self._timeouts, self._phase)
        return None if limit is None else self._phase_began + limit

    @property
    def _total_end(self) -> float | None:
        return None if self._timeouts.total is None else self._began + self._timeouts.total

    def _total_error(self) -> ModelTotalTimeoutError:
        seconds = self._timeouts.total or 0.0
        return ModelTotalTimeoutError(
            f"the model call to {self._peer} took longer than {seconds:g} s in all; "
            "raise Timeouts(total=...) if it needs longer",
            seconds=seconds,
        )
