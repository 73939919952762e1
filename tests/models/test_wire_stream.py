"""Chunks to responses: what servers send, well and badly, and what comes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rxagent.errors import ModelAnswerError, ModelProtocolError, ModelStreamTruncatedError
from rxagent.models import LlmResponse
from rxagent.models.wire_stream import AnswerAssembly


def chunk(delta: Any = None, finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """A chunk with one choice."""
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **fields}


def calls(*entries: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """A chunk with call fragments."""
    return chunk({"tool_calls": list(entries)}, finish)


def fragment(index: int | None = None, id: str | None = None, name: str | None = None, args: Any = None) -> Any:
    """A call fragment; what is None is left out."""
    function = {key: value for key, value in (("name", name), ("arguments", args)) if value is not None}
    fields = {key: value for key, value in (("index", index), ("id", id)) if value is not None}
    return {**fields, "function": function}


def run(*payloads: Any) -> list[LlmResponse]:
    """The partial responses and the final one."""
    answer = AnswerAssembly()
    partials = [answer.add_data(item if isinstance(item, str) else json.dumps(item)) for item in payloads]
    return [*(partial for partial in partials if partial is not None), answer.final()]


def called(*payloads: Any) -> list[tuple[str | None, str | None, Any]]:
    """Id, name and arguments of the calls in the final response."""
    content = run(*payloads)[-1].content
    assert content is not None
    found = [part.function_call for part in content.parts or () if part.function_call is not None]
    return [(call.id, call.name, call.args) for call in found]


def test_text() -> None:
    """Each text delta is a partial response; the final one has it all, with finish reason, usage and model."""
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 1}}
    a, b, final = run(
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "Hel"}, model="m-1"),
        chunk({"content": "lo"}),
        chunk({}, "stop"),
        {"choices": [], "usage": usage},  # after the finish
        "[DONE]",
    )
    assert [(part.partial, part.text) for part in (a, b, final)] == [(True, "Hel"), (True, "lo"), (None, "Hello")]
    assert (final.finish_reason, final.model_version) == ("STOP", "m-1")
    counts = final.usage_metadata
    assert counts is not None
    assert (counts.prompt_token_count, counts.candidates_token_count, counts.total_token_count) == (3, 2, 5)
    assert counts.thoughts_token_count == 1


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning(key: str) -> None:
    """Reasoning becomes a thought part, apart from the text; alone it is no empty answer."""
    partial, final = run(chunk({key: "hm"}), chunk({}, "stop"))
    assert partial.content is not None
    assert final.content is not None
    for response in (partial, final):
        assert [(part.text, part.thought) for part in (response.content.parts or ())] == [("hm", True)]  # type: ignore[union-attr]
        assert response.text == ""


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", "STOP"),
        ("eos", "STOP"),
        ("tool_calls", "MALFORMED_FUNCTION_CALL"),  # there is no call
        ("function_call", "MALFORMED_FUNCTION_CALL"),
        ("length", "MAX_TOKENS"),
        ("content_filter", "SAFETY"),
        ("whatever", "OTHER"),
    ],
)
def test_finish_reasons(word: str, reason: str) -> None:
    """The words of the protocol become ADK's; the last token may share the chunk with the finish."""
    partial, final = run(chunk({"content": "!"}, word))
    assert (partial.text, final.text, final.finish_reason) == ("!", "!", reason)


