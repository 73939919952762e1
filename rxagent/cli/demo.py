"""`python -m rxagent.cli.demo`: an answer is saved, an answer is left, and another process looks at the file.

It runs on what is embedded: the local model, a SQLite file, no key and no network. The exit code is 0 only when the
file holds exactly what was promised.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from rxagent.errors import RxAgentError
from rxagent.invocation import RunConfig
from rxagent.models.local import LocalModel
from rxagent.runner import Runner
from rxagent.sessions import SqliteSessionService

from .answer import AnswerWriter
from .assistant import assistant
from .exits import DONE, FAILED, INTERRUPTED, pipe_closed
from .open_screen import open_screen
from .options import APP_NAME, USER_ID
from .screen import Screen

__all__ = ["main"]

_SESSION: Final = "demo"
_QUESTION: Final = "What is the capital of France?"
_LONG_QUESTION: Final = "Tell me a long story about a lighthouse."
_ENOUGH: Final = 20  # pieces of the long answer, a piece being about a token


def main() -> int:
    """Run the demo; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m rxagent.cli.demo", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument(
        "--db", metavar="FILE", help="keep the session there (else in a file that is removed at the end)"
    )
    arguments = parser.parse_args()
    screen = open_screen()
    try:
        if arguments.db is not None:
            return _demo(arguments.db, screen)
        with tempfile.TemporaryDirectory(prefix="rxagent-demo-") as folder:
            return _demo(str(Path(folder) / "chat.db"), screen)
    except RxAgentError as error:
        print(f"rxagent: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return pipe_closed()


def _demo(db: str, screen: Screen) -> int:
    began = time.monotonic()
    service = SqliteSessionService(db)
    agent = assistant(LocalModel())
    try:
        with Runner(agent, app_name=APP_NAME, session_service=service) as runner:
            screen.line("1. The local model answers; the answer is saved in a SQLite file.\n")
            answer, _ = _asked(runner, _QUESTION, screen, enough=None)
            screen.line(f"\n2. A long answer; after {_ENOUGH} pieces the run is disposed.\n")
            half, kind = _asked(runner, _LONG_QUESTION, screen, enough=_ENOUGH)
    finally:
        service.close()
    screen.line("\n3. Another process reads the file.\n")
    screen.line(f"$ rxagent sessions show {_SESSION} --db {Path(db).name}")
    for line in _other_process(db).splitlines():
        screen.line(line)
    faults = [] if kind == "disposed" else [f"the long answer was to be disposed, and is {kind}"]
    faults += _faults(_other_process(db, "--json").splitlines(), answer, half)
    for fault in faults:
        screen.line(f"\nNOT AS PROMISED: {fault}")
    if faults:
        return FAILED
    screen.line("\nSaved: both questions and the first answer. Not saved: the half answer, in no form.")
    screen.note(f"{time.monotonic() - began:.1f} s in all. Now yours: rxagent chat")
    return DONE


def _asked(runner: Runner, question: str, screen: Screen, *, enough: int | None) -> tuple[str, str]:
    """Ask, show the answer, leave after `enough` pieces. Returns what was shown, and the outcome's kind."""
    screen.line(f"> {question}")
    writer = AnswerWriter(screen)
    pieces: list[str] = []
    with runner.start(USER_ID, _SESSION, question, RunConfig(streaming_mode="sse")) as run:
        for event in run:
            writer.show(event)
            if event.partial:
                pieces.append(event.text)
            if len(pieces) == enough:
                run.dispose()
                break
    outcome = run.wait(timeout=10)
    screen.note(f"  [{outcome}]")
    return "".join(pieces), outcome.kind if outcome is not None else "still running"


def _other_process(db: str, *options: str) -> str:
    """What a second process finds in the file."""
    command = [sys.executable, "-m", "rxagent.cli", "sessions", "show", _SESSION, "--db", db, *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _faults(lines: Iterable[str], answer: str, half: str) -> list[str]:
    """What the log holds and must not, or must and does not."""
    log = [json.loads(line) for line in lines]
    texts = ["".join(part.get("text", "") for part in event.get("content", {}).get("parts", ())) for event in log]
    faults = []
    if texts != [_QUESTION, answer, _LONG_QUESTION]:
        faults.append(f"the log holds {len(texts)} events, not the two questions and the first answer")
    if not answer.strip():
        faults.append("the first answer is empty")
    if any(half and half in text for text in texts):
        faults.append("the half answer is in the log")
    return faults


if __name__ == "__main__":
    sys.exit(main())
