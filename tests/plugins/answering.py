"""A hook of each form, and a run in which every hook has its turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from rxagent.events import Content, Event
from rxagent.models import LlmResponse
from rxagent.plugins import BasePlugin
from rxagent.plugins.hooks import HOOKS
from rxagent.runner import Runner
from rxagent.streams import Single
from rxagent.testing.scripted_model import ScriptedModel, call
from tests.runner.driving import Ends, runner_of

__all__ = ["AGENT_CASES", "FORMS", "WHOLE", "Case", "Hooked", "Noting", "form", "shown"]

FORMS: Final = ("plain", "coroutine", "single")
WHOLE: Final = ["call(tool)", "tool={'result': 'done'}", "Done."]


class Case(NamedTuple):
    """An answer of a hook, and what the run then shows."""

    answer: Any
    shown: list[str]


def _says(text: str) -> LlmResponse:
    return LlmResponse(content=Content.model(text))


AGENT_CASES: Final[dict[str, Case]] = {
    "before_agent_callback": Case(Content.model("In its place."), ["In its place."]),
    "after_agent_callback": Case(Content.model("And more."), [*WHOLE, "And more."]),
    "before_model_callback": Case(_says("Not asked."), ["Not asked."]),
    "after_model_callback": Case(_says("Replaced."), ["Replaced."]),
    "on_model_error_callback": Case(_says("Sorry."), ["Sorry."]),
    "before_tool_callback": Case({"by": "hook"}, ["call(tool)", "tool={'by': 'hook'}", "Done."]),
    "after_tool_callback": Case({"by": "hook"}, ["call(tool)", "tool={'by': 'hook'}", "Done."]),
    "on_tool_error_callback": Case({"by": "hook"}, ["call(tool)", "tool={'by': 'hook'}", "Done."]),
}


def form(name: str, do: Callable[..., Any]) -> Callable[..., Any]:
    """`do` as a plain function, as a coroutine function, or as one that returns a Single."""

    async def coroutine(*args: Any) -> Any:
        return do(*args)

    def single(*args: Any) -> Single[Any]:
        return Single.from_callable(lambda: do(*args))

    return {"plain": do, "coroutine": coroutine, "single": single}[name]


class Noting(BasePlugin):
    """Notes each hook that is asked, but for on_run_end; replaces nothing."""

    def __init__(self, name: str = "noting") -> None:
        super().__init__(name)
        self.asked: list[str] = []
        for hook in HOOKS:
            if hook != "on_run_end":
                setattr(self, hook, self._noting(hook))

    def _noting(self, hook: str) -> Callable[..., None]:
        return lambda *args: self.asked.append(hook)


class Hooked:
    """A run of one agent: it calls a tool, and says "Done.". What the hook needs to be asked goes wrong in it."""

    def __init__(self, hook: str, /, *plugins: BasePlugin, **callbacks: Any) -> None:
        self.tool_calls = 0
        self.ends = Ends()
        self.model = ScriptedModel(*self._turns(hook))
        self._tool_fails = hook == "on_tool_error_callback"
        self.runner: Runner = runner_of(self.model, tools=[self.tool], plugins=[*plugins, self.ends], **callbacks)

    @staticmethod
    def _turns(hook: str) -> list[Any]:
        if hook == "on_model_error_callback":
            return [ValueError("the model is down")]
        return [call("tool"), "Done."]

    def tool(self) -> Any:
        """Work."""
        self.tool_calls += 1
        return Single.error(ValueError("the tool is broken")) if self._tool_fails else "done"


def shown(events: Iterable[Event]) -> list[str]:
    """Events in words, with results of tools."""
    return [" ".join(_words(event)) for event in events]


def _words(event: Event) -> Iterable[str]:
    for part in event.parts:
        if part.function_call is not None:
            yield f"call({part.function_call.name})"
        elif part.function_response is not None:
            yield f"{part.function_response.name}={part.function_response.response}"
        elif part.text:
            yield part.text
