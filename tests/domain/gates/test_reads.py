"""Every change that flips a verdict touches a key that the verdict read, in seeded worlds."""

from collections.abc import Callable, Collection
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from canonry.canon.canonization.decide_proposals import Judgement, decide_candidate
from canonry.canon.judging.candidates import Candidate, read_candidate
from canonry.canon.judging.contents import normalise_content
from canonry.canon.judging.gates import GATES
from canonry.canon.judging.slices import Lookup, Slice, SliceView
from canonry.canon.session.commit_change import extend_slice
from canonry.log.commits import ORIGIN
from canonry.log.entries import (
    EntitiesMerged,
    EntityRetconned,
    Entry,
    EventRetconned,
    FactRetconned,
    Made,
    RelationEnded,
    RelationRetconned,
)
from canonry.log.folding import key_hash, relations_key
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Constraint, Event, Fact, Relation
from canonry.log.items.proposals import NARRATED, Proposal, ProposalType
from canonry.log.items.scenes import Scene
from canonry.log.schemas.narrative import EntityType
from canonry.testing.example_items import (
    MIDDLE_EARTH,
    a_fact,
    a_proposal,
    a_relation,
    a_source,
    an_axiom,
    an_event,
    draft_of,
    some_evidence,
    uuid_of,
)
from canonry.values.ids import EntityId, EventId
from canonry.values.policy import Policy
from canonry.values.provenance import Authority, CanonLevel
from tests.usecases.stage import Stage, a_stage, day_text, id_of, world_day

pytestmark = pytest.mark.anyio
NAMES = ("Frodo", "Gollum", "Shire", "Mordor")
TAGS = ("alive", "dead", "healthy", "wounded", "at_home", "at_sea")
STATEMENTS = ("The gate is open", "The gate is not open", "Frodo is dead", "All is well")
RELATIONS = ("LOCATED_IN", "OWNS", "ALLY_OF", "ENEMY_OF")
POLICY = Policy()


