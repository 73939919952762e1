"""The parts of a user's message on the wire: text, images, audio, files, and an error for what a server cannot take."""

from __future__ import annotations

import base64
from typing import Any, Final, TypeAlias

from rxagent.errors import ModelRequestError
from rxagent.events import Blob, FileData, Part

from .profile import InputKind, Profile

__all__ = ["input_kinds", "piece_of", "spoken"]

Json: TypeAlias = dict[str, Any]

_AUDIO_FORMATS: Final = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav", "x-m4a": "m4a"}
_IN_WORDS: Final[dict[InputKind, str]] = {
    "image": "images",
    "image_url": "images by address",
    "audio": "audio",
    "audio_url": "audio by address",
    "video_url": "video by address",
    "file": "files",
}


def spoken(part: Part) -> str:
    """What a part says as text; thoughts say nothing."""
    if part.thought:
        return ""
    if part.text:
        return part.text
    if part.executable_code is not None:
        return f"\n```{(part.executable_code.language or '').lower()}\n{part.executable_code.code or ''}\n```\n"
    if part.code_execution_result is not None:
        return f"\n```\n{part.code_execution_result.output or ''}\n```\n"
    return ""


def piece_of(part: Part, profile: Profile) -> Json | None:
    """One piece of a message's content; None for a part that says nothing.

    Raises ModelRequestError for a kind of input that the server does not take.
    """
    if part.inline_data is not None:
        return _bytes_piece(part.inline_data, profile)
    if part.file_data is not None:
        return _address_piece(part.file_data, profile)
    text = spoken(part)
    return {"type": "text", "text": text} if text else None


def input_kinds(body: Json) -> set[str]:
    """The kinds of input, besides text, in a request's body, by their names on the wire."""
    contents = [message.get("content") for message in body.get("messages", ())]
    pieces = [piece for content in contents if isinstance(content, list) for piece in content]
    return {str(piece.get("type")) for piece in pieces} - {"text"}


def _bytes_piece(blob: Blob, profile: Profile) -> Json:
    mime = (blob.mime_type or "application/octet-stream").lower()
    kind, _, form = mime.partition(";")[0].partition("/")
    data = blob.data or b""
    if kind == "image":
        _require("image", mime, profile)
        return {"type": "image_url", "image_url": {"url": _data_uri(mime, data)}}
    if kind == "audio":
        _require("audio", mime, profile)
        audio = {"data": base64.b64encode(data).decode(), "format": _AUDIO_FORMATS.get(form, form)}
        return {"type": "input_audio", "input_audio": audio}
    if kind == "text" and "file" not in profile.inputs:  # what a text file says can be said everywhere
        return {"type": "text", "text": f"[{blob.display_name or 'file'}]\n{data.decode('utf-8', 'replace')}"}
    _require("file", mime, profile)
    return {"type": "file", "file": {"filename": blob.display_name or "file", "file_data": _data_uri(mime, data)}}


def _address_piece(file: FileData, profile: Profile) -> Json:
    mime, address = (file.mime_type or "").lower(), file.file_uri or ""
    kind = mime.partition("/")[0]
    if kind == "image":
        _require("image_url", mime, profile)
        return {"type": "image_url", "image_url": {"url": address}}
    if kind in ("audio", "video"):
        wanted: InputKind = "audio_url" if kind == "audio" else "video_url"
        _require(wanted, mime, profile)
        return {"type": wanted, wanted: {"url": address}}
    if address.startswith("file-"):  # an id that the server has given to an upload
        _require("file", mime, profile)
        return {"type": "file", "file": {"file_id": address}}
    return {"type": "text", "text": f"[{mime or 'file'}: {address}]"}


def _require(kind: InputKind, mime: str, profile: Profile) -> None:
    if kind in profile.inputs:
        return
    by_address = kind.endswith("_url")
    same_in_bytes = kind.removesuffix("_url") in profile.inputs
    advice = "give its bytes as inline_data" if by_address and same_in_bytes else "leave it out, or use another server"
    raise ModelRequestError(
        f"the server takes no {_IN_WORDS[kind]} (profile {profile.name!r}), and the request holds {mime or 'some'}: "
        f"{advice}; if it does take them, give a profile with inputs of its own",
        what=kind,
    )


def _data_uri(mime: str, data: bytes) -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"
