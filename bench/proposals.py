"""The gates of a large world: the verdict on a proposal, with many admitted ones before it.

10^4 proposals of the last day, and with `BENCH_WORLD=full` 10^5 locations, as the budget has it;
without it, a tenth of them. Half of the earlier texts were said at one place, which is the worst.
"""

import asyncio
import random
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.report import Row, median
from bench.world_contexts import LOCATIONS
from bench.worlds import Scribe
from canonry.app.embedded import open_embedded
from canonry.canon.judging.known_items import Backing, make_entity, make_relation
from canonry.canon.session.canon import Canon
from canonry.log.entries import Made
from canonry.log.items.entities import EntityClass
from canonry.log.schemas.world_types import EXIT, LOCATED_IN, WorldType
from canonry.readmodels.edges import Tick, instant_of
from canonry.testing.clocks import a_caller
from canonry.values.ids import EntityId, SpaceDraft, SpaceId, SpaceKind
from canonry.values.moments import render_instant
from canonry.values.policy import AdmissionLimits
from canonry.values.provenance import Authority
from canonry.world.domain.admission.safety import digest_content
from canonry.world.domain.admission.schema import ReadProposal, read_proposal
from canonry.world.domain.atlas import WORLD_KEY, item_id_of
from canonry.world.usecases.proposals.admission import propose_actions, verdict_on
from canonry.world.usecases.proposals.outcomes import (
    application_record,
    proposal_record,
    recent_admissions,
)
from canonry.world.usecases.worlds import find_world
from tests.domain.world.generated import TICK, GeneratedWorld

SECTION = "proposals"
EARLIER = 10_000
PLAYERS = 1_000
WARMING, CALLS = 100, 400
BUDGET_MS = 2.0
_WORDS = (
    "wind rain stone door lamp river market smoke bell crow child widow miller bread iron cold "
    "song shadow ladder harbour sail rope barrel candle window garden wall horse cart road dust"
)


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_run(Path(folder)))


async def _run(folder: Path) -> list[Row]:
    store = await open_embedded(folder / "large")
    lots = random.Random(5)  # noqa: S311 - the same proposals each time
    space, places, at = await _build(store.canon)
    await _admit_earlier(store.canon, space, places, lots)
    many = AdmissionLimits(player_a_minute=10**6, world_a_minute=10**6)
    roomy = replace(store.canon, policy=replace(store.canon.policy, admission=many))
    rows = await _measure(roomy, space, places, at, lots)
    await store.close()
    return rows


async def _build(canon: Canon) -> tuple[SpaceId, list[str], dict[str, str]]:
    """Places with their exits, and players; where each player is."""
    space = SpaceId(canon.identities.new_id())
    scribe = Scribe(canon, space)
    backing = Backing(space=space, authority=Authority.GM, confidence=1.0, evidence=())
    origin = instant_of(Tick(0))
    world = SpaceDraft(id=space, kind=SpaceKind.WORLD, name="Large", description="", parent=None)
    await scribe.add(Made(thing=world))

    async def entity(key: str, kind: WorldType, properties: dict[str, Any]) -> EntityId:
        item_id = item_id_of(space, key)
        _, entries = make_entity(
            lambda label: item_id if label == "entity" else canon.identities.new_id(),
            backing,
            entity_class=EntityClass.INSTANCE,
            entity_type=kind,
            name=key,
            description="One of many.",
            properties=properties,
            observed_at=origin,
        )
        await scribe.add(*entries)
        return item_id

    async def edge(rel_type: str, start: EntityId, end: EntityId, kind: str) -> None:
        made = make_relation(
            lambda _: canon.identities.new_id(),
            backing,
            rel_type=rel_type,
            from_id=start,
            to_id=end,
            properties={"kind": kind},
            since=origin,
        )
        await scribe.add(made)

    drawn = GeneratedWorld(seed=1, locations=LOCATIONS, players=PLAYERS, items=0)
    heart = {"starter": drawn.starter, "tick": TICK, "depth": 2, "event_limit": 20}
    await entity(WORLD_KEY, WorldType.WORLD, heart)
    places: list[str] = []
    for place in drawn.places():
        start = await entity(place.key, WorldType.LOCATION, {"key": place.key, "version": 1})
        places.append(place.key)
        for way in place.exits:
            await edge(EXIT, start, item_id_of(space, way.to), way.direction.value)
    at: dict[str, str] = {}
    for player in drawn.movers():
        who = await entity(player.key, WorldType.PLAYER, {"resources": {"gold": 10**9}})
        await edge(LOCATED_IN, who, item_id_of(space, player.location), WorldType.PLAYER)
        at[player.key] = player.location
    await scribe.flush()
    return space, places, at


