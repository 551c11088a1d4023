"""Promises of the ports `Documents` and `Places`."""

from collections.abc import Sequence

from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.facts import Event
from canonry.testing.clocks import Scribe, make_elsewhere
from canonry.testing.conformance.cases import DeclaredContract
from canonry.testing.conformance.kit import Backend, requirement
from canonry.testing.example_items import MIDDLE_EARTH, an_entity, an_event, uuid_of
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel


class DocumentsContract(DeclaredContract):
    """Provide a fixture `backend` with an empty store."""


def ids_of(*names: str) -> list[str]:
    """Return the ids for these names."""
    return [uuid_of(name) for name in names]


class PlacesContract(DeclaredContract):
    """Provide a fixture `backend` with an empty store."""

    @requirement("places:following:pages")
    async def test_pages_follow_each_other_by_the_last_item(self, backend: Backend) -> None:
        """`entities_after` and `events_after` page through canon items in a stated order.

        Each page follows the last item of the page before, also while others write.
        """
        scribe, places = Scribe(backend.canon), backend.canon.places
        for name in ("b", "a", "d", "c"):
            await scribe.make_items(an_entity(name, entity_type="location"))
        await scribe.make_items(
            an_entity("kind", entity_type="location", entity_class=EntityClass.ARCHETYPE),
            an_entity("wish", entity_type="location", level=CanonLevel.PROPOSED),
            an_entity("player", entity_type="player"),
        )
        await make_elsewhere(backend.canon, an_entity("there", entity_type="location"))

        async def entity_page(last: Entity | None, limit: int = 2) -> Sequence[Entity]:
            return await places.entities_after(MIDDLE_EARTH, "location", last, limit=limit)

        whole = await entity_page(None, 99)
        assert {each.id for each in whole} == set(ids_of("a", "b", "c", "d", "kind"))
        assert [(e.created_at, e.id) for e in whole] == sorted((e.created_at, e.id) for e in whole)
        first = await entity_page(None)
        await scribe.make_items(an_entity("new", entity_type="location"))
        second = await entity_page(first[-1])
        assert [*first, *second] == whole[:4]
        rest = await entity_page(second[-1], 99)
        assert {each.id for each in rest} == {whole[4].id, uuid_of("new")}
        assert await entity_page(rest[-1]) == []

        for name, when in (("second", 20), ("first", 10), ("third", 30), ("twin", 20)):
            await scribe.make_items(an_event(name, "inn", time_ref=Instant(when)))
        await scribe.make_items(an_event("dream", "inn", level=CanonLevel.PROPOSED))
        paged_events: list[Event] = []
        while more := await places.events_after(
            MIDDLE_EARTH, paged_events[-1] if paged_events else None, limit=1
        ):
            paged_events += more
        twins = sorted(ids_of("second", "twin"))
        assert [each.id for each in paged_events] == [uuid_of("first"), *twins, uuid_of("third")]
