"""Words of a shared view: asked first, and never waited for longer than is said."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from typing_extensions import override

from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import TextFound, TextQuery
from canonry.readmodels.ports.view import Folded, Projection
from canonry.stores.memory import MemoryText
from canonry.stores.projections import projector as shared_text
from canonry.stores.projections.projector import Projector, SharedText
from canonry.testing.clocks import Scribe
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, uuid_of
from tests.conformance.test_memory import open_memory

pytestmark = pytest.mark.anyio

SWORD = TextQuery(collection=Collection.FACTS, text="sword", spaces=frozenset((MIDDLE_EARTH,)))


async def test_an_unresponsive_text_server_is_waited_for_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shared_text, "PATIENCE", 0.1)
    asked = 0

    class Silent(MemoryText, Projection):
        @override
        async def apply(self, folded: Sequence[Folded]) -> None:
            raise AssertionError("it shows all")

        @override
        async def search(self, query: TextQuery) -> TextFound:
            nonlocal asked
            asked += 1
            await asyncio.Event().wait()
            return await super().search(query)

    canon = (await open_memory()).canon
    await Scribe(canon).make_items(a_fact("sword"))
    assert isinstance(canon.text, MemoryText)
    silent = Silent(canon.text._store)
    projector = Projector(ledger=canon.ledger, state=canon.state, others=(silent,))
    shared = replace(canon, text=SharedText(silent, own=canon.text, projector=projector)).text

    async with asyncio.timeout(60):
        found = [await shared.search(SWORD) for _ in range(2)]

    assert [[hit.id for hit in each.hits] for each in found] == [[uuid_of("sword")]] * 2
    assert asked == 1
