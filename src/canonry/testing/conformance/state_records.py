"""The contract of records: identifiers, sightings, the timeline, schemas and runs."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from canonry.log.entries import EntityRetconned
from canonry.log.items.entities import Entity
from canonry.readmodels.ports.state import (
    EntityQuery,
    IdentifierQuery,
    RelationQuery,
    TimelineQuery,
)
from canonry.readmodels.timeline import TimelineEvent
from canonry.testing.conformance.kit import Backend, Contract, requirement, whole
from canonry.testing.things import (
    ELSEWHERE,
    HERE,
    a_named,
    a_record,
    a_relation,
    a_run,
    a_schema,
    an_entity,
    an_entry,
    an_observation,
    evidence,
    ident,
    made,
    merged,
    unmerged,
)
from canonry.testing.worlds import Scribe, make_elsewhere, thing_named
from canonry.values.ids import EntityId
from canonry.values.moments import DAY, Instant
from canonry.values.observations import Dated, Observation

LEDGER = ident("ledger")


def ids(*names: str) -> tuple[EntityId, ...]:
    """Return the ids for these names."""
    return tuple(ident(name) for name in names)


def days(events: Iterable[TimelineEvent]) -> list[int]:
    """Return the days of events, counted from 1970-01-01."""
    return [event.instant // DAY for event in events]


async def bearing(backend: Backend, *keys: str, **query: Any) -> dict[str, list[str]]:
    """Return the names of the entities with each key, in order, and check that `bearers` agrees."""
    asked = IdentifierQuery(keys=keys, **query)
    found = await backend.canon.state.entities_identified(asked)
    borne = {
        key: ([(e.id, e.entity_type, e.members, e.borne) for e in page.items], page.total)
        for key, page in found.items()
    }
    bearers = await backend.canon.state.bearers(asked)
    assert borne == {
        key: ([(b.id, b.entity_type, b.members, b.borne) for b in page.items], page.total)
        for key, page in bearers.items()
    }
    return {key: [entity.name for entity in page.items] for key, page in found.items()}


def mailed(name: str, address: str) -> Observation:
    """Return the observation of an e-mail address."""
    return an_observation(name, f"{name} {address}", fields={"properties.email": address})


class RecordsContract(Contract):
    """Provide a fixture `backend` with an empty store."""

    @requirement("state:identified:exact")
    async def test_texts_in_normal_form_lead_to_entities(self, backend: Backend) -> None:
        """`entities_identified` finds canon entities by their normalised texts, oldest first."""
        scribe = Scribe(backend.canon)
        await scribe.write(*a_named("Ann Lee"), *made(mailed("Ann Lee", "Ann@Lee.org")))
        await scribe.write(*a_named("ann  lee", entity_type="person"))
        await Scribe(backend.canon, "there", ELSEWHERE).write(*a_named("ANN LEE", space=ELSEWHERE))

        assert await bearing(backend, "ann lee", spaces=HERE) == {
            "ann lee": ["Ann Lee", "ann  lee"]
        }
        assert await bearing(backend, "ann@lee.org", "no") == {"ann@lee.org": ["Ann Lee"]}
        typed = {"spaces": HERE, "entity_type": "person"}
        assert await bearing(backend, "ann lee", **typed) == {"ann lee": ["ann  lee"]}
        assert len((await bearing(backend, "ann lee"))["ann lee"]) == 3
        asked = IdentifierQuery(keys=("ann lee",), limit=1)
        assert (await backend.canon.state.entities_identified(asked))["ann lee"].total == 3
        assert await bearing(backend, "ann lee", spaces=frozenset()) == {}
        await scribe.make(mailed("Ann Lee", "new@lee.org"))
        await scribe.write(an_entry(EntityRetconned, "ann  lee"))
        assert await bearing(backend, "ann@lee.org", "new@lee.org", "ann lee", spaces=HERE) == {
            "ann@lee.org": ["Ann Lee"],
            "new@lee.org": ["Ann Lee"],
            "ann lee": ["Ann Lee"],
        }

    @requirement("state:identified:begins")
    async def test_longer_texts_come_after_the_exact_one(self, backend: Backend) -> None:
        """With `begins`, longer texts follow the exact one. No character is a wildcard."""
        scribe = Scribe(backend.canon)
        for name in ("inv-10", "inv-1", "inv-100", "inv%", "inv_x", "other"):
            await scribe.write(*a_named(name))

        assert await bearing(backend, "inv-1") == {"inv-1": ["inv-1"]}
        longer = await bearing(backend, "inv-1", begins=True)
        assert longer == {"inv-1": ["inv-1", "inv-10", "inv-100"]}
        assert await bearing(backend, "inv%", begins=True) == {"inv%": ["inv%"]}
        assert await bearing(backend, "inv_", begins=True) == {"inv_": ["inv_x"]}
        assert await bearing(backend, "_", "%", "nv", begins=True) == {}
        asked = IdentifierQuery(keys=("inv",), begins=True, limit=2)
        page = (await backend.canon.state.entities_identified(asked))["inv"]
        assert (len(page.items), page.total) == (2, 5)

    @requirement("state:identified:merged")
    async def test_the_texts_of_a_merged_one_lead_to_its_root(self, backend: Backend) -> None:
        """The texts of a merged entity find its root."""
        scribe = Scribe(backend.canon)
        await scribe.write(*a_named("acme"), *a_named("acme corp"))
        await scribe.write(merged("acme", "acme corp"))

        asked = IdentifierQuery(keys=("acme corp",), begins=True)
        found = await backend.canon.state.entities_identified(asked)
        assert [entity.id for entity in found["acme corp"].items] == [ident("acme")]
        await scribe.write(unmerged("acme", "acme corp"))
        assert await bearing(backend, "acme corp") == {"acme corp": ["acme corp"]}

    @requirement("state:entities:types")
    async def test_types_are_counted(self, backend: Backend) -> None:
        """`entity_types` counts canon entities by type, for any type."""
        scribe = Scribe(backend.canon)
        for name, kind in (("a", "note"), ("b", "note"), ("c", "x/y"), ("d", "note")):
            await scribe.write(*a_named(name, entity_type=kind))
        await scribe.write(merged("a", "b"))
        await scribe.write(an_entry(EntityRetconned, "d"))

        assert await backend.canon.state.entity_types(HERE) == {"note": 1, "x/y": 1}
        assert await backend.canon.state.entity_types(None) == {"note": 1, "x/y": 1}
        assert await backend.canon.state.entity_types(frozenset((ELSEWHERE,))) == {}
        found = await backend.canon.state.entities(EntityQuery(entity_type="x/y"))
        assert [entity.name for entity in found.items] == ["c"]

    @requirement("state:entities:merged-too")
    async def test_merged_ones_are_listed_when_asked_for(self, backend: Backend) -> None:
        """`include_merged` lists merged entities in order, with the exact total."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        for name in ("a", "b", "c", "d"):
            await scribe.write(*a_named(name))
        await scribe.write(merged("a", "c"))

        some = await state.entities(EntityQuery(include_merged=True, limit=2, offset=1))
        assert some.total == 4
        assert [entity.id for entity in some.items] == list(ids("b", "c"))
        assert (await state.entities(EntityQuery(limit=9))).total == 3

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

    @requirement("state:entities:sightings")
    async def test_an_entity_counts_its_observations(self, backend: Backend) -> None:
        """An entity counts its own and its members' observations, with first and last."""
        scribe = Scribe(backend.canon)
        await scribe.make(an_entity("a"), an_entity("b"))
        for name, day in (("a", 3), ("a", 1), ("b", 9)):
            seen = Instant(day * DAY)
            await scribe.make(a_record(name, f"{name} {day}", observed_at=seen))
        await scribe.write(merged("a", "b"))

        whole = await thing_named(backend.canon.state, "a")
        assert isinstance(whole, Entity)
        assert whole.observed.count == 3
        assert (whole.observed.first, whole.observed.last) == (DAY, 9 * DAY)
        assert (whole.sightings.count, whole.sightings.last) == (2, 3 * DAY)

    @requirement("state:observations:newest")
    async def test_observations_come_newest_first(self, backend: Backend) -> None:
        """`observations_newest` returns those of several entities, newest first."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        await scribe.make(an_entity("a"), an_entity("b"))
        for n in range(7):
            day = Instant((n * 3 % 7) * DAY)
            await scribe.make(a_record("a" if n % 2 else "b", f"said {n}", observed_at=day))

        seen: list[Observation] = []
        for offset in range(0, 9, 2):
            page = await state.observations_newest(ids("a", "b"), limit=2, offset=offset)
            assert page.total == 7
            seen += page.items
        assert [o.seen_at // DAY for o in seen] == [6, 5, 4, 3, 2, 1, 0]
        alone = await state.observations_newest(ids("a"), limit=9, offset=0)
        assert alone.total == 3
        assert {o.entity_id for o in alone.items} == set(ids("a"))

    @requirement("state:observations:from-source")
    async def test_observations_are_found_by_their_source(self, backend: Backend) -> None:
        """`observations_from` returns the observations from a source, in log order."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        await scribe.make(an_entity("a"))
        for n in range(3):
            await scribe.make(a_record("a", f"said {n}"))
        await scribe.make(an_observation("a", "hearsay"))

        page = await state.observations_from(LEDGER, limit=2, offset=1)
        assert page.total == 3
        assert [o.id for o in page.items] == [ident("said 1"), ident("said 2")]
        nothing = await state.observations_from(ident("no"), limit=9, offset=0)
        assert nothing.total == 0

    @requirement("state:timeline:filters")
    async def test_events_are_found_by_type_range_source_and_space(self, backend: Backend) -> None:
        """Type, inclusive range, source and space select events, newest first."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        for day in range(5):
            name = f"bill {day}"
            record = a_record(name, f"{name} said", due=day)
            if day == 4:
                paid = Dated(event_type="Paid", instant=Instant(0))
                record = replace(record, dates={"due": paid})
            await scribe.make(an_entity(name), record)
        other = evidence("letter")
        told = a_record("bill 9", "elsewhere", due=9, space=ELSEWHERE, evidence=other)
        there = Scribe(backend.canon, "there", ELSEWHERE)
        await there.make(an_entity("bill 9", space=ELSEWHERE), told)

        async def asked(**query: Any) -> list[int]:
            page = await state.timeline(TimelineQuery(**query))
            assert page.total >= len(page.items)
            return days(page.items)

        assert await asked() == [9, 3, 2, 1, 0, 0]
        assert await asked(spaces=HERE, event_type="Due") == [3, 2, 1, 0]
        assert await asked(event_type="Paid") == [0]
        assert await asked(event_type="Nothing") == []
        both: dict[str, Any] = {"start": Instant(DAY), "end": Instant(3 * DAY)}
        assert await asked(**both) == [3, 2, 1]
        assert await asked(start=Instant(DAY + 1), end=Instant(3 * DAY - 1)) == [2]
        assert await asked(source_id=LEDGER) == [3, 2, 1, 0, 0]
        assert await asked(source_id=LEDGER, **both, event_type="Due") == [3, 2, 1]
        assert await asked(spaces=frozenset((ELSEWHERE,))) == [9]
        assert await asked(spaces=frozenset()) == []
        assert await asked(limit=2, offset=1) == [3, 2]
        page = await state.timeline(TimelineQuery(**both, limit=1))
        assert (page.total, len(page.items)) == (3, 1)

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

    @requirement("state:timeline:superseded")
    async def test_a_changed_date_is_superseded(self, backend: Backend) -> None:
        """Only dates in a current snapshot are events, unless all are requested."""
        scribe, state = Scribe(backend.canon), backend.canon.state

        async def told(*, superseded: bool = False) -> list[int]:
            return days(await whole(state.timeline, TimelineQuery(superseded=superseded)))

        await scribe.make(an_entity("a"), a_record("a", "first", due=1))
        await scribe.make(a_record("a", "second", due=3))
        assert await told() == [3]
        assert await told(superseded=True) == [3, 1]
        await scribe.make(a_record("a", "fixed", due=2, correction=True))
        await scribe.make(a_record("a", "later", due=8))
        assert await told() == [2]
        assert await told(superseded=True) == [8, 3, 2, 1]
        await scribe.make(an_entity("b"), a_record("b", "other", due=6))
        assert await told() == [6, 2]
        await scribe.write(merged("b", "a"))
        assert await told() == [2]
        await scribe.write(unmerged("b", "a"))
        assert await told() == [6, 2]
        await scribe.write(an_entry(EntityRetconned, "b"))
        assert await told() == [2]

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

    @requirement("state:schemas:versions")
    async def test_versions_of_schemas_are_listed(self, backend: Backend) -> None:
        """`schemas` lists the versions of a type or of all, oldest first."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        for name, version in (("bill", "1.0"), ("note", "1.0"), ("bill", "1.1")):
            await scribe.make(a_schema(name, version))
        await make_elsewhere(backend.canon, a_schema("bill", "9.0"))

        page = await state.schemas(HERE, "bill", limit=9, offset=0)
        assert page.total == 2
        assert [schema.version for schema in page.items] == ["1.0", "1.1"]
        assert page.items[0].fields == a_schema("bill").fields
        everything = await state.schemas(HERE, None, limit=2, offset=1)
        assert everything.total == 3
        assert [s.entity_type for s in everything.items] == ["note", "bill"]
        assert (await state.schemas(None, "bill", limit=9, offset=0)).total == 3

    @requirement("state:runs:listed")
    async def test_runs_are_listed_by_source_and_newest_first(self, backend: Backend) -> None:
        """`runs` returns the runs over a source, and `runs_newest` all runs, also failed ones."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        for n, source in enumerate(("ledger", "ledger", "letter")):
            await scribe.make(a_run(f"run {n}", source, error="x" if n == 1 else None))

        page = await state.runs(LEDGER, limit=9, offset=0)
        assert [(run.id, run.error) for run in page.items] == [
            (ident("run 0"), None),
            (ident("run 1"), "x"),
        ]
        newest = await state.runs_newest(HERE, limit=2, offset=0)
        assert newest.total == 3
        assert [run.id for run in newest.items] == [ident("run 2"), ident("run 1")]
        assert (await state.runs_newest(frozenset(), limit=2, offset=0)).total == 0
