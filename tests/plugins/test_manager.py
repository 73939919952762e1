"""Plugins as they are given to a runner, and the loop that asks them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from rxagent.errors import ConfigError
from rxagent.plugins import BasePlugin, PluginManager, first
from rxagent.streams import CancelScope, Single, Stopped
from rxagent.streams.dropped import set_on_dropped_error
from tests.runner.driving import runner_of


class Before(BasePlugin):
    """Has one hook."""

    def before_run_callback(self, ctx: Any) -> Any:
        return self.name


class Nameless(BasePlugin):
    """Forgets its base."""

    def __init__(self) -> None:
        pass


class TooMany(BasePlugin):
    """Wants more than there is."""

    def on_event_callback(self, ctx: Any, event: Any, more: Any) -> Any:  # type: ignore[override]
        return event


class ByName(BasePlugin):
    """Wants its arguments by name."""

    def before_run_callback(self, *, invocation_context: Any) -> Any:  # type: ignore[override]
        return None


@pytest.fixture
def dropped() -> Iterator[list[tuple[str, BaseException]]]:
    found: list[tuple[str, BaseException]] = []
    set_on_dropped_error(lambda error, where: found.append((where, error)))
    yield found
    set_on_dropped_error(None)


@pytest.mark.parametrize(
    ("plugins", "words"),
    [
        ([BasePlugin("a"), Before("a")], "Plugin with name 'a' already registered"),
        ([Before], "the class Before is no plugin"),
        (["billing"], "a str is no plugin"),
        ([Nameless()], "a Nameless has no name; call super"),
        ([TooMany("t")], "on_event_callback is called by position, with .ctx, event.; on_event_callback takes"),
        ([ByName("n")], "before_run_callback is called by position"),
    ],
)
def test_what_is_refused(plugins: list[Any], words: str) -> None:
    """What cannot work is a ConfigError when the runner is made, with what to do."""
    with pytest.raises(ConfigError, match=words):
        runner_of(plugins=plugins)


def test_a_hook_that_nobody_has() -> None:
    """A hook that no plugin overrides has nobody to ask."""
    manager = PluginManager([Before("a"), BasePlugin("b")])
    assert [hook.__self__.name for hook in manager.hooks("before_run_callback")] == ["a"]  # type: ignore[attr-defined]
    assert manager.hooks("after_run_callback") == ()


def test_a_hook_of_one_object() -> None:
    """A hook that is set on one plugin's object counts as well."""
    plugin = BasePlugin("a")
    plugin.before_run_callback = lambda ctx: "own"  # type: ignore[method-assign]
    assert PluginManager([plugin]).first("before_run_callback", CancelScope(), None) == "own"


def test_in_order() -> None:
    """Plugins are asked in the order in which they are given; the first answer ends it."""
    asked: list[str] = []

    def note(name: str, answer: Any) -> BasePlugin:
        plugin = BasePlugin(name)

        def hook(ctx: Any) -> Any:
            asked.append(name)
            return answer

        plugin.before_run_callback = hook  # type: ignore[method-assign]
        return plugin

    manager = PluginManager([note("a", None), note("b", Single.just("B")), note("c", "C")])
    assert manager.first("before_run_callback", CancelScope(), None) == "B"
    assert asked == ["a", "b"]


def failing(error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any) -> Any:
        raise error

    return fail


def _tell(told: list[str], name: str, ctx: Any) -> None:
    told.append(name)


def test_each() -> None:
    """All are told in order; an error stops the rest."""
    told: list[str] = []
    error = ValueError("no")
    plugins = [BasePlugin(name) for name in "abc"]
    for plugin in plugins:
        plugin.after_run_callback = partial(_tell, told, plugin.name)  # type: ignore[method-assign]
    PluginManager(plugins).each("after_run_callback", CancelScope(), None)
    assert told == ["a", "b", "c"]
    plugins[1].after_run_callback = failing(error)  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="no"):
        PluginManager(plugins).each("after_run_callback", CancelScope(), None)
    assert told == ["a", "b", "c", "a"]


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(1), KeyboardInterrupt()])
def test_each_guarded(error: BaseException, dropped: list[tuple[str, BaseException]]) -> None:
    """All are told, whatever one of them raises; what it raises is logged."""
    told: list[str] = []
    plugins = [BasePlugin(name) for name in "ab"]
    plugins[0].on_run_end = failing(error)  # type: ignore[method-assign]
    plugins[1].on_run_end = lambda ctx, outcome: told.append("b")  # type: ignore[method-assign]
    PluginManager(plugins).each_guarded("on_run_end", CancelScope(), None, None)
    assert told == ["b"]
    assert dropped == [("on_run_end", error)]


def test_close(dropped: list[tuple[str, BaseException]]) -> None:
    """Closing the runner closes all its plugins, also by coroutines; an error of one is logged."""
    closed: list[str] = []

    class Closes(BasePlugin):
        async def close(self) -> None:
            closed.append(self.name)

    broken, error = BasePlugin("broken"), ValueError("no")
    broken.close = failing(error)  # type: ignore[method-assign]
    runner_of(plugins=[Closes("a"), broken, Closes("b")]).close()
    assert closed == ["a", "b"]
    assert dropped == [("close", error)]


def test_a_hook_that_stops() -> None:
    """When a hook, or somebody during it, cancels the scope, no later one is asked, and its answer does not count."""
    scope, asked = CancelScope(), list[str]()

    def stops() -> str:
        scope.cancel()
        return "answer"

    with pytest.raises(Stopped):
        first([stops, lambda: asked.append("later")], scope)
    assert asked == []


def test_words() -> None:
    """A plugin says what it is."""
    assert repr(Before("billing")) == "<Before 'billing'>"
