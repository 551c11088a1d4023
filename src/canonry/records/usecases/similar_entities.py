"""Similar entities: what a user's canon has already of those that records may be about.

They are taken one by one, whoever answers for them today: a record is about the one that bears its
key, so that a merge that is taken back gives everything back.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from canonry.canon.session.account import Account
from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.keys import bearer_key, thing_key
from canonry.log.schemas.identifiers import Bearer, found_under
from canonry.log.schemas.identity_keys import CONTENT
from canonry.log.schemas.schemas import EntitySchema
from canonry.log.schemas.truth_types import types_alike
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.state import IdentifierQuery
from canonry.records.domain.assertions import Assertion
from canonry.records.domain.resolving import clearly_others, disowned

_FOUND_MAX: Final = 20
"""So many entities that bear one identifier are compared."""


@dataclass(slots=True, kw_only=True)
class Similar:
    """`entities` are all that may be meant, one by one; `roots` those that answer for them.

    `others` bear a key or look so, and cannot be meant. `contested` are the texts under which
    several are found, `reads` the keys that all this rests on.
    """

    entities: Mapping[str, Entity]
    roots: Mapping[str, Entity]
    others: Sequence[Bearer]
    contested: frozenset[str]
    reads: frozenset[str]
    schema_of: dict[str, EntitySchema]

    def root_of(self, entity: Entity) -> Entity:
        """Who answers for an entity today."""
        return self.roots.get(entity.merged_into or "", entity)


async def find_similar(canon: Canon, account: Account, assertions: Sequence[Assertion]) -> Similar:
    """Everything that an assertion's keys lead to, in a few reads."""
    first = Counter(each.ids[0] for each in assertions)
    ids: set[str] = {each for assertion in assertions for each in assertion.ids}
    own = canon.within(account.space)
    found = dict(await own.things(ids))
    borne = await _bearers(canon, account, assertions)
    bearers = {each.id: each for page in borne.pages.values() for each in page.items}
    unread = [each for each in bearers.values() if each.id not in found]
    others = clearly_others(unread, assertions)
    found |= await own.things({each.id for each in unread} - others.keys())
    contested = frozenset(text for (_, text), page in borne.pages.items() if page.total > 1)
    taken = [a for a in assertions if a.ids[0] in found or first[a.ids[0]] > 1]
    more: set[str] = {i for a in taken if (i := a.apart_id) is not None}
    more |= {
        a.unclear_id
        for a in taken
        if found_under(a.keys[0]) in contested or _disowned(found.get(a.ids[0]), a)
    }
    found |= await own.things(more)
    entities = await _with_families(canon, account, found)
    asked = {bearer_key(entity_type, text) for entity_type, text in borne.asked}
    return Similar(
        entities=entities,
        roots={i: each for i, each in entities.items() if each.merged_into is None},
        others=[each for each in others.values() if each.id not in entities],
        contested=contested,
        reads=frozenset(map(thing_key, {*ids, *more, *entities, *others})) | asked,
        schema_of={a.schema.entity_type: a.schema for a in assertions},
    )


def _disowned(born: object, assertion: Assertion) -> bool:
    return isinstance(born, Entity) and disowned(born.own, born.borne, assertion, 0)


async def _with_families(
    canon: Canon, account: Account, found: Mapping[str, Any]
) -> Mapping[str, Entity]:
    """The entities of the account among those found, with their roots and all their members."""
    own = {i: e for i, e in found.items() if isinstance(e, Entity) and e.space == account.space}
    missing = {e.merged_into for e in own.values() if e.merged_into is not None} - own.keys()
    for _ in range(2):  # the roots first, and then whoever else was merged into them
        if missing:
            more = await canon.within(account.space).things(missing)
            own |= {i: e for i, e in more.items() if isinstance(e, Entity)}
        missing = {m for e in own.values() for m in e.members} - own.keys()
    return own


@dataclass(frozen=True, slots=True, kw_only=True)
class _Borne:
    """Who bears the texts that were asked for, by type and text."""

    asked: frozenset[tuple[str, str]]
    pages: Mapping[tuple[str, str], Page[Bearer]]


async def _bearers(canon: Canon, account: Account, assertions: Sequence[Assertion]) -> _Borne:
    """Those that ever bore a key of the assertions, or look so."""
    wanted: dict[str, set[str]] = {}
    for assertion in assertions:
        texts = {*assertion.looks}
        if assertion.identities[0].rule != CONTENT:
            texts.update(map(found_under, assertion.keys))
        for entity_type in types_alike(assertion.schema.entity_type) if texts else ():
            wanted.setdefault(entity_type, set()).update(texts)
    found: dict[tuple[str, str], Page[Bearer]] = {}
    for entity_type, texts in wanted.items():
        query = IdentifierQuery(
            spaces=frozenset((account.space,)),
            keys=tuple(sorted(texts)),
            entity_type=entity_type,
            limit=_FOUND_MAX,
        )
        pages = await canon.state.bearers(query)
        found |= {(entity_type, text): page for text, page in pages.items()}
    asked = frozenset((each, text) for each, texts in wanted.items() for text in texts)
    return _Borne(asked=asked, pages=found)
