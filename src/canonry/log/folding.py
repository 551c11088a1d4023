"""Fold entries into items, and the keys that they touch."""

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, TypeAlias

from canonry.language.texts.sentences import plain_statement
from canonry.log.commits import Commit
from canonry.log.entries import EntitiesMerged, EntitiesUnmerged, StoredItem, Tombstone
from canonry.log.items.entities import NEVER_SEEN, Entity, SecretEntityPart, normalised_name
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Memory, Scene, Story, Turn
from canonry.log.items.secret_parts import (
    add_secret_part,
    audience_of,
    end_for_audience,
    resume_for_audience,
)
from canonry.log.items.sources import InterpretationRun, Snippet, Source
from canonry.log.schemas.identity_keys import KeyReader
from canonry.log.schemas.narrative import policy_of
from canonry.log.schemas.schemas import RegisteredSchema
from canonry.log.schemas.world_types import WORLD_RELATIONS
from canonry.values.audience import Audience, audience_covers
from canonry.values.errors import BrokenInvariant
from canonry.values.fields import with_changes
from canonry.values.ids import EntityId, Space
from canonry.values.merge_policies import join_all
from canonry.values.moments import Instant
from canonry.values.observations import Observation
from canonry.values.provenance import cache_by_identity

# Keys name the data that verdicts read and entries touch. They also tag cached replies.
#
# An append is refused only if a commit after the verdict touches a key that the verdict read. `ANY`
# stands for the whole space: it conflicts with every key.

ANY: Final = "*"
SPACES: Final = "spaces"
_HASH_BYTES: Final = 8  # fits a signed 64-bit column; a collision costs a retry
_KeyOfTwo: TypeAlias = Callable[[str, str], str]


def _key_maker(kind: str) -> Callable[[str], str]:
    """Return the function that makes the keys of one kind from ids."""
    return (kind + ":{}").format


item_key: Final = _key_maker("thing")
"""The item itself: its existence, level and current value."""


def name_key(entity_type: str, name: str) -> str:
    """Return the key of the entities of a type that have or had a name."""
    return f"name:{entity_type}:{normalised_name(name)}"


identifier_key: Final[_KeyOfTwo] = "bearer:{}:{}".format
"""The entities of a type that a text ever identified."""
relations_key: Final = _key_maker("relations")
"""The relations from or to an entity."""
edge_key: Final[_KeyOfTwo] = "edges:{}:{}".format
"""An item's outgoing edges of a type: exits, location or holder."""
facts_key: Final = _key_maker("facts")
"""The facts and events that involve an entity."""


def statement_key(statement: str) -> str:
    """Return the key of the facts with the same statement."""
    return f"statement:{plain_statement(statement)}"


def statements_keys(fact: Fact) -> tuple[str, ...]:
    """Return the keys of the timelines and values that the statements of the fact touch, sorted."""
    return tuple(sorted({key for each in fact.statements for key in each.index_keys}))


causes_key: Final = _key_maker("causes")
"""The causal edges between a space's events."""
axioms_key: Final = _key_maker("axioms")
"""The laws of a space."""
turns_key: Final = _key_maker("turns")
"""The turns of a scene."""
proposals_key: Final = _key_maker("proposals")
"""The proposals of a scene and their decisions."""
memories_key: Final = _key_maker("memories")
"""The memories of a character."""
snippets_key: Final = _key_maker("snippets")
"""The snippets of a source and their order."""
stories_key: Final = _key_maker("stories")
"""The stories of a space and the scenes in them."""
scenes_key: Final = _key_maker("scenes")
"""The scenes of a story and their order."""
schemas_key: Final[_KeyOfTwo] = "schemas:{}:{}".format
"""The versions of a type's schema in a space."""
runs_key: Final = _key_maker("runs")
"""The interpretation runs over a source."""
listing_key: Final[_KeyOfTwo] = "listing:{}:{}".format
"""The items of a kind in a space, for cached lists; no gate reads it."""


@lru_cache(maxsize=4096)  # append and fold hash the same keys: bench compare, create_fact
def key_hash(key: str) -> int:
    """Return the key as a signed 64-bit number for storage. A collision only costs a retry."""
    return int.from_bytes(blake2b(key.encode(), digest_size=_HASH_BYTES).digest(), signed=True)


_ANYTHING: Final = key_hash(ANY)


def collides(reads: frozenset[str], touched: AbstractSet[int]) -> bool:
    """Return whether one of the touched keys is among those that a verdict read."""
    if not touched:
        return False
    return ANY in reads or _ANYTHING in touched or not touched.isdisjoint(map(key_hash, reads))