def _text(lots: random.Random) -> str:
    return f"The {' '.join(lots.choices(_WORDS.split(), k=18))}."


def _layer(place: str, lots: random.Random) -> dict[str, Any]:
    params = {"locationId": place, "layerType": "dynamic", "layerContent": _text(lots)}
    return {"actionType": "Layer.Add", "scopeKey": f"loc:{place}", "params": params}


def _sent(canon: Canon, *actions: dict[str, Any]) -> dict[str, Any]:
    ident = canon.identities.new_id()
    return {
        "proposalId": ident,
        "version": 1,
        "issuedUtc": render_instant(canon.clock.now()),
        "actor": {"kind": "system"},
        "correlationId": ident,
        "idempotencyKey": ident,
        "proposedActions": list(actions),
    }


async def _admit_earlier(
    canon: Canon, space: SpaceId, places: list[str], lots: random.Random
) -> None:
    """Records of admitted proposals, as admission writes them."""
    scribe, caller = Scribe(canon, space), a_caller("Narrative")
    for number in range(EARLIER):
        place = places[0] if number % 2 else lots.choice(places)
        player = f"player-{number % PLAYERS}"
        sent = _sent(canon, _layer(place, lots))
        read = read_proposal(player, sent, canon.clock.now())
        assert isinstance(read, ReadProposal)
        content = {
            "player": item_id_of(space, player),
            "playerId": player,
            "correlationId": sent["correlationId"],
            "envelope": sent,
            "contentHash": digest_content(read),
        }
        await scribe.add(
            proposal_record(caller, space, sent["proposalId"], content),
            application_record(caller, sent["proposalId"], sent["proposalId"], (), ()),
        )
    await scribe.flush()


async def _measure(
    canon: Canon,
    space: SpaceId,
    places: list[str],
    at: dict[str, str],
    lots: random.Random,
) -> list[Row]:
    world = await find_world(canon, space)
    assert world is not None
    started = time.perf_counter()
    lately = await recent_admissions(canon, space)
    begun = (time.perf_counter() - started) * 1_000
    assert len(lately.known) == EARLIER
    players = list(at)

    def moving() -> dict[str, Any]:
        mover = lots.choice(players)
        return {
            "actionType": "Mover.Move",
            "scopeKey": f"player:{mover}",
            "params": {"moverId": mover, "direction": lots.choice(("north", "south"))},
        }

    def spending() -> dict[str, Any]:
        owner = lots.choice(players)
        params = {"ownerId": owner, "resource": "gold", "amount": 1}
        return {"actionType": "Resource.Spend", "scopeKey": f"player:{owner}", "params": params}

    kinds = {
        "a layer anywhere": lambda: _layer(lots.choice(places), lots),
        "a layer where most was said": lambda: _layer(places[0], lots),
        "a move": moving,
        "spending": spending,
    }
    note = f"{LOCATIONS} locations, {EARLIER} earlier proposals"
    rows = [
        Row(section=SECTION, what="reading what was admitted lately, once", value=begun, unit="ms")
    ]
    everything: list[float] = []
    for kind, draw in kinds.items():
        taken: list[float] = []
        for number in range(WARMING + CALLS):
            action = draw()
            player = action["scopeKey"].removeprefix("player:")
            player = player if player in at else players[0]
            sent = _sent(canon, action)
            started = time.perf_counter()
            read = read_proposal(player, sent, canon.clock.now())
            assert isinstance(read, ReadProposal)
            known = await recent_admissions(canon, space)
            await verdict_on(canon, world, read, known, None)
            if number >= WARMING:
                taken.append((time.perf_counter() - started) * 1_000)
        everything += taken
        rows.append(
            Row(section=SECTION, what=f"all gates, {kind}, median", value=median(taken), unit="ms")
        )
    rows.append(
        Row(
            section=SECTION,
            what="all deterministic gates, median",
            value=median(everything),
            unit="ms",
            budget=BUDGET_MS,
            note=note,
        )
    )
    rows.append(await _whole(canon, space, spending))
    return rows


async def _whole(canon: Canon, space: SpaceId, draw: Any) -> Row:
    """From the proposal to what it writes, with both commits on disk."""
    world = await find_world(canon, space)
    assert world is not None
    taken: list[float] = []
    for _ in range(25):
        action = draw()
        player = action["params"]["ownerId"]
        started = time.perf_counter()
        answer = await propose_actions(
            canon, a_caller("Narrative"), world, player, _sent(canon, action)
        )
        taken.append((time.perf_counter() - started) * 1_000)
        assert answer.accepted, answer
    what = "a proposal admitted, recorded and applied, median"
    return Row(section=SECTION, what=what, value=median(taken), unit="ms")
