"""Keep a memory: what one character believes from now on, whether it is true or not."""

from dataclasses import dataclass

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change
from canonry.canon.session.lookup import require, require_same_space
from canonry.canon.session.staging import require_instances
from canonry.log.entries import Made
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Fact
from canonry.log.items.memories import MemoryDraft
from canonry.log.items.scenes import Scene
from canonry.log.keys import thing_key
from canonry.values.ids import FactId, MemoryId, NewId, SceneId


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """A memory as it is asked for."""

    entity_id: str
    text: str
    linked_fact_id: str | None
    scene_id: str | None
    emotional_valence: float
    importance: float
    certainty: float


async def keep_memory(canon: Canon, caller: Caller, asked: Recollection) -> Receipt:
    """Keep it; the same text twice is two memories.

    Raises:
        NotFound: `entity.unknown`, `fact.unknown` or `scene.unknown`.
        Conflict: `space.foreign`, `entity.not-an-instance` or `entity.retconned`.
    """
    space = (await require(canon, caller, Entity, asked.entity_id)).space

    async def prepare(new_id: NewId) -> Change:
        owner = await require(canon, caller, Entity, asked.entity_id)
        require_instances(space, (owner,), path="/entity_id")
        reads = {thing_key(asked.entity_id), thing_key(owner.id)}
        if asked.linked_fact_id is not None:
            fact = await require(canon, caller, Fact, asked.linked_fact_id)
            require_same_space(space, (fact,), path="/linked_fact_id")
            reads.add(thing_key(fact.id))
        if asked.scene_id is not None:
            scene = await require(canon, caller, Scene, asked.scene_id)
            require_same_space(space, (scene,), path="/scene_id")
            reads.add(thing_key(scene.id))
        memory = MemoryDraft(
            id=MemoryId(new_id("memory")),
            space=space,
            entity_id=owner.id,
            text=asked.text,
            linked_fact_id=None if asked.linked_fact_id is None else FactId(asked.linked_fact_id),
            scene_id=None if asked.scene_id is None else SceneId(asked.scene_id),
            emotional_valence=asked.emotional_valence,
            importance=asked.importance,
            certainty=asked.certainty,
        )
        return Change(entries=(Made(thing=memory),), reads=frozenset(reads))

    return await commit_change(canon, caller, space, prepare)