_KEYS_OF: Final[Mapping[type, Callable[[Any], Iterable[str]]]] = {
    Space: lambda _: (SPACES,),
    Entity: lambda thing: (
        listing_key("entity", thing.space),
        *(name_key(thing.entity_type, name) for name in thing.known_as),
    ),
    Observation: lambda _: (),
    Relation: lambda thing: (
        *map(relations_key, (thing.from_id, thing.to_id)),
        *((edge_key(thing.from_id, thing.rel_type),) if thing.rel_type in WORLD_RELATIONS else ()),
    ),
    Fact: lambda thing: (
        *(statement_key(thing.statement), listing_key("fact", thing.space)),
        *map(facts_key, thing.involved),
        *statements_keys(thing),
    ),
    Event: lambda thing: (causes_key(thing.space), *map(facts_key, thing.involved)),
    Axiom: lambda thing: (axioms_key(thing.space),),
    Source: lambda thing: (listing_key("source", thing.space),),
    Snippet: lambda thing: (snippets_key(thing.source_id), listing_key("source", thing.space)),
    Story: lambda thing: (stories_key(thing.space),),
    Scene: lambda thing: (scenes_key(thing.story_id), stories_key(thing.space)),
    Turn: lambda thing: (turns_key(thing.scene_id),),
    Proposal: lambda thing: (proposals_key(thing.scene_id or thing.space),),
    Memory: lambda thing: (memories_key(thing.entity_id),),
    RegisteredSchema: lambda thing: (schemas_key(thing.space, thing.entity_type),),
    InterpretationRun: lambda thing: (runs_key(thing.source_id),),
    Tombstone: lambda _: (ANY,),
}
"""The keys of an item of each kind besides its own."""


@cache_by_identity  # the fold, the judge and the store ask for the same item
def keys_of(item: StoredItem) -> frozenset[str]:
    """Return every key under which somebody may have read `item`.

    A change touches the keys of the item before and after it.
    """
    return frozenset((item_key(item.id), *_KEYS_OF[type(item)](item)))


@dataclass(slots=True)
class Folding:
    """The state of one fold: loaded and changed items, and touched keys."""

    commit: Commit
    loaded: Mapping[str, StoredItem]
    changed: dict[str, StoredItem] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    readers: dict[str, KeyReader | None] = field(default_factory=dict)
    """The readers of identity keys of the schemas met so far."""

    _touched_ids: set[str] = field(default_factory=set)
    """The ids of items whose current keys are already in `touched`."""

    def get_item(self, item_id: str) -> StoredItem | None:
        """Return the item in its current state."""
        return self.changed.get(item_id) or self.loaded.get(item_id)

    def put_item(self, item: StoredItem, *, counted: bool = False) -> None:
        """Store `item`; `counted` changes (a number of turns) touch no keys."""
        before = None if item.id in self._touched_ids else self.get_item(item.id)
        self.changed[item.id] = item
        if counted:
            self._touched_ids.discard(item.id)
            return
        self._touched_ids.add(item.id)
        self.touched |= keys_of(item)
        if before is not None:
            self.touched |= keys_of(before)

    def change_item(self, item_id: str, kind: type, **fields: Any) -> None:
        """Give an item these fields; an erased one stays erased."""
        self.develop_item(item_id, kind, lambda _: fields)

    def learn_fields(self, item_id: str, kind: type, audience: Audience, **fields: Any) -> None:
        """Give an item these fields for the readers of `audience`."""
        if not self.learn_secret(item_id, audience, **fields):
            self.change_item(item_id, kind, **fields)

    def learn_secret(self, item_id: str, audience: Audience, **fields: Any) -> bool:
        """Add a secret part that only `audience` knows; False: no reader needs one."""
        item = self.get_item(item_id)
        if not audience or not hasattr(item, "veils"):
            return False
        if audience_covers(audience, audience_of(item)):
            return False
        self.develop_item(
            item_id,
            type(item),
            lambda now: {"veils": add_secret_part(now, audience, self.commit.position, **fields)},
        )
        return True

    def end_item(
        self,
        item_id: str,
        kind: type,
        audience: Audience,
        *,
        until: Instant | None = None,
        by: str | None = None,
    ) -> None:
        """End an item for the readers of `audience`."""
        end = {"ended": True, "until": until, "superseded_by": by}
        at = self.commit.position
        self.develop_item(item_id, kind, lambda thing: end_for_audience(thing, audience, at, **end))

    def resume_item(
        self, item_id: str, kind: type, audience: Audience, retracted: str | None
    ) -> None:
        """Let an item that `retracted` had ended hold again, for the readers of `audience`."""
        at = self.commit.position
        self.develop_item(
            item_id, kind, lambda thing: resume_for_audience(thing, audience, at, retracted)
        )

    def develop_item(
        self, item_id: str, kind: type, how: Callable[[Any], Mapping[str, Any]]
    ) -> None:
        """Give an item the fields that `how` derives from its current state."""
        item = self.get_item(item_id)
        if isinstance(item, Tombstone):
            return
        if not isinstance(item, kind):
            message = f"A log entry changes the {kind.__name__} {item_id}, which does not exist."
            raise BrokenInvariant("canon.dangling-entry", message, id=item_id)
        changed: Any = with_changes(item, changed_at=self.commit.position, **how(item))
        self.put_item(changed)


