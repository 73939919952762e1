"""What goes back to a server, by its profile: reasoning, unknown fields, ids, and what stands beside calls."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Literal

import pytest

from rxagent.errors import ModelRequestError
from rxagent.events import Blob, Content, Event, FileData, FunctionCall, FunctionResponse, Part
from rxagent.models import Profile
from rxagent.models.profile import DEFAULT
from rxagent.models.profiles import profile_for
from rxagent.models.wire_messages import messages_of

from .wire_words import calls, chunk, fragment, run


def call(name: str, id: str | None = None, **args: Any) -> Part:
    return Part(function_call=FunctionCall(id=id, name=name, args=args))


def response(name: str, id: str | None = None) -> Part:
    return Part(function_response=FunctionResponse(id=id, name=name, response={}))


def model(*parts: Part) -> Content:
    return Content(role="model", parts=parts)


def user(*parts: Part) -> Content:
    return Content(role="user", parts=parts)


def thought(text: str) -> Part:
    return Part(text=text, thought=True)


TALK = [
    Content.user("Hi"),
    model(thought("greet"), Part(text="Hello")),  # a turn without calls
    Content.user("Look it up"),
    model(thought("use f"), call("f", "a")),
    user(response("f", "a")),
    model(thought("now say it"), Part(text="Done")),
]


@pytest.mark.parametrize(
    ("echo", "sent"),
    [
        ("never", [None, None, None]),
        ("tool_turns", [None, "use f", "now say it"]),
        ("always", ["greet", "use f", "now say it"]),
    ],
)
def test_reasoning_goes_back(echo: Literal["never", "tool_turns", "always"], sent: list[str | None]) -> None:
    """Reasoning goes back never, in turns with calls, or always, under the field that the server reads."""
    for field in ("reasoning_content", "reasoning"):
        profile = Profile(name="x", echo_reasoning=echo, reasoning_field=field)
        messages = [one for one in messages_of(TALK, profile) if one["role"] == "assistant"]
        assert [one.get(field) for one in messages] == sent
        assert [one["content"] for one in messages] == ["Hello", None, "Done"]


def test_reasoning_that_is_required() -> None:
    """A server that insists on reasoning in turns with calls gets an empty one where there is none."""
    talk = [Content.user("Look it up"), model(call("f", "a")), user(response("f", "a")), model(Part(text="Done"))]
    sent = messages_of(talk, profile_for("https://api.deepseek.com", "deepseek-chat"))
    assert [one.get("reasoning_content") for one in sent] == [None, "", None, ""]
    assert "reasoning_content" not in messages_of(TALK[:2], profile_for("https://api.deepseek.com", "m"))[1]


@pytest.mark.parametrize(("beside", "content"), [("null", None), ("empty", ""), ("absent", "absent")])
def test_what_stands_beside_calls(beside: Literal["null", "empty", "absent"], content: str | None) -> None:
    """Beside calls stands null, an empty text or nothing; a message without calls always has a text."""
    profile = Profile(name="x", content_beside_calls=beside)
    _, answer, _, asked, result, _ = messages_of(TALK, profile)
    assert asked.get("content", "absent") == content
    assert (answer["content"], result["content"]) == ("Hello", "{}")


@pytest.mark.parametrize(("shape", "pattern"), [("any", ".*"), ("nine", "[A-Za-z0-9]{9}"), ("forty", ".{1,40}")])
def test_shapes_of_ids(shape: Literal["any", "nine", "forty"], pattern: str) -> None:
    """Ids go out in the shape that the server accepts: distinct, paired, the same each time, kept where they fit."""
    ids = ["abcDEF123", "call_0", "call_0", "", None, "x" * 64, "x" * 65, "ünïcödé99", "a\nb"]
    contents = [model(*(call("f", id, n=n) for n, id in enumerate(ids))), user(*(response("f", id) for id in ids))]
    profile = Profile(name="x", call_ids=shape)
    called, *answered = messages_of(contents, profile)
    sent = [entry["id"] for entry in called["tool_calls"]]
    assert len(set(sent)) == len(ids)
    assert all(re.fullmatch(pattern, id, re.DOTALL) for id in sent)
    assert sorted(sent) == sorted(one["tool_call_id"] for one in answered)
    assert sent[0] == "abcDEF123"
    assert messages_of(contents, profile)[0] == called
    [orphan] = messages_of([user(response("f", "old_one"))], profile)
    assert re.fullmatch(pattern, orphan["tool_call_id"])


def stored(*payloads: Any) -> Content:
    """The content of an answer, as it is read from the database for the next request."""
    event = Event(author="a", content=run(*payloads)[-1].content)
    content = Event.model_validate_json(event.model_dump_json(by_alias=True)).content
    assert content is not None
    return content


SIGNED = {"google": {"thought_signature": "sig"}}
DETAILS = [{"type": "reasoning.text", "text": "hm", "signature": "s"}, {"type": "reasoning.encrypted", "data": "x"}]


def test_what_came_with_a_call_goes_back_with_it() -> None:
    """A thought signature, and other fields of calls, go back to servers of the kind that sent them, to others not."""
    content = stored(
        calls(fragment(0, "a", "f", "{}", extra_content=SIGNED, x_other=1), fragment(1, "b", "g", "{}"), finish="stop")
    )
    [sent] = messages_of([content], profile_for("https://generativelanguage.googleapis.com/v1beta/openai", "gemini-3"))
    assert [entry.get("extra_content") for entry in sent["tool_calls"]] == [SIGNED, None]
    assert "x_other" not in sent["tool_calls"][0]
    [mine] = messages_of([content], Profile(name="x", extras=frozenset({"x_other"})))
    assert [entry.get("x_other") for entry in mine["tool_calls"]] == [1, None]
    [strict] = messages_of([content], profile_for("https://api.mistral.ai/v1", "m"))
    assert strict["tool_calls"][0].keys() == {"id", "type", "function"}


def test_what_came_with_a_message_goes_back_with_it() -> None:
    """Reasoning details go back whole and in order, in place of the reasoning; a text's signature, too."""
    content = stored(
        chunk({"reasoning": "hm", "reasoning_details": DETAILS[:1]}),
        chunk({"reasoning_details": DETAILS[1:]}),
        calls(fragment(0, "a", "f", "{}"), finish="tool_calls"),
    )
    openrouter = profile_for("https://openrouter.ai/api/v1", "anthropic/claude")
    [_, sent] = messages_of([Content.user("Hi"), content], openrouter)
    assert sent["reasoning_details"] == DETAILS
    assert "reasoning" not in sent
    assert messages_of([content], replace(openrouter, extras=frozenset()))[0]["reasoning"] == "hm"
    text = stored(chunk({"content": "so"}), chunk({"extra_content": SIGNED}, "stop"))
    [spoken] = messages_of([text], DEFAULT)
    assert (spoken["content"], spoken["extra_content"]) == ("so", SIGNED)


