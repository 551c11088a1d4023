"""The contract of `canonry.readmodels.ports.places.Places`."""

from collections.abc import Sequence
from typing import Any

from canonry.log.entries import EventRetconned, RelationEnded, RelationRetconned
from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.facts import Event, Relation
from canonry.readmodels.ports.places import EdgeQuery
from canonry.testing.conformance.kit import Backend, Contract, requirement
from canonry.testing.things import ELSEWHERE, MIDDLE_EARTH, a_relation, an_entity, an_event, ident
from canonry.testing.worlds import Scribe
from canonry.values.ids import EntityId, EventId, RelationId
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel


def an_edge(name: str, start: str, end: str, **changes: Any) -> Relation:
    """Somebody in a place, by default for ever; `kind` is kept among the properties."""
    kind = changes.pop("kind", "player")
    asked = {"rel_type": "LOCATED_IN", "since": None, "properties": {"kind": kind}, **changes}
    return a_relation(name, start, end, **asked)


async def held(backend: Backend, *names: str, at: int = 50, **query: Any) -> list[str]:
    """The ids of the edges that match; who is in these places, unless the query says otherwise."""
    asked: dict[str, Any] = {"outward": False, "kinds": ("player",), **query}
    found = await backend.canon.places.edges(
        EdgeQuery(
            space=asked.pop("space", MIDDLE_EARTH),
            entities=tuple(EntityId(ident(name)) for name in names),
            rel_type=asked.pop("rel_type", "LOCATED_IN"),
            at=Instant(at),
            **asked,
        )
    )
    return [edge.id for edge in found]


def ids(*names: str) -> list[str]:
    """The ids behind names."""
    return [ident(name) for name in names]


