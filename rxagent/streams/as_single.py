"""Whatever a tool, a callback or a service may return, as a Single, or waited for."""

from __future__ import annotations

import inspect
from concurrent.futures import Future
from typing import Any

from reactivex import Observable

from .aio import single_of_awaitable
from .scope import CancelScope
from .single import Single, SingleEmitter

__all__ = ["as_single", "is_deferred", "settle"]


def is_deferred(value: object) -> bool:
    """True for what has to be waited for: an Observable, an awaitable, a Future."""
    return isinstance(value, (Observable, Future)) or inspect.isawaitable(value)


def as_single(value: Any) -> Single[Any]:
    """A Single, an Observable (its last value, None when it has none), an awaitable, a Future or a plain value.

    Disposal: disposes the Observable, cancels the task or the Future (a running executor job goes on: Python cannot
    stop it). Errors: theirs. Threads: those of what is wrapped.
    """
    if isinstance(value, Single):
        return value
    if isinstance(value, Observable):
        return _last_of(value)
    if isinstance(value, Future):
        return _single_of_future(value)
    if inspect.isawaitable(value):
        return single_of_awaitable(value)
    return Single.just(value)


def settle(value: Any, scope: CancelScope) -> Any:
    """The value itself, waited for when it is deferred; a cancel of `scope` leaves the wait by Stopped."""
    if value is None or value.__class__ is list or not is_deferred(value):  # the usual answers of hooks and services
        return value
    return as_single(value).blocking_get(scope)


def _last_of(source: Observable[Any]) -> Single[Any]:
    def start(emitter: SingleEmitter[Any]) -> None:
        last: list[Any] = [None]

        def keep(value: Any) -> None:
            last[0] = value

        emitter.set_cancellable(source.subscribe(keep, emitter.on_error, lambda: emitter.on_success(last[0])).dispose)

    return Single(start)


def _single_of_future(future: Future[Any]) -> Single[Any]:
    def start(emitter: SingleEmitter[Any]) -> None:
        def done(ended: Future[Any]) -> None:
            if ended.cancelled():
                if not emitter.is_disposed:
                    emitter.on_error(RuntimeError("the Future was cancelled by somebody else"))
                return
            error = ended.exception()
            if error is None:
                emitter.on_success(ended.result())
            elif not emitter.is_disposed:
                emitter.on_error(error if isinstance(error, Exception) else RuntimeError(repr(error)))

        emitter.set_cancellable(future.cancel)
        future.add_done_callback(done)

    return Single(start)
