"""AguiRun: what an AG-UI client asks, checked, and as an order for a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from ag_ui.core import Message, ResumeEntry, RunAgentInput, ToolMessage, UserMessage
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from rxagent.events import Content
from rxagent.sessions import Question, Session

from .agui_messages import content_of, dangling_calls
from .run_order import RunOrder, in_words

__all__ = ["AguiRun", "order_of", "read_input"]

_NO_MESSAGE: Final = "there is nothing to do: the last of `messages` is no user message, and `resume` answers nothing"


class AguiRun(NamedTuple):
    """A checked request. answered: results that the client gives to calls, by their ids.

    is_broken: the client saw calls begin and not end, so its list of messages is to be mended.
    """

    order: RunOrder
    answered: dict[str, Any]
    is_broken: bool


def read_input(body: Any) -> RunAgentInput:
    """The request. Status 422 when it is none."""
    try:
        return RunAgentInput.model_validate(body)
    except ValidationError as error:
        raise HTTPException(422, in_words(error)) from None


def order_of(asked: RunAgentInput, session: Session | None, app_name: str, user_id: str, query: Any) -> AguiRun:
    """What the client wants: to answer interrupts, or to say something new.

    The log is the truth: of `messages` only the last one counts, and `state` only for a new session; later changes
    come as `forwardedProps.stateDelta`. Status 409 for an answer to what is not asked, 422 when there is nothing to do.
    """
    questions = {} if session is None else {one.call_id: one for one in session.pending()}
    answers = _resumed(asked.resume or (), questions) or _tool_results(asked.messages, questions)
    if answers:
        parts = [part for _, content, _ in answers for part in content.parts or ()]
        message = Content(role="user", parts=tuple(parts))
    else:
        last = asked.messages[-1] if asked.messages else None
        if not isinstance(last, UserMessage) or not (message := content_of(last)).parts:
            raise HTTPException(422, _NO_MESSAGE)
    forwarded = asked.forwarded_props if isinstance(asked.forwarded_props, dict) else {}
    delta = forwarded.get("stateDelta")
    if delta is None and session is None:
        delta = asked.state
    try:
        order = RunOrder(
            user_id=user_id,
            session_id=asked.thread_id,
            app_name=app_name,
            new_message=message,
            streaming=True,
            state_delta=delta if isinstance(delta, dict) and delta else None,
            on_disconnect=query.get("on_disconnect", "abort"),
            busy=query.get("busy", "queue"),
            auto_create=True,
        )
    except ValidationError as error:
        raise HTTPException(422, in_words(error)) from None
    answered = {question.call_id: result for question, _, result in answers if question.kind == "answer"}
    return AguiRun(order, answered, not answers and bool(dangling_calls(asked.messages)))


_Answer = tuple[Question, Content, Any]


def _resumed(entries: Iterable[ResumeEntry], questions: dict[str, Question]) -> list[_Answer]:
    found = []
    for entry in entries:
        question = questions.get(entry.interrupt_id)
        if question is None:
            raise HTTPException(409, f"interrupt {entry.interrupt_id!r} is not open in this thread; it may be answered")
        found.append(_answered(question, entry.payload, gives_up=entry.status == "cancelled"))
    return found


def _answered(question: Question, payload: Any, *, gives_up: bool) -> _Answer:
    """An approval is `{"confirmed": true, "payload"?}`, or true; any object is the result of a long-running call."""
    if question.kind == "answer":
        result = {"status": "cancelled"} if gives_up else payload if isinstance(payload, dict) else {"result": payload}
        return question, question.answer(result), result
    given = payload if isinstance(payload, dict) else {"confirmed": payload}
    confirmed = next((given[name] for name in ("confirmed", "approved") if name in given), None)
    if not gives_up and not isinstance(confirmed, bool):
        raise HTTPException(422, f'interrupt {question.call_id!r} asks for {{"confirmed": true}} or false as payload')
    decide = question.approve if confirmed and not gives_up else question.reject
    return question, decide(given.get("payload")), None


def _tool_results(messages: list[Message], questions: dict[str, Question]) -> list[_Answer]:
    """Results at the end of the messages, of calls that wait for one."""
    found: list[_Answer] = []
    for message in reversed(messages):
        if not isinstance(message, ToolMessage):
            break
        question = questions.get(message.tool_call_id)
        if question is not None and question.kind == "answer":
            found.append((question, question.answer({"result": message.content}), {"result": message.content}))
    return found[::-1]
