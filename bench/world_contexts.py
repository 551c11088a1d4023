"""Contexts of a large world against those of the demo world, alone and while others write.

At each place of both as much has happened. `BENCH_WORLD=full` makes the world of the budget: 10^5
locations, 10^4 players, 10^6 events and 10^4 facts of lore; without it, a tenth of that.
"""

import asyncio
import os
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.report import Row, median
from bench.world_load import under_load
from bench.worlds import Scribe
from canonry.app.embedded import Embedded, open_embedded
from canonry.canon.judging.known_items import Backing, make_entity, make_event, make_relation
from canonry.canon.session.canon import Canon
from canonry.cli.world.command import demo_atlas
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.log.entries import Made
from canonry.log.items.entities import EntityClass
from canonry.log.schemas.world_types import (
    EXIT,
    LAYER_OF,
    LOCATED_IN,
    ON_ROUTE,
    TIED_TO,
    WITHIN,
    Tie,
    WorldType,
)
from canonry.readmodels.edges import Tick, instant_of
from canonry.testing.clocks import a_caller
from canonry.values.ids import EntityId, SpaceDraft, SpaceId, SpaceKind
from canonry.values.provenance import Authority
from canonry.world.domain.atlas import WORLD_KEY, item_id_of, layer_id_of, lore_id_of
from canonry.world.toolset import WORLD
from canonry.world.usecases.exchange import import_world
from tests.domain.world.generated import TICK, GeneratedWorld

