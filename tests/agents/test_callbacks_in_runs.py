"""Callbacks and plugins' hooks at work: answers, precedence, errors, state."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent.errors import UsageError
from rxagent.events import Content, Event
from rxagent.models import LlmResponse
from rxagent.plugins import BasePlugin
from rxagent.streams import Single
from rxagent.testing.scripted_model import ScriptedModel, call
from tests.plugins.answering import AGENT_CASES, FORMS, WHOLE, Hooked, Noting, form, shown
from tests.runner.driving import SSE, USER, Consumer, log, runner_of, said

HOOKS = list(AGENT_CASES)


class Answering(BasePlugin):
    """Answers on one hook."""

    def __init__(self, name: str, hook: str, callback: Any) -> None:
        super().__init__(name)
        setattr(self, hook, callback)


def run(hooked: Hooked, config: Any = None) -> Consumer:
    return Consumer().of(hooked.runner.run_async(USER, "s", "Hi", config)).wait()


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("owner", ["agent", "list", "plugin"])
def test_an_answer(hook: str, kind: str, owner: str) -> None:
    """An answer stands in the place that the hook is for, whether it comes from a function, a coroutine function or a
    Single, of the agent, of its list, or of a plugin; those behind it in the list are not asked."""
    answer, expected = AGENT_CASES[hook]
    asked: list[str] = []

    def note(word: str, value: Any) -> Any:
        def do(*args: Any) -> Any:
            asked.append(word)
            return value

        return form(kind, do)

    behind = Noting()
    hooks = [note("first", None), note("second", answer), note("third", answer)]
    if owner == "agent":
        hooked = Hooked(hook, **{hook: hooks[1]})
    elif owner == "list":
        hooked = Hooked(hook, **{hook: hooks})
    else:
        plugins = [Answering(str(place), hook, one) for place, one in enumerate(hooks)]
        hooked = Hooked(hook, *plugins, behind, **{hook: hooks[2]})
    consumer = run(hooked)
    assert shown(consumer.events) == expected
    assert said(log(hooked.runner)) == ["user: Hi", *said(consumer.events)]
    once = ["second"] if owner == "agent" else ["first", "second"]
    assert asked == once * len(asked[:: len(once)])
    assert asked
    assert hook not in behind.asked
    assert hooked.tool_calls == {"after_agent": 1, "after_tool": 1, "on_tool_error": 1}.get(hook[:-9], 0)
    assert hooked.ends.next().kind == "completed"


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("hook", HOOKS)
def test_no_answer(hook: str, kind: str) -> None:
    """A callback that returns nothing changes nothing; where something has gone wrong, that error is the run's."""
    asked: list[int] = []
    hooked = Hooked(hook, **{hook: form(kind, lambda *args: asked.append(len(args)))})
    consumer = run(hooked)
    assert asked
    if hook.startswith("on_"):
        assert isinstance(consumer.error, ValueError)
    else:
        assert shown(consumer.events) == WHOLE


def test_order() -> None:
    """A plugin is asked before the agent, on each hook of a tool turn."""
    order: list[str] = []
    names = [name for name in HOOKS if not name.startswith("on_")]
    plugin = BasePlugin("plugin")
    for name in names:
        setattr(plugin, name, lambda *args, name=name: order.append(f"plugin {name[:-9]}"))
    callbacks = {name: lambda *args, name=name: order.append(f"agent {name[:-9]}") for name in names}
    run(Hooked("", plugin, **callbacks))
    each = ["before_agent", "before_model", "after_model", "before_tool", "after_tool"]
    each += ["before_model", "after_model", "after_agent"]
    assert order == [f"{owner} {name}" for name in each for owner in ("plugin", "agent")]


@pytest.mark.parametrize(
    ("hook", "unasked"),
    [
        ("before_agent_callback", ["before_model_callback", "after_agent_callback"]),
        ("before_model_callback", ["after_model_callback"]),
        ("before_tool_callback", []),
    ],
)
def test_what_an_answer_skips(hook: str, unasked: list[str]) -> None:
    """An answer in the agent's place skips its after-agent, one in the model's place after-model; one in the tool's
    place, like one in an error's place, goes through after-tool (ADK Java)."""
    noting = Noting()
    run(Hooked(hook, noting, **{hook: lambda *args: AGENT_CASES[hook].answer}))
    assert not set(unasked) & set(noting.asked)
    if hook == "before_tool_callback":
        assert "after_tool_callback" in noting.asked


