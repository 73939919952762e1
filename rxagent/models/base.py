"""BaseLlm: what every model is."""

from __future__ import annotations

from abc import ABC, abstractmethod

from reactivex import Observable

from .request import LlmRequest
from .response import LlmResponse

__all__ = ["BaseLlm"]


class BaseLlm(ABC):
    """A model. Subclasses implement `generate_content`; one object serves many runs at once.

    model: the name that the server knows it by.
    """

    def __init__(self, model: str) -> None:
        self.model = model

    @abstractmethod
    def generate_content(self, llm_request: LlmRequest, stream: bool = False) -> Observable[LlmResponse]:
        """The answer as a cold Observable: each subscription is a call of its own.

        stream: also yield partial responses as they arrive.
        Disposal: stops the call at once. Errors: ModelError and its subclasses. Threads: any; a run brings what
        arrives to its own worker. For blocking code use `rxagent.streams.Blocking`: a run pulls it on its worker.
        """

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.model!r}>"