class Chance:
    """A world that changes at random, from a seed."""

    def __init__(self, seed: int, stage: Stage) -> None:
        self._random = Random(seed)
        self._stage = stage
        self._count = 0

    def pick_item(self, *options: Any) -> Any:
        return self._random.choice(options)

    def fresh_id(self) -> str:
        self._count += 1
        return f"thing {self._count}"

    def pick_entity(self) -> EntityId:
        return EntityId(id_of(self.pick_item(*NAMES)))

    def pick_time(self) -> Any:
        return self.pick_item(None, world_day(1), world_day(2), world_day(3))

    def pick_authority(self) -> Authority:
        return Authority(self.pick_item(*Authority))

    async def make_change(self) -> None:
        """One commit of one of the kinds that there are."""
        makers: tuple[Callable[[], Any], ...] = (
            self._change_tag,
            self._make_relation,
            self._make_fact,
            self._make_event,
            self._make_namesake,
            self._retract_item,
            self._make_law,
            self._merge_entities,
        )
        made = self.pick_item(*makers)()
        await (self._write_entries(made) if isinstance(made, tuple) else made)

    async def _write_entries(self, entries: tuple[Entry, ...]) -> None:
        if entries:
            await self._stage.scribe.write_entries(*entries)

    async def _change_tag(self) -> None:
        name = self.pick_item(*NAMES)
        tag = self.pick_item(*TAGS)
        entity = await self._stage.find_item(id_of(name))
        if tag not in entity.state_tags and entity.level is CanonLevel.CANON:
            await self._stage.tag(name, tag, at=self.pick_time(), authority=self.pick_authority())

    def _make_relation(self) -> tuple[Entry, ...]:
        start, end = self.pick_entity(), self.pick_entity()
        made = a_relation(self.fresh_id(), "x", "y", rel_type=self.pick_item(*RELATIONS))
        made = replace(
            made, from_id=start, to_id=end, since=self.pick_time(), authority=self.pick_authority()
        )
        return () if start == end else (Made(thing=draft_of(made)),)

    def _make_fact(self) -> tuple[Entry, ...]:
        made = a_fact(
            self.fresh_id(), statement=self.pick_item(*STATEMENTS), authority=self.pick_authority()
        )
        made = replace(made, involved=(self.pick_entity(),), time_ref=self.pick_time())
        return (Made(thing=draft_of(made)),)

    def _make_event(self) -> tuple[Entry, ...]:
        causes = (EventId(uuid_of("spring")),) if self.pick_item(True, False) else ()
        made = an_event(self.fresh_id(), involved=(self.pick_entity(),), time_ref=self.pick_time())
        return (Made(thing=draft_of(replace(made, causes=causes))),)

    async def _make_namesake(self) -> None:
        await self._stage.entity(
            f"Sam {self.pick_item(1, 2)}" if self.pick_item(True, False) else "Sam"
        )

    async def _retract_item(self) -> None:
        found = [t for t in (await self._list_items()) if self._may_fall(t)]
        if not found:
            return
        item = self.pick_item(*sorted(found, key=lambda t: str(t.id)))
        match item:
            case Fact():
                entry: Entry = FactRetconned(fact_id=item.id, replaced_by=None, reason="x")
            case Event():
                entry = EventRetconned(event_id=item.id, replaced_by=None, reason="x")
            case Relation() if self.pick_item(True, False):
                entry = RelationEnded(
                    relation_id=item.id, until=self.pick_time(), superseded_by=None, reason="x"
                )
            case Relation():
                entry = RelationRetconned(relation_id=item.id, replaced_by=None, reason="x")
            case _:
                entry = EntityRetconned(entity_id=item.id, replaced_by=None, reason="x")
        await self._write_entries((entry,))

    def _may_fall(self, item: Any) -> bool:
        return isinstance(item, Fact | Event | Relation | Entity) and (
            item.level is CanonLevel.CANON
        )

    async def _list_items(self) -> list[Any]:
        log = await self._stage.canon.ledger.read_commits(MIDDLE_EARTH, after=ORIGIN, limit=500)
        ids = [e.thing.id for c in log for e in c.entries if isinstance(e, Made)]
        return list((await self._stage.canon.state.items_by_id(ids)).values())

    def _make_law(self) -> tuple[Entry, ...]:
        law = Constraint(kind="forbidden_tag", values=(self.pick_item(*TAGS),))
        return (Made(thing=draft_of(an_axiom(self.fresh_id(), constraint=law))),)

    async def _merge_entities(self) -> None:
        kept = await self._stage.find_item(self.pick_entity())
        merged = await self._stage.find_item(self.pick_entity())
        apart = kept.merged_into is None and merged.merged_into is None
        if kept.id != merged.id and apart and not merged.members:
            entry = EntitiesMerged(kept=kept.id, merged=merged.id, members=(), reason="x")
            await self._write_entries((entry,))

    def make_proposal(self) -> Proposal:
        """A proposal of any type."""
        kind = ProposalType(self.pick_item(*NARRATED))
        when = self.pick_item(None, day_text(1), day_text(2), day_text(3))
        content = self._make_content(kind, when)
        return replace(
            a_proposal("candidate"),
            type=kind,
            content=normalise_content(kind, content),
            evidence=some_evidence("scene/turn"),
            authority=self.pick_authority(),
            confidence=self.pick_item(0.4, 1.0, 1.0),
        )

    def _make_content(self, kind: ProposalType, when: str | None) -> dict[str, Any]:
        start, end = self._random.sample(NAMES, 2)
        match kind:
            case ProposalType.ENTITY:
                return {"name": "Sam", "entity_type": "character", "tags": [self.pick_item(*TAGS)]}
            case ProposalType.RELATIONSHIP:
                ends = {"from": id_of(start), "to": id_of(end)}
                return {**ends, "type": self.pick_item(*RELATIONS), "since": when}
            case ProposalType.STATE_CHANGE:
                add = [self.pick_item(*TAGS)]
                return {"entity_id": id_of(start), "add": add, "time_ref": when}
            case ProposalType.EVENT:
                return {
                    "title": "x",
                    "actor": id_of("Frodo"),
                    "location": self.pick_item(None, id_of("Shire"), id_of("Mordor")),
                    "time_ref": when,
                    "causes": self.pick_item([], [uuid_of("spring")]),
                }
            case ProposalType.FACT:
                statement = self.pick_item(*STATEMENTS)
                return {"statement": statement, "entity_ids": [id_of(start)], "time_ref": when}
            case ProposalType.WORLD | ProposalType.UPKEEP:
                raise AssertionError("other gates judge those")


