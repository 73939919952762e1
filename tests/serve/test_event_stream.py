"""The response that writes frames and watches the connection side by side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from rxagent.serve.event_stream import EventStreamResponse

SCOPE: Any = {"type": "http"}


class Peer:
    """The other side, as an ASGI server shows it."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self.sent: list[Any] = []

    async def receive(self) -> Any:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    @property
    def text(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


def test_frames_are_sent_and_the_body_ends() -> None:
    """Status, headers, each frame, and the end; nobody is told that the client has gone."""
    told: list[str] = []

    async def frames() -> AsyncGenerator[bytes, None]:
        yield b"one"
        yield b"two"

    async def scene() -> Peer:
        peer = Peer()
        response = EventStreamResponse(frames(), {"x-id": "1"}, lambda: told.append("gone"))
        await response(SCOPE, peer.receive, peer.send)
        return peer

    peer = asyncio.run(scene())
    assert peer.sent[0]["status"] == 200
    assert (b"x-id", b"1") in peer.sent[0]["headers"]
    assert not [name for name, _ in peer.sent[0]["headers"] if name == b"content-length"]
    assert (peer.text, peer.sent[-1]["more_body"], told) == (b"onetwo", False, [])


def test_a_client_that_goes_in_silence_is_noticed() -> None:
    """`on_gone` is called at once, and the frames are closed."""
    steps: list[str] = []

    async def frames() -> AsyncGenerator[bytes, None]:
        try:
            yield b"one"
            await asyncio.sleep(60)
        finally:
            steps.append("closed")

    async def scene() -> None:
        peer = Peer()
        response = EventStreamResponse(frames(), {}, lambda: steps.append("gone"))
        task = asyncio.create_task(response(SCOPE, peer.receive, peer.send))
        while not peer.text:
            await asyncio.sleep(0)
        peer.gone.set()
        await asyncio.wait_for(task, 5)

    asyncio.run(scene())
    assert steps == ["gone", "closed"]


def test_an_error_of_the_frames_is_a_frame() -> None:
    """What goes wrong after the headers is told, and the body ends."""

    async def frames() -> AsyncGenerator[bytes, None]:
        yield b"one"
        raise ValueError("broken")

    async def scene() -> Peer:
        peer = Peer()
        await EventStreamResponse(frames(), {})(SCOPE, peer.receive, peer.send)
        return peer

    peer = asyncio.run(scene())
    assert peer.text == b'oneevent: error\ndata: {"error":"ValueError: broken"}\n\n'
    assert peer.sent[-1]["more_body"] is False


def test_a_connection_that_cannot_be_written_has_gone() -> None:
    """An OSError of the sending is a client that went."""
    steps: list[str] = []

    async def frames() -> AsyncGenerator[bytes, None]:
        yield b"one"

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            raise OSError("broken pipe")

    asyncio.run(EventStreamResponse(frames(), {}, lambda: steps.append("gone"))(SCOPE, Peer().receive, send))
    assert steps == ["gone"]