@pytest.mark.parametrize(
    ("payloads", "expected"),
    [
        pytest.param(
            [calls(fragment(0, "a", "f", "")), calls(fragment(0, args='{"x"')), calls(fragment(0, args=": 1}"))],
            [("a", "f", {"x": 1})],
            id="fragments",
        ),
        pytest.param(
            [calls(fragment(0, "a", "f", '{"i":')), calls(fragment(1, "b", "g", "{}")), calls(fragment(0, args="0}"))],
            [("a", "f", {"i": 0}), ("b", "g", {})],
            id="two, interleaved",
        ),
        pytest.param(
            [calls(fragment(None, "a", "f", '{"x":1}')), calls(fragment(None, "b", "f", '{"x":2}'))],
            [("a", "f", {"x": 1}), ("b", "f", {"x": 2})],
            id="no index",
        ),
        pytest.param(
            [calls({"index": None, **fragment(None, "a", "f", '{"x"')}), calls(fragment(args=":1}"))],
            [("a", "f", {"x": 1})],
            id="index null, then neither index nor id",
        ),
        pytest.param(
            [
                calls(fragment(None, "a", None, '{"q":')),
                calls(fragment(None, "a", "search")),
                calls(fragment(None, "a", None, '"x"}')),
            ],
            [("a", "search", {"q": "x"})],
            id="the name comes late",
        ),
        pytest.param(
            [calls(fragment(0, "a", "f", '{"a":'), fragment(0, args="1")), calls(fragment(0, args="}"))],
            [("a", "f", {"a": 1})],
            id="twice the same index in one chunk",
        ),
        pytest.param(
            [calls(fragment(0, "c", "f", piece)) for piece in ("{", '"a"', ":", "1", "}")],
            [("c", "f", {"a": 1})],
            id="id and name in every fragment",
        ),
        pytest.param(
            [
                calls({"index": 0, "function": {"id": "x", "name": "f", "arguments": "{"}}),
                calls(fragment(0, None, "f", "}")),
            ],
            [("x", "f", {})],
            id="id inside of function",
        ),
        pytest.param([calls(fragment(0, "a", "f", {"p": 1}))] * 2, [("a", "f", {"p": 1})], id="arguments as an object"),
        pytest.param([calls(fragment(0, "a", "f"))], [("a", "f", {})], id="no arguments"),
        pytest.param([calls(fragment(0, "a", "f", ""))], [("a", "f", {})], id="empty arguments"),
        pytest.param(
            [calls({"index": 0, "id": "a", "function": {"name": "f", "arguments": None}})],
            [("a", "f", {})],
            id="arguments null",
        ),
        pytest.param(
            [
                calls(fragment(0, "a", "f", '{"a":')),
                calls(fragment(0, "b", None, "1")),
                calls(fragment(0, "c", args="}")),
            ],
            [("a", "f", {"a": 1})],
            id="a fresh id in every fragment",
        ),
        pytest.param(
            [calls(fragment(0, "a", "f", '{"a":1}')), calls(fragment(0, "b", "f", '{"a":2}'))],
            [("a", "f", {"a": 1}), ("b", "f", {"a": 2})],
            id="two whole calls on one index",
        ),
        pytest.param(
            [calls(fragment(0, "a", "f", json.dumps('{"x": 1}')))], [("a", "f", {"x": 1})], id="arguments encoded twice"
        ),
        pytest.param(
            [
                chunk({"function_call": {"name": "f", "arguments": '{"x":'}}),
                chunk({"function_call": {"arguments": "1}"}}),
            ],
            [(None, "f", {"x": 1})],
            id="the form before tool_calls",
        ),
    ],
)
def test_calls(payloads: list[Any], expected: list[tuple[str | None, str, Any]]) -> None:
    """Call fragments, in all the forms that servers send them in, become the calls that were meant."""
    found = called(*payloads, chunk({}, "stop"), "[DONE]")
    assert [(name, args) for _, name, args in found] == [(name, args) for _, name, args in expected]
    assert all(want is None or want == got for (got, *_), (want, *_) in zip(found, expected, strict=True))


def test_ids() -> None:
    """A call without an id, or with one that its answer has used, gets one of its own."""
    found = called(
        calls(fragment(0, "grep:3", "f", '{"a":1}')),
        calls(fragment(1, "grep:3", "f", '{"a":2}')),
        calls(fragment(2, "", "f", '{"a":3}')),
        "[DONE]",
    )
    assert found[0][0] == "grep:3"
    assert [args["a"] for *_, args in found] == [1, 2, 3]
    assert len({call_id for call_id, *_ in found}) == 3
    assert all(call_id for call_id, *_ in found)


@pytest.mark.parametrize("finish", ["tool_calls", "length", None])
def test_half_a_call(finish: str | None) -> None:
    """A call that stops in its arguments is an error with the text so far, whatever the finish says."""
    with pytest.raises(ModelStreamTruncatedError) as caught:
        run(chunk({"content": "I will"}), calls(fragment(0, "a", "f", '{"text":"abc')), chunk({}, finish))
    assert caught.value.text == "I will"


def test_arguments_that_are_no_object() -> None:
    """Arguments that are whole and no object, and a call without a name, are protocol errors."""
    with pytest.raises(ModelProtocolError, match="no JSON object"):
        run(calls(fragment(0, "a", "f", "[1]"), finish="stop"))
    with pytest.raises(ModelProtocolError, match="without a name"):
        run(calls(fragment(0, "a", None, "{}"), finish="stop"))


