"""The body of an answer to LlmResponses: which of its forms it has, and where it ends. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from typing import Final, Literal, final

from rxagent.errors import ModelProtocolError

from .response import LlmResponse
from .sse import SseParser
from .wire_limits import WireLimits, too_large
from .wire_stream import AnswerAssembly

__all__ = ["BodyReader"]

_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = b"\xef\xbb\xbf \t\r\n"
_EVENTS: Final = re.compile(rb"\s*(\xef\xbb\xbf)?\s*(:|data|event|id|retry)")  # how a stream of events begins
_TELLING: Final = 16  # bytes that tell it


@final
class BodyReader:
    """A push reader: `feed` it what arrives, in pieces of any size; `close` it at the end.

    `feed` is a generator, which is to be run to its end: an error comes after the responses that stand before it,
    however the server's bytes are cut.

    ::

        feed      "da" "ta: ..." "data: ...finish..." "data: [DONE]"  close
        returns         p              p                               F        p partial, F the whole

    State: `head` until the first byte that tells the form, then `events` (server-sent events) or `json` (a whole body,
    though a stream was asked for). A web page is an error at once.

    where: how to name the server in errors. limits: what an answer may have.
    """

    __slots__ = ("_answer", "_body", "_form", "_head", "_limits", "_parser", "_told", "_where")

    def __init__(self, where: str = "the model's server", limits: WireLimits | None = None) -> None:
        self._limits = limits or WireLimits()
        self._answer = AnswerAssembly(self._limits)
        self._parser = SseParser(self._limits)
        self._body = BytesIO()  # what has no form yet, or is a JSON body
        self._form: Literal["head", "events", "json"] = "head"
        self._head = b""  # the beginning of what is taken for events
        self._told = False  # an event has come
        self._where = where

    @property
    def text(self) -> str:
        """The answer's text so far."""
        return self._answer.text

    @property
    def is_done(self) -> bool:
        """True when nothing more is to be read."""
        return self._answer.is_done

    @property
    def is_finished(self) -> bool:
        """True when the answer may end here."""
        return self._answer.is_finished

    def feed(self, chunk: bytes) -> Iterator[LlmResponse]:
        """The partial responses that these bytes complete. Raises ModelError and its subclasses."""
        if self._form != "events":
            chunk = self._formless(chunk)
        if len(self._head) < _TELLING:
            self._head += chunk[:_TELLING]
        for event in self._parser.feed(chunk):
            self._told = True
            response = self._answer.add_data(event.data, event.event)
            if response is not None:
                yield response

    def _formless(self, chunk: bytes) -> bytes:
        """Take what comes before the form is known, and a body that is JSON. Returns the events' first bytes."""
        self._body.write(chunk)
        if self._body.tell() > self._limits.body:
            raise too_large("body", self._limits.body)
        if self._form == "json" or not chunk.strip(_BLANK):
            return b""
        head = self._body.getvalue()
        first = head.removeprefix(_BOM).lstrip()[:1]
        if first == b"<":
            raise self._not_chat("a web page")
        if first in (b"{", b"["):
            self._form, self._body = "json", BytesIO()
            self._body.write(head.removeprefix(_BOM))
            return b""
        self._form, self._body = "events", BytesIO()
        return head

    def close(self) -> LlmResponse:
        """The whole answer, at the end of the body. Raises as `AnswerAssembly.final` does, and for what is none."""
        if self._form == "json":
            body, self._body = self._body.getvalue(), BytesIO()
            self._answer.add_body(body)
        else:
            for event in self._parser.feed(b"\n\n"):  # a last event may lack its blank line, or its whole line end
                self._told = True
                self._answer.add_tail(event.data, event.event)
            self._parser.close()
            if not self._told and self._form == "events" and not _EVENTS.match(self._head):
                raise self._not_chat("no event of a stream")
        return self._answer.final()

    def _not_chat(self, what: str) -> ModelProtocolError:
        return ModelProtocolError(
            f"{self._where} answered with {what}, not with a chat completion; check base_url (it usually ends in /v1)"
        )