def merge_entities(folding: Folding, entry: EntitiesMerged) -> None:
    """Let `kept` replace `merged` and the members of `merged`."""
    joined = (entry.merged, *entry.members)

    def absorb_members(root: Entity) -> Mapping[str, Any]:
        members = tuple(sorted({*root.members, *joined}))
        return {"members": members, **absorbed_values(folding, joined, root)}

    def leave_group(entity: Entity) -> Mapping[str, Any]:
        # A merged entity keeps the members that it brought itself.
        own = entity.id == entry.merged and entity.merged_into is None
        return {
            "merged_into": entry.kept,
            "brought": entry.members if own else entity.brought,
            "members": (),
            "absorbed": {},
            "absorbed_sightings": NEVER_SEEN,
            "veils": _own_secrets(entity),
        }

    folding.develop_item(entry.kept, Entity, absorb_members)
    for member in joined:
        folding.develop_item(member, Entity, leave_group)


def unmerge_entities(folding: Folding, entry: EntitiesUnmerged) -> None:
    """Make `separated` an entity of its own; no remaining member brings it any more."""
    set_members(folding, entry.kept, entry.remaining)
    folding.change_item(entry.separated, Entity, merged_into=None, brought=())
    for member in entry.remaining:
        entity = folding.get_item(member)
        if isinstance(entity, Entity) and entry.separated in entity.brought:
            left = tuple(each for each in entity.brought if each != entry.separated)
            folding.change_item(member, Entity, brought=left)


def set_members(folding: Folding, kept_id: EntityId, members: tuple[EntityId, ...]) -> None:
    """Give a root these members, and the values that they add to it now."""
    absorbed = absorbed_values(folding, members)
    kept = folding.get_item(kept_id)
    if isinstance(kept, Entity) and kept.veils:
        alone = with_changes(kept, veils=_own_secrets(kept))
        found = [e for e in map(folding.get_item, members) if isinstance(e, Entity)]
        absorbed |= {"veils": alone.veils, **_absorbed_secrets(found, alone)}
    folding.change_item(kept_id, Entity, members=members, **absorbed)


def _own_secrets(entity: Entity) -> tuple[SecretEntityPart, ...]:
    """Return the secret parts about the entity itself."""
    blank = {"absorbed": dict[str, Any](), "absorbed_sightings": NEVER_SEEN}
    return tuple(with_changes(part, **blank) for part in entity.veils)


def absorbed_values(
    folding: Folding, members: Iterable[str], root: Entity | None = None
) -> dict[str, Any]:
    """Return the values that `members` add to a root, besides those it has absorbed already."""
    found = [e for e in map(folding.get_item, members) if isinstance(e, Entity)]
    before = (None, NEVER_SEEN) if root is None else (root.absorbed, root.absorbed_sightings)
    return {
        "absorbed": join_all((before[0] or {}, *(e.own for e in found)), policy_of),
        "absorbed_sightings": sum((e.sightings for e in found), before[1]),
        **_absorbed_secrets(found, root),
    }


def _absorbed_secrets(members: Iterable[Entity], root: Entity | None) -> dict[str, Any]:
    """Return the secret parts of `members`, for the readers of the root."""
    secrets = [part for member in members for part in member.veils]
    if root is None or not secrets:
        return {}
    for part in secrets:
        absorbed = {"absorbed": part.own, "absorbed_sightings": part.sightings}
        root = with_changes(root, veils=add_secret_part(root, part.audience, part.at, **absorbed))
    return {"veils": root.veils}
