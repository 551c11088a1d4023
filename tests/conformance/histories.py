"""Histories: generated commits in which anything may happen that the domain allows."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from hypothesis import strategies as st

from canonry.log.entries import (
    Born,
    CausesLinked,
    ConflictWaived,
    EntitiesMerged,
    EntitiesUnmerged,
    EntityRetconned,
    Entry,
    Erased,
    EventRetconned,
    EvidenceLinked,
    FactRead,
    FactResumed,
    FactRetconned,
    FactSuperseded,
    Made,
    ProposalDecided,
    ProposalDeferred,
    RelationDetailed,
    RelationEnded,
    RelationResumed,
    RelationRetconned,
    SaidAt,
    SceneCompleted,
    SceneDated,
    SceneExtended,
    SceneMoved,
    SceneNoted,
    ScenePlaced,
    SceneStaged,
    SceneSummarised,
    StoryMoved,
)
from canonry.log.fold_commit import ids_needed
from canonry.log.folding import ANY, facts_key, item_key, relations_key
from canonry.log.items.proposals import Grade, GradedConflict, ProposalStatus
from canonry.log.items.scenes import SceneStatus, StoryStatus
from canonry.testing.example_items import (
    a_decision,
    a_run,
    a_scene,
    a_schema,
    a_snippet,
    a_source,
    a_space,
    a_story,
    draft_of,
    uuid_of,
)
from canonry.values.ids import EntityId, EventId, FactId, ProposalId, RelationId
from tests import strategies as some

STORY: Final = uuid_of("story")
SCENES: Final = (uuid_of("scene"), uuid_of("later"))


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryStep:
    """A commit to append: it was judged `lag` commits ago on `reads`; `again` repeats the last."""

    entries: tuple[Entry, ...]
    reads: frozenset[str] = frozenset()
    lag: int = 0
    again: bool = False


@dataclass(slots=True)
class _Teller:
    """Draws entries that fit what was stated before."""

    draw: Callable[..., Any]
    made: dict[str, list[str]] = field(default_factory=dict)
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    count: int = 0

    def pick_item(self, kind: str) -> Any:
        return self.draw(st.sampled_from(self.made[kind]))

    def all_ids(self, kind: str) -> list[str]:
        return self.made.get(kind, [])

    def fresh_id(self, kind: str) -> str:
        self.count += 1
        item_id: str = uuid_of(f"{kind} {self.count}")
        self.made.setdefault(kind, []).append(item_id)
        return item_id

    def draw_birth(self) -> list[Entry]:
        """Something new; whatever it needs to be about is there from the beginning."""
        heroes = self.all_ids("entity")
        effects = list(self.all_ids("event"))
        kind = self.draw(
            st.sampled_from(
                (
                    "entity",
                    "said",
                    "fact",
                    "event",
                    "relation",
                    "axiom",
                    "turn",
                    "proposal",
                    "memory",
                    "snippet",
                    "schema",
                    "run",
                )
            )
        )
        item_id = self.fresh_id(kind)
        scene = self.draw(st.sampled_from(SCENES))
        made: Callable[[], st.SearchStrategy[Any]] = {
            "entity": lambda: some.entities(item_id),
            "said": lambda: some.observations(item_id, self.pick_item("entity")),
            "fact": lambda: some.facts(item_id, heroes),
            "event": lambda: some.events(item_id, heroes, effects),
            "relation": lambda: some.relations(item_id, heroes),
            "axiom": lambda: some.axioms(item_id),
            "turn": lambda: some.turns(item_id, scene, heroes),
            "proposal": lambda: some.proposals(item_id, self.draw(st.sampled_from((scene, None)))),
            "memory": lambda: some.memories(item_id, self.pick_item("entity")),
            "schema": lambda: st.just(a_schema(id=item_id, version=f"1.{self.count}")),
            "run": lambda: st.just(a_run(id=item_id)),
            "snippet": lambda: st.just(a_snippet(id=item_id, text=self.draw(some.sentences()))),
        }[kind]
        if kind == "entity":
            self.groups[item_id] = ()
        return [Made(thing=draft_of(self.draw(made())))]

    def draw_change(self) -> list[Entry]:
        """Something that happens to what is there; nothing where nothing fits."""
        scene: Any = self.draw(st.sampled_from(SCENES))
        fact, event, edge = map(self.all_ids, ("fact", "event", "relation"))
        story: Any = STORY
        changes: list[Callable[[], Entry]] = [
            lambda: StoryMoved(story_id=story, status=self.draw(st.sampled_from(StoryStatus))),
            lambda: SceneMoved(scene_id=scene, status=self.draw(st.sampled_from(SceneStatus))),
            lambda: SceneNoted(scene_id=scene, gm_notes=self.draw(st.none() | some.texts())),
            lambda: SceneDated(scene_id=scene, time_ref=self.draw(st.none() | some.days)),
            lambda: SaidAt(thing_id=scene, said_at=self.draw(st.none() | some.days)),
            lambda: SceneStaged(
                scene_id=scene,
                joined=(EntityId(self.pick_item("entity")),),
                left=(EntityId(self.pick_item("entity")),),
            ),
            lambda: ScenePlaced(scene_id=scene, location_ref=EntityId(self.pick_item("entity"))),
            lambda: SceneSummarised(scene_id=scene, summary=self.draw(some.sentences())),
            lambda: SceneExtended(scene_id=scene, outcomes=(scene,)),
            lambda: SceneCompleted(
                scene_id=scene, outcomes=tuple(fact), summary=self.draw(some.sentences())
            ),
            lambda: EntityRetconned(
                entity_id=EntityId(self.pick_item("entity")), replaced_by=None, reason="retcon"
            ),
            lambda: EvidenceLinked(
                thing_id=self.draw(st.sampled_from([*fact, *event, *self.all_ids("entity")])),
                evidence=self.draw(some.evidences),
            ),
        ]
        if fact:
            changes += [
                lambda: FactRetconned(
                    fact_id=FactId(self.pick_item("fact")), replaced_by=None, reason=""
                ),
                lambda: FactSuperseded(
                    fact_id=FactId(self.pick_item("fact")),
                    until=self.draw(st.none() | some.days),
                    superseded_by=FactId(self.pick_item("fact")),
                ),
                self._draw_resumption,
                self._draw_reading,
            ]
        if event:
            changes += [
                lambda: CausesLinked(
                    cause=EventId(self.pick_item("event")), effect=EventId(self.pick_item("event"))
                ),
                lambda: EventRetconned(
                    event_id=EventId(self.pick_item("event")), replaced_by=None, reason=""
                ),
            ]
        if edge:
            changes += [
                self._draw_detail,
                lambda: RelationEnded(
                    relation_id=RelationId(self.pick_item("relation")),
                    until=self.draw(st.none() | some.days),
                    superseded_by=None,
                    reason="",
                ),
                lambda: RelationResumed(
                    relation_id=RelationId(self.pick_item("relation")),
                    fallen=RelationId(self.pick_item("relation")),
                ),
                lambda: RelationRetconned(
                    relation_id=RelationId(self.pick_item("relation")), replaced_by=None, reason=""
                ),
            ]
        if self.all_ids("proposal"):
            changes += [
                self._draw_decision,
                lambda: ProposalDeferred(
                    proposal_id=ProposalId(self.pick_item("proposal")),
                    ruling=a_decision(
                        status=ProposalStatus.PENDING,
                        graded=(
                            GradedConflict(
                                id=self.pick_item("entity"),
                                grade=self.draw(st.sampled_from(Grade)),
                                reason="perhaps",
                            ),
                        ),
                    ),
                ),
                lambda: ConflictWaived(
                    proposal_id=ProposalId(self.pick_item("proposal")),
                    other=self.pick_item("entity"),
                    reason="meant so",
                ),
            ]
        return [self.draw(st.sampled_from(changes))()]

    def _draw_resumption(self) -> Entry:
        return FactResumed(
            fact_id=FactId(self.pick_item("fact")), fallen=FactId(self.pick_item("fact"))
        )

    def _draw_reading(self) -> Entry:
        found = self.draw(st.lists(some.statements(), max_size=3))
        return FactRead(
            fact_id=FactId(self.pick_item("fact")), reader=len(found), statements=tuple(found)
        )

    def _draw_detail(self) -> Entry:
        return RelationDetailed(
            relation_id=RelationId(self.pick_item("relation")),
            properties={"more": self.draw(some.texts())},
            told=uuid_of("told"),
        )

    def _draw_decision(self) -> Entry:
        status = self.draw(st.sampled_from((ProposalStatus.ACCEPTED, ProposalStatus.REJECTED)))
        return ProposalDecided(
            proposal_id=ProposalId(self.pick_item("proposal")), decision=a_decision(status=status)
        )

    def draw_merge(self) -> list[Entry]:
        """Two groups become one, or a member leaves its group."""
        roots = sorted(self.groups)
        joined = [root for root in roots if self.groups[root]]
        if joined and self.draw(st.booleans()):
            kept = self.draw(st.sampled_from(joined))
            leaving = self.draw(st.sampled_from(self.groups[kept]))
            rest = tuple(m for m in self.groups[kept] if m != leaving)
            self.groups[kept], self.groups[leaving] = rest, ()
            return [
                EntitiesUnmerged(
                    kept=EntityId(kept),
                    separated=EntityId(leaving),
                    remaining=tuple(map(EntityId, rest)),
                    reason="",
                )
            ]
        if len(roots) < 2:
            return []
        kept, merged = self.draw(st.permutations(roots))[:2]
        members = self.groups.pop(merged)
        self.groups[kept] = tuple(sorted((*self.groups[kept], merged, *members)))
        return [
            EntitiesMerged(
                kept=EntityId(kept),
                merged=EntityId(merged),
                members=tuple(map(EntityId, members)),
                reason="",
            )
        ]

    def draw_erasure(self) -> list[Entry]:
        """A memory, a turn or a fact is erased; changing it later changes nothing."""
        targets = [*self.all_ids("memory"), *self.all_ids("turn"), *self.all_ids("fact")]
        if not targets:
            return []
        return [Erased(targets=(self.draw(st.sampled_from(targets)),), reason="a right")]


_BEGINNING: Final[tuple[Born, ...]] = (
    a_space(),
    a_story(),
    a_scene(),
    a_scene("later", order=2),
    a_source(),
)


@st.composite
def draw_history(
    draw: Callable[..., Any], max_steps: int = 8, *, erasing: bool = True
) -> list[HistoryStep]:
    """Steps in one space; the first one opens it, with a story, two scenes and a hero."""
    teller = _Teller(draw=draw)
    hero = teller.fresh_id("entity")
    teller.groups[hero] = ()
    opening = [Made(thing=draft_of(item)) for item in (*_BEGINNING, draw(some.entities(hero)))]
    steps = [HistoryStep(entries=tuple(opening))]
    ways = [
        teller.draw_birth,
        teller.draw_birth,
        teller.draw_birth,
        teller.draw_change,
        teller.draw_change,
        teller.draw_merge,
    ]
    if erasing:
        ways.append(teller.draw_erasure)
    for _ in range(draw(st.integers(0, max_steps))):
        chosen = draw(st.lists(st.sampled_from(ways), min_size=1, max_size=4))
        entries = tuple(entry for way in chosen for entry in way())
        if entries:
            steps.append(HistoryStep(entries=entries))
    return steps


@st.composite
def contended_histories(draw: Callable[..., Any], max_steps: int = 8) -> list[HistoryStep]:
    """The same, where verdicts may be old and requests sent again; some steps may be stale.

    Only the entries of the first step are relied on by later ones, so that refusals are harmless.
    """
    steps: list[HistoryStep] = draw(draw_history(max_steps=0))
    hero = uuid_of("entity 1")
    for number in range(draw(st.integers(1, max_steps))):
        item_id = uuid_of(f"step {number}")
        entry = draw(
            st.one_of(
                some.facts(item_id, [hero]).map(lambda item: Made(thing=draft_of(item))),
                some.relations(item_id, [hero]).map(lambda item: Made(thing=draft_of(item))),
                some.observations(item_id, hero).map(lambda item: Made(thing=draft_of(item))),
                st.just(Erased(targets=(item_id,), reason="never was")),
            )
        )
        keys = (ANY, item_key(hero), facts_key(hero), relations_key(hero), item_key(item_id))
        steps.append(
            HistoryStep(
                entries=(entry,),
                reads=draw(st.frozensets(st.sampled_from(keys), max_size=2)),
                lag=draw(st.integers(0, 3)),
                again=draw(st.booleans()),
            )
        )
    assert all(ids_needed(step.entries) for step in steps)
    return steps
