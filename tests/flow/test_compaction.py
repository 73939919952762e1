"""Compaction: when older events are summarised, what a summary stands for, and what it must not hide."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from reactivex import operators as ops

from rxagent.agents import LlmAgent, SequentialAgent
from rxagent.errors import ConfigError
from rxagent.events import Content, Event, EventCompaction, Part
from rxagent.flow.compaction_summarizer import LlmEventSummarizer
from rxagent.invocation import BaseEventSummarizer, EventsCompactionConfig, InvocationContext, Outcome, RunConfig
from rxagent.models import LlmResponse
from rxagent.plugins import BasePlugin
from rxagent.runner import App, Runner
from rxagent.streams import Single
from rxagent.testing import ScriptedModel, call, gate, usage
from rxagent.tools import LongRunningFunctionTool

INTRO = (
    "The following is a conversation history between a user and an AI agent. Please summarize the conversation, "
    "focusing on key information and decisions made, as well as any unresolved questions or tasks. The summary should "
    "be concise and capture the essence of the interaction.\n\n"
)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each event of a run has a time of its own."""
    ticks = itertools.count(1_700_000_000_000)
    monkeypatch.setattr("rxagent.events.event.time", SimpleNamespace(time_ns=lambda: next(ticks) * 1_000_000))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "say when to summarise"),
        ({"compaction_interval": 2}, "belong together"),
        ({"event_retention_size": 2}, "belong together"),
        ({"compaction_interval": 0, "overlap_size": 0}, "compaction_interval must be at least 1"),
        ({"compaction_interval": 1, "overlap_size": -1}, "overlap_size must be non-negative"),
        ({"token_threshold": -1, "event_retention_size": 1}, "token_threshold must be at least 0"),
        ({"token_threshold": 1, "event_retention_size": -1}, "event_retention_size must be non-negative"),
    ],
)
def test_configs_that_make_no_sense(fields: dict[str, int], message: str) -> None:
    """Half of a pair, none, and impossible numbers are refused."""
    with pytest.raises(ConfigError, match=message):
        EventsCompactionConfig(**fields)  # type: ignore[arg-type]


# -- runs -------------------------------------------------------------------------------------------------------------


class Playing:
    """Runs of an app that compacts."""

    def __init__(
        self, model: ScriptedModel, summarizer: Any, *, tools: Any = (), plugins: Any = (), **config: Any
    ) -> None:
        if isinstance(summarizer, ScriptedModel):
            summarizer = LlmEventSummarizer(summarizer)
        self.model = model
        agent = LlmAgent(name="root", model=model, tools=tools)
        settings = EventsCompactionConfig(summarizer=summarizer, **config)
        self.runner = Runner(app=App("app", agent, plugins=plugins, events_compaction_config=settings))

    def run(self, message: Any) -> list[Event]:
        return list(self.runner.run("me", "s", message))

    @property
    def log(self) -> list[Event]:
        session: Any = self.runner.session_service.get_session("app", "me", "s")
        return list(session.events)

    @property
    def summaries(self) -> list[str | None]:
        found = (event.actions.compaction for event in self.log)
        return [one.compacted_content.text for one in found if one is not None and one.compacted_content is not None]

    def asked(self, number: int = -1) -> list[str]:
        return [content.text for content in self.model.requests[number].contents]


@pytest.mark.usefixtures("clock")
def test_after_every_second_run() -> None:
    """The runs' events are summarised, the summary is stored behind them and not shown, the next request begins with
    it, and the log keeps all (i10)."""
    summarizer = ScriptedModel("summary one")
    playing = Playing(ScriptedModel("a1", "a2", "a3"), summarizer, compaction_interval=2, overlap_size=0)
    shown = [[event.text for event in playing.run(f"q{n}")] for n in (1, 2, 3)]
    assert shown == [["a1"], ["a2"], ["a3"]]
    log = playing.log
    assert [event.text for event in log] == ["q1", "a1", "q2", "a2", "", "q3", "a3"]
    stored = log[4]
    assert stored.actions.compaction == EventCompaction(
        start_timestamp=log[0].timestamp,
        end_timestamp=log[3].timestamp,
        compacted_content=Content.model("summary one"),
    )
    assert (stored.author, stored.content) == ("user", None)
    assert stored.invocation_id not in {event.invocation_id for event in log if event is not stored}
    assert playing.asked() == ["summary one", "q3"]
    (request,) = summarizer.requests
    assert [content.text for content in request.contents] == [f"{INTRO}user: q1\nmodel: a1\nuser: q2\nmodel: a2\n"]
    assert (request.system_instruction, request.contents[0].role) == ("", "user")


