"""The hooks that only plugins have, in runs: messages, runs, events."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent.events import Content
from rxagent.plugins import BasePlugin
from rxagent.testing.scripted_model import ScriptedModel
from tests.runner.driving import SSE, USER, Consumer, Ends, log, runner_of, said

from .answering import FORMS, Noting, form


def with_hook(hook: str, do: Any, kind: str = "plain", name: str = "plugin") -> BasePlugin:
    """A plugin with one hook of this form."""
    plugin = BasePlugin(name)
    setattr(plugin, hook, form(kind, do))
    return plugin


@pytest.mark.parametrize("kind", FORMS)
def test_the_message_is_replaced(kind: str) -> None:
    """on_user_message may replace the message: the replacement is stored and sent, the next plugin is not asked."""
    noting, model = Noting(), ScriptedModel("Hello.")
    plugin = with_hook("on_user_message_callback", lambda ctx, message: Content.user(f"<{message.text}>"), kind)
    runner = runner_of(model, plugins=[plugin, noting])
    list(runner.run(USER, "s", "Hi"))
    assert said(log(runner)) == ["user: <Hi>", "agent: Hello."]
    assert [content.text for content in model.requests[0].contents] == ["<Hi>"]
    assert "on_user_message_callback" not in noting.asked


@pytest.mark.parametrize("kind", FORMS)
def test_the_run_is_answered(kind: str) -> None:
    """before_run may answer: its content is the one event, stored, then shown; no agent's hook is asked, the next
    plugin neither; on_event and after_run are."""
    noting, ends, model = Noting(), Ends(), ScriptedModel("never")
    plugin = with_hook("before_run_callback", lambda ctx: Content.model("Closed today."), kind)
    runner = runner_of(model, plugins=[plugin, noting, ends])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    assert said(consumer.events) == ["model: Closed today."]
    assert said(log(runner)) == ["user: Hi", "model: Closed today."]
    assert noting.asked == ["on_user_message_callback", "on_event_callback", "after_run_callback"]
    assert (model.calls, ends.next().kind) == ([], "completed")


@pytest.mark.parametrize("kind", FORMS)
def test_events_are_replaced(kind: str) -> None:
    """on_event may replace what is shown, partial events too; what is stored is the original; the first answer counts,
    and the user's event is not asked about."""

    def louder(ctx: Any, event: Any) -> Any:
        return event.model_copy(update={"content": Content.model(event.text.upper())})

    def once(ctx: Any, event: Any) -> Any:
        asked.append(event.text)
        return louder(ctx, event) if event.text != "it " else None

    asked: list[str] = []
    noting = Noting()
    runner = runner_of(
        [["it ", "is"]],
        plugins=[with_hook("on_event_callback", once, kind), noting],
    )
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", SSE)).wait()
    assert said(consumer.events) == ["agent~ it ", "agent~ IS", "agent: IT IS"]
    assert said(log(runner)) == ["user: Hi", "agent: it is"]
    assert asked == ["it ", "is", "it is"]
    assert noting.asked.count("on_event_callback") == 1


def test_on_event_comes_after_the_store() -> None:
    """When on_event is asked about a final event, the store has it; the consumer has not."""
    seen: list[tuple[list[str], int]] = []
    runner = runner_of(plugins=[with_hook("on_event_callback", lambda *_: look())])
    consumer = Consumer()

    def look() -> None:
        seen.append((said(log(runner)), len(consumer.events)))

    consumer.of(runner.run_async(USER, "s", "Hi")).wait()
    assert seen == [(["user: Hi", "agent: Hello."], 0)]


LOGGED = {
    "on_user_message_callback": [],
    "before_run_callback": ["user: Hi"],
    "on_event_callback": ["user: Hi", "agent: Hello."],
    "after_run_callback": ["user: Hi", "agent: Hello."],
}


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("hook", LOGGED)
def test_an_error(hook: str, kind: str) -> None:
    """An error in a hook is the run's error: what was stored before stays, an event whose on_event fails is stored and
    not shown, later plugins are not asked, on_run_error is told."""
    error = ValueError("no luck")

    def fail(*_: Any) -> Any:
        raise error

    noting, ends = Noting(), Ends()
    runner = runner_of(plugins=[with_hook(hook, fail, kind), noting, ends])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    assert consumer.error is error
    assert said(log(runner)) == LOGGED[hook]
    assert said(consumer.events) == (["agent: Hello."] if hook == "after_run_callback" else [])
    assert hook not in noting.asked
    assert noting.asked[-1] == "on_run_error_callback"
    assert (ends.next().kind, ends.after_run) == ("failed", [])


@pytest.mark.parametrize("kind", FORMS)
def test_an_error_in_on_run_error(kind: str) -> None:
    """on_run_error is told the run's error; its own is logged, and the consumer gets the run's."""
    told: list[BaseException] = []

    def fail(ctx: Any, error: BaseException) -> None:
        told.append(error)
        raise ValueError("and again")

    error = ValueError("the model is down")
    runner = runner_of(ScriptedModel(error), plugins=[with_hook("on_run_error_callback", fail, kind)])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    assert consumer.error is error
    assert told == [error]


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize(
    ("hook", "event"),
    [
        ("on_user_message_callback", "user: Hi"),
        ("before_run_callback", "agent: Hello."),
        ("on_event_callback", "agent: "),
        ("after_run_callback", "agent: "),
    ],
)
def test_state(hook: str, event: str, kind: str) -> None:
    """What a run-level hook writes is stored with the next event of the run; at its end with an event of its own."""

    def write(ctx: Any, *_: Any) -> None:
        ctx.state["k"] = 1

    runner = runner_of(plugins=[with_hook(hook, write, kind)])
    Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    with_state = [one for one in log(runner) if one.actions.state_delta]
    assert said(with_state) == [event]
    session: Any = runner.session_service.get_session("app", USER, "s")
    assert session.state == {"k": 1}
