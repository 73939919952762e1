"""Folder names for any text: safe, apart, and readable back."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.artifacts.file_names import folder_name, name_of_folder


@pytest.mark.parametrize(
    ("name", "folder"),
    [("a_b-1.txt", "a_b-1.txt"), ("..", "%2E."), ("A", "%41"), ("a/b", "a%2Fb"), ("", "%"), ("é", "%C3%A9")],
)
def test_examples(name: str, folder: str) -> None:
    """Plain names stay readable; dots in front, upper-case letters and all else are encoded."""
    assert folder_name(name) == folder


@given(st.text(max_size=80))
def test_safe_and_back(name: str) -> None:
    """A folder's name has safe characters only, is no dot, not too long, and gives the text back."""
    folder = folder_name(name)
    assert set(folder) <= set(string.ascii_lowercase + string.digits + "_-.%ABCDEF")
    assert not folder.startswith(".")
    assert 0 < len(folder) < 255
    assert name_of_folder(folder) == (name if len(folder) <= 200 else None)


@given(st.text("aA.%é/", max_size=2), st.text("aA.%é/", max_size=2))
def test_apart_also_without_case(one: str, other: str) -> None:
    """Two texts never share a folder, not even where file systems ignore the case."""
    assert (folder_name(one).casefold() == folder_name(other).casefold()) is (one == other)


def test_long_names_stay_apart() -> None:
    """Too long names are cut and told apart by a hash."""
    one, other = folder_name("x" * 900), folder_name("x" * 899 + "y")
    assert one != other
    assert one[:200] == other[:200]
    assert name_of_folder(one) is None
