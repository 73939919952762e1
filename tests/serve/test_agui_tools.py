"""Tools and context of AG-UI clients, over sockets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Context, Tool

from rxagent import App, LlmAgent, ResumabilityConfig, Runner, SequentialAgent
from rxagent.serve.agui_routes import agui_routes
from rxagent.testing import ScriptedModel, call

from .agui_agent import agent
from .served import Client, child, served
from .test_agui_routes import body, told

AGENT = Path(__file__).with_name("agui_agent.py")
PAINT = Tool(name="paint", description="Paint it.", parameters={"type": "object", "properties": {"colour": {}}})


@pytest.fixture(scope="module", params=["resumable", "not resumable"])
def server(request: pytest.FixtureRequest) -> Iterator[Client]:
    """`rxagent serve`, whose apps are resumable, and an app that is not."""
    with ExitStack() as stack:
        if request.param == "resumable":
            yield stack.enter_context(child(AGENT))
        else:
            yield stack.enter_context(served(Runner(agent, app_name="rxagent"), more=(agui_routes,)))


class Conversation:
    """A client that keeps its messages, as AG-UI's own do."""

    def __init__(self, server: Client, thread: str) -> None:
        self.server, self.thread = server, thread
        self.messages: list[dict[str, Any]] = []

    def say(self, text: str) -> None:
        self.messages.append({"id": f"m{len(self.messages)}", "role": "user", "content": text})

    def answer(self, call_id: str, content: Any, **more: Any) -> None:
        entry = {"id": f"t{len(self.messages)}", "role": "tool", "toolCallId": call_id, "content": content, **more}
        self.messages.append(entry)

    def run(self, tools: Any = (PAINT,), **more: Any) -> list[Any]:
        asked = {**body(self.thread, tools=list(tools), **more), "messages": self.messages}
        with self.server.open("POST", "/agui", asked) as stream:
            assert stream.status == 200, stream.response.read()
            events = list(told(stream))
        assert events[-1].type == "RUN_FINISHED", events[-1]
        for event in events:
            if event.type == "TOOL_CALL_START":
                made = {"id": event.tool_call_id, "function": {"name": event.tool_call_name, "arguments": "{}"}}
                self.messages.append({"id": f"c{len(self.messages)}", "role": "assistant", "toolCalls": [made]})
            elif event.type == "TOOL_CALL_RESULT":
                self.answer(event.tool_call_id, event.content)
        return events

    def spoken(self, events: list[Any]) -> str:
        return "".join(event.delta for event in events if event.type == "TEXT_MESSAGE_CONTENT")

    def log(self) -> list[Any]:
        events: list[Any] = self.server.session(self.thread, app="rxagent")["events"]
        return events


def kinds(events: list[Any]) -> list[str]:
    return [event.type.value for event in events]


@pytest.fixture
def talk(server: Client, request: pytest.FixtureRequest) -> Conversation:
    return Conversation(server, request.node.name.replace(" ", "-"))


def test_a_call_of_the_clients_tool_ends_the_run_and_its_message_goes_on(talk: Conversation) -> None:
    """The run succeeds, names the call and gives it no result; the client's message answers it in the log."""
    talk.say("paint it")
    first = talk.run()
    assert kinds(first)[-4:] == ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "RUN_FINISHED"]
    (call_id,) = first[-1].outcome.pending_tool_call_ids
    assert first[-1].outcome.type == "success"
    talk.answer(call_id, '{"painted": true}')
    second = talk.run()
    assert "TOOL_CALL_RESULT" not in kinds(second)
    assert talk.spoken(second) == " [{'painted': True}]"
    assert second[-1].outcome.pending_tool_call_ids is None
    (response,) = [part["functionResponse"] for event in talk.log() for part in parts(event, "functionResponse")]
    assert (response["id"], response["name"], response["response"]) == (call_id, "paint", {"painted": True})


def parts(event: Any, kind: str) -> list[Any]:
    return [part for part in (event.get("content") or {}).get("parts", ()) if kind in part]


def test_a_tool_of_the_agents_beside_it_is_run_and_the_model_not_asked_again(talk: Conversation) -> None:
    """The model is asked when both have their results."""
    talk.say("both please")
    first = talk.run()
    assert kinds(first).count("TOOL_CALL_RESULT") == 1
    assert talk.spoken(first) == ""
    (call_id,) = first[-1].outcome.pending_tool_call_ids
    talk.answer(call_id, "done")
    assert talk.spoken(talk.run()) == " [{'result': 'a wall'}, {'result': 'done'}]"


