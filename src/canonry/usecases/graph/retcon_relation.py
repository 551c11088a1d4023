"""Retcon a relation: it never held; what it had taken the place of holds on."""

from collections.abc import Iterator, Sequence
from typing import Final

from canonry.domain.ids import NewId
from canonry.domain.log.entries import Entry, RelationEnded, RelationResumed, RelationRetconned
from canonry.domain.log.keys import relations_key, thing_key
from canonry.domain.provenance import CanonLevel
from canonry.domain.revising import revised
from canonry.domain.things.entities import family_of
from canonry.domain.things.relations import Relation
from canonry.ports.views.pages import PAGE_MAX
from canonry.ports.views.state import RelationQuery
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Change, Receipt, commit_change
from canonry.usecases.kernel.involved import require_standing
from canonry.usecases.kernel.lookup import require

PAGES_MAX: Final = 10


async def retcon_relation(
    canon: Canon, caller: Caller, relation_id: str, *, reason: str
) -> Receipt:
    """Retcon the relation; its neighbours in the line follow each other.

    What it had taken the place of holds on, until its own successor took over.

    Raises:
        NotFound: `relation.unknown`.
        Conflict: `relation.retconned`.
    """
    space = (await require(canon, caller, Relation, relation_id)).space

    async def prepare(new_id: NewId) -> Change:
        del new_id  # nothing new comes into being
        relation = await require(canon, caller, Relation, relation_id)
        require_standing(relation)
        roots = await canon.within(space).roots((relation.from_id, relation.to_id))
        ends = {relation.from_id, relation.to_id}
        ends |= {one for root in roots.values() for one in family_of(root)}
        query = RelationQuery(spaces=frozenset((space,)), entities=frozenset(ends), limit=PAGE_MAX)
        before = await _taken_over_by(canon, query, relation)
        fallen = RelationRetconned(relation_id=relation.id, replaced_by=None, reason=reason)
        reads = {thing_key(relation.id), *map(relations_key, ends), *map(thing_key, ends)}
        return Change(entries=(fallen, *_joined(relation, before)), reads=frozenset(reads))

    return await commit_change(canon, caller, space, prepare)


async def _taken_over_by(
    canon: Canon, query: RelationQuery, relation: Relation
) -> Sequence[Relation]:
    found: list[Relation] = []
    seen = 0
    for _page in range(PAGES_MAX):
        page = await canon.state.relations(revised(query, offset=seen))
        found += [one for one in page.items if one.superseded_by == relation.id]
        seen += len(page.items)
        if seen >= page.total:
            break
    return [one for one in found if one.level is CanonLevel.CANON]


def _joined(relation: Relation, before: Sequence[Relation]) -> Iterator[Entry]:
    heir, reason = relation.superseded_by, "what had taken its place never held"
    for old in before:
        if heir is None:
            yield RelationResumed(relation_id=old.id, fallen=relation.id)
        else:
            yield RelationEnded(
                relation_id=old.id, until=relation.until, superseded_by=heir, reason=reason
            )
