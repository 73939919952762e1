"""ScriptedModel plays what its script says."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from queue import SimpleQueue

import pytest
from reactivex import operators as ops

from rxagent.events.content import Content, FunctionCall, Part
from rxagent.models.request import LlmRequest
from rxagent.models.response import LlmResponse
from rxagent.streams.blocking import pull
from rxagent.streams.scope import CancelScope, Stopped
from rxagent.testing.scripted_model import Item, ScriptedModel, call, gate, pause, thought, usage


def play(model: ScriptedModel, *, stream: bool = False, texts: Sequence[str] = ("hi",)) -> list[LlmResponse]:
    request = LlmRequest([Content.user(text) for text in texts])
    return list(pull(model.generate_content(request, stream), CancelScope()))


def test_streaming_gives_each_text_as_a_partial_and_then_the_whole() -> None:
    """Texts are partials when streaming; the one final response holds them joined."""
    *partials, last = play(ScriptedModel(["It is ", "21."]), stream=True)
    assert [(one.text, one.partial) for one in partials] == [("It is ", True), ("21.", True)]
    assert (last.text, last.partial, last.finish_reason) == ("It is 21.", None, "STOP")
    assert last.content is not None
    assert last.content.parts == (Part(text="It is 21."),)


def test_without_streaming_only_the_final_response() -> None:
    """Without streaming a turn yields one response."""
    assert [one.text for one in play(ScriptedModel(["It is ", "21."]))] == ["It is 21."]


def test_thoughts_calls_and_usage_stand_in_the_final_response_in_order() -> None:
    """Every part of a turn stands in its final response, thoughts apart from words, usage beside them."""
    turn: list[Item] = [
        thought("hm "),
        thought("ok"),
        "Let me look.",
        call("look", url="u"),
        call.with_id("c7", "look", id=3),
    ]
    *partials, last = play(ScriptedModel([*turn, usage(10, 5)]), stream=True)
    assert [one.content.parts[0].thought for one in partials if one.content and one.content.parts] == [True, True, None]
    assert last.content is not None
    assert last.content.parts == (
        Part(text="hm ok", thought=True),
        Part(text="Let me look."),
        Part(function_call=FunctionCall(name="look", args={"url": "u"})),
        Part(function_call=FunctionCall(id="c7", name="look", args={"id": 3})),
    )
    assert last.usage_metadata is not None
    assert last.usage_metadata.total_token_count == 15


def test_responses_are_yielded_as_they_are() -> None:
    """A turn of LlmResponses yields them and nothing more; an empty turn yields nothing."""
    given = [LlmResponse(content=Content.model("a"), partial=True), LlmResponse(content=Content.model("a"))]
    model = ScriptedModel(given, [])
    assert play(model) == given
    assert play(model) == []


def test_an_exception_is_raised_where_it_stands() -> None:
    """What came before the exception is delivered, nothing after it, and no final response."""
    model = ScriptedModel(["half", ValueError("broken"), "rest"])
    got: list[LlmResponse] = []
    with pytest.raises(ValueError, match="broken"):
        got.extend(one for one in iter_into(model, got))
    assert [one.text for one in got] == ["half"]
    assert model.calls[0].state == "failed"


def iter_into(model: ScriptedModel, got: list[LlmResponse]) -> list[LlmResponse]:
    for one in pull(model.generate_content(LlmRequest(), True), CancelScope()):
        got.append(one)
    return []


def test_a_call_beyond_the_script_says_so() -> None:
    """A call beyond the script is an AssertionError that names the turn and the request's end."""
    model = ScriptedModel("one")
    play(model)
    with pytest.raises(AssertionError, match=r"turn 2, but its script has 1.*and now\?"):
        play(model, texts=["hi", "and now?"])


def test_repeat_last_plays_the_last_turn_for_ever() -> None:
    """With repeat_last the last turn answers every further call."""
    model = ScriptedModel("one", "two", repeat_last=True)
    assert [play(model)[0].text for _ in range(4)] == ["one", "two", "two", "two"]


def test_requests_are_snapshots() -> None:
    """A recorded request does not change when the caller goes on with its own."""
    model = ScriptedModel("one")
    request = LlmRequest([Content.user("hi")], system_instruction="Be kind.")
    list(pull(model.generate_content(request, True), CancelScope()))
    request.contents.append(Content.model("one"))
    (asked,) = model.requests
    assert asked.contents == (Content.user("hi"),)
    assert (asked.system_instruction, asked.tools, asked.stream) == ("Be kind.", (), True)


def test_fresh_starts_over() -> None:
    """fresh() plays the same script from its beginning, with nothing recorded."""
    model = ScriptedModel("one")
    play(model)
    again = model.fresh()
    assert again.calls == []
    assert play(again)[0].text == "one"
    assert len(model.calls) == 1


@pytest.mark.parametrize("item", [gate(threading.Event()), pause(60)], ids=["gate", "pause"])
def test_a_stop_leaves_a_pause_and_a_gate(item: object) -> None:
    """A cancel of the call's scope leaves a pause or gate by Stopped, on the thread that waits."""
    entered, left = threading.Event(), SimpleQueue[str]()
    model = ScriptedModel(["a", lambda _: entered.set(), item, "b"])  # type: ignore[list-item]
    scope = CancelScope()

    def read() -> None:
        try:
            for one in pull(model.generate_content(LlmRequest(), True), scope):
                left.put(one.text)
        except Stopped:
            left.put("stopped")

    thread = threading.Thread(target=read)
    thread.start()
    assert entered.wait(5)
    scope.cancel()
    thread.join(5)
    assert [left.get(timeout=1), left.get(timeout=1)] == ["a", "stopped"]
    assert model.calls[0].state == "stopped"


def test_a_gate_opens() -> None:
    """The script goes on when the gate's event is set."""
    event = threading.Event()
    model = ScriptedModel(["a", lambda _: event.set(), gate(event), "b"])
    assert [one.text for one in play(model)] == ["ab"]


def test_leaving_the_stream_stops_the_call() -> None:
    """A consumer that takes one partial and leaves has stopped the call."""
    model = ScriptedModel(["a", "b", pause(60)])
    first = model.generate_content(LlmRequest(), True).pipe(ops.first()).run()
    assert first.text == "a"


def test_many_callers_share_the_script() -> None:
    """Simultaneous calls take different turns, each exactly once."""
    model = ScriptedModel(*[str(number) for number in range(40)])
    start, texts = threading.Barrier(8), SimpleQueue[str]()

    def ask() -> None:
        start.wait(5)
        for _ in range(5):
            texts.put(play(model)[0].text)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert sorted(int(texts.get(timeout=1)) for _ in range(40)) == list(range(40))


@pytest.mark.parametrize("item", [7, ValueError, None])
def test_what_is_no_item_is_refused_when_the_script_is_made(item: object) -> None:
    """A script with an unknown item fails at construction, with the turn's number."""
    with pytest.raises(TypeError, match="turn 2 of the script"):
        ScriptedModel("fine", [item])  # type: ignore[list-item]


def test_by_history_the_request_chooses_the_turn() -> None:
    """With by_history a model that comes to a conversation in its middle goes on in the middle of its script."""
    model = ScriptedModel("one", "two", by_history=True)
    spoken = [Content.user("a"), Content.model("one"), Content.user("b")]
    for contents, text in [(spoken, "two"), (spoken[:1], "one"), (spoken, "two")]:
        [response] = pull(model.fresh().generate_content(LlmRequest(contents), False), CancelScope())
        assert response.content is not None
        assert response.content.text == text
