"""Watcher: signals that can only be looked at (asyncio.Event, threading.Event)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Protocol, final

from rxagent.streams import guarded, idle

__all__ = ["Readable", "watcher"]

_LOOK = 0.01  # seconds between two looks


class Readable(Protocol):
    """Something that is set some time: an asyncio.Event, a threading.Event."""

    def is_set(self) -> bool: ...


@final
class _Watcher:
    """One thread, `rxagent-watcher`, looks at all signals of live runs every 10 ms; it ends with the last of them."""

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._watched: dict[object, tuple[Readable, Callable[[], object]]] = {}
        self._thread: threading.Thread | None = None

    def watch(self, signal: Readable, on_set: Callable[[], object]) -> Callable[[], None]:
        """Call `on_set` once when the signal is set, at once when it is. Returns a take-back."""
        if signal.is_set():
            on_set()
            return lambda: None
        key = object()
        with self._lock:
            self._watched[key] = (signal, on_set)
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, daemon=True, name="rxagent-watcher")
                self._thread.start()
        return lambda: self._watched.pop(key, None) and None

    def _serve(self) -> None:
        while True:
            for key, (signal, on_set) in list(self._watched.items()):
                if signal.is_set() and self._watched.pop(key, None) is not None:
                    guarded("abort signal", on_set)
            with self._lock:
                if not self._watched:
                    self._thread = None
                    return
            time.sleep(_LOOK)

    def end(self) -> None:
        """Wait for the thread, unless a signal is being watched."""
        thread = self._thread
        if thread is not None and not self._watched:
            thread.join()


watcher = _Watcher()
"""The watcher of this process."""

idle.register(watcher.end)
