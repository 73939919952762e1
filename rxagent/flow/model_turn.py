"""ModelTurn: one step of an agent: ask the model, pass on what it says, run the tools it calls."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any, Final, TypeAlias, cast, final

from reactivex import Observable

from rxagent.events import Content, Event, EventActions, FunctionCall, Part, ToolConfirmation
from rxagent.history.contents import History
from rxagent.invocation import CallbackContext, InvocationContext
from rxagent.models import LlmRequest, LlmResponse
from rxagent.plugins import first, wrong_answer
from rxagent.streams import CancelScope, Emit, Stopped, pull
from rxagent.tools import BaseTool

from .asking_agent import AskingAgent
from .call_batch import CallBatch
from .call_ids import CallIds
from .confirmation import question_event
from .output import structured_answer
from .repair import repair_event
from .request import build_request, request_with_tools
from .transfer import Transfer

__all__ = ["ModelTurn", "Rerun"]

Rerun: TypeAlias = tuple[FunctionCall, ToolConfirmation | None]
"""A call that is run again, and what the user has decided about it."""

_COPIED: Final = frozenset(
    {
        "content",
        "partial",
        "turn_complete",
        "error_code",
        "error_message",
        "finish_reason",
        "usage_metadata",
        "avg_logprobs",
        "interrupted",
        "grounding_metadata",
        "custom_metadata",
        "model_version",
        "input_transcription",
        "output_transcription",
    }
)


@final
class ModelTurn:
    """One model call and its tools.

        model   --p--p--[text, call a, call b]|
        emit    --p--p--[text, call a, call b]--[a, b]      each stored before the next thing starts

    A call starts when the event that holds it is stored, also while the model is still streaming.
    Threads: the agent's worker; it blocks there, and leaves by Stopped when the scope is cancelled.
    """

    __slots__ = (
        "_actions",
        "_agent",
        "_asked_for",
        "_batches",
        "_context",
        "_emit",
        "_ids",
        "_request",
        "_scope",
        "last",
    )

    def __init__(
        self, agent: AskingAgent, context: InvocationContext, emit: Emit[Event], scope: CancelScope, ids: CallIds
    ) -> None:
        self._agent = agent
        self._context = context
        self._emit = emit
        self._scope = scope
        self._ids = ids
        self._actions: EventActions | None = None  # what the model callbacks write; every event of the call carries it
        self._batches: list[CallBatch] = []
        self._asked_for: list[str] = []  # agents to hand over to
        self._request: LlmRequest
        self.last: Event | None = None
        """The last event of the step: it decides whether there is another."""

    def run(self, history: History, more: Sequence[Content] = ()) -> Generator[Transfer, Event | None, None]:
        """Take the step; yields where another agent is to take over, and is sent that one's last event.

        more: contents that the request holds behind the history.
        """
        self._scope.check()
        self._request = build_request(self._agent, self._context, history)
        if repaired := history.newly_repaired():
            self._emit(repair_event(self._context, repaired))
        self._request.contents.extend(more)
        self._context.invocation.count_llm_call()
        yield from self._taken(asking=True)

    def rerun(self, calls: Sequence[Rerun]) -> Generator[Transfer, Event | None, None]:
        """Run calls of the log, under their own ids, and answer them in one event; no model is asked."""
        self._scope.check()
        self._request = request_with_tools(self._agent, self._context)
        asked, confirmations = [call for call, _ in calls], [confirmation for _, confirmation in calls]
        self._batches.append(
            CallBatch(self._agent, self._context, self._scope, asked, self._tools(), confirmations, show=self._emit)
        )
        yield from self._taken(asking=False)

    def _taken(self, *, asking: bool) -> Generator[Transfer, Event | None, None]:
        try:
            if asking:
                yield from self._asked()
            self._answer_calls(wait=True)
            yield from self._transfers()
        except Exception:
            self._answer_finished()
            raise
        finally:
            for batch in self._batches:
                batch.close()

    def _asked(self) -> Generator[Transfer, Event | None, None]:
        """Ask the model, and start the calls as they come."""
        with closing(self._responses()) as responses:
            for response in responses:
                self._pass_on(response)
                if self._batches:
                    self._answer_calls()
                if self._asked_for:
                    yield from self._transfers()

    # -- the model -----------------------------------------------------------------------------------------------------

    def _responses(self) -> Generator[LlmResponse, None, None]:
        agent = self._agent
        instead = self._first("before_model_callback", agent.before_model_callbacks, self._request)
        if instead is not None and not _says_nothing(instead):
            yield instead
            return
        self._scope.check()
        if not self._context.invocation.soft_stop.may_start():
            return
        streaming = self._context.run_config.streaming_mode == "sse"
        answer = agent.canonical_model().generate_content(self._request, streaming)  # a throw here is no model's error
        with self._context.invocation.soft_stop.model_call(self._scope) as model_scope:
            yield from self._answered(answer, model_scope)

    def _answered(
        self, answer: Observable[LlmResponse], model_scope: CancelScope
    ) -> Generator[LlmResponse, None, None]:
        """What the model says. A stop of the model alone ends it, without what is still in assembly."""
        agent, whole, items = self._agent, _Whole(), pull(answer, model_scope)
        while True:
            try:
                response = next(items, None)
            except Stopped:
                self._scope.check()
                return
            except Exception as error:  # the model's; what a callback raises is none of it
                instead = self._first("on_model_error_callback", agent.on_model_error_callbacks, self._request, error)
                if instead is None:
                    raise
                yield self._after_model(instead)
                return
            if response is None:
                break
            yield self._after_model(whole.complete(response))
        if (rest := whole.closing()) is not None:
            yield self._after_model(rest)

    def _after_model(self, response: LlmResponse) -> LlmResponse:
        if response.usage_metadata is not None and not response.partial:
            self._context.invocation.usage.add(response.usage_metadata)
        replaced = self._first("after_model_callback", self._agent.after_model_callbacks, response)
        if replaced is None:
            return response
        if response.partial and not replaced.partial:
            replaced = replaced.model_copy(update={"partial": True})
        return replaced

    def _first(self, hook: str, callbacks: Any, *more: Any) -> LlmResponse | None:
        plugins = self._context.invocation.plugins
        if not callbacks and not plugins.hooks(hook):
            return None
        if self._actions is None:
            self._actions = EventActions()
        context = CallbackContext(self._context, self._actions, self._scope)
        answer = plugins.first(hook, self._scope, context, *more)
        if answer is None:
            answer = first(callbacks, self._scope, context, *more)
        if answer is not None and not isinstance(answer, LlmResponse):
            raise wrong_answer(hook, answer, "an LlmResponse")
        return answer

    # -- its events ----------------------------------------------------------------------------------------------------

    def _pass_on(self, response: LlmResponse) -> None:
        if _says_nothing(response):
            return
        event = self._event(response)
        self._show(event)
        if event.partial or not event.function_calls:
            return
        batch = CallBatch(self._agent, self._context, self._scope, event.function_calls, self._tools(), show=self._emit)
        self._batches.append(batch)

    def _event(self, response: LlmResponse) -> Event:
        said = response.__dict__
        fields = {name: said[name] for name in _COPIED & response.model_fields_set if said[name] is not None}
        content: Content | None = fields.get("content")
        if content is not None:
            fields["content"] = assigned = self._ids.assigned(content, partial=bool(response.partial))
            if assigned is not content and (long_running := self._long_running(assigned)):
                fields["long_running_tool_ids"] = long_running
        if self._actions is not None:
            fields["actions"] = self._actions.copied()
        context = self._context
        return Event(
            invocation_id=context.invocation_id,
            author=self._agent.name,
            branch=context.branch,
            **fields,
        )

    def _long_running(self, content: Content) -> frozenset[str]:
        """The ids of its calls that pause by design."""
        tools = self._tools()
        return frozenset(
            call.id
            for part in content.parts or ()
            if (call := part.function_call) is not None
            and call.id
            and (tool := tools.get(call.name or "")) is not None
            and tool.is_long_running
        )

    def _said(self, text: str) -> Event:
        context = self._context
        return Event(
            invocation_id=context.invocation_id,
            author=self._agent.name,
            branch=context.branch,
            content=Content.model(text),
        )

    def _show(self, event: Event) -> None:
        self.last = event
        self._emit(event)
        if event.actions.transfer_to_agent and not event.partial:
            self._asked_for.append(event.actions.transfer_to_agent)

    def _transfers(self) -> Generator[Transfer, Event | None, None]:
        """The hand-overs that events of this step have asked for."""
        while self._asked_for:
            with self._context.invocation.soft_stop.hand_over():
                last = yield Transfer(self._asked_for.pop(0), self._emit)
            self.last = last or self.last

    def _tools(self) -> dict[str, BaseTool]:
        return cast("dict[str, BaseTool]", self._request.tools)

    # -- its calls -----------------------------------------------------------------------------------------------------

    def _answer_calls(self, *, wait: bool = False) -> None:
        """Start the calls that may start, and answer the batches that are done; with `wait`, all of them, in order."""
        for batch in list(self._batches):
            batch.finish() if wait else batch.advance()
            if batch.is_done:
                self._batches.remove(batch)
                self._answer(batch)
            elif batch.one_by_one:
                return  # the calls of a later chunk, too, wait for the ones before

    def _answer(self, batch: CallBatch) -> None:
        event = self._show_answer(batch)
        if event is not None and (answer := structured_answer(self._request, event)) is not None:
            self._show(self._said(answer))

    def _show_answer(self, batch: CallBatch) -> Event | None:
        """Show what tools have asked the user, then the responses; None when there are none."""
        event = batch.answer()
        if event is None:
            return None
        if event.actions.requested_tool_confirmations and (question := question_event(batch.calls, event)) is not None:
            self._show(question)
        self._show(event)
        return event

    def _answer_finished(self) -> None:
        """The step fails: calls that have finished keep their answers, the others stay open."""
        for batch in self._batches:
            batch.close()
            self._show_answer(batch)


@final
class _Whole:
    """Puts partial texts together, for a model that forgets to send the whole (ADK leaves the answer unsaved)."""

    __slots__ = ("_parts", "_role")

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._role: str | None = None

    def complete(self, response: LlmResponse) -> LlmResponse:
        """The response; a final one without content gets the texts that came before it."""
        content = response.content
        if response.partial:
            if content is not None:
                self._role = self._role or content.role
                self._parts += [part for part in content.parts or () if part.text]
            return response
        if self._parts and (content is None or not any(_has_payload(part) for part in content.parts or ())):
            response = response.model_copy(update={"content": self._content()})
        self._parts = []
        return response

    def closing(self) -> LlmResponse | None:
        """A final response for partial ones that none has followed."""
        return LlmResponse(content=self._content()) if self._parts else None

    def _content(self) -> Content:
        joined: list[Part] = []
        for part in self._parts:
            if joined and bool(joined[-1].thought) == bool(part.thought):
                joined[-1] = joined[-1].model_copy(update={"text": f"{joined[-1].text}{part.text}"})
            else:
                joined.append(part)
        return Content(role=self._role or "model", parts=tuple(joined))


def _has_payload(part: Part) -> bool:
    return bool(part.text) or any(
        getattr(part, name) is not None for name in type(part).model_fields if name not in ("text", "thought")
    )


def _says_nothing(response: LlmResponse) -> bool:
    """True for what is no event: usage alone, keep-alives (ADK Java, BaseLlmFlow)."""
    return (
        response.content is None
        and not response.error_code
        and not response.interrupted
        and not response.turn_complete
        and response.grounding_metadata is None
        and response.input_transcription is None
        and response.output_transcription is None
    )
