"""Words that do not belong into the project: paths and names of where it was made, hosts that a user may not have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .trees import ROOT, shown, tracked

HOSTS = "pypi org|pythonhosted org|npmjs org|npmjs com|maven org|crates io|golang org|deb debian org"
WORDS = re.compile(
    "|".join(
        [
            "/" + "work/",
            "/" + "farm/",
            r"\bC" + r"EO\b",
            r"\bthis " + "workplace",
            r"\bissue" + r" #?\d",
            *(host.replace(" ", r"\.") for host in HOSTS.split("|")),
        ]
    ),
    re.IGNORECASE,
)


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8", errors="replace")


@pytest.mark.parametrize("path", tracked(), ids=shown)
def test_no_words_of_elsewhere(path: Path) -> None:
    """No file names the place where it was written, a tracker's number, or a package index."""
    assert [line.strip() for line in text_of(path).splitlines() if WORDS.search(line)] == []


@pytest.mark.parametrize("text", ["see " + "/work" + "/x", "Issue" + " #12", "https://" + "pypi" + ".org/x"])
def test_the_words_are_found(text: str) -> None:
    """The pattern finds what it is meant to find."""
    assert WORDS.search(text)


def test_the_top_is_tidy() -> None:
    """At the top stand only the files and folders that belong there."""
    allowed = {"setup.cfg", "pyproject.toml", "rxagent", "tests", "notebooks", "README.md", "Makefile", "CHANGELOG.md"}
    top = {path.relative_to(ROOT).parts[0] for path in tracked()}
    assert {name for name in top if not name.startswith(".")} - allowed - {"LICENSE"} == set()
