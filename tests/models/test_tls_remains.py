"""The socket that a failed handshake leaves open."""

from __future__ import annotations

import socket
import ssl
from typing import Any

import pytest

from rxagent.models.tls_remains import close_half_made


def test_the_half_made_socket_is_closed() -> None:
    """The TLS socket that only the traceback still knows is closed; an error without one is left as it is."""
    made: list[ssl.SSLSocket] = []

    class HalfMade(ssl.SSLSocket):
        def do_handshake(self, *args: Any, **more: Any) -> None:
            made.append(self)
            raise RuntimeError("not one of those after which it closes itself")

    context = ssl.create_default_context()
    context.sslsocket_class = HalfMade
    ours, theirs = socket.socketpair()
    with ours, theirs:
        with pytest.raises(RuntimeError) as caught:
            context.wrap_socket(ours, server_hostname="x")
        [half_made] = made
        assert half_made.fileno() != -1
        close_half_made(caught.value)
        assert half_made.fileno() == -1
        close_half_made(ValueError("never raised"))
