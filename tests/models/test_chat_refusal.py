"""Servers that take no images, and options that cannot be honoured, seen from the client."""

from __future__ import annotations

import pytest

from rxagent.errors import ModelHttpError, ModelRequestError
from rxagent.events import Blob, Content, Part
from rxagent.models import ChatCompletions, GenerateContentConfig, LlmRequest
from rxagent.testing.chat_server import ChatServer, status, text

from .calling import ask, question

IMAGE = Part(inline_data=Blob(mime_type="image/png", data=b"abc"))
LOOK = LlmRequest([Content(role="user", parts=(Part(text="What is it?"), IMAGE))])


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (500, "image input is not supported - hint: provide the mmproj"),
        (400, "messages[0]: unknown variant `image_url`, expected `text`"),
        (400, "m is not a multimodal model"),
        (422, "content must be a string"),
    ],
)
def test_a_server_that_takes_no_images(code: int, message: str) -> None:
    """A refusal that is about the request's images says so, names the kind, keeps the cause, and is not retried."""
    with ChatServer([status(code, message)]) as server:
        with pytest.raises(ModelRequestError, match="image input") as caught:
            ask(ChatCompletions("m", server.base_url), LOOK)
        assert caught.value.what == "image"
        assert message in str(caught.value)
        assert isinstance(caught.value.__cause__, ModelHttpError)
        assert caught.value.__cause__.status == code
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("code", "message", "request_"),
    [
        (400, "image input is not supported", None),
        (400, "max_tokens is too large", LOOK),
        (401, "no key for the image endpoint", LOOK),
        (429, "too many images", LOOK),
    ],
)
def test_refusals_about_something_else(code: int, message: str, request_: LlmRequest | None) -> None:
    """Other refusals, and those of requests without images, stay what they are."""
    with ChatServer([status(code, message)]) as server, pytest.raises(ModelHttpError) as caught:
        ask(ChatCompletions("m", server.base_url, retries=0), request_)
    assert caught.value.status == code


def test_nothing_is_sent_that_cannot_be_honoured() -> None:
    """A refused option is an error without a request, and the next request works."""
    with ChatServer([text("Hi")]) as server:
        model = ChatCompletions("m", server.base_url)
        with pytest.raises(ModelRequestError, match="'n'"):
            ask(model, LlmRequest([Content.user("Hi")], config=GenerateContentConfig(extra_body={"n": 2})))
        assert server.requests == []
        assert ask(model, question())[-1].text == "Hi"


def test_a_server_that_refuses_the_question_for_usage() -> None:
    """A server that refuses `stream_options` is asked again without, once, and no more in later calls."""
    message = {"error": {"message": "Unrecognized request argument supplied: stream_options"}}
    with ChatServer([status(400, message), text("Hi"), text("Hi again")]) as server:
        model = ChatCompletions("m", server.base_url, retries=0)
        assert [ask(model)[-1].text, ask(model)[-1].text] == ["Hi", "Hi again"]
        assert ["stream_options" in one.json for one in server.requests] == [True, False, False]
    with ChatServer([status(400, message), status(400, message)]) as server:
        with pytest.raises(ModelHttpError):
            ask(ChatCompletions("m", server.base_url, retries=0))
        assert len(server.requests) == 2
