"""The parser alone: bytes of a body to responses, as the client reads them, without a socket."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rxagent.models import LlmResponse
from rxagent.models.wire_body import BodyReader

__all__ = ["parse_body"]


def parse_body(pieces: Iterable[bytes], reader: BodyReader | None = None) -> Iterator[LlmResponse]:
    """The responses that a body makes which comes in these pieces: partial ones, then the whole.

    reader: one with limits of its own, if these matter. Raises ModelError and its subclasses.
    """
    reader = reader or BodyReader()
    for piece in pieces:
        yield from reader.feed(piece)
        if reader.is_done:
            break
    yield reader.close()