def test_an_end_without_finish() -> None:
    """An end without finish_reason and `[DONE]` is truncated; either of them makes it an end."""
    with pytest.raises(ModelStreamTruncatedError) as caught:
        run(chunk({"content": "Hel"}), chunk({"content": "lo"}))
    assert caught.value.text == "Hello"
    assert run(chunk({"content": "a"}), "[DONE]")[-1].finish_reason == "STOP"
    assert run(chunk({"content": "a"}, "stop"))[-1].text == "a"


@pytest.mark.parametrize(
    ("payload", "status"),
    [
        ({"choices": [], "error": {"code": 502, "message": "boom"}}, 502),
        ({"error": {"code": "429", "message": "boom"}}, 429),
        ({"error": {"type": "rate_limit_exceeded", "message": "boom"}}, 429),
        ({"error": {"type": "invalid_request_error", "message": "boom"}}, 400),
        ({"error": "boom"}, 500),
        ({"choices": [{"index": 0, "delta": {}, "error": {"message": "boom"}, "finish_reason": "error"}]}, 500),
    ],
)
def test_errors_inside_an_answer(payload: Any, status: int) -> None:
    """An error object inside HTTP 200 is an error with its status, its message and the text so far."""
    with pytest.raises(ModelAnswerError, match="boom") as caught:
        run(chunk({"content": "Hello"}), payload, "[DONE]")
    assert (caught.value.status, caught.value.text) == (status, "Hello")


def test_an_event_named_error() -> None:
    """An event named `error` is one, also without an `error` key."""
    with pytest.raises(ModelAnswerError, match="boom"):
        AnswerAssembly().add_data('{"message": "boom"}', "error")


def test_what_is_skipped() -> None:
    """Chunks that say nothing make no response: prompt filters, null everywhere, keep-alives sent as data."""
    responses = run(
        {"choices": [], "prompt_filter_results": [{}]},
        ": keepalive",
        "",
        "null",
        chunk({"role": None, "content": None}),
        {"choices": [{"delta": {"content": "a"}}], "error": None, "usage": None},
        {"choices": [{"index": 1, "delta": {"content": "other choice"}}]},
        chunk({"role": None, "content": None, "tool_calls": None}, "stop"),
    )
    assert [response.text for response in responses] == ["a", "a"]


@pytest.mark.parametrize(
    ("usages", "total"),
    [
        ([{"prompt_tokens": 1}, {"prompt_tokens": 2}, {"prompt_tokens": 3}], 3),
        ([{"prompt_tokens": 0}, {"prompt_tokens": 0}, {"prompt_tokens": 7}], 7),
    ],
)
def test_usage_in_every_chunk(usages: list[dict[str, int]], total: int) -> None:
    """The last usage counts; they are never added up."""
    final = run(*(chunk({"content": "a"}, usage=usage) for usage in usages), "[DONE]")[-1]
    assert final.usage_metadata is not None
    assert final.usage_metadata.total_token_count == total


def test_usage_in_a_place_of_its_own() -> None:
    """Groq's place for usage is read when the usual one is empty."""
    final = run(chunk({}, "stop", x_groq={"usage": {"prompt_tokens": 2, "completion_tokens": 3}}))[-1]
    assert final.usage_metadata is not None
    assert final.usage_metadata.total_token_count == 5


def test_a_chunk_that_is_no_json() -> None:
    """Data that is no JSON is a protocol error: what it said would be lost."""
    with pytest.raises(ModelProtocolError, match="no JSON"):
        run(chunk({"content": "a"}), '{"choices": [')


def test_a_whole_body() -> None:
    """An answer in one JSON body, from a server that does not stream, is taken as it is."""
    answer = AnswerAssembly()
    message = {"role": "assistant", "content": None, "tool_calls": [fragment(None, "a", "f", "{}")]}
    body = {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 1}}
    answer.add_body(json.dumps(body).encode())
    final = answer.final()
    assert final.content is not None
    assert [part.function_call.name for part in final.content.parts or () if part.function_call] == ["f"]
    for broken in (b'{"choices": []}', b"[]", b"{"):
        with pytest.raises(ModelProtocolError, match="/v1"):
            AnswerAssembly().add_body(broken)


def test_pieces_of_content() -> None:
    """Content as a list of typed pieces gives its text, and its thinking as reasoning."""
    pieces = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "so"}]
    final = run(chunk({"content": pieces}, "stop"))[-1]
    assert final.content is not None
    assert [(part.text, part.thought) for part in final.content.parts or ()] == [("hm", True), ("so", None)]
