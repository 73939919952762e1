"""Requests on the wire: what each part of a conversation and of the config becomes."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from rxagent.events import Blob, Content, FileData, FunctionCall, FunctionResponse, Part
from rxagent.models import FunctionDeclaration, GenerateContentConfig, LlmRequest
from rxagent.models.wire_request import request_body, request_json


class Tool:
    """A tool as a request sees it."""

    def __init__(self, name: str, parameters: dict[str, Any] | None = None) -> None:
        self.name = name
        self._parameters = parameters

    def declaration(self) -> FunctionDeclaration:
        return FunctionDeclaration(name=self.name, description="does it", parameters=self._parameters)


def messages(*contents: Content) -> list[dict[str, Any]]:
    """The messages that these contents become."""
    found: list[dict[str, Any]] = request_body(LlmRequest(contents), "m")["messages"]
    return found


def call(name: str, id: str | None = None, **args: Any) -> Part:
    return Part(function_call=FunctionCall(id=id, name=name, args=args))


def response(name: str, id: str | None = None, **values: Any) -> Part:
    return Part(function_response=FunctionResponse(id=id, name=name, response=values))


def model(*parts: Part) -> Content:
    return Content(role="model", parts=parts)


def user(*parts: Part) -> Content:
    return Content(role="user", parts=parts)


def test_always_streamed_with_usage() -> None:
    """The wire always streams and asks for usage; the request's model goes before the client's."""
    body = request_body(LlmRequest([Content.user("Hi")], system_instruction="Be brief."), "m")
    assert body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert request_body(LlmRequest(model="other"), "m")["model"] == "other"


def test_a_round_of_calls() -> None:
    """Calls become tool_calls with JSON text, responses one tool message each, and the ids pair them."""
    assert messages(
        model(Part(text="Let me see.", thought=True), call("f", "a", city="Oslo"), call("g", "b")),
        user(response("f", "a", degrees=21), response("g", "b")),
        model(Part(text="21 "), Part(text="degrees.")),
    ) == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"city":"Oslo"}'}},
                {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": '{"degrees":21}'},
        {"role": "tool", "tool_call_id": "b", "content": "{}"},
        {"role": "assistant", "content": "21 degrees."},
    ]


@pytest.mark.parametrize("ids", [(None, None), ("", ""), ("same", "same")], ids=["absent", "empty", "repeated"])
def test_ids_that_are_no_ids(ids: tuple[str | None, str | None]) -> None:
    """Calls without an id, or with a repeated one, go out with distinct ids, the same each time, and paired."""
    contents = (
        model(call("f", ids[0], n=1), call("f", ids[1], n=2)),
        user(response("f", ids[0], n=1), response("f", ids[1], n=2)),
        model(call("f", ids[0], n=3)),
        user(response("f", ids[0], n=3)),
    )
    sent = messages(*contents)
    called = {
        entry["id"]: entry["function"]["arguments"] for message in sent for entry in message.get("tool_calls", ())
    }
    answered = {message["tool_call_id"]: message["content"] for message in sent if message["role"] == "tool"}
    assert len(called) == 3
    assert called == answered
    assert sent == messages(*contents)


def test_a_response_whose_call_is_gone() -> None:
    """A response without a call in the request keeps its id."""
    assert messages(user(response("f", "old", x=1)))[0]["tool_call_id"] == "old"


def test_thoughts_alone_say_nothing() -> None:
    """A message of nothing but thoughts is left out."""
    assert messages(model(Part(text="hm", thought=True)), Content.user("Hi")) == [{"role": "user", "content": "Hi"}]


def test_a_response_and_a_text_in_one_content() -> None:
    """A text beside function responses follows them as a message of its own."""
    sent = messages(model(call("f", "a")), user(response("f", "a"), Part(text="Go on.")))
    assert [message["role"] for message in sent] == ["assistant", "tool", "user"]


def test_images_and_files() -> None:
    """Images become image_url, inline or by address; other bytes become a file, another address its text."""
    [message] = messages(
        user(
            Part(text="What is it?"),
            Part(inline_data=Blob(mime_type="image/png", data=b"abc")),
            Part(file_data=FileData(mime_type="image/jpeg", file_uri="https://x.test/a.jpg")),
            Part(inline_data=Blob(mime_type="application/pdf", data=b"abc", display_name="a.pdf")),
            Part(file_data=FileData(mime_type="text/csv", file_uri="https://x.test/a.csv")),
        )
    )
    assert message["content"] == [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,YWJj"}},
        {"type": "image_url", "image_url": {"url": "https://x.test/a.jpg"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,YWJj"}},
        {"type": "text", "text": "[text/csv: https://x.test/a.csv]"},
    ]


@pytest.mark.parametrize(
    ("choice", "sent"), [("auto", "auto"), ("required", "required"), ("none", "none"), ("f", {"name": "f"})]
)
def test_tools(choice: str, sent: Any) -> None:
    """Tools are declared with a schema, an empty one by default; a tool's name as choice becomes its object form."""
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
    config = GenerateContentConfig(tool_choice=choice)
    body = request_body(LlmRequest(tools=[Tool("f", schema), Tool("g")], config=config), "m")
    assert [entry["function"]["parameters"] for entry in body["tools"]] == [
        schema,
        {"type": "object", "properties": {}},
    ]
    assert body["tool_choice"] == (sent if isinstance(sent, str) else {"type": "function", "function": sent})
    assert "tool_choice" not in request_body(LlmRequest(config=config), "m"), "a choice without tools is refused"


