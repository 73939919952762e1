"""ChatCompletions: any server that speaks the chat-completions protocol."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, final

from reactivex import Observable

from rxagent.errors import (
    ConfigError,
    ModelConnectError,
    ModelError,
    ModelStreamTruncatedError,
    ModelTimeoutError,
)
from rxagent.streams.blocking import Blocking
from rxagent.streams.scope import CancelScope

from .base import BaseLlm
from .chat_address import Address
from .chat_refusal import refusal, refuses_usage
from .chat_retry import Retries, http_error
from .limits import Limits, Timeouts
from .profile import Profile
from .profiles import profile_for, profile_named
from .request import LlmRequest
from .response import LlmResponse
from .transport import Reply, Transport
from .wire_body import BodyReader
from .wire_limits import WireLimits
from .wire_request import request_json

__all__ = ["ChatCompletions"]

_LONGEST_ERROR: Final = 64 * 2**10
_LATE_SECONDS: Final = 5.0  # that the usage and `[DONE]` may take after the finish, and the text of an error status


@final
class ChatCompletions(BaseLlm):
    """A model behind the chat-completions protocol: OpenAI, vLLM, llama.cpp, Ollama, OpenRouter and their like.

    model: the name that the server knows it by.
    base_url: where `/chat/completions` is to be appended, usually ending in `/v1`; without it RXAGENT_BASE_URL, then
    OPENAI_BASE_URL of the environment. api_key: sent as a bearer token; without it RXAGENT_API_KEY, then
    OPENAI_API_KEY; a local server needs none. headers: more headers, these win.
    timeouts: see `Timeouts`. limits: how large an answer may be, see `WireLimits`.
    retries: how often a call is tried again when the connection fails or the server answers 408, 409, 429 or 5xx, as
    long as this call has emitted nothing.
    profile: what the server wants otherwise than others do: a Profile, or the name of a known one; without it the one
    that address and model tell.
    pool_size: connections kept for the next call; choose it as large as the runs that are under way at once.
    verify: True, False, or a file of certificates. proxies: by scheme, as in requests; None: the environment's.

    Raises ConfigError when there is no base URL, a key or URL that cannot be one, or no profile of that name.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts | None = None,
        limits: WireLimits | None = None,
        retries: int = 2,
        profile: Profile | str | None = None,
        pool_size: int = 64,
        verify: bool | str = True,
        proxies: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(model)
        base_url = base_url or os.environ.get("RXAGENT_BASE_URL") or os.environ.get("OPENAI_BASE_URL")
        if not base_url:
            raise ConfigError(
                f"no server for the model {model!r}: give base_url, or set RXAGENT_BASE_URL (it usually ends in /v1)"
            )
        api_key = api_key or os.environ.get("RXAGENT_API_KEY") or os.environ.get("OPENAI_API_KEY")
        if isinstance(profile, str):
            profile = profile_named(profile, model)
        self.profile = profile or profile_for(base_url, model)
        self._address = Address(base_url, api_key, headers or {}, key_header=self.profile.key_header)
        self._timeouts = timeouts or Timeouts()
        self._wire_limits = limits or WireLimits()
        self._retries = retries
        self._transport = Transport(pool_size=pool_size, verify=verify, proxies=proxies)

    @property
    def base_url(self) -> str:
        """Where the server is, without names and passwords."""
        return self._address.shown

    def generate_content(self, llm_request: LlmRequest, stream: bool = False) -> Observable[LlmResponse]:
        """The answer: partial responses when `stream`, then one with the whole content, finish reason and usage.

        ::

            stream=True    p--p--p--F|         stream=False   ---------F|

        The request is built when it is subscribed; on the wire the answer is always streamed.

        Disposal: cuts the connection at once, in every phase; a wait for a retry ends.
        Errors: ModelError and its subclasses.
        Threads: a worker, or the thread of the run that pulls it.
        """
        return Blocking(lambda scope: self._answer(scope, llm_request, stream))

    def close(self) -> None:
        """Close the idle connections. Calls under way go on; a later call opens new ones."""
        self._transport.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.model!r} at {self.base_url}>"

    def _answer(self, scope: CancelScope, request: LlmRequest, stream: bool) -> Iterator[LlmResponse]:
        body = request_json(request, self.model, self.profile)
        limits = Limits(self._timeouts, self._address.peer)
        retries = Retries(self._retries)
        while True:
            emitted = False
            try:
                for response in self._attempt(scope, body, limits, stream):
                    emitted = True
                    yield response
                return
            except Exception as error:
                if self.profile.stream_usage and refuses_usage(error):
                    self.profile = replace(self.profile, stream_usage=False)  # learned, for this and later calls
                    body = request_json(request, self.model, self.profile)
                    continue
                seconds = None if emitted else retries.pause_after(error)
                if seconds is None:
                    raise
            limits.check_pause(seconds)
            scope.sleep(seconds)

    def _attempt(self, scope: CancelScope, body: bytes, limits: Limits, stream: bool) -> Iterator[LlmResponse]:
        limits.enter("connect")
        with self._transport.post(scope, self._address.url, self._address.headers, body, limits) as reply:
            if not 200 <= reply.status < 300:
                error = http_error(reply.status, reply.headers, _error_text(reply), self._address, self.model)
                raise refusal(error, body)
            reader = BodyReader(self._address.shown, self._wire_limits)
            for response in _partials(reply, reader):
                if stream:
                    yield response
            final = reader.close()
            reply.finish()
        yield final


def _partials(reply: Reply, reader: BodyReader) -> Iterator[LlmResponse]:
    """What arrives, until the answer's end or that of the connection."""
    try:
        for chunk in reply.chunks():
            yield from reader.feed(chunk)
            if reader.is_done:
                return
            if reader.is_finished:  # what would follow is usage, no more
                reply.end_within(_LATE_SECONDS)
    except ModelTimeoutError:
        if not reader.is_finished:
            raise
    except ModelConnectError:
        if not reader.is_finished:
            raise ModelStreamTruncatedError(
                "the connection broke before the model's answer had ended; ask again", text=reader.text
            ) from None


def _error_text(reply: Reply) -> str:
    reply.end_within(_LATE_SECONDS)
    try:
        return reply.read(_LONGEST_ERROR).decode("utf-8", "replace")
    except ModelError:
        return ""  # the status says enough
