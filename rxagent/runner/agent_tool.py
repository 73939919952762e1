"""AgentTool: an agent that another one calls as a tool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast, final

from rxagent.agents import BaseAgent, LlmAgent
from rxagent.events import REMOVED, Event
from rxagent.flow.output_schema import OutputSchema
from rxagent.invocation import InvocationContext, Outcome, RunConfig, ToolContext
from rxagent.memory import InMemoryMemoryService
from rxagent.models import FunctionDeclaration
from rxagent.plugins import BasePlugin
from rxagent.streams import Ledger, Single, SingleEmitter
from rxagent.tools import BaseTool, CallContext, error_result

from .runner import Runner

__all__ = ["AgentTool"]

_USER: Final = "tmp-user"
_SESSION: Final = "tool"
_REQUEST: Final = {
    "type": "object",
    "properties": {"request": {"type": "string"}},
    "required": ["request"],
}


@final
class AgentTool(BaseTool):
    """Runs the agent in a session of its own, seeded with a copy of the caller's state; its answer is the result.

    ::

        caller   -call helper------------------{"result": "helped"}-
        helper                -e-e-"helped"|

    The arguments are those of the agent's `input_schema`, sent as JSON; without one, a text `request`. The result is
    the text of the last event with content, by the agent's `output_schema` when it has one; no content: an empty
    result. What the inner run writes to its state is written to the caller's. The inner events are not emitted.
    skip_summarization: the result ends the caller's turn. include_plugins: the caller's plugins see the inner run.

    Disposal: disposes the inner run, whose work is the caller's. Errors: the inner run's. (ADK Java, AgentTool)
    """

    __slots__ = ("_include_plugins", "_skip_summarization", "agent")

    def __init__(self, agent: BaseAgent, *, skip_summarization: bool = False, include_plugins: bool = False) -> None:
        super().__init__(agent.name, agent.description)
        self.agent = agent
        self._skip_summarization = skip_summarization
        self._include_plugins = include_plugins

    def declaration(self) -> FunctionDeclaration:
        """The agent's name and description, and its input schema."""
        schema = self._schema("input_schema", first=True)
        parameters = dict(_REQUEST) if schema is None else schema.json_schema
        return FunctionDeclaration(name=self.name, description=self.description, parameters=parameters)

    def run_async(self, args: dict[str, Any], tool_context: CallContext) -> Single[dict[str, Any]]:
        """One inner run."""
        context = cast(ToolContext, tool_context)
        if self._skip_summarization:
            context.actions.skip_summarization = True
        message, problem = self._message(args)
        if problem is not None:
            return Single.just(error_result(problem))
        return Single(lambda emitter: self._start(message, context, emitter))

    def _start(self, message: str, context: ToolContext, emitter: SingleEmitter[dict[str, Any]]) -> None:
        outer = context.invocation_context
        runner = self._inner_runner(outer)
        runner.session_service.create_session(runner.app_name, _USER, context.state.to_dict(), _SESSION)
        config = RunConfig(cancel_grace_period=outer.run_config.cancel_grace_period)
        answer: str | None = None

        def on_next(event: Event) -> None:
            nonlocal answer
            if event.content is not None and not event.partial:
                answer = event.text
            _hand_over(event.actions.state_delta, context)

        handle = runner.run_async(_USER, _SESSION, message, config).subscribe(
            on_next, emitter.on_error, lambda: emitter.on_success(self._result(answer))
        )
        emitter.set_cancellable(handle.dispose)

    def _inner_runner(self, outer: InvocationContext) -> Runner:
        outer.ledger.enter()
        plugins = outer.invocation.plugins.plugins if self._include_plugins else ()
        return Runner(
            self.agent,
            app_name=outer.agent.name,
            memory_service=InMemoryMemoryService(),
            plugins=[*plugins, _Leaving(outer.ledger)],
        )

    def _message(self, args: Mapping[str, Any]) -> tuple[str, str | None]:
        """What the agent is asked, and what is wrong with the arguments."""
        schema = self._schema("input_schema", first=True)
        if schema is None:
            request = args.get("request")
            if request is None:
                return "", "The argument 'request' is missing. Call the tool again with corrected arguments."
            return str(request), None
        try:
            return json.dumps(schema.check(dict(args)), ensure_ascii=False, separators=(",", ":")), None
        except ValueError as error:
            return "", f"The arguments do not fit: {error}. Call the tool again with corrected arguments."

    def _result(self, answer: str | None) -> dict[str, Any]:
        schema = self._schema("output_schema", first=False)
        if answer is None or (schema is not None and not answer):
            return {}
        if schema is not None:
            value = schema.parse(answer)
            return value if isinstance(value, dict) else {"result": value}
        return {"result": answer}

    def _schema(self, kind: str, *, first: bool) -> OutputSchema | None:
        """The input schema of the first agent that asks a model, the output schema of the last one."""
        agent = self.agent
        while agent.sub_agents and not isinstance(agent, LlmAgent):
            agent = agent.sub_agents[0 if first else -1]
        return getattr(agent, kind, None)


def _hand_over(delta: Mapping[str, Any], context: ToolContext) -> None:
    for key, value in delta.items():
        if isinstance(value, str) and value == REMOVED:
            context.state.pop(key, None)
        else:
            context.state[key] = value


class _Leaving(BasePlugin):
    """The inner run's work is work of the outer run, until it has ended."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__("rxagent:agent_tool")
        self._ledger = ledger

    def on_run_end(self, ctx: InvocationContext, outcome: Outcome) -> None:
        self._ledger.leave()
