"""Passage parts: the texts that are embedded, each turn with the turn that it answers."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from canonry.canon.session.paging import every_match, every_turn
from canonry.language.texts.sentences import chunks_of
from canonry.log.entries import StoredItem
from canonry.log.items.entities import Entity
from canonry.log.items.scenes import Memory, Speaker, Turn
from canonry.readmodels.passages import Passage, is_silenced, passages_of
from canonry.readmodels.ports.documents import Documents, SceneQuery
from canonry.readmodels.ports.state import State
from canonry.readmodels.ports.text import Embedder, Purpose, Vector, VectorEntry
from canonry.values.audience import audience_covers
from canonry.values.ids import SpaceId
from canonry.values.json_values import encode_json

_DIGEST_BYTES: Final = 16  # stored with each vector; 128 bits do not collide by chance
_ROLES: Final = {Speaker.USER: "Player", Speaker.GM: "GM", Speaker.ENTITY: "Somebody"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PassagePart:
    """One text to embed, with its passage."""

    passage: Passage
    part: int
    text: str

    @property
    def digest(self) -> bytes:
        """The digest that the index stores with the vector: equal only for equal entries."""
        found = self.passage
        filters = (found.collection, found.space, found.entities, found.scene_id, found.source_id)
        return sha256(encode_json((filters, self.part, self.text))).digest()[:_DIGEST_BYTES]

    def with_vector(self, vector: Vector) -> VectorEntry:
        """Return the entry for the index."""
        found = self.passage
        return VectorEntry(
            id=found.id,
            part=self.part,
            collection=found.collection,
            space=found.space,
            entities=found.entities,
            scene_id=found.scene_id,
            source_id=found.source_id,
            vector=vector,
            digest=self.digest,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageChanges:
    """The parts to embed, and the ids that are no longer searched."""

    parts: Sequence[PassagePart]
    removed: Sequence[str]

    @property
    def ids(self) -> Sequence[str]:
        """The passages that have a text now."""
        return ids_of_parts(self.parts)


async def embed_parts(parts: Sequence[PassagePart], embedder: Embedder) -> Sequence[VectorEntry]:
    """Embed a few parts together and return their entries.

    Raises:
        Unavailable: `embedder.unavailable`.
    """
    vectors = await embedder.embed([part.text for part in parts], Purpose.PASSAGE)
    return [part.with_vector(each) for part, each in zip(parts, vectors, strict=True)]


def ids_of_parts(parts: Iterable[PassagePart]) -> Sequence[str]:
    """Return the passages of these parts, each once."""
    return tuple(dict.fromkeys(part.passage.id for part in parts))


def changed_parts(
    parts: Sequence[PassagePart], known: Mapping[str, Sequence[bytes]]
) -> Sequence[PassagePart]:
    """Return the parts of passages whose digests are not `known`, in whole passages.

    Most changes of an item leave its text unchanged, such as a state tag.
    """
    now: dict[str, tuple[bytes, ...]] = {}
    for part in parts:
        if part.passage.id in known:
            now[part.passage.id] = (*now.get(part.passage.id, ()), part.digest)
    same = {
        passage_id for passage_id, digests in now.items() if digests == tuple(known[passage_id])
    }
    return [part for part in parts if part.passage.id not in same]


async def passage_changes(
    state: State,
    documents: Documents,
    ids: Iterable[str],
    erasing: frozenset[SpaceId] = frozenset(),
) -> PassageChanges:
    """Return the current parts of these items.

    In a space in `erasing`, turns whose preceding turn was erased are embedded again without it.
    """
    items = dict(await state.items_by_id(ids))
    for space in sorted(erasing):
        async for turn in turns_after_erased(documents, space):
            items[turn.id] = turn
    turns = [item for item in items.values() if isinstance(item, Turn)]
    # Map the ids of `turns` to the turn before each, if all its readers may read that one.
    known = {(turn.scene_id, turn.index): turn for turn in turns}
    found: dict[str, Turn] = {}
    for turn in turns:
        turn_key = turn.scene_id, turn.index - 1
        if turn.index > 0 and turn_key not in known:
            for earlier in await documents.turns(turn.scene_id, after=turn.index - 2, limit=1):
                known[earlier.scene_id, earlier.index] = earlier
        if turn_key in known and audience_covers(known[turn_key].audience, turn.audience):
            found[turn.id] = known[turn_key]
    before = found
    names = await _current_names(state, items.values(), before.values())
    parts = [
        PassagePart(passage=passage, part=number, text=f"{_lead_text(item, before, names)}{text}")
        for item in items.values()
        for passage in passages_of(item)
        for number, text in enumerate(chunks_of(passage.text))
    ]
    removed = [item.id for item in items.values() if is_silenced(item)]
    return PassageChanges(parts=parts, removed=removed)


async def _current_names(
    state: State, items: Iterable[StoredItem], forerunners: Iterable[Turn]
) -> Mapping[str, str]:
    """Return the current names of speakers and owners; merged ones have the survivor's."""
    minds = {
        item.entity_id
        for item in (*items, *forerunners)
        if isinstance(item, Turn | Memory) and item.entity_id is not None
    }
    found = dict(await state.items_by_id(minds)) if minds else {}
    entities = [item for item in found.values() if isinstance(item, Entity)]
    roots = {each.merged_into for each in entities if each.merged_into}
    found |= await state.items_by_id(roots - found.keys()) if roots else {}
    named = ((each.id, found.get(each.merged_into or each.id, each)) for each in entities)
    return {given: root.name for given, root in named if isinstance(root, Entity)}


def _lead_text(item: StoredItem, before: Mapping[str, Turn], names: Mapping[str, str]) -> str:
    match item:
        case Turn():
            earlier = before.get(item.id)
            answered = f"{_speaker_name(earlier, names)}: {earlier.text}\n" if earlier else ""
            return f"{answered}{_speaker_name(item, names)}: "
        case Memory():
            owner = names.get(item.entity_id)
            return f"{owner}: " if owner else ""
        case _:
            return ""


def _speaker_name(turn: Turn, names: Mapping[str, str]) -> str:
    return names.get(turn.entity_id or "") or _ROLES[turn.speaker]


async def turns_after_erased(documents: Documents, space: SpaceId) -> AsyncIterator[Turn]:
    """Yield the turns of a space whose preceding turn was erased."""
    async for scene in every_match(documents.scenes, SceneQuery(spaces=frozenset((space,)))):
        before = -1
        async for turn in every_turn(documents, scene.id):
            if turn.index != before + 1:
                yield turn
            before = turn.index
