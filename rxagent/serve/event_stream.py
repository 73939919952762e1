"""EventStreamResponse: frames to a client, whose leaving is noticed at once, also in silence."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from typing import Final, final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from .frames import error_frame

__all__ = ["EventStreamResponse", "gone"]

_HEADERS: Final = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",  # nginx would hold frames back
}
_log: Final = logging.getLogger("rxagent.serve")


async def gone(receive: Receive) -> None:
    """Returns when the client has gone. The request's body must have been read."""
    while (await receive())["type"] != "http.disconnect":
        pass


@final
class EventStreamResponse(Response):
    """Server-sent events. Writing and watching the connection go on side by side.

    frames: what to send; closed at the end, however that comes. on_gone: called, once, when the client has gone
    before the last frame was sent; must not block. An exception of `frames` becomes an error frame.
    """

    def __init__(
        self,
        frames: AsyncGenerator[bytes, None],
        headers: Mapping[str, str],
        on_gone: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(headers={**_HEADERS, **headers})
        del self.headers["content-length"]
        self._frames = frames
        self._on_gone = on_gone

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream (ASGI)."""
        watch = asyncio.create_task(gone(receive))
        write = asyncio.create_task(self._write(send))
        try:
            await asyncio.wait((watch, write), return_when=asyncio.FIRST_COMPLETED)
            if not write.done() or write.exception() is not None:
                if self._on_gone is not None:
                    self._on_gone()
                write.cancel()
        finally:
            for task in (watch, write):
                task.cancel()
                with suppress(asyncio.CancelledError, OSError):
                    await task

    async def _write(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async with aclosing(self._frames) as frames:
            try:
                async for data in frames:
                    await send({"type": "http.response.body", "body": data, "more_body": True})
            except OSError:  # the client has gone
                raise
            except Exception as error:
                _log.exception("an event stream broke off")
                text = error_frame(f"{type(error).__name__}: {error}")
                await send({"type": "http.response.body", "body": text, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
