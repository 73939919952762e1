"""SocketGuard: a second hold on the live socket of one call, by which any thread can cut it."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
from typing import Final, final

__all__ = ["SocketGuard"]

_LINGER_ZERO: Final = struct.pack("ii", 1, 0)


@final
class SocketGuard:
    """Holds a duplicate of the socket that a call is using, and shuts it down on `cut`.

    ::

        worker     attach ====== connect, TLS, send, read ====== detach   (pool)
        canceller                        cut!
        worker                           |wakes: EOF or an error

    The duplicate is a plain socket on a descriptor of its own. It survives `wrap_socket`, which takes the descriptor
    out of the socket object; no number of a closed descriptor can be taken for it; and it is never an SSLSocket, whose
    `shutdown` takes the TLS layer away under a sender, so that the rest would go out in plain text.
    A detached socket is never touched again: it may belong to another call by then.

    Threads: `cut` from any, also from a signal handler on the worker's own thread; it never blocks. The rest on the
    worker's.
    """

    __slots__ = ("_duplicate", "_is_cut", "_lock", "_owner")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._duplicate: socket.socket | None = None
        self._owner: object = None
        self._is_cut = False

    def cut(self) -> None:
        """Break the connection now, and refuse every later one. Idempotent."""
        with self._lock:
            self._is_cut = True
            if self._duplicate is not None:
                _break(self._duplicate)

    def attach(self, sock: socket.socket, owner: object) -> bool:
        """Take hold of a socket on behalf of `owner`, its connection. False when the call was cut before.

        Raises OSError when there is no descriptor left.
        """
        duplicate = socket.socket(sock.family, sock.type, sock.proto, fileno=os.dup(sock.fileno()))
        with self._lock:
            before, self._duplicate, self._owner = self._duplicate, duplicate, owner
        if before is not None:
            before.close()
        return not self._is_cut

    def detach(self, owner: object = None) -> bool:
        """Let go. True when the socket was not cut and may be used again.

        owner: let go only when the socket is this owner's; None for any.
        """
        with self._lock:
            if owner is not None and owner is not self._owner:
                return True
            duplicate, self._duplicate, self._owner = self._duplicate, None, None
            is_clean = not self._is_cut
        if duplicate is not None:
            duplicate.close()
        return is_clean


def _break(duplicate: socket.socket) -> None:
    with contextlib.suppress(OSError):  # not connected yet, or the peer has gone
        # Without linger 0 the end of the connection queues behind what the peer does not read, perhaps for ever.
        duplicate.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
        duplicate.shutdown(socket.SHUT_RDWR)