def test_the_answer_for_an_error_goes_on() -> None:
    """What on-model-error and on-tool-error answer goes through after-model and after-tool."""
    for hook, after in (
        ("on_model_error_callback", "after_model_callback"),
        ("on_tool_error_callback", "after_tool_callback"),
    ):
        noting = Noting()
        run(Hooked(hook, noting, **{hook: lambda *args, hook=hook: AGENT_CASES[hook].answer}))
        assert after in noting.asked[noting.asked.index(hook) :]


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("owner", ["agent", "plugin"])
@pytest.mark.parametrize("kind", [*FORMS, "emitted"])
@pytest.mark.parametrize("hook", HOOKS)
def test_an_error(hook: str, kind: str, owner: str) -> None:
    """An error in a hook fails the run as it is: nothing more is stored, no model and no tool is called, after-run does
    not run, on-run-error is told."""
    error = ValueError("no luck")

    def fail(*args: Any) -> Any:
        raise error

    callback = (lambda *args: Single.error(error)) if kind == "emitted" else form(kind, fail)
    noting, told = Noting(), list[BaseException]()
    watcher = BasePlugin("watcher")
    watcher.on_run_error_callback = lambda ctx, error: told.append(error)  # type: ignore[method-assign]
    if owner == "plugin":
        hooked = Hooked(hook, noting, Answering("fails", hook, callback), watcher)
    else:
        hooked = Hooked(hook, noting, watcher, **{hook: callback})
    consumer = run(hooked)
    assert consumer.error is error
    assert hooked.ends.next().kind == "failed"
    assert (hooked.ends.after_run, told) == ([], [error])
    behind = noting.asked[noting.asked.index(hook) + 1 :]
    assert set(behind) <= {
        "on_run_error_callback",
        *(["on_tool_error_callback"] if hook == "before_tool_callback" else []),
    }
    assert said(log(hooked.runner)) == ["user: Hi", *said(consumer.events)]
    assert shown(consumer.events) == {
        "after_agent_callback": WHOLE,
        "before_tool_callback": WHOLE[:1],
        "after_tool_callback": WHOLE[:1],
        "on_tool_error_callback": WHOLE[:1],
    }.get(hook, [])


def test_a_failing_guard_may_be_rescued() -> None:
    """An error in before-tool goes through on-tool-error, as the tool's own would (ADK Java)."""

    def guard(*args: Any) -> None:
        raise ValueError("not allowed")

    hooked = Hooked("", before_tool_callback=guard, on_tool_error_callback=lambda *args: {"error": str(args[3])})
    assert shown(run(hooked).events) == ["call(tool)", "tool={'error': 'not allowed'}", "Done."]
    assert hooked.tool_calls == 0


def test_after_model_is_not_the_model() -> None:
    """An error in after-model is not the model's: on-model-error is not asked."""
    asked: list[str] = []

    def fail(*args: Any) -> Any:
        raise ValueError("no luck")

    hooked = Hooked("", after_model_callback=fail, on_model_error_callback=lambda *args: asked.append("asked"))
    assert isinstance(run(hooked).error, ValueError)
    assert asked == []


WRONG: list[Any] = [
    ("before_agent_callback", {"text": "Hi"}),
    ("after_agent_callback", 5),
    ("before_model_callback", "Hi"),
    ("after_model_callback", Content.model("Hi")),
    ("on_model_error_callback", True),
]


@pytest.mark.parametrize(("hook", "answer"), WRONG)
def test_a_wrong_answer(hook: str, answer: Any) -> None:
    """An answer of another type fails the run by a UsageError that names the hook and the type it may have."""
    consumer = run(Hooked(hook, **{hook: lambda *args: answer}))
    assert isinstance(consumer.error, UsageError)
    assert hook in str(consumer.error)
    assert type(answer).__name__ in str(consumer.error)


@pytest.mark.parametrize("hook", ["before_tool_callback", "after_tool_callback"])
def test_a_result_that_is_no_dict(hook: str) -> None:
    """A tool hook's answer that is no dict is put in one, as a function's value is."""
    consumer = run(Hooked(hook, **{hook: lambda *args: "a text"}))
    assert shown(consumer.events)[1] == "tool={'result': 'a text'}"


def test_a_text_for_a_content() -> None:
    """Agent callbacks may answer with a text."""
    assert shown(run(Hooked("", before_agent_callback=lambda ctx: "Hi.")).events) == ["Hi."]


# -- partials, arguments, state ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FORMS)
def test_a_replaced_partial_stays_partial(kind: str) -> None:
    """What replaces a partial response is partial, whatever it says of itself, and is not stored; the final one is."""

    def louder(ctx: Any, response: LlmResponse) -> LlmResponse:
        assert response.content is not None
        return LlmResponse(content=Content.model(response.content.text.upper()))

    runner = runner_of([["it ", "is ", "so"]], after_model_callback=form(kind, louder))
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", SSE)).wait()
    assert said(consumer.events) == ["agent~ IT ", "agent~ IS ", "agent~ SO", "agent: IT IS SO"]
    assert said(log(runner)) == ["user: Hi", "agent: IT IS SO"]


