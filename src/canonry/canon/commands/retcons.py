"""Retcon facts, and restore the statements that a claim had retconned."""

from dataclasses import replace
from functools import partial

from canonry.canon.judging.known_things import Backing, make_fact
from canonry.canon.judging.retractions import resumed_item, states_undone
from canonry.canon.judging.standing_statements import reading_of
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    Receipt,
    commit_change,
    judged_by,
    known_to,
    require_standing,
)
from canonry.canon.session.lookup import commit_at, require, require_evidence
from canonry.log.canon import ids_of
from canonry.log.entries import Entry, FactRead, FactRetconned, Made
from canonry.log.folding import thing_key
from canonry.log.items.facts import Event, Fact, Relation
from canonry.values.audience import EVERYBODY
from canonry.values.ids import FactId, NewId
from canonry.values.provenance import Authority, Evidence


async def retcon_fact(
    canon: Canon,
    caller: Caller,
    fact_id: str,
    *,
    reason: str,
    replacement: str | None,
    authority: Authority,
    evidence: tuple[Evidence, ...],
) -> Receipt:
    """Retcon the fact, and the state that it established.

    A tag that still rests on the fact is removed and the tags that it ended hold again; a
    replacement that states a tag sets it instead. Facts that it superseded hold again until its
    successor begins. A replacement has the same entities and the same interval; without evidence it
    takes that of the replaced fact.

    Raises:
        NotFound: `fact.unknown` or `evidence.unknown`.
        Conflict: `fact.retconned` or `space.foreign`.
    """
    space = (await require(canon, caller, Fact, fact_id)).space

    async def prepare(new_id: NewId) -> Change:
        seen = await require(canon, caller, Fact, fact_id)
        fact = await known_to(canon, seen, seen.audience)
        require_standing(fact)
        reads = await require_evidence(canon, caller, space, evidence)
        backing = Backing(
            space=space,
            authority=authority,
            confidence=1.0,
            evidence=evidence or fact.evidence,
            scene_id=fact.scene_id,
        )
        fallen = FactRetconned(fact_id=fact.id, replaced_by=None, reason=reason)
        undo = partial(states_undone, new_id, backing, fact, reason, instead=replacement)
        (entries, stated), looked = await judged_by(canon, space, undo, fact.audience)
        reads |= looked | {thing_key(fact.id)}
        if stated is not None:
            fallen = replace(fallen, replaced_by=stated)
        elif replacement is not None:
            made, looked = await _replacement(canon, new_id, backing, fact, replacement)
            fallen = replace(fallen, replaced_by=FactId(made[0].thing.id))
            reads |= looked
            entries += made
        audience = None if evidence and not fact.audience else fact.audience
        entries += (fallen, *await retracted_for(canon, fact))
        return Change(entries=entries, reads=reads, audience=audience, settles=True)

    return await commit_change(canon, caller, space, prepare)


async def retracted_for(canon: Canon, item: Fact | Relation | Event) -> tuple[Entry, ...]:
    """Return entries by which the items are canon again that a claim had retconned.

    A retcon by somebody who said so stays, even if its replacement falls.
    """
    if item.proposal_id is None:
        return ()
    commit = await commit_at(canon, item.space, item.position)
    entries = () if commit is None else commit.entries
    ids = [ids_of(e)[0] for e in entries if getattr(e, "replaced_by", None) == item.id]
    found = (await canon.store_of_all.state.things(ids)).values()
    return tuple(resumed_item(one, item.id, EVERYBODY) for one in found)


async def _replacement(
    canon: Canon, new_id: NewId, backing: Backing, fact: Fact, statement: str
) -> tuple[tuple[Made, FactRead], frozenset[str]]:
    """Return a fact in place of another with what it says, and the keys that were read."""
    made = make_fact(
        new_id,
        backing,
        statement=statement,
        involved=fact.involved,
        time_ref=fact.time_ref,
        duration=fact.duration,
        replaces=fact.id,
    )
    read = partial(reading_of, made.thing.id, statement, {}, fact.involved)
    said, looked = await judged_by(canon, backing.space, read, fact.audience)
    return (made, said), looked
