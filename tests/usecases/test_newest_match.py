"""The newest of a list that begins with the oldest: its last page, whole, asked for twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.canon.session.paging import newest_match
from canonry.readmodels.ports.state import EventQuery
from canonry.readmodels.ports.view import PAGE_MAX, Page

pytestmark = pytest.mark.anyio


@given(st.one_of(st.integers(0, 5), st.integers(PAGE_MAX - 2, 3 * PAGE_MAX)))
async def test_the_newest_are_the_last_page_in_their_order(count: int) -> None:
    everything = list(range(count))
    offsets: list[int] = []

    async def ask(query: EventQuery) -> Page[int]:
        offsets.append(query.offset)
        return Page(items=everything[query.offset : query.offset + query.limit], total=count)

    query = EventQuery(spaces=frozenset(), limit=1, offset=7)
    assert list(await newest_match(ask, query)) == everything[-PAGE_MAX:]
    assert len(offsets) <= 2
