"""Chunks to responses: text, reasoning, and what else servers send, known and unknown."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent.errors import ModelAnswerError, ModelProtocolError, ModelStreamTruncatedError
from rxagent.events import Content, Event, Part
from rxagent.models.wire_stream import AnswerAssembly

from .wire_words import DONE, calls, chunk, fragment, run


def said(*payloads: Any) -> list[tuple[str | None, bool | None]]:
    """The texts of the final response, and which of them are thoughts."""
    content = run(*payloads)[-1].content
    assert content is not None
    return [(part.text, part.thought) for part in content.parts or () if part.text]


def test_text() -> None:
    """Each text delta is a partial response; the final one has it all, with finish reason, usage and model."""
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 1}}
    a, b, final = run(
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "Hel"}, model="m-1"),
        chunk({"content": "lo"}),
        chunk({}, "stop"),
        {"choices": [], "usage": usage},  # after the finish
        DONE,
    )
    assert [(part.partial, part.text) for part in (a, b, final)] == [(True, "Hel"), (True, "lo"), (None, "Hello")]
    assert (final.finish_reason, final.model_version) == ("STOP", "m-1")
    counts = final.usage_metadata
    assert counts is not None
    assert (counts.prompt_token_count, counts.candidates_token_count, counts.total_token_count) == (3, 2, 5)
    assert counts.thoughts_token_count == 1


def test_a_partial_response_is_as_any_other() -> None:
    """A partial response, which is copied from a blank one, equals and dumps as one that was built."""
    partial, _ = run(chunk({"content": "a", "reasoning": "hm"}), DONE)
    built = Content(role="model", parts=(Part(text="hm", thought=True), Part(text="a")))
    assert partial.content == built
    assert partial.model_dump(by_alias=True) == {"content": built.model_dump(by_alias=True), "partial": True}
    assert type(partial).model_validate_json(partial.model_dump_json(by_alias=True)) == partial


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning_content": "hm"},
        {"reasoning": "hm"},
        {"reasoning": "hm", "reasoning_content": "hm"},
        {"reasoning_content": None, "reasoning": "hm"},
        {"thinking": "hm", "content": None},
        {"reasoning": {"text": "hm"}},
        {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {"reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
        {"content": "hm", "extra_content": {"google": {"thought": True}}},
    ],
)
def test_reasoning(delta: dict[str, Any]) -> None:
    """Reasoning, whatever its field, becomes a thought part, apart from the text; alone it is no empty answer."""
    partial, final = run(chunk(delta), chunk({}, "stop"))
    assert (partial.text, final.text, final.error_code) == ("", "", None)
    assert said(chunk(delta), chunk({}, "stop")) == [("hm", True)]
    assert said(chunk(delta), chunk({"content": "so"}), chunk({}, "stop")) == [("hm", True), ("so", None)]


@pytest.mark.parametrize(
    "choice",
    [
        {"message": {"content": "so", "reasoning_content": "hm"}},
        {"delta": {}, "message": {"content": "so", "reasoning_content": "hm"}},
        {"delta": {"content": "so", "reasoning_content": "hm"}, "message": {"content": "so"}},
        {"delta": {"content": [{"type": "text", "text": "so"}], "reasoning": "hm"}},
        {"delta": {"content": {"type": "text", "text": "so"}, "reasoning": "hm"}},
        {"delta": {"content": None, "refusal": "so", "reasoning": "hm"}},
    ],
)
def test_forms_of_text(choice: dict[str, Any]) -> None:
    """A message for a delta, content in pieces, and a refusal are text."""
    assert said({"choices": [choice]}, DONE) == [("hm", True), ("so", None)]


def test_a_message_that_repeats_the_deltas() -> None:
    """A whole message at the end of a stream is not taken twice; text that it alone has is taken."""
    whole = {"choices": [{"message": {"content": "so", "reasoning": "hm"}, "finish_reason": "stop"}]}
    assert said(chunk({"reasoning": "hm"}), chunk({"content": "so"}), whole) == [("hm", True), ("so", None)]
    assert said(chunk({"reasoning": "hm"}), whole) == [("hm", True), ("so", None)]


@pytest.mark.parametrize(
    "delta",
    [
        {"role": None, "content": None},
        {"role": "", "content": "", "tool_calls": None, "function_call": None},
        {"content": None, "reasoning_content": None, "refusal": None, "audio": None},
        {"content": 3, "tool_calls": []},
        None,
    ],
)
def test_nulls(delta: Any) -> None:
    """Null, empty and odd fields make no text and no partial response, before, between and after."""
    nothing = {"choices": [{"index": 0, "delta": delta, "finish_reason": None, "logprobs": None}], "usage": None}
    last = {"choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}], "error": None}
    responses = run(nothing, chunk({"content": "a"}), nothing, last)
    assert [response.text for response in responses] == ["a", "a"]


def test_the_last_token_beside_the_finish() -> None:
    """The last token may share the chunk with the finish, and the word may be absent before."""
    for finish, reason in (("length", "MAX_TOKENS"), ("stop", "STOP"), ("content_filter", "SAFETY")):
        _, final = run({"choices": [{"delta": {"content": "!"}, "finish_reason": finish}]})
        assert (final.text, final.finish_reason) == ("!", reason)


def test_the_choice_that_came_first() -> None:
    """Another choice is not mixed in; the one that is read need not be number 0."""
    for ours, others in ((0, 1), (1, 0), (2, 3)):
        both = [{"index": ours, "delta": {"content": "a"}}, {"index": others, "delta": {"content": "b"}}]
        other = {"index": others, "delta": {"content": "c"}, "finish_reason": "length"}
        end: dict[str, Any] = {"index": None, "delta": {}, "finish_reason": "stop"}
        final = run({"choices": both}, {"choices": [other]}, {"choices": [end]})[-1]
        assert (final.text, final.finish_reason) == ("a", "STOP")


def test_an_end_without_finish() -> None:
    """An end without finish_reason and `[DONE]` is truncated; either of them makes it an end."""
    with pytest.raises(ModelStreamTruncatedError) as caught:
        run(chunk({"content": "Hel"}), chunk({"content": "lo"}))
    assert caught.value.text == "Hello"
    assert run(chunk({"content": "a"}), DONE)[-1].finish_reason == "STOP"
    assert run(chunk({"content": "a"}, "stop"))[-1].text == "a"


def test_an_event_named_error() -> None:
    """An event named `error` is one, with or without an `error` key, in JSON or in words; other names are not."""
    for data in ('{"message": "boom"}', '{"error": {"message": "boom"}}', "boom", '"boom"', '["boom"]'):
        with pytest.raises(ModelAnswerError, match="boom"):
            AnswerAssembly().add_data(data.encode(), "error")
    assert AnswerAssembly().add_data(b"boom", "ping") is None


@pytest.mark.parametrize("data", ['{"choices": [', "Internal Server Error", '{"a": 1} x', "[" * 100_000, '"\\ud83'])
def test_a_chunk_that_is_no_json(data: str) -> None:
    """Data that is no JSON is a protocol error: what it said would be lost."""
    with pytest.raises(ModelProtocolError, match="no JSON"):
        run(chunk({"content": "a"}), data)


# -- what is unknown ---------------------------------------------------------------------------------------------------


def parts_after_storing(*payloads: Any) -> tuple[Part, ...]:
    """The final response's parts, as an event that was stored and read again has them."""
    event = Event(author="a", content=run(*payloads)[-1].content)
    content = Event.model_validate_json(event.model_dump_json(by_alias=True)).content
    assert content is not None
    assert content == event.content
    return content.parts or ()