def test_results_and_a_new_message_come_together(talk: Conversation) -> None:
    """A client that does not go on at once sends the result with what its user says next."""
    talk.say("paint it")
    (call_id,) = talk.run()[-1].outcome.pending_tool_call_ids
    talk.answer(call_id, "no paint left", error="empty")
    talk.say("thanks")
    assert talk.spoken(talk.run()) == "thanks [{'result': 'no paint left', 'error': 'empty'}]"


def test_parts_of_a_result_that_are_no_text_are_left_out(talk: Conversation) -> None:
    """The call is answered all the same."""
    talk.say("paint it")
    (call_id,) = talk.run()[-1].outcome.pending_tool_call_ids
    image = {"type": "image", "source": {"type": "url", "value": "https://example.com/a.png"}}
    talk.answer(call_id, [{"type": "text", "text": "see"}, image])
    assert talk.spoken(talk.run()) == " [{'result': 'see'}]"


def test_an_interrupt_beside_it_is_one(talk: Conversation) -> None:
    """The agent's own long-running tool asks; the next run brings its answer, and the result of the client's tool."""
    talk.say("ask them")
    (interrupt,) = (outcome := talk.run()[-1].outcome).interrupts
    assert (outcome.type, interrupt.metadata["name"]) == ("interrupt", "ask")
    (call_id,) = [one["toolCalls"][0]["id"] for one in talk.messages if one.get("toolCalls")][:1]
    talk.answer(call_id, "done")
    entry = {"interruptId": interrupt.id, "status": "resolved", "payload": {"said": "yes"}}
    events = talk.run(resume=[entry])
    assert [one.content for one in events if one.type == "TOOL_CALL_RESULT"] == ['{"said": "yes"}']
    assert talk.spoken(events) == " [{'result': 'done'}, {'said': 'yes'}]"


def test_a_name_that_the_agent_has_stays_with_its_tool(talk: Conversation) -> None:
    """The client is told the result; its own tools stand behind the agent's."""
    theirs = Tool(name="look", description="Not this one.")
    talk.say("look there")
    events = talk.run([theirs, PAINT])
    assert [one.content for one in events if one.type == "TOOL_CALL_RESULT"] == ['{"result": "a wall"}']
    talk.say("tools")
    assert talk.spoken(talk.run([theirs, PAINT])) == "look ask export paint"


def test_a_tool_is_there_for_its_run_alone(talk: Conversation) -> None:
    """The next request does not offer it."""
    talk.say("tools")
    assert talk.spoken(talk.run()) == "look ask export paint"
    talk.say("tools")
    assert talk.spoken(talk.run([])) == "look ask export"


def test_the_agents_behind_the_one_that_called_go_on_with_the_answer() -> None:
    """In a sequence of a resumable app."""
    one = LlmAgent(name="one", model=ScriptedModel(call("paint"), "One is done."))
    two = LlmAgent(name="two", model=ScriptedModel("Two is done."))
    team = SequentialAgent(name="team", sub_agents=[one, two])
    app = App("rxagent", root_agent=team, resumability_config=ResumabilityConfig(resumable=True))
    with served(Runner(app=app), more=(agui_routes,)) as server:
        talk = Conversation(server, "team")
        talk.say("go")
        (call_id,) = talk.run()[-1].outcome.pending_tool_call_ids
        talk.answer(call_id, "done")
        assert talk.spoken(talk.run()) == "One is done.Two is done."


def test_context_is_told_to_the_model_and_not_stored(talk: Conversation) -> None:
    """Behind the agent's own instructions, as it is; a run without it has none."""
    entries = [Context(description="The page", value="{orders}"), Context(description="The user", value="Ada\nadmin")]
    talk.say("context")
    said = talk.spoken(talk.run(context=entries))
    assert said.endswith("Context from the user's application:\n\nThe page:\n{orders}\n\nThe user:\nAda\nadmin")
    log = talk.server.session(talk.thread, app="rxagent")
    talk.say("context")
    assert "application" not in talk.spoken(talk.run())
    assert log["state"] == {}
    assert not any(event["actions"]["stateDelta"] for event in log["events"])
    assert [one["text"] for one in parts(log["events"][0], "text")] == ["context"]


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ([{"name": "p q", "description": ""}], "no name for a tool"),
        ([{"name": "adk_request_confirmation", "description": ""}], "questions"),
        ([{"name": "p", "description": "", "parameters": "any"}], "schema"),
        ([{"name": "p", "description": ""}, {"name": "p", "description": ""}], "twice"),
    ],
)
def test_what_is_no_tool_is_refused(server: Client, tools: Any, words: str) -> None:
    """With a status, before the run."""
    answer = server.ask("POST", "/agui", {**body("refused", "hello"), "tools": tools})
    assert answer.status == 422
    assert words in answer.json["detail"]
