"""Promises of the ports `Documents` and `Places`."""

from collections.abc import Sequence

from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.facts import Event
from canonry.testing.conformance.cases import DeclaredContract
from canonry.testing.conformance.kit import Backend, requirement
from canonry.testing.things import MIDDLE_EARTH, an_entity, an_event, ident
from canonry.testing.worlds import Scribe, make_elsewhere
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel


class DocumentsContract(DeclaredContract):
    """Provide a fixture `backend` with an empty store."""


def ids(*names: str) -> list[str]:
    """Return the ids for these names."""
    return [ident(name) for name in names]


class PlacesContract(DeclaredContract):
    """Provide a fixture `backend` with an empty store."""

    @requirement("places:following:pages")
    async def test_pages_follow_each_other_by_the_last_thing(self, backend: Backend) -> None:
        """`entities_after` and `events_after` page through canon items in a stated order.

        Each page follows the last item of the page before, also while others write.
        """
        scribe, places = Scribe(backend.canon), backend.canon.places
        for name in ("b", "a", "d", "c"):
            await scribe.make(an_entity(name, entity_type="location"))
        await scribe.make(
            an_entity("kind", entity_type="location", entity_class=EntityClass.ARCHETYPE),
            an_entity("wish", entity_type="location", level=CanonLevel.PROPOSED),
            an_entity("player", entity_type="player"),
        )
        await make_elsewhere(backend.canon, an_entity("there", entity_type="location"))

        async def page(last: Entity | None, limit: int = 2) -> Sequence[Entity]:
            return await places.entities_after(MIDDLE_EARTH, "location", last, limit=limit)

        whole = await page(None, 99)
        assert {each.id for each in whole} == set(ids("a", "b", "c", "d", "kind"))
        assert [(e.created_at, e.id) for e in whole] == sorted((e.created_at, e.id) for e in whole)
        first = await page(None)
        await scribe.make(an_entity("new", entity_type="location"))
        second = await page(first[-1])
        assert [*first, *second] == whole[:4]
        rest = await page(second[-1], 99)
        assert {each.id for each in rest} == {whole[4].id, ident("new")}
        assert await page(rest[-1]) == []

        for name, when in (("second", 20), ("first", 10), ("third", 30), ("twin", 20)):
            await scribe.make(an_event(name, "inn", time_ref=Instant(when)))
        await scribe.make(an_event("dream", "inn", level=CanonLevel.PROPOSED))
        told: list[Event] = []
        while more := await places.events_after(MIDDLE_EARTH, told[-1] if told else None, limit=1):
            told += more
        twins = sorted(ids("second", "twin"))
        assert [each.id for each in told] == [ident("first"), *twins, ident("third")]
