"""Keys: what a verdict rests on and what an entry touches, as names; they also tag cached replies.

An append is refused only where a commit after the verdict touches a key that the verdict read.
`ANY` stands for the whole space: reading it conflicts with everything, touching it with everyone.
"""

from functools import lru_cache
from hashlib import blake2b
from typing import Final

from canonry.language.clauses.keys import frame_keys
from canonry.language.texts.statements import plain_statement
from canonry.log.entries import Thing, Tombstone
from canonry.log.items.entities import Entity, normalised_name
from canonry.log.items.facts import Axiom, Event, Fact
from canonry.log.items.memories import Memory
from canonry.log.items.proposals import Proposal
from canonry.log.items.relations import Relation
from canonry.log.items.runs import InterpretationRun
from canonry.log.items.scenes import Scene, Story, Turn
from canonry.log.items.sources import Snippet, Source
from canonry.log.schemas.schemas import RegisteredSchema
from canonry.log.schemas.world_types import WORLD_RELATIONS
from canonry.values.observations import Observation
from canonry.values.remembering import remembered
from canonry.values.spaces import Space

ANY: Final = "*"
SPACES: Final = "spaces"
_HASH_BYTES: Final = 8


def thing_key(thing_id: str) -> str:
    """The thing itself: its existence, level and current value."""
    return f"thing:{thing_id}"


def name_key(entity_type: str, name: str) -> str:
    """Which entities of a type bear a name, or bore it."""
    return f"name:{entity_type}:{normalised_name(name)}"


def bearer_key(entity_type: str, text: str) -> str:
    """Which entities of a type were ever named by a text."""
    return f"bearer:{entity_type}:{text}"


def relations_key(entity_id: str) -> str:
    """The relations from or to an entity."""
    return f"relations:{entity_id}"


def edge_key(entity_id: str, rel_type: str) -> str:
    """The edges of one type that begin at a thing of a world: its exits, its place, its holder."""
    return f"edges:{entity_id}:{rel_type}"


def facts_key(entity_id: str) -> str:
    """The facts and events that involve an entity."""
    return f"facts:{entity_id}"


def statement_key(statement: str) -> str:
    """The facts that say the same."""
    return f"statement:{plain_statement(statement)}"


def frames_keys(fact: Fact) -> tuple[str, ...]:
    """The facts that say something of one subject, by the keys of its frames."""
    return frame_keys(fact.statement, fact.involved, fact.properties)


def causes_key(space: str) -> str:
    """The causal edges between a space's events."""
    return f"causes:{space}"


def axioms_key(space: str) -> str:
    """The laws of a space."""
    return f"axioms:{space}"


def turns_key(scene_id: str) -> str:
    """The turns of a scene."""
    return f"turns:{scene_id}"


def proposals_key(scene_id: str) -> str:
    """The proposals of a scene and how they were decided."""
    return f"proposals:{scene_id}"


def memories_key(entity_id: str) -> str:
    """What a character remembers."""
    return f"memories:{entity_id}"


def snippets_key(source_id: str) -> str:
    """The snippets of a source and their order."""
    return f"snippets:{source_id}"


def stories_key(space: str) -> str:
    """The stories of a space and the scenes in them."""
    return f"stories:{space}"


def scenes_key(story_id: str) -> str:
    """The scenes of a story and their order."""
    return f"scenes:{story_id}"


def schemas_key(space: str, entity_type: str) -> str:
    """The versions of the schema of a type in a space."""
    return f"schemas:{space}:{entity_type}"


def runs_key(source_id: str) -> str:
    """The interpretation runs over a source."""
    return f"runs:{source_id}"


def listing_key(kind: str, space: str) -> str:
    """Which things of a kind a space has; for cached lists, never read by a gate."""
    return f"listing:{kind}:{space}"


@lru_cache(maxsize=4096)
def key_hash(key: str) -> int:
    """The key as a signed 64-bit number, as adapters store it; a collision only costs a retry."""
    return int.from_bytes(blake2b(key.encode(), digest_size=_HASH_BYTES).digest(), signed=True)


@remembered  # who folds, who judges and who stores ask for those of the same
def keys_of(thing: Thing) -> frozenset[str]:  # noqa: C901, PLR0911, PLR0912 - one case a kind
    """Every key under which somebody may have read `thing`.

    A change touches the keys of the thing before and after it.
    """
    own = thing_key(thing.id)
    match thing:
        case Space():
            return frozenset((own, SPACES))
        case Entity():
            names = (name_key(thing.entity_type, name) for name in thing.known_as)
            return frozenset((own, listing_key("entity", thing.space), *names))
        case Observation():
            return frozenset((own,))
        case Relation():
            ends = {own, relations_key(thing.from_id), relations_key(thing.to_id)}
            if thing.rel_type in WORLD_RELATIONS:
                ends.add(edge_key(thing.from_id, thing.rel_type))
            return frozenset(ends)
        case Fact():
            involved = (facts_key(entity) for entity in thing.involved)
            listing = listing_key("fact", thing.space)
            said = statement_key(thing.statement)
            return frozenset((own, said, listing, *involved, *frames_keys(thing)))
        case Event():
            involved = (facts_key(entity) for entity in thing.involved)
            return frozenset((own, causes_key(thing.space), *involved))
        case Axiom():
            return frozenset((own, axioms_key(thing.space)))
        case Source():
            return frozenset((own, listing_key("source", thing.space)))
        case Snippet():
            listing = listing_key("source", thing.space)
            return frozenset((own, snippets_key(thing.source_id), listing))
        case Story():
            return frozenset((own, stories_key(thing.space)))
        case Scene():
            return frozenset((own, scenes_key(thing.story_id), stories_key(thing.space)))
        case Turn():
            return frozenset((own, turns_key(thing.scene_id)))
        case Proposal():
            return frozenset((own, proposals_key(thing.scene_id or thing.space)))
        case Memory():
            return frozenset((own, memories_key(thing.entity_id)))
        case RegisteredSchema():
            return frozenset((own, schemas_key(thing.space, thing.entity_type)))
        case InterpretationRun():
            return frozenset((own, runs_key(thing.source_id)))
        case Tombstone():
            return frozenset((own, ANY))