async def judge_proposal(stage: Stage, proposal: Proposal) -> Judgement:
    """The judgement on a proposal by everything that it asks for."""
    scene = await stage.find_item(proposal.scene_id)
    assert isinstance(scene, Scene)
    candidate = read_candidate(proposal, scene, {})

    return (await settled_on(stage, candidate))[1]


async def settled_on(stage: Stage, candidate: Candidate) -> tuple[Slice, Judgement]:
    """The judgement on a candidate, and the slice that it rests on."""

    def judge(known: Slice) -> tuple[Collection[Lookup], Judgement]:
        found = decide_candidate(candidate, known, POLICY, decided_by="x")
        return found.wanted, found

    return await extend_slice(stage.canon, Slice(space=MIDDLE_EARTH), judge)


async def a_random_world(seed: int) -> tuple[Stage, Chance]:
    stage = await a_stage()
    for name in NAMES:
        place = EntityType.LOCATION if name in {"Shire", "Mordor"} else EntityType.CHARACTER
        await stage.entity(name, place)
    await stage.make(an_event("spring", time_ref=world_day(2)), a_source("other"))
    chance = Chance(seed, stage)
    for _ in range(chance.pick_item(2, 6, 12)):
        await chance.make_change()
    return stage, chance


@pytest.mark.parametrize("block", range(8))
async def test_every_change_of_a_verdict_touches_a_key_that_it_read(block: int) -> None:
    flips = 0
    for seed in range(block * 30, block * 30 + 30):
        stage, chance = await a_random_world(seed)
        proposal = chance.make_proposal()
        await stage.make(proposal)
        for _ in range(8):
            before = await judge_proposal(stage, proposal)
            cursor = (await stage.canon.ledger.touched_since(0, limit=1)).cursor
            await chance.make_change()
            after = await judge_proposal(stage, proposal)
            touched = (await stage.canon.ledger.touched_since(cursor, limit=10)).keys
            assert touched is not None
            if before.entries != after.entries:
                flips += 1
                read = {key_hash(key) for key in before.reads}
                assert read & touched, (seed, before.verdict, after.verdict)
    assert flips > 3, "the worlds are too quiet to prove anything"


async def test_a_verdict_rests_on_the_reads_declared_by_its_gates() -> None:
    stage, _ = await a_random_world(3)
    content = {"title": "x", "actor": id_of("Frodo"), "location": id_of("Shire")}
    kind = ProposalType.EVENT
    proposal = replace(
        a_proposal("candidate"),
        type=kind,
        content=normalise_content(kind, content),
        evidence=some_evidence("scene/turn"),
    )
    await stage.make(proposal)
    candidate = read_candidate(proposal, await stage.find_item(proposal.scene_id), {})
    known, judgement = await settled_on(stage, candidate)

    verdict = judgement.verdict

    declared = {}
    for gate in GATES:
        view = SliceView(known, POLICY)
        list(gate.find_objections(candidate, view))
        declared[gate.id] = view.read
    assert all(reads <= verdict.reads for reads in declared.values())
    assert relations_key(id_of("Frodo")) in declared["gate:actor-present"]
    assert relations_key(id_of("Frodo")) not in declared["gate:actor-alive"]