def test_what_comes_with_a_call_stays_with_it() -> None:
    """Unknown fields of a call, thought signatures above all, are kept with that call, through the database."""
    signed = {"google": {"thought_signature": "sig"}}
    first, second = parts_after_storing(
        calls(fragment(0, "a", "f", "{", extra_content=signed), fragment(1, "b", "g", "{}", x_note=[1, {"y": None}])),
        calls(fragment(0, args="}", x_late=True)),
        chunk({}, "stop"),
    )
    assert first.thought_signature == "sig"
    assert first.model_extra == {"wire_extra": {"extra_content": signed, "x_late": True}}
    assert second.model_extra == {"wire_extra": {"x_note": [1, {"y": None}]}}


def test_what_comes_with_a_message_stays_with_its_reasoning() -> None:
    """Unknown fields of a message are kept on its thought part: lists grow, other values are replaced."""
    details = [{"type": "reasoning.text", "text": "hm"}, {"type": "reasoning.encrypted", "data": "xyz"}]
    thought, text = parts_after_storing(
        chunk({"reasoning_details": details[:1], "x_state": 1, "x_null": None}),
        chunk({"content": "so", "reasoning_details": details[1:], "x_state": 2}),
        chunk({"extra_content": {"google": {"thought_signature": "sig"}}}, "stop"),
    )
    extra = {"reasoning_details": details, "x_state": 2, "extra_content": {"google": {"thought_signature": "sig"}}}
    assert thought.model_extra == {"wire_extra": extra}
    assert (thought.text, thought.thought, text.text, text.thought_signature) == ("hm", True, "so", "sig")


def test_what_is_unknown_makes_no_answer() -> None:
    """Unknown fields alone are no answer; beside a text without reasoning they make a thought without words."""
    assert run(chunk({"x": 1}), chunk({}, "stop"))[-1].error_code == "EMPTY_ANSWER"
    thought, text = parts_after_storing(chunk({"content": "so", "x": 1}, "stop"))
    assert (thought.text, thought.thought, text.text) == ("", True, "so")