@pytest.mark.usefixtures("clock")
def test_before_a_request_that_is_too_long() -> None:
    """All but the newest events and the last summary are summarised, and the same request has the summary (i12)."""
    model = ScriptedModel(["a1", usage(10)], ["a2", usage(200)], ["a3", usage(50)], ["a4", usage(300)], ["a5"])
    summarizer = ScriptedModel("one", "two")
    playing = Playing(model, summarizer, token_threshold=100, event_retention_size=2)
    for number in (1, 2, 3, 4, 5):
        playing.run(f"q{number}")
    assert playing.asked(2) == ["one", "a2", "q3"]
    assert playing.asked(3) == ["one", "a2", "q3", "a3", "q4"]
    assert playing.asked(4) == ["two", "a4", "q5"]
    assert [request.contents[0].text for request in summarizer.requests] == [
        f"{INTRO}user: q1\nmodel: a1\nuser: q2\n",
        f"{INTRO}model: one\nmodel: a2\nuser: q3\nmodel: a3\nuser: q4\n",
    ]


@pytest.mark.usefixtures("clock")
def test_an_unknown_prompt_is_estimated() -> None:
    """Without a known size a quarter of the characters counts (i13)."""
    playing = Playing(
        ScriptedModel("a" * 200, "a2"), ScriptedModel("short"), token_threshold=40, event_retention_size=1
    )
    playing.run("q" * 100)
    assert playing.summaries == []
    playing.run("q2")
    assert playing.asked() == ["short", "q2"]


@pytest.mark.usefixtures("clock")
def test_the_tail_does_not_part_a_pair() -> None:
    """When only the response is to be kept, its call is kept, too, and the request is well formed (i17)."""

    def t() -> dict[str, bool]:
        """A tool."""
        return {"ok": True}

    model, summarizer = ScriptedModel([call("t"), usage(500)], "done"), ScriptedModel("summary")
    playing = Playing(model, summarizer, tools=[t], token_threshold=100, event_retention_size=1)
    assert playing.run("q1")[-1].text == "done"
    contents = model.requests[1].contents
    assert contents[0].text == "summary"
    assert [bool(content.parts and content.parts[0].function_call) for content in contents] == [False, True, False]
    assert summarizer.requests[0].contents[0].text == f"{INTRO}user: q1\n"


@pytest.mark.usefixtures("clock")
def test_the_window_leaves_a_pending_call() -> None:
    """A window over a designed pause leaves the call, which is answered later as if nothing had been (i18)."""

    def slow() -> None:
        """A slow tool."""

    model, summarizer = ScriptedModel([call.with_id("L1", "slow")], "done"), ScriptedModel("summary", "more")
    tool = LongRunningFunctionTool(slow)
    playing = Playing(model, summarizer, tools=[tool], compaction_interval=1, overlap_size=0)
    playing.run("go")
    assert summarizer.requests[0].contents[0].text == f"{INTRO}user: go\n"
    answer = Part.model_validate({"functionResponse": {"id": "L1", "name": "slow", "response": {"r": 1}}})
    assert [event.text for event in playing.run(answer)] == ["done"]
    contents = model.requests[1].contents
    assert contents[0].text == "summary"
    assert contents[1].parts is not None
    assert contents[1].parts[0].function_call is not None
    assert contents[2].parts == (answer,)


class Order(BasePlugin):
    """Keeps what came when."""

    def __init__(self, told: list[str]) -> None:
        super().__init__("order")
        self.told = told

    def after_run_callback(self, ctx: InvocationContext) -> None:
        self.told.append("after_run")

    def on_event_callback(self, ctx: InvocationContext, event: Event) -> None:
        self.told.append(f"on_event {event.text}")

    def on_run_end(self, ctx: InvocationContext, outcome: Outcome) -> None:
        self.told.append(f"{outcome.kind}")


class Telling(BaseEventSummarizer):
    """Tells when it is asked, and answers as it was told to."""

    def __init__(self, told: list[str], answer: Any) -> None:
        self.told = told
        self.answer = answer

    def summarize_events(self, events: Sequence[Event]) -> Any:
        self.told.append(f"summarise {len(events)}")
        return self.answer() if callable(self.answer) else self.answer


@pytest.mark.promise("J13")
def test_after_run_then_compaction_then_the_end() -> None:
    """After-run comes first, then the summary, which no on-event sees, then the end of the stream."""
    told: list[str] = []
    playing = Playing(
        ScriptedModel("a"), Telling(told, "x"), plugins=[Order(told)], compaction_interval=1, overlap_size=0
    )
    done = threading.Event()

    def completed() -> None:
        told.append(f"end, {len(playing.summaries)} stored")
        done.set()

    playing.runner.run_async("me", "s", "q").subscribe(on_completed=completed)
    assert done.wait(10)
    assert told == ["on_event a", "after_run", "summarise 2", "completed", "end, 1 stored"]


