"""Transport: HTTP POSTs over requests that any thread can stop, in every phase. It knows nothing of models."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, final
from urllib.parse import urlsplit

from rxagent.errors import ConfigError, ModelError
from rxagent.streams.scope import CancelScope

from .limits import Limits
from .transport_call import TransportCall, current_call
from .transport_errors import translated

if TYPE_CHECKING:
    import requests

    from .transport_pool import GuardedAdapter

__all__ = ["Reply", "Transport"]

_READ: Final = 65536
_FINISH_SECONDS: Final = 0.05  # that a whole answer's last bytes may take before its connection is given up
_LOOPBACK: Final = re.compile(r"(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$")


@final
class Transport:
    """POSTs whose answers come as bytes, as soon as they are there.

    pool_size: connections kept per host. requests keeps 10; a runtime easily has more runs at once, and each one
    beyond the pool pays a connect and a TLS handshake for every call. Nothing waits for a free place.
    verify: True, False, or a file of certificates. proxies: as in requests, by scheme; None takes the environment's,
    which are not used for this machine's own addresses. SOCKS is not supported: its library connects by itself.

    Threads: any number at once; a child after a fork gets connections of its own.
    """

    __slots__ = ("_adapters", "_pool_size", "_proxies", "_verify")

    def __init__(
        self, *, pool_size: int = 64, verify: bool | str = True, proxies: Mapping[str, str] | None = None
    ) -> None:
        if any(proxy.lower().startswith("socks") for proxy in (proxies or {}).values()):
            raise ConfigError("SOCKS proxies are not supported: a call through one could not be stopped")
        self._pool_size = pool_size
        self._verify = verify
        self._proxies = dict(proxies) if proxies is not None else None
        self._adapters: dict[int, GuardedAdapter] = {}  # by process: two must not share a connection

    def post(self, scope: CancelScope, url: str, headers: Mapping[str, str], body: bytes, limits: Limits) -> Reply:
        """Send, and wait for the answer's headers; no redirects are followed, nothing is retried.

        Raises Stopped when, and only when, `scope` was cancelled; ModelConnectError and its subclasses; the
        error of a time limit that is over. The caller closes the reply.
        """
        call = TransportCall(scope, limits)
        off = scope.on_cancel(call.guard.cut)
        failure: BaseException | None = None
        try:
            scope.check()
            response = self._send(call, url, headers, body)
            return Reply(response, call, off)
        except Exception as error:
            failure = translated(error, call, _peer(url), in_answer=False)
        except BaseException:
            _release(call, off)
            raise
        _release(call, off)
        raise failure  # outside of the except clause: requests' errors hold the request and its secrets

    def close(self) -> None:
        """Close the idle connections. Calls under way go on; a later call opens new ones."""
        adapter = self._adapters.pop(os.getpid(), None)
        if adapter is not None:
            adapter.close()

    def _send(self, call: TransportCall, url: str, headers: Mapping[str, str], body: bytes) -> requests.Response:
        import requests

        request = requests.Request("POST", url, headers=dict(headers), data=body).prepare()
        token = current_call.set(call)
        try:
            return self._own_adapter().send(
                request, stream=True, verify=self._certificates(), proxies=self._proxies_for(url)
            )
        finally:
            current_call.reset(token)

    def _own_adapter(self) -> GuardedAdapter:
        from .transport_pool import GuardedAdapter

        process = os.getpid()
        return self._adapters.get(process) or self._adapters.setdefault(process, GuardedAdapter(self._pool_size))

    def _certificates(self) -> bool | str:
        if self._verify is True:
            return os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or True
        return self._verify

    def _proxies_for(self, url: str) -> dict[str, str]:
        if self._proxies is not None:
            return self._proxies
        if _LOOPBACK.match(_peer(url)):
            return {}
        from requests.utils import get_environ_proxies

        return get_environ_proxies(url)


@final
class Reply:
    """An answer whose headers have come. A context manager: leaving it lets go of the connection.

    status: the HTTP status. headers: names in any case.
    Threads: those of the call's own thread. It is stopped through its scope, never by closing it from elsewhere:
    that would wait for the reader.
    """

    __slots__ = ("_call", "_off", "_response", "headers", "status")

    def __init__(self, response: requests.Response, call: TransportCall, off: Any) -> None:
        self._response = response
        self._call = call
        self._off = off
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers

    def chunks(self) -> Iterator[bytes]:
        """The body, unpacked, in pieces as they come.

        Raises Stopped when, and only when, the scope was cancelled; the error of a time limit that is over;
        ModelConnectError when the connection breaks before the end. An end that cannot be told from a break (no
        length, no chunks) ends normally.
        """
        while chunk := self._read():
            yield chunk
            self._call.limits.enter("idle")

    def read(self, most: int) -> bytes:
        """The body as a whole, cut after `most` bytes. Raises as `chunks` does."""
        body = bytearray()
        for chunk in self.chunks():
            body += chunk
            if len(body) >= most:
                break
        return bytes(body[:most])

    def end_within(self, seconds: float) -> None:
        """From now on the rest of the answer may take no longer than this."""
        self._call.limits.finish_within(seconds)

    def finish(self) -> None:
        """Read what little may be left, so that the connection can be used again; give it up when more comes."""
        self._call.limits.finish_within(_FINISH_SECONDS)
        try:
            self._read()
        except ModelError:
            pass  # the answer is whole: only the connection is lost
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the connection: back to the pool when the body was read to its end, else closed."""
        try:
            self._response.close()
        finally:
            _release(self._call, self._off)

    def __enter__(self) -> Reply:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self) -> bytes:
        failure: BaseException | None = None
        try:
            self._call.scope.check()
            chunk: bytes = self._response.raw.read1(_READ, decode_content=True) or b""
            self._call.scope.check()  # the end may have come as the cancel did
            return chunk
        except Exception as error:
            failure = translated(error, self._call, _peer(self._response.url), in_answer=True)
        raise failure


def _release(call: TransportCall, off: Any) -> None:
    off()
    call.guard.detach()


def _peer(url: str | None) -> str:
    """Host and port, without what else a URL may hold (names and passwords)."""
    return urlsplit(url or "").netloc.rpartition("@")[2]
