"""Worlds of a stated size, written through the ledger in large commits."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from canonry.canon.judging.known_items import (
    Backing,
    make_entity,
    make_event,
    make_fact,
    make_relation,
)
from canonry.canon.session.canon import Canon
from canonry.language.reading.reading import READER, read_statements
from canonry.log.commits import Append, Draft
from canonry.log.entries import Entry, FactRead, Made
from canonry.log.items.entities import EntityClass
from canonry.log.items.scenes import SceneDraft, SceneStatus, StoryDraft, StoryStatus, StoryType
from canonry.log.schemas.narrative import EntityType
from canonry.values.ids import (
    CommitId,
    EntityId,
    FactId,
    SceneId,
    SpaceDraft,
    SpaceId,
    SpaceKind,
    StoryId,
    derived_id,
)
from canonry.values.moments import DAY, Instant
from canonry.values.provenance import Actor, Authority, Evidence, EvidenceKind

ACTOR = Actor(agent_id="bench", agent_type="CanonKeeper")
ENTRIES_A_COMMIT = 500
RARE_TAG_HOLDERS = 20
PLACES = ("mill", "tower", "bridge", "ford", "inn", "temple", "market", "mine", "island", "castle")
"""The places of the facts; a fact of one place never conflicts with a fact of another."""


@dataclass(slots=True, kw_only=True)
class World:
    """The written items, for drawing arguments from."""

    space: SpaceId
    story: StoryId
    scenes: list[SceneId]
    entities: list[EntityId] = field(default_factory=list)
    facts: int = 0


class Scribe:
    """Collects entries and commits them in batches."""

    def __init__(self, canon: Canon, space: SpaceId) -> None:
        """Write into `space`."""
        self._canon = canon
        self._space = space
        self._waiting: list[Entry] = []

    async def add(self, *entries: Entry) -> None:
        """Take entries; commit when there are enough."""
        self._waiting.extend(entries)
        if len(self._waiting) >= ENTRIES_A_COMMIT:
            await self.flush()

    async def flush(self) -> None:
        """Commit what waits."""
        if not self._waiting:
            return
        draft = Draft(
            id=CommitId(self._canon.identities.new_id()),
            space=self._space,
            actor=ACTOR,
            tool="bench",
            entries=tuple(self._waiting),
        )
        self._waiting.clear()
        head = await self._canon.ledger.head_position(self._space)
        append = Append(draft=draft, judged_at=head, reads=frozenset())
        await self._canon.ledger.append_drafts([append])


async def build_world(
    canon: Canon,
    *,
    entities: int,
    facts_each: int,
    scenes: int = 1,
    events: int = 0,
    seed: int = 1,
) -> World:
    """A universe with `entities` characters, `facts_each` facts and one relation each.

    Of the `events` each is a day after the one before.
    """
    rand = random.Random(seed)  # noqa: S311 - worlds repeat, they need not be secret
    fresh = canon.identities.new_id
    space = SpaceId(fresh())
    scribe = Scribe(canon, space)
    universe = SpaceDraft(
        id=space, kind=SpaceKind.UNIVERSE, name="Bench", description="", parent=None
    )
    story = StoryId(fresh())
    tale = StoryDraft(
        id=story,
        space=space,
        title="Bench",
        story_type=StoryType.CAMPAIGN,
        theme=None,
        premise=None,
        parent_id=None,
        start_time_ref=None,
        status=StoryStatus.PLANNED,
    )
    await scribe.add(Made(thing=universe), Made(thing=tale))
    world = World(space=space, story=story, scenes=[])
    backing = Backing(
        space=space,
        authority=Authority.GM,
        confidence=1.0,
        evidence=(Evidence(kind=EvidenceKind.SOURCE, ref=fresh()),),
    )
    for number in range(entities):
        for entry in _entity(canon, backing, world, number, entities):
            await scribe.add(entry)
    for number in range(entities):
        for entry in _statements(canon, backing, world, number, facts_each=facts_each, rand=rand):
            await scribe.add(entry)
    for number in range(events):
        await scribe.add(_event(canon, backing, world, number))
    for number in range(scenes):
        world.scenes.append(SceneId(fresh()))
        await scribe.add(Made(thing=_scene(world, number)))
    await scribe.flush()
    return world


def _entity(
    canon: Canon, backing: Backing, world: World, number: int, entities: int
) -> Sequence[Entry]:
    commit = CommitId(canon.identities.new_id())
    step = max(1, entities // RARE_TAG_HOLDERS)
    entity_id, entries = make_entity(
        lambda label: derived_id(commit, label),
        backing,
        entity_class=EntityClass.INSTANCE,
        entity_type=EntityType.CHARACTER,
        name=f"Character {number}",
        description="One of many.",
        properties={"role": "NPC", "level": number % 20},
        state_tags=("alive", "rare") if number % step == 0 else ("alive",),
    )
    world.entities.append(entity_id)
    return entries


def _statements(
    canon: Canon,
    backing: Backing,
    world: World,
    number: int,
    *,
    facts_each: int,
    rand: random.Random,
) -> Iterator[Entry]:
    commit = CommitId(canon.identities.new_id())
    here = world.entities[number]
    other = world.entities[rand.randrange(len(world.entities))]

    def new_id(label: str) -> str:
        return derived_id(commit, label)

    for index in range(facts_each):
        world.facts += 1
        place, year = PLACES[index % len(PLACES)], rand.randrange(1000)
        words = f"Character {number} visited the {place} in {year}"
        fact = make_fact(new_id, backing, label=f"fact{index}", statement=words, involved=(here,))
        yield fact
        said = read_statements(words, {f"Character {number}": here})
        yield FactRead(fact_id=FactId(fact.thing.id), reader=READER, statements=said)
    if other != here:
        yield make_relation(new_id, backing, rel_type="KNOWS", from_id=here, to_id=other)


def _event(canon: Canon, backing: Backing, world: World, number: int) -> Entry:
    commit = CommitId(canon.identities.new_id())
    return make_event(
        lambda label: derived_id(commit, label),
        backing,
        title=f"Deed {number}",
        description="One of many.",
        involved=(world.entities[number],),
        time_ref=Instant(number * DAY),
    )


def _scene(world: World, number: int) -> SceneDraft:
    return SceneDraft(
        id=world.scenes[number],
        space=world.space,
        story_id=world.story,
        title=f"Scene {number}",
        purpose=None,
        order=number + 1,
        location_ref=None,
        participants=tuple(world.entities[:3]),
        status=SceneStatus.ACTIVE,
    )
