"""`rxagent resume`: answer what a paused run waits for, or go on with an interrupted one."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Final

from .exits import DONE
from .options import add_command, add_model_options, add_session_options

if TYPE_CHECKING:
    from rxagent.events import Content
    from rxagent.runner import Runner
    from rxagent.sessions import Question

    from .options import Commands
    from .screen import Screen

__all__ = ["add_to"]

_EXAMPLES: Final = """\
examples:
  rxagent resume my_agents:support --db chat.db                  shows the open questions, and asks for answers
  rxagent resume my_agents:support --db chat.db --approve        approves the oldest one
  rxagent resume my_agents:support --db chat.db --call adk-7 --answer '{"tracking": 12}'
  rxagent resume my_agents:support --db chat.db --invocation e-3 goes on with a run that was interrupted

Without an open question the newest run goes on, if it was interrupted. What had finished is not done again.
Behind a pipe, and without an answer, the open questions are listed on stdout, as JSON.
"""


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "resume",
        _resume,
        summary="answer a paused run, or go on with an interrupted one",
        description="Answer what a paused run of your agent waits for, or go on with a run that was interrupted.",
        examples=_EXAMPLES,
    )
    parser.add_argument("agent", metavar="MODULE:AGENT", help="the agent that the run was started with")
    add_session_options(parser, without_db="needed here")
    add_model_options(parser)
    parser.add_argument("--invocation", metavar="ID", help="the run to go on with")
    parser.add_argument("--call", metavar="ID", help="the call that is answered (the oldest open question)")
    answers = parser.add_mutually_exclusive_group()
    answers.add_argument("--approve", action="store_true", help="let the call run")
    answers.add_argument("--reject", action="store_true", help="refuse the call")
    answers.add_argument("--answer", metavar="JSON", help="the result of a long-running call")
    parser.add_argument("--payload", metavar="JSON", help="what the tool is given with --approve or --reject")


def _resume(arguments: argparse.Namespace) -> int:
    from rxagent.errors import UsageError

    from .open_runner import open_runner
    from .open_screen import open_screen

    if arguments.db is None:
        raise UsageError("name the file that holds the session: --db FILE")
    screen = open_screen()
    with open_runner(arguments) as runner:
        questions = runner.pending(arguments.user, arguments.session)
        if arguments.invocation is not None:
            return _go_on(runner, arguments, screen, None, arguments.invocation)
        if arguments.approve or arguments.reject or arguments.answer is not None or arguments.call is not None:
            return _go_on(runner, arguments, screen, _answer(arguments, _chosen(questions, arguments.call)), None)
        if not questions:
            return _go_on(runner, arguments, screen, None, _newest(runner, arguments))
        if not sys.stdin.isatty():
            for question in questions:
                sys.stdout.write(json.dumps(_listed(question), ensure_ascii=False, default=str) + "\n")
            return DONE
        return _one_by_one(runner, arguments, screen)


def _one_by_one(runner: Runner, arguments: argparse.Namespace, screen: Screen) -> int:
    """Ask for an answer to each question, those that the answers lead to as well."""
    from .decide import decide

    put_off: set[str] = set()
    while True:
        waiting = [one for one in runner.pending(arguments.user, arguments.session) if one.call_id not in put_off]
        if not waiting:
            return DONE
        message = decide(waiting[0], screen, _read)
        if message is None:
            put_off.add(waiting[0].call_id)
        elif (code := _go_on(runner, arguments, screen, message, None)) != DONE:
            return code


def _read(prompt: str) -> str | None:
    try:
        return input(prompt)
    except EOFError:
        return None


def _chosen(questions: list[Question], call_id: str | None) -> Question:
    from rxagent.errors import UsageError

    if not questions:
        raise UsageError("nothing waits for an answer in this session")
    found = next((one for one in questions if call_id in (None, one.call_id)), None)
    if found is None:
        raise UsageError(f"no open question {call_id!r}; open are {', '.join(one.call_id for one in questions)}")
    return found


def _answer(arguments: argparse.Namespace, question: Question) -> Content:
    from rxagent.errors import UsageError

    from .decide import answered_with

    if arguments.answer is not None:
        return question.answer(answered_with(arguments.answer))
    if not (arguments.approve or arguments.reject):
        raise UsageError(f"say what to answer to {question.call_id}: --approve, --reject, or --answer JSON")
    payload = None
    if arguments.payload is not None:
        try:
            payload = json.loads(arguments.payload)
        except ValueError as error:
            raise UsageError(f"--payload is no JSON: {error}") from error
    return question.approve(payload) if arguments.approve else question.reject(payload)


def _newest(runner: Runner, arguments: argparse.Namespace) -> str:
    from rxagent.errors import UsageError

    from .ask import load_session

    session = load_session(runner.session_service, arguments.user, arguments.session)
    ids = [event.invocation_id for event in session.events if event.author == "user"] if session is not None else []
    if not ids or ids[-1] is None:
        raise UsageError("this session has no run to go on with")
    return ids[-1]


def _go_on(
    runner: Runner, arguments: argparse.Namespace, screen: Screen, message: Content | None, invocation_id: str | None
) -> int:
    from .answer import AnswerWriter
    from .ask import ask, exit_of

    writer = AnswerWriter(screen)
    try:
        asked = ask(runner, arguments.user, arguments.session, message, writer.show, invocation_id=invocation_id)
    finally:
        screen.end_line()
    code = exit_of(asked, writer.unsaved, screen)
    if code == DONE and (asked.outcome is None or not asked.outcome.events_saved):
        screen.note("Nothing was left to do.")
    return code


def _listed(question: Question) -> dict[str, object]:
    names = ("call_id", "kind", "name", "args", "hint", "payload", "since", "author", "invocation_id")
    return {name: getattr(question, name) for name in names}
