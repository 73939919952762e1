"""The numbers of a server."""

from __future__ import annotations

from collections import Counter

from rxagent import LlmAgent
from rxagent.invocation import Outcome, Usage
from rxagent.serve.metrics import Metrics
from rxagent.testing import ScriptedModel
from rxagent.testing.scripted_model import usage

from .served import served


def test_outcomes_are_counted_apart() -> None:
    """By kind and reason; a reason of a caller's own counts as other, so that labels stay few."""
    metrics = Metrics()
    for kind, reason in (("completed", None), ("aborted", "user_stop"), ("aborted", "because"), ("failed", "Oops")):
        metrics.ended('a"b', Outcome(kind, Usage(), reason))  # type: ignore[arg-type]
    text = metrics.text(Counter(), 0)
    for outcome, reason in (("completed", ""), ("aborted", "user_stop"), ("aborted", "other"), ("failed", "")):
        assert f'rxagent_runs_ended_total{{app="a\\"b",outcome="{outcome}",reason="{reason}"}} 1\n' in text
    assert "rxagent_run_seconds_count 4\n" in text


def test_a_server_tells_its_numbers() -> None:
    """Runs, events, tokens and readers, in the text format, each family with its type."""
    agent = LlmAgent(name="support", model=ScriptedModel(["Hel", "lo.", usage(10, 2)], repeat_last=True))
    with served(agent) as server:
        server.create()
        for _ in range(3):
            with server.start(streaming=True) as stream:
                list(stream)
        answer = server.ask("GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.body.decode().splitlines()
    for line in (
        'rxagent_runs_started_total{app="app"} 3',
        'rxagent_runs_ended_total{app="app",outcome="completed",reason=""} 3',
        'rxagent_events_total{kind="partial"} 6',
        'rxagent_events_total{kind="stored"} 3',
        'rxagent_tokens_total{kind="prompt"} 30',
        "rxagent_readers 0",
        "# TYPE rxagent_run_seconds histogram",
    ):
        assert line in lines
