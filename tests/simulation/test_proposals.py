"""Many who propose at once, over a bad line and with crashes, break nothing and double nothing."""

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canonry.app.compose import compose_memory
from canonry.canon.session.canon import Canon
from canonry.log.commits import ORIGIN
from canonry.log.entries import Made, ProposalDecided
from canonry.log.items.proposals import ProposalDraft, ProposalStatus
from canonry.log.schemas.world_types import WorldType
from canonry.readmodels.edges import Direction
from canonry.readmodels.ports.state import EntityQuery
from canonry.testing.clocks import CountingIdentities, HandClock, a_caller
from canonry.values.errors import Unavailable
from canonry.world.domain.atlas import item_id_of
from canonry.world.models.services import Admissions, WorldServices
from canonry.world.usecases.exchange import import_world
from canonry.world.usecases.proposals.admission import propose_actions
from canonry.world.usecases.proposals.outcomes import settle_due
from canonry.world.usecases.worlds import BoundWorld, find_world
from tests.domain.world.generated import an_atlas
from tests.simulation.loops import Faults, FaultyLedger, Simulation, run_simulated
from tests.simulation.test_world_moves import ITEMS, PLACES, PLAYERS, assert_sound

SEEDS = range(25)
GOLD = 5
BAD_LINE = Faults(refused=0.05, lost=0.1, twice=0.1, stale=0.1)
KINDS = ("go", "go", "give", "spend", "spend", "open", "close", "lay", "hurt", "hex", "cure")


def an_action(kind: str, drawn: float) -> dict[str, Any]:  # noqa: PLR0911 - one case a kind
    """An action of this kind; all else about it is drawn from one number."""
    player = f"player-{int(drawn * 100) % PLAYERS}"
    place, other = f"place-{int(drawn * PLACES)}", f"place-{int(drawn * 1_000) % PLACES}"
    direction = list(Direction)[int(drawn * 4)].value
    match kind:
        case "go":
            return make_act("Mover.Move", f"player:{player}", moverId=player, direction=direction)
        case "give":
            giver = f"player-{int(drawn * 10) % PLAYERS}"
            return make_act(
                "Item.Transfer",
                f"player:{player}",
                itemId="item-0",
                fromHolderId=giver,
                toHolderId=player,
            )
        case "spend":
            return make_act(
                "Resource.Spend", f"player:{player}", ownerId=player, resource="gold", amount=2
            )
        case "open":
            return make_act(
                "Exit.Create",
                f"loc:{place}",
                fromLocationId=place,
                direction=direction,
                toLocationId=other,
                oneWay=drawn < 0.3,
            )
        case "close":
            return make_act(
                "Exit.Remove", f"loc:{place}", fromLocationId=place, direction=direction
            )
        case "lay":
            return make_act(
                "Layer.Add",
                f"loc:{place}",
                locationId=place,
                layerType="dynamic",
                layerContent=f"Sign number {int(drawn * 1_000)} hangs askew.",
            )
        case "hurt":
            effects = [{"targetId": player, "kind": "damage", "amount": 1 + int(drawn * 4)}]
            return make_act(
                "Combat.Resolve",
                f"loc:{place}",
                roundNumber=1,
                participantIds=[player],
                effects=effects,
            )
        case "hex":
            return make_act(
                "Condition.Apply", f"player:{player}", targetId=player, condition="cursed"
            )
        case _:
            return make_act(
                "Condition.Remove", f"player:{player}", targetId=player, condition="cursed"
            )


def make_act(kind: str, scope: str, **params: Any) -> dict[str, Any]:
    return {"actionType": kind, "scopeKey": scope, "params": params}


def an_envelope(number: int, steps: list[tuple[str, float]]) -> tuple[str, dict[str, Any]]:
    """A proposal of these steps, on behalf of the player of the first."""
    actions = [an_action(*step) for step in steps]
    ident = f"00000000-0000-4000-8000-{number:012x}"
    player = f"player-{int(steps[0][1] * 100) % PLAYERS}"
    return player, {
        "proposalId": ident,
        "version": 1,
        "issuedUtc": "2025-01-15T00:00:00Z",
        "actor": {"kind": "system"},
        "correlationId": ident,
        "idempotencyKey": f"key-{number}",
        "proposedActions": actions,
    }


