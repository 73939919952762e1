"""How answers end: words for it, words that contradict, and no word at all; usage and errors in any place."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent.errors import ModelAnswerError, ModelEmptyAnswerError, ModelStreamTruncatedError
from rxagent.models.wire_finish import Finish

from .wire_words import DONE, called, calls, chunk, fragment, run

TEXT = chunk({"content": "Hello"})
CALL = calls(fragment(0, "a", "f", "{}"))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["stop"], "STOP"),
        (["STOP"], "STOP"),
        (["eos_token"], "STOP"),
        (["max_tokens"], "MAX_TOKENS"),
        (["model_length"], "MAX_TOKENS"),
        (["content_filtered"], "SAFETY"),
        (["no such word"], "OTHER"),
        ([{"type": "length"}], "MAX_TOKENS"),
        (["length", "stop"], "MAX_TOKENS"),
        (["stop", "length"], "MAX_TOKENS"),
        (["tool_calls", "stop"], "STOP"),
        (["stop", "content_filter", "length"], "SAFETY"),
        ([None, "", "null", "stop"], "STOP"),
        ([], "STOP"),
    ],
)
def test_words(words: list[Any], reason: str) -> None:
    """Words of all dialects become ADK's; of two words the one that means trouble counts; no word may be a word."""
    finish = Finish()
    for word in words:
        finish.add(word)
    assert finish.reason == reason
    assert (finish.word is None) == (not words)


@pytest.mark.parametrize("word", ["", "null", "None", None, 0, False, [], {}])
def test_what_is_no_word(word: object) -> None:
    """An empty word, and the word null, say that the answer goes on."""
    with pytest.raises(ModelStreamTruncatedError):
        run(chunk({"content": "a"}, word))


@pytest.mark.parametrize("word", ["tool_calls", "stop", "length", "eos", "what"])
def test_calls_count_not_the_word(word: str) -> None:
    """Complete calls are executed whatever the finish is called, in their chunk or in a later one."""
    assert len(called(CALL, chunk({}, word))) == 1
    assert len(called(calls(fragment(0, "a", "f", "{}"), finish=word))) == 1
    assert len(called(CALL, DONE)) == 1


@pytest.mark.parametrize("word", ["tool_calls", "function_call", "tool_use"])
def test_calls_that_were_announced_and_not_sent(word: str) -> None:
    """A finish that promises calls beside a text says that the call is lost; alone it is an error."""
    assert run(TEXT, chunk({}, word))[-1].finish_reason == "MALFORMED_FUNCTION_CALL"
    with pytest.raises(ModelEmptyAnswerError, match="announced a tool call"):
        run(chunk({"role": "assistant"}), chunk({}, word), DONE)


@pytest.mark.parametrize(
    ("payloads", "code"),
    [
        ([chunk({}, "stop"), DONE], "EMPTY_ANSWER"),
        ([chunk({"role": "assistant", "content": ""}), chunk({"content": None}, "stop")], "EMPTY_ANSWER"),
        ([chunk({"reasoning": ""}), chunk({"tool_calls": []}, "stop"), DONE], "EMPTY_ANSWER"),
        ([chunk({"content": ""}, "length")], "MAX_TOKENS"),
        ([chunk({}, "content_filter")], "SAFETY"),
        ([chunk({}, "nobody knows")], "OTHER"),
    ],
)
def test_an_answer_that_says_nothing(payloads: list[Any], code: str) -> None:
    """An answer that ends well and empty says so by an error code, and what it cost."""
    [final] = run(*payloads[:-1], {"choices": [], "usage": {"prompt_tokens": 3}}, payloads[-1])
    assert (final.content, final.error_code) == (None, code)
    assert final.error_message
    assert "said nothing" in final.error_message
    assert final.usage_metadata is not None


