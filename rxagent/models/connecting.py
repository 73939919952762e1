"""From a host name to a connected socket, in steps that a cancel leaves at once."""

from __future__ import annotations

import errno
import os
import select
import socket
from collections.abc import Iterable, Sequence
from queue import SimpleQueue
from typing import Any, Final, TypeAlias

from rxagent.errors import ModelConnectError, NameLookupError, TooManyOpenFilesError
from rxagent.streams.workers import workers

from .transport_call import TransportCall

__all__ = ["NO_DESCRIPTORS", "connect", "too_many_files"]

_Address: TypeAlias = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]
NO_DESCRIPTORS: Final = (errno.EMFILE, errno.ENFILE)


def connect(
    call: TransportCall, owner: object, host: str, port: int, options: Iterable[tuple[Any, ...]], peer: str
) -> socket.socket:
    """A connected socket that `call.guard` holds for `owner`; its time limit is what the call has left.

    peer: what the other side is called in messages. Raises Stopped, ModelConnectError and its subclasses, and the
    error of the time limit that is over.
    """
    failure: OSError | None = None
    options = tuple(options)
    for family, kind, protocol, _, address in _resolve(call, host, port, peer):
        try:
            return _connect_one(call, owner, socket.socket(family, kind, protocol), address, options)
        except OSError as error:
            call.scope.check()
            if error.errno in NO_DESCRIPTORS:
                raise too_many_files() from None
            failure = error
    reason = os.strerror(failure.errno) if failure is not None and failure.errno else "no address"
    raise ModelConnectError(f"cannot connect to {peer}: {reason}; is the server running, and is base_url right?")


def too_many_files() -> TooManyOpenFilesError:
    """The error for a process without descriptors."""
    return TooManyOpenFilesError(
        "this process has no file descriptor left for a model call (each live call takes two); "
        "raise the limit (ulimit -n), or run fewer calls at once"
    )


def _resolve(call: TransportCall, host: str, port: int, peer: str) -> Sequence[_Address]:
    """The addresses of a host. The resolver cannot be stopped, so it works on a worker that a cancel abandons."""
    try:
        return socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM, 0, socket.AI_NUMERICHOST)
    except socket.gaierror:
        pass  # a name
    inbox: SimpleQueue[Sequence[_Address] | Exception] = SimpleQueue()

    def look_up() -> None:
        try:
            inbox.put(socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM))
        except Exception as error:  # also UnicodeError, for a name that is none
            inbox.put(error)

    workers.spawn(look_up)
    found = call.scope.wait(inbox, call.limits.remaining())
    if found is None:
        raise call.limits.error()
    if isinstance(found, Exception):
        _probe_descriptors()
        reason = getattr(found, "strerror", None) or str(found)
        raise NameLookupError(f"the name of {peer} cannot be resolved ({reason}); check the host in base_url")
    return found


def _probe_descriptors() -> None:
    """A resolver that has no descriptor left says "temporary failure": tell the two apart."""
    try:
        socket.socket().close()
    except OSError:
        raise too_many_files() from None


def _connect_one(
    call: TransportCall, owner: object, sock: socket.socket, address: Any, options: tuple[tuple[Any, ...], ...]
) -> socket.socket:
    try:
        for option in options:
            sock.setsockopt(*option)
        call.attach(sock, owner)
        _establish(call, sock, address)
        sock.settimeout(call.limits.remaining())
        return sock
    except BaseException:
        sock.close()
        call.guard.detach(owner)
        raise


def _establish(call: TransportCall, sock: socket.socket, address: Any) -> None:
    """connect() begun without blocking and then awaited: a shutdown ahead of it would be lost (ENOTCONN)."""
    sock.setblocking(False)
    code = sock.connect_ex(address)
    if code not in (0, errno.EINPROGRESS):
        raise OSError(code, os.strerror(code))
    call.scope.check()  # from here on a cut reaches the socket; this is for the one that came before
    if code == 0:
        return
    poll = select.poll()
    poll.register(sock, select.POLLOUT)
    left = call.limits.remaining()
    ready = poll.poll(None if left is None else left * 1000)
    call.scope.check()  # ahead of SO_ERROR, which may be 0 after a cut
    if not ready:
        raise call.limits.error()
    code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        raise OSError(code, os.strerror(code))