async def a_small_world() -> tuple[Canon, BoundWorld]:
    """A generated world whose players have gold and health."""
    truth = compose_memory(clock=HandClock(), identities=CountingIdentities())
    atlas = an_atlas(1, locations=PLACES, players=PLAYERS, items=ITEMS)
    rich = tuple(replace(p, resources={"gold": GOLD, "health": 6}) for p in atlas.players)
    done = await import_world(
        truth,
        a_caller("Operator"),
        replace(atlas, players=rich),
        origin="t",
        progress=lambda *_: None,
    )
    world = await find_world(truth, done.world_id)
    assert world is not None
    return truth, world


async def assert_lawful(canon: Canon, world: BoundWorld) -> None:
    """Check that each admitted proposal happened once, and that no amount is below zero."""
    made, decided = Counter[str](), Counter[tuple[str, ProposalStatus]]()
    for commit in await canon.ledger.read_commits(world.space, after=ORIGIN, limit=10_000):
        for entry in commit.entries:
            match entry:
                case Made(thing=ProposalDraft(id=ident)):
                    made[ident] += 1
                case ProposalDecided(proposal_id=ident, decision=decision):
                    decided[ident, decision.status] += 1
                case _:
                    pass
    assert set(made.values()) <= {1}
    assert set(decided.values()) <= {1}
    assert {ident for ident, _ in decided} == set(made)
    assert len(decided) == len(made)
    query = EntityQuery(spaces=frozenset((world.space,)), entity_type=WorldType.PLAYER)
    for player in (await canon.state.entities(query)).items:
        resources = player.properties["resources"]
        assert all(value >= 0 for value in resources.values()), resources
        assert player.properties.get("alive", True) == (resources["health"] > 0)
    spent = [
        event
        for name in range(PLAYERS)
        for event in await canon.places.events_until(
            world.space, item_id_of(world.space, f"player-{name}"), world.instant, limit=1_000
        )
        if event.title == "Resource.Spent"
    ]
    assert len({event.id for event in spent}) <= PLAYERS * (GOLD // 2)


async def race_agents(simulation: Simulation) -> None:
    truth, world = await a_small_world()
    line = FaultyLedger(truth.ledger, simulation.lots, BAD_LINE)
    lots = simulation.lots
    plan = [
        [[(lots.choice(KINDS), lots.random()) for _ in range(lots.randint(1, 3))] for _ in range(4)]
        for _ in range(5)
    ]

    async def agent(number: int) -> None:
        # Each agent is a process of its own: it shares the log with the others and nothing else.
        canon = replace(truth, ledger=line).revise_service(WorldServices, admissions=Admissions())
        caller = a_caller("Narrative")
        for turn, steps in enumerate(plan[number]):
            player, sent = an_envelope(number * 100 + turn + 1, steps)
            for _ in range(40):
                try:
                    answer = await propose_actions(canon, caller, world, player, sent)
                except Unavailable:
                    await asyncio.sleep(1)
                    continue
                if lots.random() < 0.1:
                    break  # it crashes here, and nobody asks again
                if answer.commit_id or (answer.rejection and not answer.rejection.transient):
                    break
                await asyncio.sleep(1)
            else:
                raise AssertionError("no answer in 40 tries")

    await asyncio.gather(*(agent(number) for number in range(len(plan))))
    await line.await_settled()
    await settle_due(truth, a_caller("World"), world)
    await assert_sound(truth, world)
    await assert_lawful(truth, world)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_schedule_of_proposals_breaks_a_law(seed: int) -> None:
    run_simulated(race_agents, seed=seed)


@given(
    plan=st.lists(
        st.lists(st.tuples(st.sampled_from(KINDS), st.floats(0, 0.999)), min_size=1, max_size=4),
        min_size=1,
        max_size=12,
    )
)
@settings(max_examples=40, deadline=None)
def test_no_sequence_of_admitted_proposals_breaks_an_invariant(
    plan: list[list[tuple[str, float]]],
) -> None:
    async def play() -> None:
        canon, world = await a_small_world()
        for number, steps in enumerate(plan, 1):
            player, sent = an_envelope(number, steps)
            answer = await propose_actions(canon, a_caller("Narrative"), world, player, sent)
            assert bool(answer.commit_id) == answer.accepted
        await assert_sound(canon, world)
        await assert_lawful(canon, world)

    asyncio.run(play())
