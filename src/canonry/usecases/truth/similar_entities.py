"""Similar entities: what a user's canon has already of those that records may be about."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from canonry.domain.things.entities import Entity
from canonry.domain.truth.assertions import Assertion, identifiers_in
from canonry.domain.truth.identity_keys import CONTENT
from canonry.domain.vocabularies.schemas import EntitySchema
from canonry.ports.views.queries import IdentifierQuery
from canonry.usecases.kernel.account import Account
from canonry.usecases.kernel.canon import Canon

_FOUND_MAX: Final = 20
"""So many entities that bear one identifier are compared."""


@dataclass(slots=True, kw_only=True)
class Similar:
    """`by_id` leads from each id asked for to the survivor; `by_identifier` share an identifier.

    `taken` are the ids that somebody has or had, so that another entity may stand apart from them.
    """

    asked: frozenset[str]
    taken: frozenset[str]
    by_id: Mapping[str, Entity]
    by_identifier: Sequence[Entity] = ()
    schema_of: Mapping[str, EntitySchema] = field(default_factory=dict)


async def find_similar(canon: Canon, account: Account, said: Sequence[Assertion]) -> Similar:
    """Everything that an assertion's keys lead to, in a few reads."""
    ids = {each for assertion in said for each in assertion.ids}
    found = dict(await canon.state.things(ids))
    taken = found.keys() | {each for each, n in Counter(a.ids[0] for a in said).items() if n > 1}
    apart = {i for a in said if a.ids[0] in taken and (i := a.apart_id) is not None}
    if apart:
        found |= await canon.state.things(apart)
    asked = frozenset(ids | apart)
    by_id = await _survivors(canon, account, found)
    unknown = [a for a in said if a.ids[0] not in by_id and a.identities[0].rule != CONTENT]
    return Similar(
        asked=asked,
        taken=frozenset(taken),
        by_id=by_id,
        by_identifier=await _identified(canon, account, unknown),
        schema_of={a.schema.entity_type: a.schema for a in said},
    )


async def _survivors(
    canon: Canon, account: Account, found: Mapping[str, Any]
) -> Mapping[str, Entity]:
    entities = {
        given: thing
        for given, thing in found.items()
        if isinstance(thing, Entity) and thing.space == account.space
    }
    moved = {e.merged_into for e in entities.values() if e.merged_into is not None}
    roots = await canon.state.things(moved) if moved else {}
    for given, entity in entities.items():
        root = roots.get(entity.merged_into or "")
        if isinstance(root, Entity):
            entities[given] = root
    return entities


async def _identified(
    canon: Canon, account: Account, said: Sequence[Assertion]
) -> Sequence[Entity]:
    """The entities that share an identifier with the assertions.

    Where a type has but one rule, they are those whose key was corrected: their ids never change.
    """
    wanted: dict[str, set[str]] = {}
    for assertion in said:
        own = {text for each in assertion.identities for text in identifiers_in(each)}
        if own:
            wanted.setdefault(assertion.schema.entity_type, set()).update(own)
    found: dict[str, Entity] = {}
    for entity_type, texts in wanted.items():
        query = IdentifierQuery(
            spaces=frozenset((account.space,)),
            keys=tuple(sorted(texts)),
            entity_type=entity_type,
            limit=_FOUND_MAX,
        )
        pages = await canon.state.entities_identified(query)
        found |= {each.id: each for page in pages.values() for each in page.items}
    return tuple(found.values())
