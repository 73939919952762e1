"""The corpus and its files: what they hold, what is refused, and how they are asked for."""

from __future__ import annotations

import collections
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rxagent import testing
from rxagent.errors import ConfigError, UsageError
from rxagent.testing.quirks_corpus import quirk, quirks
from rxagent.testing.quirks_file import load_quirk
from rxagent.testing.quirks_reading import ReadCall, Reading

from .replaying import cut_at

GOOD = """\
about = "x"
seen = ["a/b#1"]
send = '''
data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}

'''
[expect]
text = "Hi"
finish = "STOP"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, "utf-8")
    return path


def test_each_quirk_that_was_seen_has_two_variants() -> None:
    """A quirk tells where it was seen, or which one it varies; each that was seen has at least two variants."""
    seen = {one.name for one in quirks() if one.seen}
    likes = collections.Counter(one.like for one in quirks() if one.like)
    assert set(likes) <= seen
    assert [name for name in seen if likes[name] < 2] == []


def test_names_and_abouts_are_told_apart() -> None:
    """No two quirks have the same words, or the same bytes with the same expectation."""
    abouts = collections.Counter(one.about for one in quirks())
    contents = collections.Counter(repr((one.answers, one.refuses)) for one in quirks())
    assert [about for about, count in abouts.items() if count > 1] == []
    assert [content for content, count in contents.items() if count > 1] == []


def test_no_empty_success_and_no_call_beside_an_error() -> None:
    """Every expectation says something: text, thought, calls, a code or an error; an error has no calls."""
    for one in quirks():
        said = one.expected
        assert said.text or said.thought or said.calls or said.code or said.error, one.name
        assert not (said.calls and said.error), one.name


def test_a_file_says_what_is_sent_and_expected(tmp_path: Path) -> None:
    """Text goes out with the line ends that the file names, escapes become bytes, acts stand where they are written."""
    text = r"""
about = "x"
like = "y"
lines = "crlf"
status = 203
framing = "close"
headers = { X-A = "b" }
send = ['''
data: é
''', { pause = 0.5 }, { bytes = '\xff\r\n\\' }, { reset = true }]
[expect]
text = "é"
calls = [{ name = "f", args = '{"b": null, "a": 1}', id = "i" }, { name = "g", args = "{}" }]
finish = "STOP"
usage = { prompt = 1, answer = 2, total = 3 }
"""
    got = load_quirk(written(tmp_path, text))
    (answer,) = got.answers
    assert [(step.kind, step.bytes, step.seconds) for step in answer.steps] == [
        ("body", "data: é\r\n".encode(), 0),
        ("pause", b"", 0.5),
        ("body", b"\xff\r\n\\", 0),
        ("reset", b"", 0),
    ]
    assert (answer.status, answer.framing, answer.headers) == (203, "close", (("X-A", "b"),))
    calls = (ReadCall("f", '{"a": 1, "b": null}'), ReadCall("g", "{}"))
    assert got.expected == Reading("é", calls=calls, finish="STOP", usage=(1, 2, 3))
    assert (got.name, got.ids, got.waits, got.open) == ("mine", ("i", ""), None, False)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('about = "x"', "", "about"),
        ("send =", "sent =", "unknown: sent"),
        ('finish = "STOP"', 'finished = "STOP"', "unknown: finished"),
        ('text = "Hi"', "", "empty success"),
        ('finish = "STOP"', "", "either `finish`, or `error`"),
        ('finish = "STOP"', 'error = "E"\ncalls = [{ name = "f", args = "{}" }]', "no call comes with an error"),
        ('seen = ["a/b#1"]', "", "either `seen`, or `like`"),
        ('seen = ["a/b#1"]', 'like = "a"\nrefuses = ["tea"]', "'tea' is none of"),
        ('seen = ["a/b#1"]', 'like = "a"\nframing = "tea"', "'tea' is none of"),
        ('seen = ["a/b#1"]', 'like = "a"\nlines = "tea"', "tea"),
        ('about = "x"', "about", "mine.toml"),
    ],
)
def test_a_mistake_in_a_file_is_named(old: str, new: str, said: str, tmp_path: Path) -> None:
    """What a file should not hold is a ConfigError that names the file and the place."""
    assert load_quirk(written(tmp_path, GOOD)).expected.text == "Hi"
    with pytest.raises(ConfigError, match=rf"mine\.toml: .*{said}|{said}"):
        load_quirk(written(tmp_path, GOOD.replace(old, new)))


def test_a_wrong_name_gets_the_near_ones() -> None:
    """An unknown name is a UsageError with names that look like it."""
    assert quirk("calls-no-index").seen == ("ollama/ollama#7881",)
    with pytest.raises(UsageError, match="calls-no-index"):
        quirk("call-no-index")


def test_the_corpus_comes_with_the_package() -> None:
    """The package data names the folder of the corpus, so that an installed rxagent has it."""
    root = Path(__file__).parents[2]
    patterns = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["rxagent"]
    named = {path for pattern in patterns for path in (root / "rxagent").glob(pattern)}
    assert set((root / "rxagent/testing/quirk_data").iterdir()) <= named
    assert len(quirks()) == len(list((root / "rxagent/testing/quirk_data").iterdir())) > 150


def test_asking_for_help_with_tests_does_not_load_the_corpus() -> None:
    """`rxagent.testing` offers the corpus and loads its code when it is asked for."""
    assert testing.quirks is quirks
    code = "import sys, rxagent.testing; print([n for n in sys.modules if 'quirks' in n])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_pieces_make_the_whole() -> None:
    """What these tests cut is whole again when joined, and one byte a piece is one byte a piece."""
    assert cut_at(b"abcdef", [4, 2, 9]) == [b"ab", b"cd", b"ef"]
    assert cut_at(b"abc", range(3)) == [b"a", b"b", b"c"]
