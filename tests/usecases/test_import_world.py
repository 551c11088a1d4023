"""Importing worlds: whole or not at all, once however often, and out again as they came in."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from canonry.app.compose import compose_memory
from canonry.app.embedded import open_embedded
from canonry.canon.maintenance.erase import erase_items, plan_erasure
from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.schemas.world_types import Tie, WorldType
from canonry.readmodels.edges import Direction, Tick
from canonry.testing.clocks import CountingIdentities, HandClock, a_caller
from canonry.values.errors import Conflict, InvalidInput, NotAllowed, Unavailable
from canonry.values.ids import SpaceId
from canonry.world.domain.atlas import Atlas, Exit, LoreVersion, complete_atlas, item_id_of, legs_of
from canonry.world.usecases.contexts import get_location_context, get_mover_context
from canonry.world.usecases.exchange import ImportedWorld, export_world, import_world
from canonry.world.usecases.lore import get_canonical_fact
from canonry.world.usecases.movement import Move, Transfer, move_mover, transfer_item
from canonry.world.usecases.worlds import BoundWorld, find_world, world_at
from tests.domain.world.generated import an_atlas
from tests.toolsets.world.kit import an_isle, tied_isle

pytestmark = pytest.mark.anyio
ATLAS = an_atlas(3, locations=20, players=3, items=4, lore=6, events=8)


def a_canon() -> Canon:
    return compose_memory(clock=HandClock(), identities=CountingIdentities())


async def brought_in(canon: Canon, atlas: Atlas, *, dry_run: bool = False) -> ImportedWorld:
    return await import_world(
        canon,
        a_caller("Operator"),
        atlas,
        origin="test",
        progress=lambda *_: None,
        dry_run=dry_run,
    )


async def the_world(canon: Canon, done: ImportedWorld) -> BoundWorld:
    world = await find_world(canon, done.world_id)
    assert world is not None
    return world


def without_order(atlas: Atlas) -> dict[str, object]:
    """The atlas without the order of its parts, which a store does not keep."""
    parts = {
        name: {part.key: part for part in getattr(atlas, name)}
        for name in ("realms", "layers", "characters", "players", "items", "lore", "events")
    }
    places = {
        place.key: replace(
            place, exits=tuple(sorted(place.exits, key=lambda e: e.direction)), realms=()
        )
        for place in atlas.locations
    }
    return {**parts, "places": places, "tick": atlas.tick, "starter": atlas.starter}


def ties_of(atlas: Atlas) -> dict[str, Mapping[Tie, tuple[str, ...]]]:
    """Return the ties of everything in an atlas, by key."""
    realms = {realm.key: realm.ties for realm in atlas.realms}
    return realms | {place.key: place.ties for place in atlas.locations}


async def test_a_world_is_exported_as_imported() -> None:
    canon = a_canon()
    done = await brought_in(canon, ATLAS)
    out = await export_world(canon, await the_world(canon, done))
    fresh = without_order(out)
    # A fact's version without a tick is as old as the world.
    dated = replace(
        ATLAS,
        lore=tuple(
            replace(f, versions=tuple(replace(v, tick=v.tick or 0) for v in f.versions))
            for f in ATLAS.lore
        ),
    )
    assert fresh == without_order(dated)
    elsewhere = a_canon()
    again = await brought_in(elsewhere, out)
    assert again.world_id == done.world_id
    assert without_order(await export_world(elsewhere, await the_world(elsewhere, again))) == fresh


async def test_ties_and_routes_are_exported_as_imported(tmp_path: Path) -> None:
    store = await open_embedded(tmp_path)
    try:
        for canon in (a_canon(), store.canon):
            done = await brought_in(canon, tied_isle())
            out = await export_world(canon, await the_world(canon, done))
            result = complete_atlas(tied_isle())
            assert ties_of(out) == ties_of(result)
            assert set(legs_of(out.routes)) == set(legs_of(result.routes))
            assert len(out.routes) == 2
            head = await canon.ledger.head_position(done.world_id)
            again = await brought_in(canon, out)
            assert not any(again.changed.values())
            assert await canon.ledger.head_position(done.world_id) == head
    finally:
        await store.close()


async def test_an_export_of_many_pages_is_complete_without_repetition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("canonry.world.usecases.exchange.PAGE_MAX", 3)
    store = await open_embedded(tmp_path)
    try:
        done = await brought_in(store.canon, ATLAS)
        out = await export_world(store.canon, await the_world(store.canon, done))
        for name in ("locations", "lore", "events", "layers", "items"):
            keys = [part.key for part in getattr(out, name)]
            assert sorted(keys) == sorted(part.key for part in getattr(ATLAS, name))
    finally:
        await store.close()


async def test_a_second_import_changes_nothing() -> None:
    canon = a_canon()
    first = await brought_in(canon, ATLAS)
    head = await canon.ledger.head_position(first.world_id)
    second = await brought_in(canon, ATLAS)
    assert (first.founded, second.founded) == (True, False)
    assert not any(second.changed.values())
    assert second.seen == first.seen
    assert await canon.ledger.head_position(first.world_id) == head


async def test_a_dry_run_reports_the_same_and_writes_nothing() -> None:
    canon = a_canon()
    tried = await brought_in(canon, ATLAS, dry_run=True)
    assert await canon.ledger.list_heads(limit=9) == []
    done = await brought_in(canon, ATLAS)
    assert (tried.changed, tried.seen) == (done.changed, done.seen)


async def test_a_faulty_world_is_refused_as_a_whole() -> None:
    canon = a_canon()
    players = (replace(ATLAS.players[0], location="nowhere"),)
    with pytest.raises(InvalidInput) as refused:
        await brought_in(canon, replace(ATLAS, players=players))
    assert refused.value.code == "world.malformed"
    assert "nowhere" in refused.value.details["problems"][0]
    assert await canon.ledger.list_heads(limit=9) == []


async def test_an_interrupted_import_continues() -> None:
    canon = a_canon()
    steps = 0

    def cut_off(done: int, total: int | None) -> None:
        nonlocal steps
        steps += 1
        if steps == 3:
            raise Unavailable("test.cut", "cut off")

    with pytest.raises(Unavailable):
        await import_world(canon, a_caller(), ATLAS, origin="test", progress=cut_off)
    done = await brought_in(canon, ATLAS)
    assert not done.founded
    whole = a_canon()
    expected = await export_world(whole, await the_world(whole, await brought_in(whole, ATLAS)))
    world = await the_world(canon, done)
    assert without_order(await export_world(canon, world)) == without_order(expected)
    # Items from after the cut are as old as the others.
    past = await get_location_context(world_at(canon, world), None)
    assert past is not None
    assert len(past.exits) == len(ATLAS.locations[0].exits)


async def test_known_people_stay_where_they_are() -> None:
    canon = a_canon()
    done = await brought_in(canon, ATLAS)
    world = await the_world(canon, done)
    elsewhere = next(p.key for p in ATLAS.locations if p.key != ATLAS.players[0].location)
    await move_mover(
        canon, a_caller(), world, Move(mover="player-0", teleport_to=elsewhere, reason="x")
    )
    await brought_in(canon, ATLAS)
    context = await get_mover_context(world_at(canon, world), "player-0", (WorldType.PLAYER,))
    assert context is not None
    assert context.location is not None
    assert context.location.id == item_id_of(world.space, elsewhere)


async def test_a_changed_file_changes_its_parts_and_keeps_the_past() -> None:
    canon = a_canon()
    done = await brought_in(canon, ATLAS)
    first = ATLAS.locations[0]
    changed = replace(first, description="It has burned down.")
    later = replace(ATLAS, tick=(ATLAS.tick or 0) + 500, locations=(changed, *ATLAS.locations[1:]))

    second = await brought_in(canon, later)

    assert second.changed["locations"] == 1
    world = await the_world(canon, done)
    now = await get_location_context(world_at(canon, world), None)
    then = await get_location_context(world_at(canon, world, Tick(world.now - 1)), None)
    assert now is not None
    assert then is not None
    assert (now.location.description, then.location.description) == (
        "It has burned down.",
        first.description,
    )
    assert now.location.properties["version"] == 2


async def test_a_redirected_exit_removes_the_old_way_back() -> None:
    canon = a_canon()
    done = await brought_in(canon, ATLAS)
    world = await the_world(canon, done)
    start, end = ATLAS.locations[0], ATLAS.locations[-1]
    way = next(way for way in start.exits if not way.one_way)
    turned = Exit(direction=way.direction, to=end.key, one_way=True)
    bare = tuple(
        replace(place, exits=(turned,) if place is start else ()) for place in ATLAS.locations
    )
    await brought_in(canon, replace(ATLAS, locations=bare))
    left = await get_location_context(world_at(canon, world), way.to)
    assert left is not None
    assert item_id_of(world.space, start.key) not in {edge.to_id for edge in left.exits}


async def test_the_content_of_a_lore_version_cannot_be_changed() -> None:
    canon = a_canon()
    done = await brought_in(canon, ATLAS)
    fact = ATLAS.lore[0]
    other = replace(fact, versions=(LoreVersion(fields={"name": "Otherwise"}),))
    with pytest.raises(Conflict) as refused:
        await brought_in(canon, replace(ATLAS, lore=(other,)))
    assert refused.value.code == "lore.version-differs"
    more = replace(fact, versions=(*fact.versions, LoreVersion(fields={"name": "Otherwise"})))
    await brought_in(canon, replace(ATLAS, lore=(more,)))
    world = await the_world(canon, done)
    found = await get_canonical_fact(canon, world, fact.key)
    assert found is not None
    assert (found.version, found.fields) == (2, {"name": "Otherwise"})


async def test_everything_cites_the_file_as_its_evidence() -> None:
    canon = a_canon()
    done = await brought_in(canon, ATLAS)
    inn = item_id_of(done.world_id, ATLAS.starter)
    item = (await canon.state.items_by_id((inn,)))[inn]
    assert isinstance(item, Entity)
    (source,) = (await canon.state.sources(done.world_id, limit=9, offset=0)).items
    assert (source.doc_id, [e.ref for e in item.evidence]) == ("test", [source.id])


async def test_a_caller_bound_elsewhere_creates_no_world() -> None:
    canon = a_canon()
    bound = replace(a_caller(), spaces=frozenset({SpaceId("elsewhere")}))
    with pytest.raises(NotAllowed):
        await import_world(canon, bound, ATLAS, origin="test", progress=lambda *_: None)


async def test_both_backends_hold_the_same_world(tmp_path: Path) -> None:
    """And the embedded one verifies and rebuilds to it."""
    canon = a_canon()
    expected = await export_world(canon, await the_world(canon, await brought_in(canon, ATLAS)))
    store = await open_embedded(tmp_path)
    try:
        done = await brought_in(store.canon, ATLAS)
        world = await the_world(store.canon, done)
        assert without_order(await export_world(store.canon, world)) == without_order(expected)
        assert (await store.maintenance.verify(lambda *_: None)).findings == ()
        await store.maintenance.rebuild(lambda *_: None)
        rebuilt = await the_world(store.canon, done)
        assert without_order(await export_world(store.canon, rebuilt)) == without_order(expected)
    finally:
        await store.close()


async def test_erased_parts_do_not_return_with_their_file(tmp_path: Path) -> None:
    store = await open_embedded(tmp_path)
    try:
        canon = store.canon
        done = await brought_in(canon, ATLAS)
        world = await the_world(canon, done)
        elsewhere = next(p.key for p in ATLAS.locations if p.key != ATLAS.players[0].location)
        await move_mover(canon, a_caller(), world, Move(mover="player-0", teleport_to=elsewhere))
        player = item_id_of(world.space, "player-0")

        plan = await plan_erasure(canon, "entity", player)
        await erase_items(canon, store.maintenance, a_caller("Operator"), plan, reason="asked for")
        again = await brought_in(canon, ATLAS)

        assert again.changed["players"] == again.changed["events"] == 0
        assert (
            await get_mover_context(world_at(canon, world), "player-0", (WorldType.PLAYER,)) is None
        )
        there = await get_location_context(world_at(canon, world), elsewhere)
        assert there is not None
        assert player not in {edge.from_id for edge in there.players}
        assert (await store.maintenance.verify(lambda *_: None)).findings == ()
    finally:
        await store.close()


async def test_items_of_an_erased_holder_stay_at_the_holders_location(
    tmp_path: Path,
) -> None:
    store = await open_embedded(tmp_path)
    try:
        canon = store.canon
        world = await the_world(canon, await brought_in(canon, an_isle()))
        elsewhere = Move(mover="ann", teleport_to="tower")
        await move_mover(canon, a_caller(), world, elsewhere)
        player, cup = (item_id_of(world.space, key) for key in ("ann", "cup"))

        plan = await plan_erasure(canon, "entity", player)
        await erase_items(canon, store.maintenance, a_caller("Operator"), plan, reason="asked for")

        atlas = await export_world(canon, world)
        assert {item.key: item.holder for item in atlas.items} == {"cup": "tower", "key": "cook"}
        handed = await transfer_item(
            canon, a_caller(), world, Transfer(item="cup", holder="cook", anywhere=True)
        )
        assert handed[0] == cup
        assert (await store.maintenance.verify(lambda *_: None)).findings == ()
    finally:
        await store.close()


async def test_occupants_of_an_erased_place_are_at_the_default_location(
    tmp_path: Path,
) -> None:
    store = await open_embedded(tmp_path)
    try:
        canon = store.canon
        world = await the_world(canon, await brought_in(canon, an_isle()))
        yard = item_id_of(world.space, "yard")

        plan = await plan_erasure(canon, "entity", yard)
        await erase_items(canon, store.maintenance, a_caller("Operator"), plan, reason="a mistake")

        atlas = await export_world(canon, world)
        assert {player.key: player.location for player in atlas.players} == {
            "ann": "inn",
            "bob": "inn",
        }
        down = Move(mover="bob", direction=Direction.DOWN)
        await move_mover(canon, a_caller(), world, down)
        assert (await store.maintenance.verify(lambda *_: None)).findings == ()
    finally:
        await store.close()


async def test_a_place_can_lose_its_terrain() -> None:
    canon = a_canon()
    done = await brought_in(canon, an_isle())
    inn, *others = an_isle().locations
    bare = replace(an_isle(), locations=(replace(inn, terrain=None), *others))
    assert (await brought_in(canon, bare)).changed["locations"] == 1
    assert not any((await brought_in(canon, bare)).changed.values())
    out = await export_world(canon, await the_world(canon, done))
    assert {place.key: place.terrain for place in out.locations}["inn"] is None


async def test_erased_places_realms_and_items_do_not_return(tmp_path: Path) -> None:
    store = await open_embedded(tmp_path)
    try:
        canon = store.canon
        world = await the_world(canon, await brought_in(canon, tied_isle()))
        for key in ("yard", "crown", "key", "cook"):
            plan = await plan_erasure(canon, "entity", item_id_of(world.space, key))
            await erase_items(
                canon, store.maintenance, a_caller("Operator"), plan, reason="asked for"
            )
        expected = await export_world(canon, world)

        again = await brought_in(canon, tied_isle())

        assert not any(again.changed.values())
        left = await export_world(canon, world)
        assert [place.key for place in left.locations] == [p.key for p in expected.locations]
        assert "crown" not in {realm.key for realm in left.realms}
        assert left.items == expected.items
        assert left.characters == ()
        assert (await store.maintenance.verify(lambda *_: None)).findings == ()
    finally:
        await store.close()
