"""What a failed attempt means: the error for an error status, and whether and when to try again."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final, final

from rxagent.errors import (
    ModelConnectError,
    ModelConnectTimeoutError,
    ModelHttpError,
    ModelTlsError,
    TooManyOpenFilesError,
)

from .chat_address import Address
from .wire_errors import error_message

__all__ = ["LONGEST_PAUSE", "Retries", "http_error"]

LONGEST_PAUSE: Final = 60.0
"""Seconds. A server that asks for a longer wait gets no retry: the caller is told how long, and decides."""

_FIRST_PAUSE: Final = 0.5
_LONGEST_BACKOFF: Final = 8.0
_AGAIN: Final = frozenset({408, 409, 429})
_LASTING: Final = (ModelTlsError, TooManyOpenFilesError)  # a second try would meet the same


@final
class Retries:
    """The attempts that one call has left. Pauses double from 0.5 s to 8 s, unless the server says how long."""

    __slots__ = ("_done", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._done = 0

    def pause_after(self, error: Exception) -> float | None:
        """Seconds to wait before the next attempt; None when there is to be none."""
        if self._done >= self._most or not _is_passing(error):
            return None
        asked = error.retry_after if isinstance(error, ModelHttpError) else None
        if asked is not None and asked > LONGEST_PAUSE:
            return None
        backoff: float = min(_FIRST_PAUSE * 2**self._done, _LONGEST_BACKOFF)
        self._done += 1
        return asked if asked is not None else backoff * random.uniform(0.75, 1.0)


def http_error(status: int, headers: Mapping[str, str], text: str, address: Address, model: str) -> ModelHttpError:
    """The error for an error status: what the server says, and what to do."""
    said = address.redacted(error_message(text) or _plain(text))
    retry_after = _seconds(headers.get("Retry-After"))
    parts = [f"the model's server answered {status}", f": {said[:500]}" if said else "", "; "]
    return ModelHttpError(
        "".join(parts) + _advice(status, address, model, retry_after, headers),
        status=status,
        body=address.redacted(text)[:2000],
        retry_after=retry_after,
    )


def _plain(text: str) -> str:
    """What a body without JSON says."""
    text = text.strip()
    return "(a web page)" if text.startswith("<") else "" if text[:1] in ("{", "[") else text


def _advice(status: int, address: Address, model: str, retry_after: float | None, headers: Mapping[str, str]) -> str:
    if 300 <= status < 400:
        target = address.redacted(headers.get("Location", "elsewhere"))
        return f"it redirects to {target}: use that as base_url"
    if status == 401:
        return "set RXAGENT_API_KEY, or give api_key"
    if status == 403:
        return f"the key may not use the model {model!r}"
    if status in (404, 405):
        return f"check that base_url ({address.shown}) ends in /v1, and that the server has a model {model!r}"
    if status == 413:
        return "the request is too large: shorten the conversation"
    if retry_after is not None and retry_after > LONGEST_PAUSE:
        return f"it asks to wait {retry_after:.0f} s, longer than a retry waits: call again then"
    if status == 429:
        return "too many requests: call less often, or raise `retries`"
    if status >= 500:
        return "the server failed: try again later"
    return "the server does not accept the request: its message says why"


def _is_passing(error: Exception) -> bool:
    if isinstance(error, ModelHttpError):
        return error.status in _AGAIN or error.status >= 500
    return isinstance(error, ModelConnectError | ModelConnectTimeoutError) and not isinstance(error, _LASTING)


def _seconds(retry_after: str | None) -> float | None:
    """Seconds of a Retry-After header: a number, or a date (RFC 9110, section 10.2.3). None when there is none."""
    if not retry_after:
        return None
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(retry_after).timestamp() - time.time()
        except (TypeError, ValueError, OverflowError):
            return None
    return max(0.0, seconds) if seconds == seconds else None
