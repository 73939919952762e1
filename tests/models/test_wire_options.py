"""Options on the wire: names by profile, the shape of the answer, and what is refused before it is lost."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from rxagent.errors import ModelRequestError
from rxagent.events import Content
from rxagent.models import FunctionDeclaration, GenerateContentConfig, LlmRequest, Profile
from rxagent.models.profile import DEFAULT
from rxagent.models.profiles import profile_for
from rxagent.models.wire_request import request_body

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
HI = [Content.user("Hi")]


class Tool:
    name = "f"

    def declaration(self) -> FunctionDeclaration:
        return FunctionDeclaration(name=self.name)


def body(profile: Profile = DEFAULT, **config: Any) -> dict[str, Any]:
    """The body of a request with this config."""
    return request_body(LlmRequest(HI, config=GenerateContentConfig(**config)), "m", profile)


@pytest.mark.parametrize("as_extra", [False, True], ids=["config", "extra_body"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n", 2),
        ("best_of", 3),
        ("candidate_count", 2),
        ("logprobs", True),
        ("logprobs", 5),
        ("top_logprobs", 3),
        ("response_logprobs", True),
        ("stream", False),
        ("modalities", ["text", "audio"]),
        ("audio", {"voice": "x"}),
    ],
)
def test_options_that_cannot_be_honoured(name: str, value: Any, as_extra: bool) -> None:
    """An option whose effect would be lost is an error that names it, wherever it is given."""
    with pytest.raises(ModelRequestError, match=f"'{name}' cannot be honoured") as caught:
        body(extra_body={name: value}) if as_extra else body(**{name: value})
    assert caught.value.what == name


@pytest.mark.parametrize(
    ("name", "value", "sent"),
    [
        ("n", 1, 1),
        ("n", None, None),
        ("candidate_count", 1, "absent"),
        ("logprobs", False, False),
        ("response_logprobs", False, "absent"),
        ("stream", True, True),
        ("modalities", ["text"], ["text"]),
        ("min_p", 0.1, 0.1),
    ],
)
def test_options_that_ask_for_what_is_done(name: str, value: Any, sent: Any) -> None:
    """The same options with harmless values go out, but for those that are ADK's alone."""
    assert body(extra_body={name: value}).get(name, "absent") == sent


def test_options_that_a_server_refuses() -> None:
    """What a server is known to answer with an error is one before it is sent; others get it."""
    groq = profile_for("https://api.groq.com/openai/v1", "m")
    with pytest.raises(ModelRequestError, match="groq"):
        body(groq, extra_body={"logit_bias": {"1": 2}})
    assert body(extra_body={"logit_bias": {"1": 2}})["logit_bias"] == {"1": 2}
    with pytest.raises(ModelRequestError, match="top_k"):
        body(profile_for("https://generativelanguage.googleapis.com/v1beta/openai", "m"), top_k=3)


def test_names_by_profile() -> None:
    """The limit's name, the question for usage and the one for single calls are the profile's."""
    assert body(max_output_tokens=7)["max_tokens"] == 7
    assert (
        body(Profile(name="x", output_limit="max_completion_tokens"), max_output_tokens=7)["max_completion_tokens"] == 7
    )
    assert body()["stream_options"] == {"include_usage": True}
    assert "stream_options" not in body(Profile(name="x", stream_usage=False))
    one = Profile(name="x", parallel_calls=False)
    assert "parallel_tool_calls" not in body(one), "it is refused without tools"
    assert request_body(LlmRequest(HI, tools=[Tool()]), "m", one)["parallel_tool_calls"] is False
    assert "parallel_tool_calls" not in request_body(LlmRequest(HI, tools=[Tool()]), "m")
    asked = LlmRequest(HI, system_instruction="Be brief.")
    for role in ("system", "developer"):
        assert request_body(asked, "m", Profile(name="x", system_role=role))["messages"][0]["role"] == role


@pytest.mark.parametrize(
    ("shapes", "schema", "sent"),
    [
        ("both", SCHEMA, "json_schema"),
        ("both", None, "json_object"),
        ("schema", SCHEMA, "json_schema"),
        ("schema", None, "json_schema"),
        ("object", SCHEMA, "json_object"),
        ("object", None, "json_object"),
    ],
)
def test_the_shape_of_the_answer(shapes: Literal["both", "schema", "object"], schema: Any, sent: str) -> None:
    """A schema goes out as response_format; a server that takes none gets it in the instruction, and asks for JSON."""
    found = body(Profile(name="x", json_shapes=shapes), response_schema=schema, response_mime_type="application/json")
    form = found["response_format"]
    assert form["type"] == sent
    if sent == "json_schema":
        assert form["json_schema"]["schema"] == (schema or {"type": "object"})
    said = [message["content"] for message in found["messages"] if message["role"] == "system"]
    assert [("JSON schema" in text and '"required":["a"]' in text) for text in said] == (
        [True] if shapes == "object" and schema else []
    )


def strict(schema: Any) -> Any:
    """What the answer's shape is for a server that knows `strict`."""
    return body(Profile(name="x", strict_schema=True), response_schema=schema)["response_format"]["json_schema"]


def test_strict_schemas() -> None:
    """A schema goes out as strict, with its objects closed, where strict allows it, and as it is where not."""
    nested = {"type": "object", "properties": {"b": {"type": "array", "items": SCHEMA}}, "required": ["b"]}
    closed = {**SCHEMA, "additionalProperties": False}
    assert strict(SCHEMA) == {"name": "response_schema", "schema": closed, "strict": True}
    assert strict(nested)["schema"]["properties"]["b"]["items"] == closed
    assert strict({"type": "array", "items": {"anyOf": [SCHEMA, {"type": "null"}]}})["strict"] is True
    for loose in (
        {**SCHEMA, "required": []},
        {**SCHEMA, "additionalProperties": True},
        {"type": "object"},
        {"type": "object", "properties": {"b": {"anyOf": [{**SCHEMA, "required": []}]}}, "required": ["b"]},
    ):
        assert strict(loose) == {"name": "response_schema", "schema": loose}
    assert "strict" not in body(response_schema=SCHEMA)["response_format"]["json_schema"]
