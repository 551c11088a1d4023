"""Concurrent callers over a bad line: nothing acknowledged is lost, nothing happens twice."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from canonry.app.compose import compose_memory
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import ATTEMPTS_MAX, Change, Receipt, commit_change
from canonry.log.commits import ORIGIN
from canonry.log.folding import facts_key, name_key
from canonry.log.items.facts import FactDraft
from canonry.log.schemas.narrative import EntityType
from canonry.log.sealing import GENESIS, fault_in
from canonry.readmodels.ports.state import FactQuery
from canonry.testing.clocks import CountingIdentities, HandClock, a_caller
from canonry.testing.example_items import (
    MIDDLE_EARTH,
    a_fact,
    an_entity,
    an_observation,
    creation_entries,
    uuid_of,
)
from canonry.values.errors import Conflict, Unavailable
from canonry.values.ids import EntityId, FactId, NewId
from tests.simulation.loops import Faults, FaultyLedger, Simulation, run_simulated

SEEDS = range(120)
CALLERS = 6
ROUNDS = 3
RETRIES_MAX = 60
BAD_LINE = Faults(refused=0.1, lost=0.2, twice=0.2, stale=0.1)
FRODO = EntityId(uuid_of("frodo"))


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A canon behind a bad line, and the same canon seen directly."""

    truth: Canon
    canon: Canon
    line: FaultyLedger
    acknowledged: list[tuple[str, Receipt]] = field(default_factory=list)


def a_world(simulation: Simulation, faults: Faults = BAD_LINE) -> World:
    truth = compose_memory(clock=HandClock(), identities=CountingIdentities())
    line = FaultyLedger(truth.ledger, simulation.lots, faults)
    return World(truth=truth, canon=replace(truth, ledger=line), line=line)


def caller_with_key(name: str) -> Caller:
    return replace(a_caller(), idempotency_key=name)


async def until_answered(world: World, name: str, add: str) -> Receipt:
    """Send the same request again until there is an answer, as a client does."""

    async def prepare(new_id: NewId) -> Change:
        # A limit on a whole: at most so many facts about one hero. Only reads guard it.
        facts = await world.truth.state.facts(FactQuery(entities=frozenset((FRODO,))))
        if facts.total >= CALLERS * ROUNDS // 2:
            raise Conflict("facts.enough", "there are enough facts about this hero")
        await asyncio.sleep(0.1)
        fact = a_fact(add, "frodo", id=FactId(new_id("fact")), statement=add)
        return Change(entries=creation_entries(fact), reads=frozenset((facts_key(FRODO),)))

    for _ in range(RETRIES_MAX):
        try:
            return await commit_change(world.canon, caller_with_key(name), MIDDLE_EARTH, prepare)
        except Unavailable:
            await asyncio.sleep(1)
    raise AssertionError(f"no answer in {RETRIES_MAX} tries")


async def race_callers(simulation: Simulation) -> None:
    world = a_world(simulation)

    async def caller(number: int) -> int:
        refused = 0
        for turn in range(ROUNDS):
            name = f"{number}/{turn}"
            try:
                receipt = await until_answered(world, name, name)
            except Conflict:
                refused += 1
            else:
                world.acknowledged.append((name, receipt))
        return refused

    refused = sum(await asyncio.gather(*(caller(n) for n in range(CALLERS))))
    await world.line.await_settled()

    simulation.assert_interleaved()
    facts = (await world.truth.state.facts(FactQuery(limit=100))).items
    statements = [fact.statement for fact in facts]
    assert len(facts) == CALLERS * ROUNDS // 2, "the limit is reached and never passed"
    assert len(set(statements)) == len(statements), "nothing happens twice"
    assert {name for name, _ in world.acknowledged} <= set(statements), "nothing is lost"
    assert len(world.acknowledged) + refused == CALLERS * ROUNDS
    for name, receipt in world.acknowledged:
        (item,) = receipt.drafts_made(FactDraft)
        assert isinstance(item, FactDraft)
        assert item.statement == name, "the answer is that of the request"
    await assert_sound(world)


