"""AbortSignal: somebody outside asks a run to stop, and wants the end of the story."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Literal, TypeAlias, final

from rxagent.streams import guarded

__all__ = ["AbortSignal", "StopDepth"]

StopDepth: TypeAlias = Literal["now", "tool", "turn"]
"""How deep a stop cuts. "now": model calls and tools are cancelled. "tool": the model call is cancelled, running tools
finish, no other starts. "turn": the model call and its tools finish. The last two then stop as "now" does."""

_NEARNESS: Final = {"turn": 0, "tool": 1, "now": 2}

Listener: TypeAlias = Callable[[str, StopDepth], object]


@final
class AbortSignal:
    """Set it, and the runs that it was given to stop, seal and complete: `runner.start(..., abort_signal=signal)`.

    The first reason stays. A later `set` counts when it cuts deeper than those before. One that is set already stops
    a run when it starts.

    Threads: everything from any thread and any event loop; listeners run on the setting thread and must not block.
    """

    __slots__ = ("_after", "_listeners", "_lock", "_reason")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reason: str | None = None
        self._after: StopDepth = "now"
        self._listeners: dict[object, Listener] = {}

    @property
    def reason(self) -> str | None:
        """Why it was set; None while it was not. (`user_stop`, `client_disconnect`, `worker_shutdown`, or any text)"""
        return self._reason

    def is_set(self) -> bool:
        """True from the first `set` on."""
        return self._reason is not None

    def set(self, reason: str = "user_stop", after: StopDepth = "now") -> None:
        """Ask to stop. Twice is once, unless the second cuts deeper."""
        with self._lock:
            if self._reason is not None and _NEARNESS[after] <= _NEARNESS[self._after]:
                return
            self._reason = self._reason or reason
            self._after = after
            listeners = list(self._listeners.values())
            reason = self._reason
        for listener in listeners:
            guarded("abort signal", listener, reason, after)

    def on_set(self, listener: Listener) -> Callable[[], None]:
        """Call listener(reason, after) at each set that counts, at once when that was earlier. Returns a take-back."""
        key = object()
        with self._lock:
            self._listeners[key] = listener
            reason, after = self._reason, self._after
        if reason is not None:
            guarded("abort signal", listener, reason, after)
        return lambda: self._listeners.pop(key, None) and None

    def __repr__(self) -> str:
        return f"<AbortSignal {'set: ' + self._reason if self._reason else 'open'}>"
