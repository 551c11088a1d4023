"""Retcon a relation: it never held; what it had taken the place of holds on."""

from collections.abc import Iterator

from canonry.canon.judging.making import Backing
from canonry.canon.judging.relation_lines import line_of, written
from canonry.canon.judging.slices import SliceView
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change, known_to
from canonry.canon.session.extend_slice import judged_by
from canonry.canon.session.involved import require_standing
from canonry.canon.session.lookup import require
from canonry.log.commits import Position
from canonry.log.entries import Entry, RelationEnded, RelationResumed, RelationRetconned
from canonry.log.items.relations import Relation
from canonry.log.items.veils import as_seen
from canonry.log.keys import thing_key
from canonry.log.schemas.narrative_relations import relation_type
from canonry.values.audience import Audience, viewer_of
from canonry.values.fields import Reference
from canonry.values.ids import NewId


async def retcon_relation(
    canon: Canon, caller: Caller, relation_id: str, *, reason: str
) -> Receipt:
    """Retcon the relation; its line is what it is without it.

    What it had taken the place of holds on, until its own successor took over.

    Raises:
        NotFound: `relation.unknown`.
        Conflict: `relation.retconned`.
    """
    space = (await require(canon, caller, Relation, relation_id)).space

    async def prepare(new_id: NewId) -> Change:
        seen = await require(canon, caller, Relation, relation_id)
        relation = await known_to(canon, seen, seen.audience)
        require_standing(relation)
        backing = Backing(
            space=space,
            authority=relation.authority,
            confidence=relation.confidence,
            evidence=relation.evidence,
        )

        def work(view: SliceView) -> tuple[Entry, ...]:
            return _without(view, new_id, backing, relation)

        rest, reads = await judged_by(canon, space, work, relation.audience)
        rest = tuple([await _as_before(canon, one, relation.audience) for one in rest])
        fallen = RelationRetconned(relation_id=relation.id, replaced_by=None, reason=reason)
        reads |= {thing_key(relation.id)}
        return Change(entries=(fallen, *rest), reads=reads, audience=relation.audience)

    return await commit_change(canon, caller, space, prepare)


def _without(
    view: SliceView, new_id: NewId, backing: Backing, relation: Relation
) -> tuple[Entry, ...]:
    """What becomes of the others that it stood in one line with, and of what it had ended."""
    start, end = (view.entity(Reference(one)) for one in (relation.from_id, relation.to_id))
    if start is None or end is None:
        return ()
    kind, properties = relation_type(relation.rel_type), relation.properties
    line = line_of(view, kind, start, end, relation.moment, properties=properties)
    entries = written(new_id, backing, line, without=(relation,))
    told = {e.relation_id for e in entries if isinstance(e, RelationEnded | RelationResumed)}
    others = {one.id: one for each in (start, end) for one in view.relations(each, kind.name)}
    ended = (one for one in others.values() if one.superseded_by == relation.id)
    return (*entries, *_joined(relation, (one for one in ended if one.id not in told)))


async def _as_before(canon: Canon, entry: Entry, audience: Audience) -> Entry:
    """The entry; what had been over before they knew what followed it is over again."""
    if not isinstance(entry, RelationResumed):
        return entry
    known, viewer = canon.store_of_all.state, viewer_of(audience)
    one = (await known.things((entry.relation_id,))).get(entry.relation_id)
    seen = as_seen(one, viewer)
    while isinstance(seen, Relation) and isinstance(one, Relation):
        if not seen.ended or seen.superseded_by is None:
            break
        before = Position(one.changed_at - 1)
        one = (await known.things_as_known_at((one.id,), before)).get(one.id)
        seen = as_seen(one, viewer)
    if not isinstance(seen, Relation) or not seen.ended:
        return entry
    why = "it was over before"
    return RelationEnded(relation_id=seen.id, until=seen.until, superseded_by=None, reason=why)


def _joined(relation: Relation, before: Iterator[Relation]) -> Iterator[Entry]:
    """What it had ended elsewhere, as a part that changes hands ends what the giver had."""
    for old in before:
        if relation.superseded_by is None:
            yield RelationResumed(relation_id=old.id, fallen=relation.id)
        else:
            yield RelationEnded(
                relation_id=old.id,
                until=relation.until,
                superseded_by=relation.superseded_by,
                reason="what had taken its place never held",
            )
