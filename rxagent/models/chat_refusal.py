"""What an error status means for a request with images, audio or files: often that the server takes none."""

from __future__ import annotations

import re
from typing import Final

from pydantic_core import from_json

from rxagent.errors import ModelError, ModelHttpError, ModelRequestError

from .wire_parts import input_kinds

__all__ = ["refusal", "refuses_usage"]

_STATUSES: Final = frozenset({400, 415, 422, 500, 501})
_WORDS: Final = re.compile(
    r"image|audio|video|vision|multi-?modal|mmproj|input_file|unknown variant|content.{0,40}(type|part|string|array)",
    re.I,
)
_KINDS: Final = {"image_url": "image", "input_audio": "audio"}


def refusal(error: ModelHttpError, body: bytes) -> ModelError:
    """The error for a refused request: ModelRequestError when it held input that the server's words are about.

    llama.cpp says "image input is not supported" with status 500, DeepSeek "unknown variant `image_url`" with 400.
    """
    if error.status not in _STATUSES or not _WORDS.search(error.body):
        return error
    kinds = sorted(_KINDS.get(kind, kind) for kind in input_kinds(from_json(body)))
    if not kinds:
        return error
    refused = ModelRequestError(
        f"the request holds {' and '.join(kinds)} input, which this model or its server seems not to take; leave it "
        f"out, or use a model that reads it ({error})",
        what=kinds[0],
    )
    refused.__cause__ = error
    return refused


def refuses_usage(error: Exception) -> bool:
    """True when the server refused the question for usage, which is put to every server that is not known to."""
    return isinstance(error, ModelHttpError) and error.status in (400, 422) and "stream_options" in error.body
