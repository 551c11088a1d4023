"""Importing a catalog while others write: what has changed since rows were judged counts."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from typing_extensions import override

from canonry.app.compose import compose_memory
from canonry.canon.session.canon import Canon
from canonry.log.commits import Append, Outcome
from canonry.log.entries import Erased, Made
from canonry.log.items.entities import EntityDraft
from canonry.log.items.facts import RelationDraft
from canonry.readmodels.catalog import item_id
from canonry.stores.memory import MemoryLedger
from canonry.testing.clocks import CountingIdentities, HandClock, Scribe
from canonry.values.ids import SpaceDraft, SpaceId
from tests.toolsets.catalog.kit import LAB, OTHER, entity_row, import_rows, make_uuid, relation_row

pytestmark = pytest.mark.anyio

PROJECTS = [
    {"id": LAB, "name": "Lab", "slug": "lab"},
    {"id": OTHER, "name": "Other", "slug": "other"},
]
CONCEPTS = [entity_row(n, "concept", f"Concept {n}") for n in range(1, 4)]
BETWEEN = "CONCEPT_RELATES_TO_CONCEPT"
LINK = relation_row(1, BETWEEN, make_uuid(1), make_uuid(2))
ANOTHER = relation_row(2, BETWEEN, make_uuid(2), make_uuid(3))


class BusyLedger(MemoryLedger):
    """A ledger in which somebody else is faster, once: when an item of a kind is about to come.

    Before a space comes somebody is faster at the turnstile, which the import then passes.
    """

    def __init__(self, whole: MemoryLedger) -> None:
        super().__init__(whole._store, whole._sealer)
        self.before: type = EntityDraft
        self.first: Callable[[], Awaitable[Any]] | None = None

    @override
    async def append_drafts(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        made = [e.thing for item in batch for e in item.draft.entries if isinstance(e, Made)]
        if self.before is not SpaceDraft and any(
            isinstance(found_item, self.before) for found_item in made
        ):
            await self._let_in()
        return await super().append_drafts(batch)

    @override
    @asynccontextmanager
    async def lock_appends(self) -> AsyncIterator[None]:
        if self.before is SpaceDraft:
            await self._let_in()
        async with super().lock_appends():
            yield

    async def _let_in(self) -> None:
        first, self.first = self.first, None
        if first is not None:
            await first()


def a_busy_canon() -> tuple[Canon, BusyLedger]:
    canon = compose_memory(clock=HandClock(), identities=CountingIdentities())
    assert isinstance(canon.ledger, MemoryLedger)
    ledger = BusyLedger(canon.ledger)
    return replace(canon, ledger=ledger), ledger


async def count_joined(canon: Canon) -> int:
    """Return how many of the two relations exist."""
    ends = [item_id(LAB, "concept", make_uuid(n)) for n in (1, 2, 3)]
    pairs = pairwise(ends)
    return len(await canon.catalog.current_relations((one, BETWEEN, two) for one, two in pairs))


async def test_a_slug_taken_meanwhile_refuses_its_row_and_dependents() -> None:
    canon, ledger = a_busy_canon()
    await import_rows(canon, {"projects": PROJECTS})
    taking = {**entity_row(50, "concept", "Faster"), "slug": CONCEPTS[0]["slug"]}
    ledger.first = lambda: import_rows(canon, {"entities": [taking]})

    arrays = {"entities": CONCEPTS, "relations": [LINK, ANOTHER]}
    report = await import_rows(canon, arrays, lenient=True)

    assert [(each.array, each.row, each.code) for each in report.problems] == [
        ("entities", 0, "slug.taken"),
        ("relations", 0, "entity.unknown"),
    ]
    assert (report.made["entities"], report.made["relations"]) == (2, 1)
    assert await count_joined(canon) == report.made["relations"]


async def test_an_end_erased_meanwhile_refuses_its_relation() -> None:
    canon, ledger = a_busy_canon()
    await import_rows(canon, {"projects": PROJECTS, "entities": CONCEPTS})
    scribe = Scribe(canon, space=SpaceId(LAB))
    gone = Erased(targets=(item_id(LAB, "concept", make_uuid(1)),), reason="")
    ledger.before, ledger.first = RelationDraft, lambda: scribe.write_entries(gone)

    report = await import_rows(canon, {"relations": [LINK, ANOTHER]}, lenient=True)

    assert [(each.row, each.code) for each in report.problems] == [(0, "entity.unknown")]
    assert report.made["relations"] == 1


async def test_an_equal_relation_added_meanwhile_is_not_stored_twice() -> None:
    canon, ledger = a_busy_canon()
    await import_rows(canon, {"projects": PROJECTS, "entities": CONCEPTS})
    twin = {**LINK, "id": make_uuid(77)}
    ledger.before, ledger.first = RelationDraft, lambda: import_rows(canon, {"relations": [twin]})

    report = await import_rows(canon, {"relations": [LINK, ANOTHER]}, lenient=True)

    assert [(each.row, each.code) for each in report.problems] == [(0, "relation.exists")]
    assert report.made["relations"] == 1


async def test_unrelated_concurrent_writes_refuse_nothing() -> None:
    canon, ledger = a_busy_canon()
    await import_rows(canon, {"projects": PROJECTS})
    ledger.first = lambda: import_rows(canon, {"entities": [entity_row(50, "guide", "Beside")]})

    report = await import_rows(canon, {"entities": CONCEPTS, "relations": [LINK, ANOTHER]})

    assert (report.problems, report.made["entities"], report.made["relations"]) == ([], 3, 2)
    assert await count_joined(canon) == report.made["relations"]


async def test_a_project_slug_taken_meanwhile_excludes_its_items() -> None:
    canon, ledger = a_busy_canon()
    faster = {"id": OTHER, "name": "Faster", "slug": "lab"}
    ledger.before, ledger.first = SpaceDraft, lambda: import_rows(canon, {"projects": [faster]})

    arrays = {"projects": PROJECTS[:1], "entities": CONCEPTS, "relations": [LINK]}
    report = await import_rows(canon, arrays, lenient=True)

    codes = [(each.array, each.code) for each in report.problems]
    assert codes == [
        ("projects", "slug.taken"),
        *[("entities", "project.unknown")] * 3,
        ("relations", "project.unknown"),
    ]
    assert not report.made