async def assert_sound(world: World) -> None:
    previous = GENESIS
    log = await world.truth.ledger.read_sealed(MIDDLE_EARTH, after=ORIGIN, limit=1_000)
    for position, sealed in enumerate(log, start=1):
        assert fault_in(sealed, position=position, previous=previous) is None  # type: ignore[arg-type]
        previous = sealed.hash
    assert len({sealed.id for sealed in log}) == len(log)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_or_doubled_over_a_bad_connection(seed: int) -> None:
    run_simulated(race_callers, seed=seed)


async def name_race(simulation: Simulation) -> None:
    world = a_world(simulation)

    async def declare(number: int) -> Receipt | None:
        async def prepare(new_id: NewId) -> Change:
            hero = EntityType.CHARACTER
            taken = await world.truth.state.entities_named(MIDDLE_EARTH, hero, "Frodo")
            if taken:
                raise Conflict("entity.exists", "there is one of this name already")
            await asyncio.sleep(0.1)
            entity = an_entity(id=EntityId(new_id("entity")))
            said = an_observation("", "", id=new_id("said"), entity_id=entity.id)
            named = replace(said, fields={"name": "Frodo"})
            return Change(
                entries=(*creation_entries(entity), *creation_entries(named)),
                reads=frozenset((name_key(hero, "frodo"),)),
            )

        for _ in range(RETRIES_MAX):
            try:
                return await commit_change(
                    world.canon, caller_with_key(f"declare {number}"), MIDDLE_EARTH, prepare
                )
            except Unavailable:
                await asyncio.sleep(1)
            except Conflict:
                return None
        raise AssertionError(f"no answer in {RETRIES_MAX} tries")

    receipts = await asyncio.gather(*(declare(n) for n in range(4)))
    await world.line.await_settled()

    simulation.assert_interleaved()
    assert sum(receipt is not None for receipt in receipts) == 1
    named = await world.truth.state.entities_named(MIDDLE_EARTH, EntityType.CHARACTER, "frodo")
    assert len(named) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_one_of_many_claimants_gets_a_name(seed: int) -> None:
    run_simulated(name_race, seed=seed)


async def contend_keys(simulation: Simulation) -> None:
    world = a_world(simulation, Faults())

    async def prepare(new_id: NewId) -> Change:
        await asyncio.sleep(simulation.lots.random())
        fact = a_fact("one of many", "frodo", id=FactId(new_id("fact")))
        return Change(entries=creation_entries(fact), reads=frozenset((facts_key(FRODO),)))

    async def caller(number: int) -> Receipt:
        return await commit_change(world.canon, caller_with_key(str(number)), MIDDLE_EARTH, prepare)

    receipts = await asyncio.gather(*(caller(n) for n in range(12)))

    simulation.assert_interleaved()
    assert sorted(r.position for r in receipts) == list(range(1, 13)), "everybody wins in the end"
    assert world.line.appends <= 12 * ATTEMPTS_MAX, "attempts are bounded"


@pytest.mark.parametrize("seed", range(40))
def test_contending_callers_succeed_within_their_attempts(seed: int) -> None:
    run_simulated(contend_keys, seed=seed)


async def make_twins(simulation: Simulation) -> None:
    world = a_world(simulation)

    async def send(words: str) -> Receipt:
        return await until_answered(world, "the same key", words)

    first, second = await asyncio.gather(send("these words"), send("other words"))
    await world.line.await_settled()

    (fact,) = (await world.truth.state.facts(FactQuery())).items
    for receipt in (first, second):
        (reported,) = receipt.drafts_made(FactDraft)
        assert isinstance(reported, FactDraft)
        assert (reported.id, reported.statement) == (fact.id, fact.statement), (
            "both hear what was written"
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_two_requests_with_one_key_are_one_request(seed: int) -> None:
    run_simulated(make_twins, seed=seed)


def test_a_schedule_is_exactly_repeatable() -> None:
    async def record(simulation: Simulation) -> list[str]:
        world = a_world(simulation)
        names = [f"word {n}" for n in range(4)]
        await asyncio.gather(*(until_answered(world, name, name) for name in names))
        log = await world.truth.ledger.read_commits(MIDDLE_EARTH, after=ORIGIN, limit=100)
        return [f"{commit.id} {commit.hash}" for commit in log] + [str(world.line.appends)]

    runs = [[tuple(run_simulated(record, seed=seed)) for seed in range(10)] for _ in range(2)]

    assert runs[0] == runs[1]
    assert len(set(runs[0])) > 5