@pytest.mark.parametrize("payloads", [[DONE], [chunk({"role": "assistant"}), DONE], [{"choices": []}, DONE]])
def test_an_end_after_nothing(payloads: list[Any]) -> None:
    """An answer without content and without a finish reason is an error, `[DONE]` or not."""
    with pytest.raises(ModelEmptyAnswerError):
        run(*payloads)
    with pytest.raises(ModelStreamTruncatedError):
        run(*payloads[:-1])


@pytest.mark.parametrize("word", ["abort", "cancelled", "timeout"])
def test_an_answer_that_the_server_gave_up(word: str) -> None:
    """An answer that its server gave up is cut, whatever of it is whole: no call of it runs."""
    with pytest.raises(ModelStreamTruncatedError, match=word) as caught:
        run(TEXT, CALL, chunk({}, word), DONE)
    assert caught.value.text == "Hello"


@pytest.mark.parametrize(
    ("payload", "status"),
    [
        ({"choices": [], "error": {"code": 502, "message": "boom"}}, 502),
        ({"error": {"code": "429", "message": "boom"}}, 429),
        ({"error": {"type": "rate_limit_exceeded", "message": "boom"}}, 429),
        ({"error": {"status": "RESOURCE_EXHAUSTED", "message": "boom"}}, 429),
        pytest.param('{"error": {"code": ' + "9" * 4000 + ', "message": "boom"}}', 500, id="a number without end"),
        ({"error": "boom"}, 500),
        ({"error": ["boom"]}, 500),
        ({"error": {"error": {"message": "boom", "code": 503}}}, 503),
        ({"error": {"message": {"text": "boom"}}}, 500),
        ([{"error": {"code": 400, "message": "boom"}}], 400),
        ({"errors": [{"message": "boom"}]}, 500),
        ({"object": "error", "message": "boom", "code": 400}, 400),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "boom"}}, 503),
        ({"detail": [{"msg": "boom"}]}, 500),
        ({"status_code": 401, "msg": "boom"}, 401),
        ({"base_resp": {"status_code": 1004, "status_msg": "boom"}}, 500),
        ({"x_groq": {"error": "boom"}}, 500),
        ({"choices": [{"index": 0, "delta": {}, "error": {"message": "boom"}, "finish_reason": "error"}]}, 500),
        (chunk({"error": {"message": "boom", "code": 504}}), 504),
        (chunk({"content": "x"}, error={"message": "boom"}), 500),
    ],
)
def test_errors_in_any_place(payload: Any, status: int) -> None:
    """An error object inside HTTP 200, wherever it stands, is an error with its status, message and the text so far."""
    for before in ([TEXT], [TEXT, CALL], [TEXT, chunk({}, "stop")]):
        with pytest.raises(ModelAnswerError, match="boom") as caught:
            run(*before, payload, DONE)
        assert (caught.value.status, caught.value.text) == (status, "Hello")


def test_a_finish_that_is_an_error() -> None:
    """A finish reason that is an error is one, also when no error object follows."""
    with pytest.raises(ModelAnswerError, match="insufficient_system_resource") as caught:
        run(TEXT, CALL, chunk({}, "insufficient_system_resource"), DONE)
    assert (caught.value.status, caught.value.text) == (503, "Hello")
    with pytest.raises(ModelAnswerError, match="finish_reason 'error'"):
        run(chunk({}, "error"))


@pytest.mark.parametrize(
    "error", [None, False, "", {}, [], {"message": "", "code": None}, {"code": 0}, {"code": "0", "message": ""}]
)
def test_errors_that_are_none(error: object) -> None:
    """An empty error object says that all is well."""
    assert run(chunk({"content": "a"}, "stop", error=error))[-1].text == "a"
    assert run({"choices": [{"delta": {"content": "a"}, "error": error, "finish_reason": "stop"}]})[-1].text == "a"


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"type": "ping"},
        {"id": "x", "object": "chat.completion.chunk"},
        {"message": "hold on"},
        {"choices": None},
        {"choices": [None]},
        {"choices": [], "prompt_filter_results": [{}]},
        {"base_resp": {"status_code": 0, "status_msg": ""}},
        "null",
        "[]",
        "3",
        "PING",
        ": keepalive",
    ],
)
def test_chunks_that_say_nothing(payload: Any) -> None:
    """A chunk without choices and without an error makes no response and no harm, before, between and after."""
    responses = run(payload, TEXT, payload, chunk({}, "stop"), payload, DONE)
    assert [response.text for response in responses] == ["Hello", "Hello"]


