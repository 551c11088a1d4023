"""The contract of records: identifiers, sightings, the timeline, schemas and runs."""

from collections.abc import Iterable
from typing import Any

from canonry.readmodels.ports.state import RelationQuery, TimelineQuery
from canonry.readmodels.timeline import TimelineEvent
from canonry.testing.conformance.cases import declared
from canonry.testing.conformance.kit import Backend, Contract, requirement
from canonry.testing.things import a_record, a_relation, an_entity, ident, merged
from canonry.testing.worlds import Scribe
from canonry.values.ids import EntityId
from canonry.values.moments import DAY, Instant

LEDGER = ident("ledger")


def ids(*names: str) -> tuple[EntityId, ...]:
    """Return the ids for these names."""
    return tuple(ident(name) for name in names)


def days(events: Iterable[TimelineEvent]) -> list[int]:
    """Return the days of events, counted from 1970-01-01."""
    return [event.instant // DAY for event in events]


class RecordsContract(Contract):
    """Provide a fixture `backend` with an empty store."""

    test_texts_in_normal_form_lead_to_entities = declared("state:identified:exact")
    test_longer_texts_come_after_the_exact_one = declared("state:identified:begins")
    test_the_texts_of_a_merged_one_lead_to_its_root = declared("state:identified:merged")
    test_types_are_counted = declared("state:entities:types")
    test_merged_ones_are_listed_when_asked_for = declared("state:entities:merged-too")

    @requirement("state:entities:seen-until")
    async def test_an_entity_is_told_as_it_was_seen_until_an_instant(
        self, backend: Backend
    ) -> None:
        """`entities_seen_until` returns entities as their observations until then make them."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        await scribe.make(an_entity("bill"), an_entity("other"))
        for day in (3, 1, 5, 2, 4):
            said = {"properties.number": day, f"properties.day{day}": True}
            seen = Instant(day * DAY)
            told = a_record("bill", f"day {day}", fields=said, observed_at=seen, dates={})
            await scribe.make(told)
        (bill,) = ids("bill")

        async def until(instant: int) -> tuple[Any, int, int]:
            found = await state.entities_seen_until((bill,), Instant(instant))
            entity = found[bill]
            return entity.properties.get("number"), len(entity.properties), entity.sightings.count

        assert await until(5 * DAY) == (5, 6, 5)
        assert await until(4 * DAY) == (4, 5, 4)
        assert await until(3 * DAY + 1) == (3, 4, 3)
        assert await until(2 * DAY - 1) == (1, 2, 1)
        assert await until(0) == (None, 0, 0)
        await scribe.write(merged("other", "bill"))
        assert await until(3 * DAY) == (3, 4, 3)
        assert await state.entities_seen_until(ids("nobody"), Instant(0)) == {}

    test_an_entity_counts_its_observations = declared("state:entities:sightings")
    test_observations_come_newest_first = declared("state:observations:newest")
    test_observations_are_found_by_their_source = declared("state:observations:from-source")
    test_events_are_found_by_type_range_source_and_space = declared("state:timeline:filters")

    @requirement("state:timeline:together")
    async def test_what_a_source_dates_alike_is_one_event(self, backend: Backend) -> None:
        """Entries of one source, type and instant are one event."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        for name in ("a", "b", "c"):
            due = 1 if name == "c" else 0
            await scribe.make(an_entity(name), a_record(name, f"{name} said", due=due))

        page = await state.timeline(TimelineQuery())
        assert page.total == 2
        assert [sorted(e.entity_id for e in event.entries) for event in page.items] == [
            sorted(ids("c")),
            sorted(ids("a", "b")),
        ]
        assert len({event.id for event in page.items}) == 2
        assert {e.field for event in page.items for e in event.entries} == {"due"}
        assert {event.source_id for event in page.items} == {LEDGER}

    test_a_changed_date_is_superseded = declared("state:timeline:superseded")

    @requirement("state:relations:newest")
    async def test_relations_can_come_newest_first(self, backend: Backend) -> None:
        """`newest_first` reverses the order of relations, and keeps the order of ids."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        for n in range(3):
            backend.clock.move(1_000)
            await scribe.make(*(a_relation(f"{n}/{m}", "king", f"man {m}") for m in range(3)))

        for names in (("king",), ()):
            entities = frozenset(ids(*names))
            query = RelationQuery(entities=entities, newest_first=True, limit=5, offset=2)
            everything = RelationQuery(entities=entities)
            page = await state.relations(query)
            known = (await state.relations(everything)).items
            assert page.total == 9
            assert page.items == sorted(known, key=lambda r: (-r.created_at, r.id))[2:7]

    test_versions_of_schemas_are_listed = declared("state:schemas:versions")
    test_runs_are_listed_by_source_and_newest_first = declared("state:runs:listed")
