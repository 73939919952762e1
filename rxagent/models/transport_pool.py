"""urllib3's connections and pools, and requests' adapter over them, with the call's guard at every step.

Imported at the first model call: requests is slow to load.

Public names used: HTTPAdapter.{init_poolmanager, proxy_manager_for, send}, PoolManager.pool_classes_by_scheme,
HTTPConnectionPool.ConnectionCls, HTTPConnection.{connect, request, send, response_class}. Private ones, with a
self-test for each phase in tests/models: HTTPConnection._new_conn and ._dns_host, HTTPConnectionPool._put_conn.
"""

from __future__ import annotations

import http.client
import socket
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.util import Retry

from .connecting import connect
from .tls_remains import close_half_made
from .transport_call import PacedSocket, TransportCall, current_call

__all__ = ["GuardedAdapter"]


class _PlainConnection(HTTPConnection):
    """A connection that shows its socket to the call's guard, and asks the call ahead of each blocking step."""

    call: TransportCall | None = None

    def _new_conn(self) -> socket.socket:
        call = self._begin()
        host, port = self._dns_host.strip("[]"), self.port or self.default_port
        peer = f"{'the proxy ' if self.proxy else ''}{self.host}:{port}"
        return connect(call, self, host, port, self.socket_options or (), peer)

    def connect(self) -> None:
        call = self._begin()
        call.limits.enter("connect")
        super().connect()
        call.limits.enter("first_byte")

    def request(self, *args: Any, **options: Any) -> None:
        call = self._begin()
        call.scope.check()
        if self.sock is not None:  # from the pool
            call.attach(self.sock, self)
            call.limits.enter("first_byte")
        super().request(*args, **options)

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()
        if self.call is not None and self.sock is not None:
            self.call.before_step(self.sock)
        super().send(data)

    def _begin(self) -> TransportCall:
        call = self.call = current_call.get()
        if call is None:
            raise RuntimeError("a guarded connection is used outside of a Transport")

        def response(sock: Any, *args: Any, **options: Any) -> http.client.HTTPResponse:
            return http.client.HTTPResponse(PacedSocket(sock, call), *args, **options)  # type: ignore[arg-type]

        self.response_class = response  # type: ignore[assignment]
        return call


class _TlsConnection(_PlainConnection, HTTPSConnection):
    """The same over TLS: the mixture calls HTTPSConnection where the other one calls HTTPConnection."""

    def connect(self) -> None:
        try:
            super().connect()
        except OSError as error:
            close_half_made(error)
            raise


class _PlainPool(HTTPConnectionPool):
    """A pool that takes a connection back only when its call has let go of the socket."""

    ConnectionCls = _PlainConnection

    def _put_conn(self, conn: Any) -> None:
        if conn is not None:
            call, conn.call = conn.call, None
            if call is not None and not call.guard.detach(conn):
                conn.close()  # cut: another call must not get it
        super()._put_conn(conn)


class _TlsPool(_PlainPool, HTTPSConnectionPool):
    """The same over TLS."""

    ConnectionCls = _TlsConnection


class GuardedAdapter(HTTPAdapter):
    """requests' adapter over guarded pools. It never retries: what may be retried is not its to know."""

    def __init__(self, pool_size: int) -> None:
        super().__init__(pool_maxsize=pool_size, max_retries=Retry(0, read=False))

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options)
        _guard(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **options)
        _guard(manager)
        return manager


def _guard(manager: PoolManager) -> None:
    manager.pool_classes_by_scheme = {"http": _PlainPool, "https": _TlsPool}