class PlacesContract(Contract):
    """Provide a fixture `backend` that yields an empty one."""

    @requirement(
        "places:edges:interval",
        because="Whoever left at a tick is not there at that tick, and is there one before.",
    )
    async def test_an_edge_holds_over_a_half_open_interval(self, backend: Backend) -> None:
        """An edge holds from since until just before until; without either, without end."""
        scribe = Scribe(backend.canon)
        await scribe.make(
            an_edge("both", "ann", "inn", since=Instant(10), until=Instant(20)),
            an_edge("open", "bob", "inn", since=Instant(20)),
            an_edge("past", "cid", "inn", until=Instant(10)),
            an_edge("ever", "dan", "inn"),
            an_edge("none", "eve", "inn", since=Instant(15), until=Instant(15)),
        )

        async def among(at: int) -> set[str]:
            return set(await held(backend, "inn", at=at))

        assert await among(-(2**60)) == set(ids("past", "ever"))
        assert await among(9) == set(ids("past", "ever"))
        assert await among(10) == set(ids("both", "ever"))
        assert await among(15) == set(ids("both", "ever"))
        assert await among(19) == set(ids("both", "ever"))
        assert await among(20) == set(ids("open", "ever"))
        assert await among(2**60) == set(ids("open", "ever"))

    @requirement(
        "places:edges:ended",
        because="The past of a world stays as it was, and what never was is nowhere in it.",
    )
    async def test_what_was_ended_held_until_then(self, backend: Backend) -> None:
        """An edge that was ended holds until its end; ended without a date or retconned, never."""
        scribe = Scribe(backend.canon)
        names = ("left", "lost", "never")
        await scribe.make(*(an_edge(name, name, "inn", since=Instant(0)) for name in names))
        left, lost, never = (RelationId(ident(name)) for name in names)
        reason = "told so"
        await scribe.write(
            RelationEnded(relation_id=left, until=Instant(30), superseded_by=None, reason=reason),
            RelationEnded(relation_id=lost, until=None, superseded_by=None, reason=reason),
            RelationRetconned(relation_id=never, replaced_by=None, reason=reason),
        )

        assert await held(backend, "inn", at=29) == ids("left")
        assert await held(backend, "inn", at=30) == []
        assert await held(backend, "lost", "never", at=5, outward=True) == []

    @requirement(
        "places:edges:selection", because="A crowd at an inn must not hide the two who live there."
    )
    async def test_edges_are_chosen_by_what_they_are(self, backend: Backend) -> None:
        """Space, type, side, entities and kinds select edges; other relations are none."""
        scribe = Scribe(backend.canon)
        await scribe.make(
            an_edge("player", "ann", "inn"),
            an_edge("character", "bob", "inn", kind="character"),
            an_edge("exit", "inn", "yard", rel_type="EXIT", kind="north"),
            an_edge("loop", "inn", "inn", rel_type="EXIT", kind="in"),
            an_edge("friend", "ann", "inn", rel_type="KNOWS"),
            a_relation("plain", "cup", "inn", rel_type="HELD_BY", since=None),
        )
        there = an_edge("there", "ann", "inn", space=ELSEWHERE)
        await Scribe(backend.canon, "there", ELSEWHERE).make(there)

        assert await held(backend, "inn") == ids("player")
        assert await held(backend, "inn", kinds=("character",)) == ids("character")
        assert await held(backend, "inn", kinds=("character", "player")) == ids(
            "character", "player"
        )
        assert await held(backend, "ann", outward=True) == ids("player")
        assert await held(backend, "ann", outward=False) == []
        assert await held(backend, "inn", space=ELSEWHERE) == ids("there")
        assert await held(backend, "inn", rel_type="KNOWS") == []
        assert await held(backend, "inn", rel_type="HELD_BY", kinds=("",)) == ids("plain")
        ways: dict[str, Any] = {"rel_type": "EXIT", "kinds": ("north", "in")}
        assert await held(backend, "inn", outward=True, **ways) == ids("exit", "loop")
        assert await held(backend, "inn", "yard", **ways) == ids("loop", "exit")
        assert await held(backend, "inn", "yard", rel_type="EXIT", kinds=None) == ids(
            "loop", "exit"
        )
        assert await held(backend, "inn", kinds=None) == ids("character", "player")
        assert await held(backend, "inn", kinds=None, limit=1) == ids("character")
        assert await held(backend) == []

    @requirement(
        "places:edges:order",
        because="Of a crowd a few are told, and it must not matter who of them leaves later.",
    )
    async def test_edges_come_in_the_order_of_their_beginnings(self, backend: Backend) -> None:
        """Edges come by entity and kind as asked, at most limit of each.

        The one that began first comes before others or, with newest_first, the one that began last.
        """
        scribe = Scribe(backend.canon)
        for name, since in (("c", 30), ("a", 10), ("b", 20)):
            await scribe.make(an_edge(name, name, "inn", since=Instant(since)))
        await scribe.make(
            an_edge("home", "f", "house"),
        )

        assert await held(backend, "inn") == ids("a", "b", "c")
        assert await held(backend, "inn", limit=2) == ids("a", "b")
        assert await held(backend, "inn", limit=2, newest_first=True) == ids("c", "b")
        assert await held(backend, "inn", kinds=None, newest_first=True) == ids("c", "b", "a")
        assert await held(backend, "house", "inn", limit=1) == ids("home", "a")
        await scribe.write(
            RelationEnded(
                relation_id=RelationId(ident("b")),
                until=Instant(55),
                superseded_by=None,
                reason="left",
            )
        )
        assert await held(backend, "inn", limit=2) == ids("a", "b")
        assert await held(backend, "inn", at=55, limit=2) == ids("a", "c")

    @requirement("places:ways:open", because="A path through a wall is no path.")
    async def test_ways_are_the_exits_that_can_be_taken(self, backend: Backend) -> None:
        """`ways` gives the exits of places that hold and are not blocked, by place and direction.

        Also after an exit was changed or ended.
        """
        scribe = Scribe(backend.canon)
        exits: dict[str, Any] = {"rel_type": "EXIT"}
        await scribe.make(
            an_edge("north", "inn", "yard", kind="north", **exits),
            an_edge("down", "inn", "cellar", kind="down", until=Instant(60), **exits),
            an_edge("east", "inn", "road", kind="east", since=Instant(70), **exits),
            an_edge("odd", "inn", "moon", kind="widdershins", **exits),
            a_relation(
                "wall",
                "inn",
                "tower",
                since=None,
                properties={"kind": "up", "blocked": "A wall."},
                **exits,
            ),
            an_edge("back", "yard", "inn", kind="south", **exits),
        )
        north = RelationId(ident("north"))

        async def among(at: int) -> list[tuple[str, str, str]]:
            places = [EntityId(ident(name)) for name in ("yard", "inn")]
            ways = await backend.canon.places.ways(MIDDLE_EARTH, places, Instant(at))
            return [(way.start, way.direction, way.end) for way in ways]

        yard, inn, cellar, road = ids("yard", "inn", "cellar", "road")
        home = (yard, "south", inn)
        assert await among(59) == [home, (inn, "down", cellar), (inn, "north", yard)]
        assert await among(70) == [home, (inn, "east", road), (inn, "north", yard)]
        await scribe.write(
            RelationEnded(relation_id=north, until=Instant(70), superseded_by=None, reason="x")
        )
        assert await among(70) == [home, (inn, "east", road)]
        assert await among(69) == [home, (inn, "north", yard)]

    @requirement(
        "places:events:newest", because="What happened last is what a narrator needs first."
    )
    async def test_the_newest_events_come_first(self, backend: Backend) -> None:
        """`events_until` gives canon events that involve an entity, the newest first.

        They are dated at or before an instant.
        """
        scribe = Scribe(backend.canon)
        for name, when in (("second", 20), ("first", 10), ("third", 30), ("never", 25)):
            await scribe.make(an_event(name, "inn", time_ref=Instant(when)))
        await scribe.make(
            an_event("other", "house", time_ref=Instant(15)),
            an_event("wish", "inn", time_ref=Instant(15), level=CanonLevel.PROPOSED),
        )
        never = EventId(ident("never"))
        await scribe.write(EventRetconned(event_id=never, replaced_by=None, reason="dreamt"))

        async def until(at: int, limit: int = 10, place: str = "inn") -> Sequence[Event]:
            return await backend.canon.places.events_until(
                MIDDLE_EARTH, EntityId(ident(place)), Instant(at), limit=limit
            )

        assert [e.id for e in await until(99)] == ids("third", "second", "first")
        assert [e.id for e in await until(20)] == ids("second", "first")
        assert [e.id for e in await until(99, limit=1)] == ids("third")
        assert [e.id for e in await until(99, place="house")] == ids("other")
        assert await until(9) == []

    @requirement(
        "places:following:pages",
        because="An export of a large world must neither slow down nor miss or repeat a thing.",
    )
    async def test_pages_follow_each_other_by_the_last_thing(self, backend: Backend) -> None:
        """`entities_after` and `events_after` page through canon things in a stated order.

        Each page follows the last thing of the one before, also while others write.
        """
        scribe, places = Scribe(backend.canon), backend.canon.places
        for name in ("b", "a", "d", "c"):
            await scribe.make(an_entity(name, entity_type="location"))
        await scribe.make(
            an_entity("kind", entity_type="location", entity_class=EntityClass.ARCHETYPE),
            an_entity("wish", entity_type="location", level=CanonLevel.PROPOSED),
            an_entity("player", entity_type="player"),
        )
        there = an_entity("there", entity_type="location", space=ELSEWHERE)
        await Scribe(backend.canon, "there", ELSEWHERE).make(there)

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