def test_a_signature_from_elsewhere_goes_to_google() -> None:
    """A part's own thought signature, as ADK logs it, goes out in Google's place for it."""
    part = Part(function_call=FunctionCall(id="a", name="f"), thought_signature="sig")
    [sent] = messages_of([model(part)], DEFAULT)
    assert sent["tool_calls"][0]["extra_content"] == SIGNED


# -- input -------------------------------------------------------------------------------------------------------------

PNG = Part(inline_data=Blob(mime_type="image/png", data=b"abc"))
PHOTO = Part(file_data=FileData(mime_type="image/jpeg", file_uri="https://x.test/a.jpg"))
WAV = Part(inline_data=Blob(mime_type="audio/x-wav", data=b"abc"))
MP3 = Part(inline_data=Blob(mime_type="audio/mpeg; rate=1", data=b"abc"))
SONG = Part(file_data=FileData(mime_type="audio/mpeg", file_uri="https://x.test/a.mp3"))
CLIP = Part(file_data=FileData(mime_type="video/mp4", file_uri="https://x.test/a.mp4"))
PDF = Part(inline_data=Blob(mime_type="application/pdf", data=b"abc", display_name="a.pdf"))
CSV = Part(inline_data=Blob(mime_type="text/csv", data="a,ü".encode(), display_name="a.csv"))
UPLOAD = Part(file_data=FileData(file_uri="file-123"))
PAGE = Part(file_data=FileData(mime_type="text/html", file_uri="https://x.test/"))


@pytest.mark.parametrize(
    ("part", "piece"),
    [
        (PNG, {"type": "image_url", "image_url": {"url": "data:image/png;base64,YWJj"}}),
        (PHOTO, {"type": "image_url", "image_url": {"url": "https://x.test/a.jpg"}}),
        (WAV, {"type": "input_audio", "input_audio": {"data": "YWJj", "format": "wav"}}),
        (MP3, {"type": "input_audio", "input_audio": {"data": "YWJj", "format": "mp3"}}),
        (SONG, {"type": "audio_url", "audio_url": {"url": "https://x.test/a.mp3"}}),
        (CLIP, {"type": "video_url", "video_url": {"url": "https://x.test/a.mp4"}}),
        (PDF, {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,YWJj"}}),
        (CSV, {"type": "file", "file": {"filename": "a.csv", "file_data": "data:text/csv;base64,YSzDvA=="}}),
        (UPLOAD, {"type": "file", "file": {"file_id": "file-123"}}),
        (PAGE, {"type": "text", "text": "[text/html: https://x.test/]"}),
    ],
)
def test_kinds_of_input(part: Part, piece: dict[str, Any]) -> None:
    """Images, audio, video and files go out in the protocol's form for them."""
    everything = Profile(name="x", inputs=DEFAULT.inputs | {"audio_url", "video_url"})
    [message] = messages_of([user(PNG, part)], everything)
    assert message["content"][1] == piece


@pytest.mark.parametrize(
    ("part", "kind", "advice"),
    [
        (PNG, "image", "leave it out"),
        (PHOTO, "image_url", "leave it out"),
        (WAV, "audio", "leave it out"),
        (SONG, "audio_url", "leave it out"),
        (CLIP, "video_url", "leave it out"),
        (PDF, "file", "leave it out"),
        (UPLOAD, "file", "leave it out"),
    ],
)
def test_input_that_a_server_does_not_take(part: Part, kind: str, advice: str) -> None:
    """Input of a kind that the server takes none of is an error that names it, before anything is sent."""
    deepseek = profile_for("https://api.deepseek.com", "m")
    with pytest.raises(ModelRequestError, match=advice) as caught:
        messages_of([Content.user("Hi"), user(Part(text="See:"), part)], deepseek)
    assert caught.value.what == kind
    assert "deepseek" in str(caught.value)


def test_input_by_address_where_bytes_are_taken() -> None:
    """Where an image's bytes are taken and its address is not, the error says so."""
    with pytest.raises(ModelRequestError, match="inline_data"):
        messages_of([user(PHOTO)], profile_for("http://localhost:11434/v1", "llava"))
    assert messages_of([user(PNG)], profile_for("http://localhost:11434/v1", "llava"))


def test_a_text_file_can_be_said_everywhere() -> None:
    """A text file goes out as text where files are not taken."""
    [message] = messages_of([user(CSV)], profile_for("https://api.deepseek.com", "m"))
    assert message["content"] == "[a.csv]\na,ü"
