"""The corpus through the real client, over a socket."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings

from rxagent.models import ChatCompletions, Timeouts
from rxagent.streams.scope import CancelScope
from rxagent.testing.quirks_file import Cut, Quirk
from rxagent.testing.quirks_reading import read_model
from rxagent.testing.quirks_server import QuirkServer, pieces_of
from tests.models.calling import question

from .replaying import check, cut_at, cuts_of, each

TIMEOUTS = Timeouts(first_byte=10, idle=0.5)
Waits = Callable[[], list[float]]


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Waits:
    """The seconds that the client meant to wait since the last look; no time passes."""
    asked: list[float] = []
    monkeypatch.setattr(CancelScope, "sleep", lambda _, seconds: asked.append(seconds))

    def take() -> list[float]:
        taken = asked.copy()
        asked.clear()
        return taken

    return take


@each()
def test_a_quirk_is_read_right_however_it_is_written(quirk: Quirk, waits: Waits) -> None:
    """One write a step, one byte a write, and any writes make what the quirk's file expects, after its waits."""
    with (
        QuirkServer([quirk]) as server,
        closing(ChatCompletions(quirk.name, server.base_url, timeouts=TIMEOUTS)) as model,
    ):

        def ask(cut: Cut) -> None:
            server.cut = cut
            check(quirk, read_model(model, question()))
            waited = waits()
            assert quirk.waits is None or waited == pytest.approx(quirk.waits, abs=1.1)

        @given(places=cuts_of(quirk.body))
        @settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)
        def ask_in_pieces(places: list[int]) -> None:
            ask(lambda content: cut_at(content, places))

        ask(pieces_of(None))
        ask(pieces_of(1))
        if not quirk.answers[-1].is_open and not quirk.waits:  # these take their time
            ask_in_pieces()
