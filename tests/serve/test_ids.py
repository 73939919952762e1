"""Ids that requests bring."""

from __future__ import annotations

import pytest
from starlette.exceptions import HTTPException

from rxagent.serve.ids import checked_id, checked_key


@pytest.mark.parametrize("value", ["s1", "me@example.org", "Jürgen Müller", "a" * 256, "...", "%2e"])
def test_ids_that_can_be_used(value: str) -> None:
    """Any printable text without slashes."""
    assert checked_id("userId", value) == value
    assert checked_key("app", value, value) == ("app", value, value)


@pytest.mark.parametrize("value", ["", "a" * 257, "a/b", "a\\b", ".", "..", "a\nb", "a\x00", "\u202eabc", "\ud800"])
def test_ids_that_cannot(value: str) -> None:
    """Empty, long, with slashes, control characters or marks that turn the text: 422, and the value is not repeated."""
    with pytest.raises(HTTPException) as caught:
        checked_id("userId", value)
    assert caught.value.status_code == 422
    assert value not in caught.value.detail or len(value) < 3
