"""Errors that come when nobody listens any more."""

from __future__ import annotations

import logging

import pytest

from rxagent.streams import drop, guarded, set_on_dropped_error
from rxagent.streams.dropped import as_raised

from .acting import Boom, dropped_errors, took


def test_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Without a hook a dropped error is logged, with the place where it came from."""
    with caplog.at_level(logging.WARNING, "rxagent"):
        drop(Boom("late"), "somewhere")
    assert "somewhere" in caplog.text
    assert "Boom" in caplog.text


def test_to_the_hook(caplog: pytest.LogCaptureFixture) -> None:
    """The hook gets the error instead of the log, until it is taken away."""
    error = Boom("late")
    with dropped_errors() as dropped:
        drop(error, "somewhere")
        assert took(dropped) == (error, "somewhere")
    assert caplog.text == ""
    drop(error, "elsewhere")
    assert "elsewhere" in caplog.text


def test_raising_hook(caplog: pytest.LogCaptureFixture) -> None:
    """A hook that raises costs nothing: both errors are logged."""

    def bad(error: BaseException, where: str) -> None:
        raise Boom("hook")

    set_on_dropped_error(bad)
    try:
        drop(Boom("late"), "somewhere")
    finally:
        set_on_dropped_error(None)
    assert "hook" in caplog.text
    assert "late" in caplog.text


def test_guarded() -> None:
    """A guarded action gets its arguments; what it raises goes no further."""
    got: list[int] = []
    guarded("here", got.append, 1)
    with dropped_errors() as dropped:
        guarded("here", int, "no number")
        assert took(dropped)[1] == "here"
    assert got == [1]


def test_as_raised() -> None:
    """StopIteration is wrapped, so that no loop takes it for its end; other errors stay themselves."""
    boom, stop = Boom(), StopIteration("v")
    assert as_raised(boom) is boom
    wrapped = as_raised(stop)
    assert (type(wrapped), wrapped.__cause__) == (RuntimeError, stop)
