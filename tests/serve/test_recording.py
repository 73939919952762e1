"""What the models of a server were asked and answered."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent import LlmAgent, Runner
from rxagent.errors import ModelError
from rxagent.events import Content, Part
from rxagent.invocation import CallbackContext
from rxagent.models import LlmRequest, LlmResponse
from rxagent.serve.recording import ModelCalls
from rxagent.testing import ScriptedModel, call


def look_up(city: str) -> dict[str, Any]:
    """Look a city up."""
    return {"city": city}


def test_each_call_is_kept_with_the_events_that_it_became() -> None:
    """Request, tools, answer, times, and the ids of the events; partial ones are not among them."""
    calls = ModelCalls()
    model = ScriptedModel([call("look_up", city="Oslo")], ["It is ", "far."])
    with Runner(LlmAgent(name="a", model=model, tools=[look_up]), plugins=[calls]) as runner:
        events = list(runner.run("me", "s1", "Where is Oslo?"))
    first, second = (one.as_json() for one in calls.of_invocation(events[0].invocation_id or ""))
    assert [first["events"], second["events"]] == [[events[0].id], [events[-1].id]]
    assert first["request"]["contents"][0]["parts"] == [{"text": "Where is Oslo?"}]
    assert first["request"]["tools"][0]["name"] == "look_up"
    assert second["response"]["content"]["parts"] == [{"text": "It is far."}]
    assert 0 <= second["firstMs"] <= second["tookMs"]


def test_the_request_is_kept_as_it_was_sent() -> None:
    """What the agent's callbacks change in it is in it."""

    def change(_: CallbackContext, request: LlmRequest) -> None:
        request.system_instruction = "Be brief."

    calls = ModelCalls()
    agent = LlmAgent(name="a", model=ScriptedModel("Yes."), before_model_callback=change)
    with Runner(agent, plugins=[calls]) as runner:
        (event,) = runner.run("me", "s1", "Hi")
    (kept,) = calls.of_invocation(event.invocation_id or "")
    assert kept.as_json()["request"]["systemInstruction"] == "Be brief."


def test_what_a_callback_says_is_no_model_call() -> None:
    """Nothing was asked, so nothing is kept."""
    calls = ModelCalls()
    instead = LlmResponse(content=Content.model("No."))
    agent = LlmAgent(name="a", model=ScriptedModel("Yes."), before_model_callback=lambda ctx, request: instead)
    with Runner(agent, plugins=[calls]) as runner:
        (event,) = runner.run("me", "s1", "Hi")
    assert calls.of_invocation(event.invocation_id or "") == []


def test_a_failed_call_is_kept_with_its_error() -> None:
    """The request that the model's server did not like is what one wants to see."""
    calls = ModelCalls()
    with Runner(LlmAgent(name="a", model=ScriptedModel(ModelError("too hot"))), plugins=[calls]) as runner:
        run = runner.start("me", "s1", "Hi")
        run.wait(10)
    (kept,) = calls.of_invocation(run.invocation_id)
    assert kept.as_json()["error"] == "ModelError: too hot"
    assert kept.as_json()["request"]["contents"][0]["parts"] == [{"text": "Hi"}]


@pytest.mark.parametrize(("text", "most"), [("Hi", 100), ("x" * (1 << 20), 4)])
def test_only_the_latest_are_kept(text: str, most: int) -> None:
    """At most a hundred calls, and fewer when they are large."""
    calls = ModelCalls()
    model = ScriptedModel("Yes.", repeat_last=True)
    with Runner(LlmAgent(name="a", model=model, include_contents="none"), plugins=[calls]) as runner:
        ids = []
        for number in range(most + 5):
            message = Content(role="user", parts=(Part(text=text),))
            ids += [event.invocation_id or "" for event in runner.run("me", f"s{number}", message)]
    kept = [bool(calls.of_invocation(one)) for one in ids]
    assert kept[-1]
    assert 0 < sum(kept) <= most
    assert kept == sorted(kept)
    assert not calls._open
    assert not calls._owed
