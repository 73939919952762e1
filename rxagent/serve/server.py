"""Server: the application under uvicorn, from the first connection to the last seal."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final, final

import uvicorn
from starlette.applications import Starlette

from .app import desk_of

__all__ = ["LOOPBACK", "Server", "raise_file_limit"]

LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
"""The names of this machine for itself."""

_LAST_FRAMES: Final = 5  # seconds that readers may take for them
_GLANCE: Final = 0.1


def raise_file_limit() -> int:
    """Allow this process as many open files as the system lets it; the number.

    A stream takes a socket, and a model call two more; the usual soft limit of 1024 ends at some hundred runs.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(ValueError, OSError):  # some systems call a number their own limit and refuse it
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    return soft


@final
class Server(uvicorn.Server):
    """Serves an application of `create_app`. SIGTERM and Ctrl-C stop its runs, wait for their seals, and end it.

    The runs are stopped before the connections are closed, so that each stream gets its last frame; a second signal
    does not wait. on_listening: called with the bound address, once.
    """

    def __init__(
        self,
        app: Starlette,
        host: str = "127.0.0.1",
        port: int = 8000,
        on_listening: Callable[[str, int], object] | None = None,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                host=host,
                port=port,
                lifespan="on",
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_LAST_FRAMES,
            )
        )
        self._desk = desk_of(app)
        self._on_listening = on_listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say where."""
        await super().startup(sockets)
        if self._on_listening is not None and self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._on_listening(host, port)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop the runs, then what uvicorn does."""
        closing = asyncio.create_task(self._desk.close("worker_shutdown"))
        while not closing.done() and not self.force_exit:
            await asyncio.wait((closing,), timeout=_GLANCE)
        await super().shutdown(sockets)
