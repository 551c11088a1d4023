"""The use case on the embedded store: what a caller of the search tool really gets.

Words are searched in the store's own index. Vectors are those of `meaning.py`, searched one by one,
so that the figures say nothing about how near an approximate index comes.
"""

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.recall.conversations import Conversation
from bench.worlds import ACTOR, Scribe
from canonry.app.embedded import open_embedded
from canonry.canon.judging.known_items import Backing, make_entity
from canonry.canon.session.canon import Canon
from canonry.log.entries import Made
from canonry.log.items.entities import EntityClass
from canonry.log.items.scenes import SceneDraft, SceneStatus, Speaker, TurnDraft
from canonry.log.schemas.narrative import EntityType
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import TextQuery
from canonry.recall.usecases.find_passages import find_passages
from canonry.recall.usecases.search_by_meaning import RecallServices
from canonry.stores.sqlite import Durability
from canonry.values.ids import CommitId, EntityId, SceneId, SpaceId, StoryId, TurnId, derived_id
from canonry.values.provenance import Authority, Evidence, EvidenceKind

LIMIT = 10


class _Exact:
    """Recall by meaning: the likeness of each turn to the question that is asked next."""

    behind = 0

    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = ids
        self.likeness: NDArray[np.float32] = np.zeros(len(ids), dtype=np.float32)

    async def search(self, text: str, query: TextQuery) -> Sequence[tuple[str, float]]:
        del text
        nearest = (-self.likeness).argsort(kind="stable")[: query.limit]
        return [(self._ids[n], float(self.likeness[n])) for n in nearest]


def stored_orders(
    conversation: Conversation, likeness: NDArray[np.float32]
) -> Sequence[Sequence[int]]:
    """For each question the first turns that the use case finds; `likeness` has a row for each."""
    return asyncio.run(_orders(conversation, likeness))


async def _orders(
    conversation: Conversation, likeness: NDArray[np.float32]
) -> Sequence[Sequence[int]]:
    with tempfile.TemporaryDirectory() as folder:
        store = await open_embedded(Path(folder), durability=Durability.NORMAL)
        try:
            space, ids = await _fill(store.canon, conversation)
            exact = _Exact(ids)
            recall: Any = exact
            canon = store.canon.revise_service(RecallServices, recall=recall)
            number_of = {each: number for number, each in enumerate(ids)}
            orders: list[Sequence[int]] = []
            for row, question in zip(likeness, conversation.questions, strict=True):
                exact.likeness = row
                query = TextQuery(
                    collection=Collection.SCENES,
                    text=question.text,
                    spaces=frozenset((space,)),
                    limit=LIMIT,
                )
                found = await find_passages(canon, query)
                orders.append([number_of[hit.passage.id] for hit in found.hits])
            return orders
        finally:
            await store.close()


async def _fill(canon: Canon, conversation: Conversation) -> tuple[SpaceId, Sequence[str]]:
    """The space, and the ids of the turns in their order."""
    fresh = canon.identities.new_id
    space, story = SpaceId(fresh()), StoryId(fresh())
    scribe = Scribe(canon, space)
    scenes = {thread: SceneId(fresh()) for thread in {t.thread: 0 for t in conversation.turns}}
    for number, (thread, scene) in enumerate(scenes.items()):
        await scribe.add(Made(thing=_scene(space, story, scene, thread, number)))
    speakers = await _speakers(canon, scribe, space, conversation)
    ids: list[str] = []
    for said in conversation.turns:
        turn = TurnDraft(
            id=TurnId(fresh()),
            space=space,
            scene_id=scenes[said.thread],
            speaker=Speaker.ENTITY,
            entity_id=speakers[said.speaker],
            text=said.text,
            resolution_ref=None,
        )
        ids.append(turn.id)
        await scribe.add(Made(thing=turn))
    await scribe.flush()
    return space, ids


async def _speakers(
    canon: Canon, scribe: Scribe, space: SpaceId, conversation: Conversation
) -> Mapping[str, EntityId]:
    backing = Backing(
        space=space,
        authority=Authority.GM,
        confidence=1.0,
        evidence=(Evidence(kind=EvidenceKind.SOURCE, ref=ACTOR.agent_id),),
    )
    known: dict[str, EntityId] = {}
    for speaker in {turn.speaker: 0 for turn in conversation.turns}:
        known[speaker], entries = make_entity(
            partial(derived_id, CommitId(canon.identities.new_id())),
            backing,
            entity_class=EntityClass.INSTANCE,
            entity_type=EntityType.CHARACTER,
            name=speaker,
            description="",
            properties={},
            state_tags=(),
        )
        await scribe.add(*entries)
    return known


def _scene(space: SpaceId, story: StoryId, scene: SceneId, title: str, number: int) -> SceneDraft:
    return SceneDraft(
        id=scene,
        space=space,
        story_id=story,
        title=title,
        purpose=None,
        order=number + 1,
        location_ref=None,
        participants=(),
        status=SceneStatus.ACTIVE,
    )
