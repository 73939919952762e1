"""A session's log as AG-UI messages."""

from __future__ import annotations

from ag_ui.core import AssistantMessage, FunctionCall, Message, ToolCall, ToolMessage, UserMessage

from rxagent import LlmAgent, Runner
from rxagent.events import Content, Event, Part
from rxagent.serve.agui_messages import content_of, dangling_calls, messages_of, said_ids
from rxagent.sessions import Session
from rxagent.testing import ScriptedModel, call


def look_up(city: str) -> str:
    """Look it up."""
    return f"{city} is far"


def log() -> list[Event]:
    model = ScriptedModel(["Let me see.", call("look_up", city="Oslo")], "Far.")
    with Runner(LlmAgent(name="a", model=model, tools=[look_up])) as runner:
        list(runner.run("me", "s1", "Where?"))
        session = runner.session_service.get_session("a", "me", "s1")
        assert isinstance(session, Session)
        return list(session.events)


def test_a_log_is_a_conversation() -> None:
    """User, assistant with its call, tool, assistant; ids are the events', or those that were streamed."""
    events = log()
    user, asks, result, answer = messages_of(events, {events[3].id: "streamed"})
    assert (user.role, user.content) == ("user", "Where?")
    assert isinstance(asks, AssistantMessage)
    assert asks.tool_calls is not None
    assert asks.tool_calls[0].function.arguments == '{"city": "Oslo"}'
    assert isinstance(result, ToolMessage)
    assert result.tool_call_id == asks.tool_calls[0].id
    assert (answer.id, answer.content) == ("streamed", "Far.")


def test_what_the_user_said_keeps_the_clients_ids() -> None:
    """By its words, in order; the same words twice are two messages."""
    events = [Event(id=f"e{at}", author="user", content=Content.user(text)) for at, text in enumerate(["a", "b", "a"])]
    messages: list[Message] = [UserMessage(id=f"m{at}", content=text) for at, text in enumerate(["a", "a"])]
    assert said_ids(events, messages) == {"e0": "m0", "e2": "m1"}


def test_results_that_the_client_has_told_keep_id_and_words() -> None:
    """So that its messages are the same after a snapshot."""
    part = Part.model_validate({"functionResponse": {"id": "c1", "name": "paint", "response": {"result": "done"}}})
    asks = Part.model_validate({"functionCall": {"id": "c1", "name": "paint"}})
    events = [
        Event(
            id="e1", author="a", content=Content(role="model", parts=(asks,)), long_running_tool_ids=frozenset({"c1"})
        ),
        Event(id="e2", author="user", content=Content(role="user", parts=(part,))),
    ]
    told: list[Message] = [ToolMessage(id="t1", content="done", tool_call_id="c1")]
    assert messages_of(events, said_ids(events, told))[-1] == told[0]


def test_calls_without_a_result_are_found() -> None:
    """What a client has seen begin and not end."""
    calls = [ToolCall(id=one, function=FunctionCall(name="f", arguments="{}")) for one in ("c1", "c2")]
    messages: list[Message] = [
        AssistantMessage(id="m1", tool_calls=calls),
        ToolMessage(id="m2", content="x", tool_call_id="c1"),
    ]
    assert dangling_calls(messages) == {"c2"}


def test_parts_of_a_message() -> None:
    """Texts and inline data; an address is left out."""
    image = {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}}
    elsewhere = {"type": "image", "source": {"type": "url", "value": "https://example.com/a.png"}}
    content = [{"type": "text", "text": "See"}, image, elsewhere]
    message = UserMessage.model_validate({"id": "m", "role": "user", "content": content})
    first, second = content_of(message).parts or ()
    assert first == Part(text="See")
    assert second.inline_data is not None
    assert second.inline_data.mime_type == "image/png"