@pytest.mark.promise("J13")
def test_no_compaction_after_an_error() -> None:
    """A run that fails does not compact; the next good one does, and counts the failed one (i14)."""
    told: list[str] = []
    playing = Playing(
        ScriptedModel([RuntimeError("boom")], "a2"), Telling(told, "x"), compaction_interval=2, overlap_size=0
    )
    with pytest.raises(RuntimeError, match="boom"):
        playing.run("q1")
    assert told == []
    playing.run("q2")
    assert told == ["summarise 3"]


@pytest.mark.promise("J13")
def test_no_compaction_after_a_dispose() -> None:
    """A run that is left at its last event does not compact; one that is left while the summary is made stores none."""
    told: list[str] = []
    playing = Playing(ScriptedModel("a1", repeat_last=True), Telling(told, "x"), compaction_interval=1, overlap_size=0)
    left = threading.Event()
    playing.runner.run_async("me", "s", "q1").pipe(ops.take(1)).subscribe(on_completed=left.set)
    assert left.wait(10)
    playing.runner.close()
    assert told == []
    waiting, opened = threading.Event(), threading.Event()
    summarizer = ScriptedModel([lambda scope: waiting.set(), gate(opened), "late"])
    slow = Playing(ScriptedModel("a1"), summarizer, compaction_interval=1, overlap_size=0)
    run = slow.runner.start("me", "s", "q1")
    assert waiting.wait(10)
    run.dispose()
    outcome = run.wait(10)
    assert outcome is not None
    assert outcome.kind == "disposed"
    assert summarizer.calls[0].state == "stopped"
    assert slow.summaries == []


def test_a_summarizer_that_fails() -> None:
    """Its error fails the run, though all its events were delivered (i15)."""
    playing = Playing(
        ScriptedModel("a1"), ScriptedModel([RuntimeError("no summary")]), compaction_interval=1, overlap_size=0
    )
    seen: list[str] = []
    with pytest.raises(RuntimeError, match="no summary"):
        seen.extend(event.text for event in playing.runner.run("me", "s", "q1"))
    assert seen == ["a1"]
    assert [event.text for event in playing.log] == ["q1", "a1"]


@pytest.mark.parametrize("answer", [None, "", " \n", Content(role="model"), LlmResponse(error_code="SAFETY")])
def test_a_summarizer_that_says_nothing(answer: Any) -> None:
    """No words are no summary: nothing is hidden, the run completes, and the next one asks again (i19)."""
    told: list[str] = []
    playing = Playing(ScriptedModel("a1", "a2"), Telling(told, answer), compaction_interval=1, overlap_size=0)
    playing.run("q1")
    playing.run("q2")
    assert playing.summaries == []
    assert playing.asked() == ["q1", "a1", "q2"]
    assert told == ["summarise 2", "summarise 4"]


async def later() -> str:
    return "words"


@pytest.mark.parametrize(
    "answer",
    [
        "words",
        Content.user("words"),
        LlmResponse(content=Content.model("words")),
        lambda: Single.just("words"),
        later,
    ],
)
def test_what_a_summarizer_may_give(answer: Any) -> None:
    """A text, a Content, a response, or any of them later; it is stored as the model's words."""
    playing = Playing(ScriptedModel("a1"), Telling([], answer), compaction_interval=1, overlap_size=0)
    playing.run("q1")
    assert playing.summaries == ["words"]
    compaction = playing.log[-1].actions.compaction
    assert compaction is not None
    assert compaction.compacted_content is not None
    assert compaction.compacted_content.role == "model"


def test_its_tokens_count_and_its_call_does_not() -> None:
    """The summary's tokens are the run's; the limit of model calls is not touched."""
    summarizer = ScriptedModel(["words", usage(30, 5)])
    playing = Playing(ScriptedModel(["a1", usage(10, 1)]), summarizer, compaction_interval=1, overlap_size=0)
    run = playing.runner.start("me", "s", "q1", RunConfig(max_llm_calls=1))
    outcome = run.wait(10)
    assert outcome is not None
    assert outcome.kind == "completed"
    assert outcome.usage.total_tokens == 46
    assert outcome.events_saved == 1


def test_the_root_agents_model_is_the_default() -> None:
    """Without a summarizer the root agent's model is asked; a root without one needs a summarizer."""
    model = ScriptedModel("a1", "summary")
    config = EventsCompactionConfig(compaction_interval=1, overlap_size=0)
    runner = Runner(app=App("app", LlmAgent(name="root", model=model), events_compaction_config=config))
    list(runner.run("me", "s", "q1"))
    assert len(model.calls) == 2
    assert config.summarizer is None
    for root in (LlmAgent(name="root"), SequentialAgent(name="root", sub_agents=[LlmAgent(name="a", model=model)])):
        with pytest.raises(ConfigError, match="its root agent has no model"):
            App("app", root, events_compaction_config=config)
