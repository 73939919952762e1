"""Hooks and limits behind the server: each ending is told once, and a provider that stalls does not hold a run."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from rxagent import ChatCompletions, LlmAgent, Runner
from rxagent.models import Timeouts
from rxagent.streams import CancelScope
from rxagent.testing import ScriptedModel
from rxagent.testing.chat_server import ChatServer, Item, done, finish, pause, stall
from rxagent.testing.scripted_model import usage
from tests.runner.driving import Ends

from .served import Served, served

END = (finish(), done())  # what follows exact bytes must end the answer itself


@pytest.fixture
def ends() -> Ends:
    return Ends()


@pytest.fixture
def silent() -> threading.Semaphore:
    """Released when the model is silent."""
    return threading.Semaphore(0)


@pytest.fixture
def server(ends: Ends, silent: threading.Semaphore) -> Iterator[Served]:
    """Its model answers, then fails, then says nothing more."""

    def say_nothing(scope: CancelScope) -> None:
        silent.release()
        scope.sleep(60)

    model = ScriptedModel(["Hi.", usage(10, 2)], ValueError("broken"), [say_nothing], repeat_last=True)
    runner = Runner(LlmAgent(name="support", model=model), app_name="app", plugins=[ends], auto_create_session=False)
    with served(runner) as found:
        found.create()
        yield found


def test_each_ending_is_told_once(server: Served, ends: Ends, silent: threading.Semaphore) -> None:
    """Completed, failed, left, stopped: on_run_end comes once, with the outcome; after-run only when it completed."""
    for _ in range(2):
        with server.start() as stream:
            list(stream)
    with server.start() as stream:
        assert silent.acquire(timeout=5)
        stream.drop()
    server.ended(stream.run_id)
    with server.start() as stream:
        assert silent.acquire(timeout=5)
        server.ask("POST", f"/runs/{stream.run_id}/abort")
    told = [(outcome.kind, outcome.reason) for outcome in ends.outcomes]
    assert told == [
        ("completed", None),
        ("failed", "ValueError"),
        ("aborted", "client_disconnect"),
        ("aborted", "user_stop"),
    ]
    assert ends.outcomes[0].usage.total_tokens == 12
    assert len(ends.after_run) == 1


@pytest.mark.parametrize(
    ("limits", "turn", "error"),
    [
        (Timeouts(first_byte=0.1), [stall()], "ModelFirstByteTimeoutError"),
        (Timeouts(idle=0.1), ["Half", stall()], "ModelIdleTimeoutError"),
        (Timeouts(total=0.3), ["Half", *[b": alive\n\n", pause(0.05)] * 40], "ModelTotalTimeoutError"),
    ],
)
def test_a_provider_that_stalls(
    limits: Timeouts, turn: list[Item], error: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing at all, a word and then nothing, or only signs of life: the limit ends the run with a typed error.

    The session works afterwards.
    """
    caplog.set_level("CRITICAL", "rxagent.run")  # a record would keep the error, and that the connection
    with ChatServer([turn, ["Hello."]]) as provider:
        model = ChatCompletions("any", base_url=provider.base_url, timeouts=limits)
        with served(LlmAgent(name="support", model=model)) as server:
            server.create()
            with server.start(streaming=True) as stream:
                *_, failure, last = list(stream)
            assert failure.data["error"].startswith(error)
            assert last.data["customMetadata"]["outcome"]["reason"] == error
            with server.start(streaming=True) as stream:
                assert [frame.text for frame in stream.events()][-1] == "Hello."
        model.close()


def test_signs_of_life_keep_a_slow_answer() -> None:
    """Comments between the words count as life: the answer comes whole, though it takes longer than the limit."""
    alive: list[Item] = [b": alive\n\n", pause(0.1)] * 6
    with ChatServer([["Hel", *alive, "lo.", *END]]) as provider:
        model = ChatCompletions("any", base_url=provider.base_url, timeouts=Timeouts(idle=0.4))
        with served(LlmAgent(name="support", model=model)) as server:
            server.create()
            with server.start() as stream:
                assert [frame.text for frame in stream.events()] == ["Hello."]
        model.close()
