"""Derived edges: an entity refers to whomever its fields name, for as long as they name them.

An edge that a field made stands while the entity's own word names whom it leads to, whichever
source said that, in whatever order things arrived; it holds on when the field returns. One that a
user has asked for depends on no field.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from canonry.canon.session.account import Account
from canonry.canon.session.canon import Canon
from canonry.canon.session.every_item import every_match
from canonry.log.entries import Entry, RelationEnded, RelationResumed
from canonry.log.items.entities import Entity
from canonry.log.items.relations import Relation, RelationDraft
from canonry.log.keys import relations_key, thing_key
from canonry.log.schemas.identifiers import key_mark
from canonry.log.schemas.identity_keys import KeyReader
from canonry.log.schemas.narrative_fields import PROPERTY_PREFIX
from canonry.log.schemas.schemas import EntitySchema
from canonry.log.schemas.truth_relations import TruthRelation
from canonry.log.schemas.truth_types import TRUTH_TYPES
from canonry.readmodels.ports.state import RelationQuery
from canonry.records.domain.foreseen import foreseen
from canonry.records.notation.companions import COMPANIONS, companions_of
from canonry.values.ids import EntityId
from canonry.values.observations import ObservationDraft
from canonry.values.provenance import Authority, CanonLevel
from canonry.values.snapshots import Accumulator

FIELD: Final = "field"
"""The property of an edge that says which field made it."""

_KEYS: Final = {kind: KeyReader(TRUTH_TYPES[kind]) for kind in ("company", "person")}
_REASON: Final = "the field that made it names somebody else"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetoldEntity:
    """What an entity's own fields were, and what they are once more has been said of it."""

    id: EntityId
    schema: EntitySchema
    before: Accumulator
    after: Accumulator

    @property
    def named(self) -> frozenset[str]:
        """The keys of everybody whom the fields name now."""
        return self._named(self.after)

    @property
    def renames(self) -> bool:
        """Whether they name others than they did."""
        return self._named(self.before) != self.named

    def _named(self, own: Accumulator) -> frozenset[str]:
        kind, fields = self.schema.entity_type, {}
        for name in COMPANIONS.get(kind, ()):
            if elements := own.get(PROPERTY_PREFIX + name):
                fields[name] = self.schema.policy(name).show(elements)
        return frozenset(key for key, _ in named_in(kind, fields))


def named_in(entity_type: str, fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(key, name) of everybody whom the fields of a record name."""
    for _, whom, name in companions_of(entity_type, fields):
        for key in _KEYS[whom].keys({"name": name}):
            yield key_mark(key), name


def retellings(
    drafts: Iterable[ObservationDraft],
    about: Callable[[EntityId], tuple[EntitySchema, Accumulator]],
) -> Iterator[RetoldEntity]:
    """Those of whom something was said before, or several drafts speak; `about` knows them."""
    said: dict[EntityId, list[ObservationDraft]] = {}
    for each in drafts:
        said.setdefault(each.entity_id, []).append(each)
    for entity_id, told in said.items():
        schema, own = about(entity_id)
        if schema.entity_type in COMPANIONS and (own or len(told) > 1):
            yield RetoldEntity(id=entity_id, schema=schema, before=own, after=foreseen(own, told))


def stands(edge: RelationDraft, target: Collection[str], named: Collection[str]) -> bool:
    """Whether an edge stands: no field has made it, or its target bears a key of those named."""
    return FIELD not in edge.properties or not set(named).isdisjoint(target)


async def edges_following(
    canon: Canon, account: Account, retold: Iterable[RetoldEntity]
) -> tuple[list[Entry], frozenset[str]]:
    """What becomes of the edges that there are, and the keys that this rests on."""
    named = {each.id: each.named for each in retold if each.renames}
    edges = await _edges_from(canon, account, frozenset(named)) if named else []
    found = await canon.within(account.space).things({each.to_id for each in edges})
    entries: list[Entry] = []
    for edge in edges:
        target = found.get(edge.to_id)
        borne = target.borne if isinstance(target, Entity) else ()
        stand = stands(edge, borne, named[edge.from_id])
        if edge.current and not stand:
            entries.append(
                RelationEnded(relation_id=edge.id, until=None, superseded_by=None, reason=_REASON)
            )
        elif edge.ended and stand:
            entries.append(RelationResumed(relation_id=edge.id))
    things = {thing_key(i) for edge in edges for i in (edge.id, edge.to_id)}
    return entries, frozenset((*map(relations_key, named), *things))


def derived(edge: Relation) -> bool:
    """Whether only fields have asked for an edge."""
    words = (edge.authority, *(each.authority for each in edge.again))
    return FIELD in edge.properties and all(word is Authority.SOURCE for word in words)


async def _edges_from(canon: Canon, account: Account, ids: frozenset[EntityId]) -> list[Relation]:
    """The edges that fields of these entities have made, also those that have ended."""
    query = RelationQuery(
        spaces=frozenset((account.space,)),
        entities=ids,
        rel_type=TruthRelation.REFERS_TO,
        direction="out",
    )
    return [
        e
        async for e in every_match(canon.state.relations, query)
        if derived(e) and e.level is CanonLevel.CANON
    ]
