"""Bodies of requests: bounded, and JSON."""

from __future__ import annotations

import json
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

__all__ = ["read_json"]


async def read_json(request: Request, max_body: int) -> Any:
    """The body as JSON; None when it is empty. Status 413 above `max_body` bytes, 422 for what is no JSON."""
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > max_body:
        raise _too_large(max_body)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_body:
            raise _too_large(max_body)
    if not body:
        return None
    try:
        return json.loads(bytes(body))
    except (ValueError, RecursionError) as error:
        raise HTTPException(422, f"the body is no JSON: {error}") from None


def _too_large(max_body: int) -> HTTPException:
    return HTTPException(413, f"the body has more than {max_body} bytes", headers={"Connection": "close"})
