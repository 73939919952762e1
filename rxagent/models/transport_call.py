"""TransportCall: what one call on the wire carries with it, down into the connection that it uses."""

from __future__ import annotations

import io
import socket
from contextvars import ContextVar
from typing import Any, Final, final

from rxagent.streams.scope import CancelScope, Stopped

from .limits import Limits
from .socket_guard import SocketGuard

__all__ = ["PacedSocket", "TransportCall", "current_call"]


@final
class TransportCall:
    """Scope, guard and clock of one call."""

    __slots__ = ("guard", "limits", "scope")

    def __init__(self, scope: CancelScope, limits: Limits) -> None:
        self.scope = scope
        self.guard = SocketGuard()
        self.limits = limits

    def attach(self, sock: socket.socket, owner: object) -> None:
        """Put the socket under the guard. Raises Stopped when the scope was cancelled."""
        if not self.guard.attach(sock, owner):
            raise Stopped(self.scope)

    def before_step(self, sock: socket.socket) -> None:
        """Ahead of each blocking step on the socket: raise what stops the call, and set the step's time limit."""
        self.scope.check()
        sock.settimeout(self.limits.remaining())


current_call: Final[ContextVar[TransportCall | None]] = ContextVar("rxagent_transport_call", default=None)
"""The call that this thread is sending: how it finds its way through requests and urllib3."""


@final
class PacedSocket:
    """What http.client reads an answer from: a socket whose every single `recv` is a step of the call.

    A time limit on the socket alone would begin anew with each byte: a server that drips its headers could hold a
    call for ever.
    """

    __slots__ = ("_call", "_sock")

    def __init__(self, sock: socket.socket, call: TransportCall) -> None:
        self._sock = sock
        self._call = call

    def makefile(self, mode: str) -> io.BufferedReader:
        """The stream that http.client asks for."""
        return io.BufferedReader(_PacedReader(self._sock, self._call))


class _PacedReader(io.RawIOBase):
    def __init__(self, sock: socket.socket, call: TransportCall) -> None:
        self._raw = sock.makefile("rb", buffering=0)  # keeps the socket open after `Connection: close`
        self._sock = sock
        self._call = call

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._call.before_step(self._sock)
        count = self._raw.readinto(buffer)
        self._call.scope.check()  # an end that a cut has made is no end
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()
