"""Lookups of many items at once find exactly what lookups one by one find, in the same order."""

from pathlib import Path

import pytest

from canonry.log.commits import Append, Position
from canonry.readmodels.ports.state import IdentifierQuery
from canonry.testing.clocks import a_draft
from canonry.testing.example_items import MIDDLE_EARTH, a_named, uuid_of
from tests.adapters.sqlite.opened import a_store

pytestmark = pytest.mark.anyio

NAMES = tuple(f"Hobbit {number:03}" for number in range(150))
ASKED = (*NAMES[::-2], "Nobody", *NAMES[::3])
"""Backwards, with somebody who is not there, and some of them twice."""


@pytest.mark.parametrize("count", [1, 7, 8, 64, 65, len(ASKED)])
async def test_a_batch_lookup_equals_single_lookups(tmp_path: Path, count: int) -> None:
    entries = [entry for name in NAMES for entry in a_named(name)]
    draft = a_draft("hobbits", entries)
    asked = ASKED[:count]
    keys = tuple(name.casefold() for name in asked)
    async with a_store(tmp_path) as store:
        await store.ledger.append_drafts(
            [Append(draft=draft, judged_at=Position(0), reads=frozenset())]
        )

        items = await store.state.items_by_id(map(uuid_of, asked))
        alone = [await store.state.items_by_id([uuid_of(name)]) for name in dict.fromkeys(asked)]
        spaces = frozenset((MIDDLE_EARTH,))
        found = await store.state.entities_identified(IdentifierQuery(spaces=spaces, keys=keys))

    assert list(items.items()) == [pair for one in alone for pair in one.items()]
    assert list(found) == [key for key in dict.fromkeys(keys) if key != "nobody"]
    assert [page.items[0].name.casefold() for page in found.values()] == list(found)
