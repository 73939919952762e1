"""Errors that come when nobody listens any more: one hook, and the log."""

from __future__ import annotations

import logging
from collections.abc import Callable

__all__ = ["as_raised", "drop", "guarded", "on_dropped_error", "set_on_dropped_error"]

_log = logging.getLogger("rxagent")


def _to_log(error: BaseException, where: str) -> None:
    _log.warning("dropped error in %s: %r", where, error, exc_info=error)


on_dropped_error: Callable[[BaseException, str], None] = _to_log


def set_on_dropped_error(hook: Callable[[BaseException, str], None] | None) -> None:
    """Send errors that arrive after the end of what they belong to to `hook(error, where)`; None: to the log.

    Where they come from: cancel actions and `finally`s that raise, late failures of disposed work, `on_run_end`.
    Threads: whichever thread meets the error; the hook must not block. What the hook raises is logged.
    """
    global on_dropped_error
    on_dropped_error = hook or _to_log


def drop(error: BaseException, where: str) -> None:
    """Hand an error that has no other receiver to the hook. Never raises."""
    try:
        on_dropped_error(error, where)
    except Exception as again:
        _log.warning("on_dropped_error itself failed: %r", again)
        _to_log(error, where)


def as_raised(error: BaseException) -> BaseException:
    """The error as a bridge raises it: a StopIteration would be taken for the end there, or hang a Future."""
    if not isinstance(error, (StopIteration, StopAsyncIteration)):
        return error
    wrapped = RuntimeError(f"the stream failed with {error!r}")
    wrapped.__cause__ = error
    return wrapped


def guarded(where: str, action: Callable[..., object], *args: object) -> None:
    """Call an action; what it raises is dropped and goes no further."""
    try:
        action(*args)
    except Exception as error:
        drop(error, where)