def test_config() -> None:
    """Config fields go out under the protocol's names, unknown ones as they are, and extra_body wins."""
    config = GenerateContentConfig(
        temperature=0.5,
        top_p=0.9,
        max_output_tokens=7,
        stop_sequences=("END",),
        seed=1,
        response_mime_type="application/json",
        min_p=0.1,  # type: ignore[call-arg]
        extra_body={"temperature": 0, "logit_bias": [[1, 2]]},
    )
    body = request_body(LlmRequest(config=config), "m")
    assert {
        key: body[key] for key in ("top_p", "max_tokens", "stop", "seed", "min_p", "temperature", "logit_bias")
    } == {
        "top_p": 0.9,
        "max_tokens": 7,
        "stop": ["END"],
        "seed": 1,
        "min_p": 0.1,
        "temperature": 0,
        "logit_bias": [[1, 2]],
    }
    assert body["response_format"] == {"type": "json_object"}


def test_models_with_names_of_their_own() -> None:
    """Models that refuse `max_tokens` and `system` get what they take."""
    config = GenerateContentConfig(max_output_tokens=7, response_schema={"type": "object"})
    body = request_body(LlmRequest(system_instruction="x", config=config), "o3-mini")
    assert body["max_completion_tokens"] == 7
    assert body["messages"][0]["role"] == "developer"
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}


def test_json_that_never_fails() -> None:
    """Values that JSON does not know are sent as text, and half a surrogate does not stop a conversation."""
    contents = [user(response("f", "a", day=date(2024, 1, 2), odd=float("nan")), Part(text="half: \ud800"))]
    sent = json.loads(request_json(LlmRequest(contents), "m"))["messages"]
    assert json.loads(sent[0]["content"]) == {"day": "2024-01-02", "odd": None}
    assert sent[1]["content"] == "half: ?"


def test_code() -> None:
    """Code and its result are sent as text."""
    code = Part.model_validate({"executableCode": {"language": "PYTHON", "code": "1+1"}})
    result = Part.model_validate({"codeExecutionResult": {"output": "2"}})
    assert messages(model(code, result))[0]["content"] == "\n```python\n1+1\n```\n\n```\n2\n```\n"


def test_thought_signatures_go_back() -> None:
    """A call's signature goes back to where it came from."""
    part = Part(function_call=FunctionCall(id="a", name="f"), thought_signature="sig")
    [entry] = messages(model(part))[0]["tool_calls"]
    assert entry["extra_content"] == {"google": {"thought_signature": "sig"}}