SECTION = "world"
FULL = os.environ.get("BENCH_WORLD") == "full"
SCALE = 1 if FULL else 10
LOCATIONS, PLAYERS, EVENTS, LORE = (n // SCALE for n in (100_000, 10_000, 1_000_000, 10_000))
WARMING, CALLS = 200, 400

Timings = list[list[float]]
Call = Callable[[str, dict[str, Any], str], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    canon: Canon
    call: Call
    places: list[str]
    players: list[str]


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        rows, large, space = asyncio.run(_run(Path(folder)))
        data = Path(folder) / "large"
        return [*rows, *under_load(SECTION, data, space, large.places, large.players)]


async def _run(folder: Path) -> tuple[list[Row], Served, SpaceId]:
    small_store = await open_embedded(folder / "demo")
    demo = demo_atlas()
    done = await import_world(
        small_store.canon, a_caller("Operator"), demo, origin="demo", progress=lambda *_: None
    )
    small = _served(small_store.canon, done.world_id, [place.key for place in demo.locations], [])
    await _lived_in(small, EVENTS // LOCATIONS)
    store = await open_embedded(folder / "large")
    drawn = GeneratedWorld(seed=1, locations=LOCATIONS, players=PLAYERS, items=0, lore=LORE)
    places = [place.key for place in drawn.places()]
    players = [player.key for player in drawn.movers()]
    started = time.perf_counter()
    space = await _build(store, drawn, places, players)
    built = time.perf_counter() - started
    sys.stderr.write(f"world built in {built:.0f} s\n")
    large = _served(store.canon, space, places, players)
    rows = await _alone(small, large)
    await store.close()
    await small_store.close()
    return rows, large, space


def _served(canon: Canon, space: SpaceId, places: list[str], players: list[str]) -> Served:
    gateway = Gateway(canon, (WORLD,))

    async def call(tool: str, arguments: dict[str, Any], agent: str = "Narrative") -> Any:
        principal = Principal(agent_id=agent, agent_type=agent, world=space)
        outcome = await gateway.call(tool, arguments, principal)
        assert outcome.error is None or "move.stays" in outcome.text, outcome.text
        return outcome.body

    return Served(canon=canon, call=call, places=places, players=players)


async def _lived_in(served: Served, events: int) -> None:
    """As much happens at each place as in the large world, so that contexts are equally full."""
    for place in served.places:
        for _ in range(events):
            arguments = {"eventType": "Player.Look", "locationId": place, "actorKind": "player"}
            await served.call("record-event", arguments, "WorldBuilder")


async def _alone(small: Served, large: Served) -> list[Row]:
    lots = random.Random(3)  # noqa: S311 - the same questions each time

    def at(served: Served, **more: Any) -> Callable[[], dict[str, Any]]:
        return lambda: {"locationId": lots.choice(served.places), **more}

    def events() -> dict[str, Any]:
        return {"scope": "location", "scopeId": lots.choice(large.places)}

    context, deep = "get-location-context", "get-spatial-context"
    demo, here = await _in_turn(context, (small, at(small)), (large, at(large)))
    past = await _timed(large, context, at(large, tick=TICK // 2))
    around = await _timed(large, deep, at(large, depth=5))
    recent = await _timed(large, "get-recent-events", events)
    player = await _timed(
        large, "get-player-context", lambda: {"playerId": lots.choice(large.players)}
    )
    words = await _timed(large, "search-lore", lambda: {"query": "who stole the bell of the mill"})
    size = f"{LOCATIONS} locations, {EVENTS} events"
    return [
        _row("location context, demo world, median", median(demo)),
        _row("location context, median", median(here), budget=3.0, note=size),
        Row(
            section=SECTION,
            what="location context, large against demo world",
            value=median(here) / median(demo),
            unit="x",
            budget=1.5,
        ),
        _row("location context in the past, median", median(past)),
        _row("spatial context of depth 5, median", median(around), budget=15.0),
        _row("recent events, median", median(recent), budget=2.0),
        _row("player context, median", median(player)),
        _row("search lore by words, median", median(words), note=f"{LORE} facts"),
    ]


async def _in_turn(tool: str, *asked: tuple[Served, Callable[[], dict[str, Any]]]) -> Timings:
    """The same tool of several worlds call by call, so that a slow moment strikes all alike."""
    taken: Timings = [[] for _ in asked]
    for number in range(WARMING + CALLS):
        for (served, arguments), times in zip(asked, taken, strict=True):
            result = arguments()
            started = time.perf_counter()
            await served.call(tool, result, "Narrative")
            if number >= WARMING:
                times.append((time.perf_counter() - started) * 1_000)
    return taken


async def _timed(served: Served, tool: str, arguments: Callable[[], dict[str, Any]]) -> list[float]:
    (taken,) = await _in_turn(tool, (served, arguments))
    return taken


def _row(what: str, value: float, *, budget: float | None = None, note: str = "") -> Row:
    return Row(section=SECTION, what=what, value=value, unit="ms", budget=budget, note=note)


async def _build(  # noqa: C901, PLR0912 - one loop a noun
    store: Embedded, drawn: GeneratedWorld, places: list[str], players: list[str]
) -> SpaceId:
    """The world written in large commits: an import would look twice at each item.

    Each realm borders the next one and is the vassal of another; a road joins every place to one.
    """
    canon = store.canon
    space = SpaceId(canon.identities.new_id())
    scribe = Scribe(canon, space)
    backing = Backing(space=space, authority=Authority.GM, confidence=1.0, evidence=())
    origin = instant_of(Tick(0))
    world = SpaceDraft(id=space, kind=SpaceKind.WORLD, name=drawn.name, description="", parent=None)
    await scribe.add(Made(thing=world))

    async def entity(
        item_id: EntityId, kind: WorldType, name: str, properties: dict[str, Any]
    ) -> None:
        def named(label: str) -> str:
            return item_id if label == "entity" else canon.identities.new_id()

        _, entries = make_entity(
            named,
            backing,
            entity_class=EntityClass.INSTANCE,
            entity_type=kind,
            name=name,
            description="One of many.",
            properties=properties,
            observed_at=origin,
        )
        await scribe.add(*entries)

    async def edge(
        kind: str, start: EntityId, end: EntityId, arguments: dict[str, Any], **when: Any
    ) -> None:
        made = make_relation(
            lambda _: canon.identities.new_id(),
            backing,
            rel_type=kind,
            from_id=start,
            to_id=end,
            properties=arguments,
            **{"since": origin, **when},
        )
        await scribe.add(made)

    def of(key: str) -> EntityId:
        return item_id_of(space, key)

    heart = {"starter": drawn.starter, "tick": TICK, "depth": 2, "event_limit": 20}
    await entity(of(WORLD_KEY), WorldType.WORLD, drawn.name, {**heart, "founding": False})
    realms = list(drawn.realms())
    for number, realm in enumerate(realms):
        about: dict[str, Any] = {"realm_type": realm.realm_type.value, "scope": realm.scope.value}
        await entity(of(realm.key), WorldType.REALM, realm.name, about)
        for outer in realm.within:
            await edge(WITHIN, of(realm.key), of(outer), {})
        for tie, other in ((Tie.BORDERS, number + 1), (Tie.VASSAL_OF, number // 10)):
            if other not in {number, len(realms)}:
                await edge(TIED_TO, of(realm.key), of(realms[other].key), {"kind": tie.value})
    for place in drawn.places():
        await entity(
            of(place.key), WorldType.LOCATION, place.name, {"key": place.key, "version": 1}
        )
        for around in place.realms:
            await edge(WITHIN, of(place.key), of(around), {})
        for way in place.exits:
            arguments: dict[str, Any] = {"kind": way.direction.value, "travel_ms": way.travel_ms}
            if way.blocked:
                arguments["blocked"] = way.blocked
            await edge(EXIT, of(place.key), of(way.to), arguments)
        for way in place.exits[:1]:
            await edge(ON_ROUTE, of(place.key), of(way.to), {"kind": "The Long Road"})
    for layer in drawn.layers():
        layer_id = layer_id_of(space, layer.key)
        said: dict[str, Any] = {"value": layer.value, "from": layer.from_tick, "to": layer.to_tick}
        await entity(layer_id, WorldType.LAYER, layer.key, said)
        until = instant_of(Tick((layer.to_tick or TICK) + 1))
        kind = {"kind": layer.layer_type.value}
        since = instant_of(Tick(layer.from_tick))
        await edge(LAYER_OF, layer_id, of(layer.scope), kind, since=since, until=until)
    for player in drawn.movers():
        await entity(of(player.key), WorldType.PLAYER, player.name, {"key": player.key})
        await edge(LOCATED_IN, of(player.key), of(player.location), {"kind": "player"})
    for fact in drawn.facts():
        known: dict[str, Any] = {"key": fact.key, "lore_type": fact.lore_type.value, "version": 1}
        fields = dict(fact.versions[0].fields)
        lore_id = lore_id_of(space, fact.key)
        await entity(lore_id, WorldType.LORE_FACT, fields["name"], {**known, "fields": fields})
    lots = random.Random(2)  # noqa: S311 - as above
    for number in range(EVENTS):
        where, who = lots.choice(places), lots.choice(players)
        made = make_event(
            lambda _: canon.identities.new_id(),
            backing,
            title="Player.Look",
            description="",
            involved=(of(where), of(who)),
            time_ref=instant_of(Tick(TICK * number // EVENTS)),
            properties={"actor_kind": "player"},
        )
        await scribe.add(made)
    await scribe.flush()
    return space
