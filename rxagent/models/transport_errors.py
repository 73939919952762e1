"""What a call raises for what requests, urllib3, http.client, ssl and the system raise."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator
from typing import Final

from rxagent.errors import ModelConnectError, ModelError, ModelProtocolError, ModelTlsError
from rxagent.streams.scope import Stopped

from .connecting import NO_DESCRIPTORS, too_many_files
from .transport_call import TransportCall

__all__ = ["translated"]

_WORDS: Final = (
    (http.client.RemoteDisconnected, "the server closed it without an answer"),
    (http.client.IncompleteRead, "the rest of the body is missing"),
    (http.client.HTTPException, "the answer is not HTTP"),
)


def translated(error: Exception, call: TransportCall, peer: str, *, in_answer: bool) -> BaseException:
    """Stopped when the call's scope is cancelled, whatever came out; else a ModelError by the first cause.

    A cut connection shows itself as almost anything (an end, a reset, a TLS error): so the flag is asked first.
    The result holds no reference to `error`, whose request holds secrets.
    """
    if call.scope.is_cancelled:
        return Stopped(call.scope)
    chain = list(_chain(error))
    for cause in chain:
        if isinstance(cause, ModelError):
            return cause
        if isinstance(cause, TimeoutError) and cause.errno is None:
            return call.limits.error()
        if isinstance(cause, OSError) and cause.errno in NO_DESCRIPTORS:
            return too_many_files()
        if type(cause).__name__ == "DecodeError":
            return ModelProtocolError(f"{peer} sent a body that cannot be unpacked; ask for `identity` encoding")
    if in_answer:
        return ModelConnectError(f"the connection to {peer} broke in mid-answer ({_reason(chain)}); ask again")
    return _tls_error(chain, peer) or ModelConnectError(
        f"no answer from {peer} ({_reason(chain)}); is the server running, and is base_url right?"
    )


def _tls_error(chain: list[BaseException], peer: str) -> ModelTlsError | None:
    for cause in chain:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return ModelTlsError(
                f"the certificate of {peer} is not trusted ({cause.verify_message}); "
                "give its authority as verify='ca.pem', or set REQUESTS_CA_BUNDLE"
            )
        if isinstance(cause, ssl.SSLError):
            return ModelTlsError(
                f"no TLS connection to {peer} ({cause.reason or 'no TLS'}); does the server speak https on this port?"
            )
    return None


def _reason(chain: list[BaseException]) -> str:
    for kind, words in _WORDS:
        if any(isinstance(cause, kind) for cause in chain):
            return words
    root = chain[-1]
    if isinstance(root, OSError):
        return root.strerror or str(root)
    return type(root).__name__


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and what it came from, the first cause last."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