def usage(prompt: Any = None, answer: Any = None, **more: Any) -> dict[str, Any]:
    return {"usage": {"prompt_tokens": prompt, "completion_tokens": answer, **more}}


@pytest.mark.parametrize(
    ("payloads", "counts"),
    [
        pytest.param(
            [chunk({"content": "a"}, **usage(1)), chunk({}, "stop", **usage(3, 4))], (3, 4, 7), id="cumulative"
        ),
        pytest.param(
            [chunk({"content": "a"}, **usage(0, 0)), chunk({}, "stop", **usage(0, 7))], (0, 7, 7), id="zero at first"
        ),
        pytest.param(
            [chunk({"content": "a"}, **usage(5, 7)), chunk({}, "stop", **usage(0, 0))], (5, 7, 12), id="zero at last"
        ),
        pytest.param(
            [chunk({"content": "a"}, **usage(5, 7)), chunk({}, "stop", usage=None)], (5, 7, 12), id="null at last"
        ),
        pytest.param(
            [chunk({"content": "a"}, "stop"), {"choices": [], **usage(5, 7, total_tokens=20)}],
            (5, 7, 20),
            id="after the finish",
        ),
        pytest.param(
            [chunk({"content": "a"}, **usage(5)), chunk({}, "stop", usage={"completion_tokens": 7})],
            (5, 7, 12),
            id="in two halves",
        ),
        pytest.param([chunk({"content": "a"}, "stop", x_groq=usage(5, 7))], (5, 7, 12), id="Groq's place"),
        pytest.param(
            [chunk({"content": "a"}, "stop", x_groq=usage(1, 1), **usage(5, 7))], (5, 7, 12), id="both places"
        ),
        pytest.param(
            [{"choices": [{"delta": {"content": "a"}, "finish_reason": "stop", **usage(5, 7)}]}],
            (5, 7, 12),
            id="in the choice",
        ),
        pytest.param(
            [chunk({"content": "a"}, "stop", usage={"input_tokens": 5, "output_tokens": 7})],
            (5, 7, 12),
            id="other names",
        ),
        pytest.param(
            [chunk({"content": "a"}, "stop", **usage(float("inf"), 7.0))], (None, 7, 7), id="numbers that are none"
        ),
        pytest.param([chunk({"content": "a"}, "stop", **usage("5", -7))], (None, None, 0), id="no numbers"),
    ],
)
def test_usage(payloads: list[Any], counts: tuple[int | None, int | None, int]) -> None:
    """Usage counts once, the last that says something, wherever and however often it comes."""
    found = run(*payloads, DONE)[-1].usage_metadata
    assert found is not None
    assert (found.prompt_token_count, found.candidates_token_count, found.total_token_count) == counts


def test_usage_that_never_came() -> None:
    """No usage is no usage, not zero."""
    assert run(chunk({"content": "a"}, "stop", usage={}))[-1].usage_metadata is None
    assert run(chunk({"content": "a"}, "stop", usage=3))[-1].usage_metadata is None


def test_details_of_usage() -> None:
    """Cached and reasoning tokens are read where servers put them."""
    for details in ({"prompt_tokens_details": {"cached_tokens": 2}}, {"prompt_cache_hit_tokens": 2}):
        thinking = {"completion_tokens_details": {"reasoning_tokens": 3}}
        found = run(chunk({"content": "a"}, "stop", **usage(5, 7, **details, **thinking)))[-1].usage_metadata
        assert found is not None
        assert (found.cached_content_token_count, found.thoughts_token_count) == (2, 3)
