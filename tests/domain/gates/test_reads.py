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
from tests.usecases.stage import Stage, a_stage, day, id_of, rfc

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

    def pick(self, *options: Any) -> Any:
        return self._random.choice(options)

    def fresh(self) -> str:
        self._count += 1
        return f"thing {self._count}"

    def entity(self) -> EntityId:
        return EntityId(id_of(self.pick(*NAMES)))

    def at(self) -> Any:
        return self.pick(None, day(1), day(2), day(3))

    def word(self) -> Authority:
        return Authority(self.pick(*Authority))

    async def change(self) -> None:
        """One commit of one of the kinds that there are."""
        makers: tuple[Callable[[], Any], ...] = (
            self._tag,
            self._relation,
            self._fact,
            self._event,
            self._namesake,
            self._fall,
            self._law,
            self._merge,
        )
        made = self.pick(*makers)()
        await (self._write(made) if isinstance(made, tuple) else made)

    async def _write(self, entries: tuple[Entry, ...]) -> None:
        if entries:
            await self._stage.scribe.write_entries(*entries)

    async def _tag(self) -> None:
        name = self.pick(*NAMES)
        tag = self.pick(*TAGS)
        entity = await self._stage.find_item(id_of(name))
        if tag not in entity.state_tags and entity.level is CanonLevel.CANON:
            await self._stage.tag(name, tag, at=self.at(), authority=self.word())

    def _relation(self) -> tuple[Entry, ...]:
        start, end = self.entity(), self.entity()
        made = a_relation(self.fresh(), "x", "y", rel_type=self.pick(*RELATIONS))
        made = replace(made, from_id=start, to_id=end, since=self.at(), authority=self.word())
        return () if start == end else (Made(thing=draft_of(made)),)

    def _fact(self) -> tuple[Entry, ...]:
        made = a_fact(self.fresh(), statement=self.pick(*STATEMENTS), authority=self.word())
        made = replace(made, involved=(self.entity(),), time_ref=self.at())
        return (Made(thing=draft_of(made)),)

    def _event(self) -> tuple[Entry, ...]:
        causes = (EventId(uuid_of("spring")),) if self.pick(True, False) else ()
        made = an_event(self.fresh(), involved=(self.entity(),), time_ref=self.at())
        return (Made(thing=draft_of(replace(made, causes=causes))),)

    async def _namesake(self) -> None:
        await self._stage.entity(f"Sam {self.pick(1, 2)}" if self.pick(True, False) else "Sam")

    async def _fall(self) -> None:
        found = [t for t in (await self._everything()) if self._may_fall(t)]
        if not found:
            return
        item = self.pick(*sorted(found, key=lambda t: str(t.id)))
        match item:
            case Fact():
                entry: Entry = FactRetconned(fact_id=item.id, replaced_by=None, reason="x")
            case Event():
                entry = EventRetconned(event_id=item.id, replaced_by=None, reason="x")
            case Relation() if self.pick(True, False):
                entry = RelationEnded(
                    relation_id=item.id, until=self.at(), superseded_by=None, reason="x"
                )
            case Relation():
                entry = RelationRetconned(relation_id=item.id, replaced_by=None, reason="x")
            case _:
                entry = EntityRetconned(entity_id=item.id, replaced_by=None, reason="x")
        await self._write((entry,))

    def _may_fall(self, item: Any) -> bool:
        return isinstance(item, Fact | Event | Relation | Entity) and (
            item.level is CanonLevel.CANON
        )

    async def _everything(self) -> list[Any]:
        log = await self._stage.canon.ledger.read_commits(MIDDLE_EARTH, after=ORIGIN, limit=500)
        ids = [e.thing.id for c in log for e in c.entries if isinstance(e, Made)]
        return list((await self._stage.canon.state.items_by_id(ids)).values())

    def _law(self) -> tuple[Entry, ...]:
        law = Constraint(kind="forbidden_tag", values=(self.pick(*TAGS),))
        return (Made(thing=draft_of(an_axiom(self.fresh(), constraint=law))),)

    async def _merge(self) -> None:
        kept = await self._stage.find_item(self.entity())
        merged = await self._stage.find_item(self.entity())
        apart = kept.merged_into is None and merged.merged_into is None
        if kept.id != merged.id and apart and not merged.members:
            entry = EntitiesMerged(kept=kept.id, merged=merged.id, members=(), reason="x")
            await self._write((entry,))

    def proposal(self) -> Proposal:
        """A proposal of any type."""
        kind = ProposalType(self.pick(*NARRATED))
        when = self.pick(None, rfc(1), rfc(2), rfc(3))
        content = self._content(kind, when)
        return replace(
            a_proposal("candidate"),
            type=kind,
            content=normalise_content(kind, content),
            evidence=some_evidence("scene/turn"),
            authority=self.word(),
            confidence=self.pick(0.4, 1.0, 1.0),
        )

    def _content(self, kind: ProposalType, when: str | None) -> dict[str, Any]:
        start, end = self._random.sample(NAMES, 2)
        match kind:
            case ProposalType.ENTITY:
                return {"name": "Sam", "entity_type": "character", "tags": [self.pick(*TAGS)]}
            case ProposalType.RELATIONSHIP:
                ends = {"from": id_of(start), "to": id_of(end)}
                return {**ends, "type": self.pick(*RELATIONS), "since": when}
            case ProposalType.STATE_CHANGE:
                add = [self.pick(*TAGS)]
                return {"entity_id": id_of(start), "add": add, "time_ref": when}
            case ProposalType.EVENT:
                return {
                    "title": "x",
                    "actor": id_of("Frodo"),
                    "location": self.pick(None, id_of("Shire"), id_of("Mordor")),
                    "time_ref": when,
                    "causes": self.pick([], [uuid_of("spring")]),
                }
            case ProposalType.FACT:
                statement = self.pick(*STATEMENTS)
                return {"statement": statement, "entity_ids": [id_of(start)], "time_ref": when}
            case ProposalType.WORLD | ProposalType.UPKEEP:
                raise AssertionError("other gates judge those")


async def judged(stage: Stage, proposal: Proposal) -> Judgement:
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
    await stage.make(an_event("spring", time_ref=day(2)), a_source("other"))
    chance = Chance(seed, stage)
    for _ in range(chance.pick(2, 6, 12)):
        await chance.change()
    return stage, chance


@pytest.mark.parametrize("block", range(8))
async def test_every_change_of_a_verdict_touches_a_key_that_it_read(block: int) -> None:
    flips = 0
    for seed in range(block * 30, block * 30 + 30):
        stage, chance = await a_random_world(seed)
        proposal = chance.proposal()
        await stage.make(proposal)
        for _ in range(8):
            before = await judged(stage, proposal)
            cursor = (await stage.canon.ledger.touched_since(0, limit=1)).cursor
            await chance.change()
            after = await judged(stage, proposal)
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
