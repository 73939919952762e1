"""The official `openai` client as a second reader of the corpus, against the stand-alone server."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from rxagent.testing.quirks_corpus import quirks
from rxagent.testing.quirks_reading import ReadCall, Reading
from rxagent.testing.quirks_server import QuirkServer

pytest.importorskip("openai", reason="needs the extra `dev`")
from .openai_reader import difference, opened, read

TABLE = Path(__file__).with_name("openai_differs.toml")


def test_each_difference_is_listed_with_its_reason() -> None:
    """What the official client reads otherwise stands in the table, word for word; nothing else does."""
    listed: dict[str, str] = {}
    for group in tomllib.loads(TABLE.read_text("utf-8"))["because"]:
        assert len(group["reason"]) > 20
        assert not listed.keys() & group["theirs"].keys()
        listed |= group["theirs"]
    with QuirkServer() as server, opened(server.base_url, idle=0.5) as client:
        found = {one.name: difference(one.expected, read(client, one.name)) for one in quirks() if one.waits is None}
    assert {name: what for name, what in found.items() if what} == listed


def test_an_error_agrees_with_an_error_and_with_nothing_else() -> None:
    """An error of its own is as good as ours; a foreign exception, a success or another text is a difference."""
    ours = Reading("Hel", error="ModelStreamTruncatedError")
    assert difference(ours, Reading("Hel", error="its own error", status=500)) == ""
    assert difference(ours, Reading("", error="its own error")) == "text: none"
    assert difference(ours, Reading("Hel", error="TypeError")) == "error: TypeError"
    assert difference(ours, Reading("Hel", finish="STOP")) == "finish: STOP; error: none"
    good = Reading("a", calls=(ReadCall("f", "{}"),), finish="STOP", usage=(1, 2, 3))
    assert difference(good, good) == ""
    assert difference(good, good._replace(calls=(), usage=None)) == "calls: none; usage: none"


def test_it_lists_the_quirks_as_models() -> None:
    """Another client finds all quirks as models, and is told which names there are when it asks for another."""
    import openai

    with QuirkServer() as server, opened(server.base_url, idle=5) as client:
        assert [model.id for model in client.models.list()] == [one.name for one in quirks()]
        with pytest.raises(openai.NotFoundError, match="calls-no-index"):
            client.chat.completions.create(model="calls-no-indx", messages=[{"role": "user", "content": "Hi"}])
