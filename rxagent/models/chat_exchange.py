"""One small request to a chat-completions server, and all that can be seen of its answer: for looking at servers."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any, Final, final

from pydantic_core import from_json

from rxagent.errors import ModelConnectError, ModelError, ModelHttpError
from rxagent.streams.scope import CancelScope, Stopped

from .chat_address import Address
from .chat_retry import http_error
from .limits import Limits, Timeouts
from .response import LlmResponse
from .sse import SseParser
from .transport import Reply, Transport
from .wire_body import BodyReader
from .wire_json import json_bytes

__all__ = ["Asker", "Exchange"]

Json = dict[str, Any]

_LONGEST_ERROR: Final = 64 * 2**10
_RUNNING: Final = re.compile(
    r"^(?:vllm:num_requests_running|llamacpp:requests_processing|sglang:num_running_reqs)(?:\{[^}]*\})?\s+([0-9.]+)",
    re.M,
)


@final
class Exchange:
    """What one request brought.

    chunks: the answer's JSON objects as they came. response: the whole of it, None when it failed by `error`.
    first_ms: until the first byte of the body. ends_with_done: `[DONE]` was sent. was_cut: the client left.
    """

    __slots__ = ("chunks", "ends_with_done", "error", "first_ms", "is_stream", "response", "total_ms", "was_cut")

    def __init__(self) -> None:
        self.chunks: list[Json] = []
        self.response: LlmResponse | None = None
        self.error: ModelError | None = None
        self.first_ms = 0.0
        self.total_ms = 0.0
        self.is_stream = False
        self.ends_with_done = False
        self.was_cut = False

    @property
    def status(self) -> int:
        """The HTTP status of a refusal, 200 for an answer."""
        return self.error.status if isinstance(self.error, ModelHttpError) else 200

    @property
    def said(self) -> str:
        """What a refusal says, the server's words included."""
        body = self.error.body if isinstance(self.error, ModelHttpError) else ""
        return f"{self.error or ''} {body}"

    def deltas(self) -> list[Json]:
        """The deltas, or messages, of the first choices."""
        choices = [one["choices"][0] for one in self.chunks if isinstance(one.get("choices"), list) and one["choices"]]
        found = [choice.get("delta") or choice.get("message") for choice in choices if isinstance(choice, dict)]
        return [delta for delta in found if isinstance(delta, dict)]


@final
class Asker:
    """Sends requests to one server, one after the other. `count` is how many there were.

    Threads: one at a time.
    """

    __slots__ = ("_address", "_timeouts", "_transport", "count", "model")

    def __init__(self, address: Address, model: str, timeouts: Timeouts, verify: bool | str = True) -> None:
        self.model = model
        self.count = 0
        self._address = address
        self._timeouts = timeouts
        self._transport = Transport(pool_size=2, verify=verify)

    def ask(self, body: Mapping[str, Any], *, cut_after: int | None = None) -> Exchange:
        """Send the body and read the answer, or leave it after so many partial responses. Never raises ModelError."""
        self.count += 1
        exchange = self._asked(body, cut_after)
        if isinstance(exchange.error, ModelConnectError):  # a kept connection that the server has given up
            exchange = self._asked(body, cut_after)
        return exchange

    def _asked(self, body: Mapping[str, Any], cut_after: int | None) -> Exchange:
        exchange, scope = Exchange(), CancelScope()
        limits = Limits(self._timeouts, self._address.peer)
        limits.enter("connect")
        began = time.monotonic()
        sent = json_bytes({"model": self.model, **body})
        try:
            with self._transport.post(scope, self._address.url, self._address.headers, sent, limits) as reply:
                self._read(reply, exchange, scope, began, cut_after)
        except ModelError as error:
            exchange.error = error
        except Stopped:
            exchange.was_cut = True
        exchange.total_ms = _ms_since(began)
        return exchange

    def get(self, path: str) -> tuple[int, str, Mapping[str, str]]:
        """Status, text and headers of a GET beside the API (`path` with a slash first); status 0 when it fails."""
        import requests

        root = self._address.url.partition("?")[0].removesuffix("/chat/completions")
        root = root if path == "/models" else root.removesuffix("/v1")
        try:
            reply = requests.get(root + path, headers=self._address.headers, timeout=5, allow_redirects=False)
        except (requests.RequestException, OSError):
            return 0, "", {}
        return reply.status_code, reply.text, reply.headers

    def running(self) -> int | None:
        """How many requests the server works on, where it says so (llama.cpp, vLLM, SGLang); else None."""
        status, text, _ = self.get("/slots")
        if status == 200:
            try:
                return sum(bool(slot.get("is_processing")) for slot in from_json(text))
            except (ValueError, AttributeError, TypeError):
                return None
        status, text, _ = self.get("/metrics")
        found = _RUNNING.findall(text) if status == 200 else []
        return round(sum(map(float, found))) if found else None

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def _read(self, reply: Reply, exchange: Exchange, scope: CancelScope, began: float, cut_after: int | None) -> None:
        if not 200 <= reply.status < 300:
            text = reply.read(_LONGEST_ERROR).decode("utf-8", "replace")
            raise http_error(reply.status, reply.headers, text, self._address, self.model)
        reader, parser, body, partials = BodyReader(self._address.shown), SseParser(), bytearray(), 0
        for chunk in reply.chunks():
            exchange.first_ms = exchange.first_ms or _ms_since(began)
            body += chunk
            for event in parser.feed(chunk):
                _keep(exchange, event.data)
            partials += sum(1 for _ in reader.feed(chunk))
            if cut_after is not None and partials >= cut_after:
                scope.cancel()
            if reader.is_done:
                break
        exchange.is_stream = bool(exchange.chunks)
        if not exchange.is_stream:
            _keep(exchange, bytes(body))
        exchange.response = reader.close()
        reply.finish()


def _keep(exchange: Exchange, data: bytes) -> None:
    if data.strip() == b"[DONE]":
        exchange.ends_with_done = True
        return
    try:
        chunk = from_json(data)
    except ValueError:
        return
    if isinstance(chunk, dict):
        exchange.chunks.append(chunk)


def _ms_since(began: float) -> float:
    return (time.monotonic() - began) * 1000