@pytest.mark.parametrize("kind", FORMS)
def test_an_edited_request(kind: str) -> None:
    """What before-model changes in the request is what the model is asked, and what the next callback sees."""
    seen: list[str] = []

    def edit(ctx: Any, request: Any) -> None:
        request.append_instructions(["Be brief."])

    def look(ctx: Any, request: Any) -> None:
        seen.append(request.system_instruction)

    hooked = Hooked("", before_model_callback=[form(kind, edit), look])
    run(hooked)
    asked = [request.system_instruction for request in hooked.model.requests]
    assert asked == seen
    assert all(text.endswith("Be brief.") and text.count("Be brief.") == 1 for text in asked)


def test_edited_arguments() -> None:
    """Arguments that before-tool edits in place, on any level, reach the tool and after-tool; the event keeps the
    model's."""
    seen: list[Any] = []

    def tool(place: dict[str, str]) -> str:
        """Work."""
        seen.append(place)
        return "done"

    def edit(tool: Any, args: dict[str, Any], ctx: Any) -> None:
        args["place"]["city"] = "Bergen"

    def note(tool: Any, args: dict[str, Any], ctx: Any, result: Any) -> None:
        seen.append(args["place"])

    script = [call("tool", place={"city": "Oslo"}), "Done."]
    runner = runner_of(script, tools=[tool], before_tool_callback=edit, after_tool_callback=note)
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    assert seen == [{"city": "Bergen"}] * 2
    for event in (consumer.events[0], log(runner)[1]):
        assert event.function_calls[0].args == {"place": {"city": "Oslo"}}


def writing(key: str) -> Any:
    """A callback that writes state."""

    def write(*args: Any) -> None:
        next(arg for arg in args if hasattr(arg, "state")).state[key] = 1

    return write


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize(
    ("hook", "where"),
    [
        ("before_agent_callback", [""]),
        ("after_agent_callback", [""]),
        ("before_model_callback", ["call(tool)", "Done."]),
        ("after_model_callback", ["call(tool)", "Done."]),
        ("before_tool_callback", ["tool={'result': 'done'}"]),
        ("after_tool_callback", ["tool={'result': 'done'}"]),
    ],
)
def test_state(hook: str, where: list[str], kind: str) -> None:
    """What a callback writes to the state is in the delta of the event that it is called for, and of no other: a model
    callback's in that model call's, a tool callback's in the response's, an agent callback's in one of its own."""
    hooked = Hooked(hook, **{hook: form(kind, writing("k"))})
    events = run(hooked).events
    assert shown([event for event in events if event.actions.state_delta == {"k": 1}]) == where
    assert all(event.actions.state_delta in ({}, {"k": 1}) for event in events)
    expected = {"before_agent_callback": ["", *WHOLE], "after_agent_callback": [*WHOLE, ""]}.get(hook, WHOLE)
    assert shown(events) == expected


@pytest.mark.parametrize("hook", ["on_model_error_callback", "on_tool_error_callback"])
def test_state_of_error_hooks(hook: str) -> None:
    """What an error hook writes is in the delta of the event that holds its answer."""
    callbacks = [writing("k"), lambda *args: AGENT_CASES[hook].answer]
    events = run(Hooked(hook, **{hook: callbacks})).events
    with_state = [event for event in events if event.actions.state_delta == {"k": 1}]
    assert shown(with_state) == [next(one for one in AGENT_CASES[hook].shown if one not in WHOLE)]


def test_state_is_seen_by_the_next() -> None:
    """A callback sees what the one before it in the list wrote, and what earlier events of the run have stored."""
    seen: list[Any] = []

    def look(*args: Any) -> None:
        seen.append(next(arg for arg in args if hasattr(arg, "state")).state.get("k"))

    run(Hooked("", before_agent_callback=[writing("k"), look], before_tool_callback=look, after_agent_callback=look))
    assert seen == [1, 1, 1]


def test_partials_carry_the_state() -> None:
    """A model callback's state is in every event of its call, also in the partial ones."""
    model = ScriptedModel(["a ", "b"])
    runner = runner_of(model, before_model_callback=writing("k"))
    events: list[Event] = Consumer().of(runner.run_async(USER, "s", "Hi", SSE)).wait().events
    assert [event.actions.state_delta for event in events] == [{"k": 1}] * 3
    assert runner.session_service.get_session("app", USER, "s").state == {"k": 1}  # type: ignore[union-attr]
