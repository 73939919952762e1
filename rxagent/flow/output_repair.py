"""Asking once more for an answer that does not fit the output schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from rxagent.events import Content, Event

from .asking_agent import AskingAgent

__all__ = ["OutputRepair"]

_LONGEST_PROBLEM: Final = 500


@final
class OutputRepair:
    """The repairs that one agent has left in its turn (`LlmAgent(output_repair=...)`).

    ::

        model   {"a": 1     "does not fit: ..."   {"a": 1}
        log     {"a": 1                           {"a": 1}      both answers, not the message between them

    The message goes to the model behind the contents of the next request, and is not stored: it is nobody's word. The
    answer that is repaired is not put under the agent's `output_key`.
    """

    __slots__ = ("_agent", "_left", "_problem")

    def __init__(self, agent: AskingAgent) -> None:
        self._agent = agent
        self._left = agent.output_repair if agent.output_schema is not None else 0
        self._problem = ""  # what the next request is to say

    def messages(self) -> Sequence[Content]:
        """What the next request says besides the history. Taken once."""
        problem, self._problem = self._problem, ""
        if not problem:
            return ()
        text = f"Your last answer does not have the required form: {problem}\nAnswer again, in the required form alone."
        return (Content.user(text),)

    def give_up(self) -> None:
        """No more repairs: the next step is the last."""
        self._left = 0

    def will_ask_again(self, event: Event) -> bool:
        """True for a final answer of the agent that does not fit, while there is a repair left."""
        return self._left > 0 and bool(self._mismatch(event))

    def asks_again(self, last: Event | None) -> bool:
        """Use up a repair for the last event of a step, if it needs one: then there is to be another step."""
        if last is None or not self.will_ask_again(last):
            return False
        self._left -= 1
        self._problem = self._mismatch(last)
        return True

    def _mismatch(self, event: Event) -> str:
        schema, said = self._agent.output_schema, event.text
        if schema is None or not said or event.partial or event.author != self._agent.name:
            return ""
        if event.error_code or event.long_running_tool_ids or not event.final_response():
            return ""
        try:
            schema.parse(said)
        except ValueError as error:
            return " ".join(str(error).split())[:_LONGEST_PROBLEM] or "it does not fit the schema"
        return ""
