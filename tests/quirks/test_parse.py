"""The corpus through the parser alone: bytes, events, assembly."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rxagent.testing.quirks_corpus import quirks
from rxagent.testing.quirks_file import Quirk
from rxagent.testing.quirks_parse import parse_body
from rxagent.testing.quirks_reading import read_responses

from .replaying import check, cut_at, cuts_of, each


@each(one for one in quirks() if one.is_bytes)
@given(data=st.data())
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_quirk_is_read_right_however_it_is_cut(quirk: Quirk, data: st.DataObject) -> None:
    """Whole, in any pieces, and byte by byte the bytes make what the quirk's file expects."""
    places = data.draw(cuts_of(quirk.body))
    for pieces in ([quirk.body], cut_at(quirk.body, places), cut_at(quirk.body, range(len(quirk.body)))):
        check(quirk, read_responses(parse_body(pieces)))
