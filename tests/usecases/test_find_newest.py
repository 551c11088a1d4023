"""The newest of a list that begins with the oldest: its last page, whole, asked for twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.ports.views.pages import PAGE_MAX, Page
from canonry.usecases.kernel.every_item import find_newest

pytestmark = pytest.mark.anyio


@given(st.one_of(st.integers(0, 5), st.integers(PAGE_MAX - 2, 3 * PAGE_MAX)))
async def test_the_newest_are_the_last_page_in_their_order(count: int) -> None:
    everything = list(range(count))
    offsets: list[int] = []

    async def ask(offset: int) -> Page[int]:
        offsets.append(offset)
        return Page(items=everything[offset : offset + PAGE_MAX], total=count)

    assert list(await find_newest(ask)) == everything[-PAGE_MAX:]
    assert len(offsets) <= 2
