"""Create a fact directly: the keeper's word, with evidence; the same statement earns a warning."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from canonry.canon.judging.comparing.conflicts import Stated
from canonry.canon.judging.comparing.rivals import rivals_of, unread
from canonry.canon.judging.laws import laws_against_state
from canonry.canon.judging.making import Backing, make_fact
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.statements import stated_tag
from canonry.canon.judging.tag_changes import TagsChanged, change_tags
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    Receipt,
    audience_for,
    commit_change,
    known_to,
)
from canonry.canon.session.extend_slice import judged_by
from canonry.canon.session.involved import require_involved, standing_beside
from canonry.canon.session.lawful import require_lawful
from canonry.canon.session.lookup import require_evidence, require_universe
from canonry.log.entries import Entry
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Fact
from canonry.log.keys import thing_key
from canonry.values.ids import EntityId, NewId
from canonry.values.moments import NOW, Moment
from canonry.values.provenance import CanonLevel
from canonry.values.time import SECOND, Instant

_NAMED_MAX: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFact:
    """A statement, about whom, and the interval in which it holds."""

    statement: str
    involved: tuple[str, ...]
    time_ref: Instant | None
    duration: int | None

    @property
    def ends_at(self) -> Instant | None:
        """The first instant at which it no longer holds; None: without end."""
        if self.time_ref is None or self.duration is None:
            return None
        return Instant(self.time_ref + self.duration * SECOND)


async def create_fact(canon: Canon, caller: Caller, backing: Backing, new: NewFact) -> Receipt:
    """Assert the fact; one that says how somebody is changes their state.

    Raises:
        NotFound: `universe.unknown`, `entity.unknown` or `evidence.unknown`.
        Conflict: `space.foreign`, `entity.retconned` or `axiom.forbids`.
    """
    await require_universe(canon, caller, backing.space)

    async def prepare(new_id: NewId) -> Change:
        reads = await require_evidence(canon, caller, backing.space, backing.evidence)
        involved, read = await require_involved(
            canon, caller, backing.space, new.involved, path="/involved_entity_ids"
        )
        ids = tuple(entity.id for entity in involved)
        state, rested_on = await _state_said(canon, backing, new_id, new, involved)
        reads |= rested_on
        made = make_fact(
            new_id,
            backing,
            statement=new.statement,
            involved=ids,
            time_ref=new.time_ref,
            duration=new.duration,
        )
        same = await _same_statements(canon, backing, new, ids)
        rivals, looked = await standing_beside(canon, backing, ids, partial(_rivals, new, ids))
        return Change(
            entries=state or (made,),
            reads=reads | read | looked,
            warnings=(*same, *rivals),
            audience=backing.audience,
        )

    return await commit_change(canon, caller, backing.space, prepare)


async def _state_said(
    canon: Canon, backing: Backing, new_id: NewId, new: NewFact, involved: Sequence[Entity]
) -> tuple[tuple[Entry, ...], frozenset[str]]:
    """What changes where the words say no more than how somebody is, and what that rests on."""
    groups = canon.policy.exclusive_tags
    if len(involved) != 1 or new.duration is not None:
        return (), frozenset()
    if stated_tag(new.statement, involved[0], groups) is None:
        return (), frozenset()
    named = (involved[0].id, *(one.ref for one in backing.evidence))
    audience = await audience_for(canon, named, backing.audience)
    entity = await known_to(canon, involved[0], audience)
    stated = stated_tag(new.statement, entity, groups)
    if stated is None:
        return (), frozenset()
    tag, holds = stated
    add, remove = ((tag,), ()) if holds else ((), (tag,))
    moment = Moment(at=new.time_ref, place=NOW.place)

    def change(view: SliceView) -> tuple[TagsChanged, list[Axiom]]:
        broken = list(laws_against_state(view, entity.entity_type, add, entity.state_tags))
        made = change_tags(view, new_id, backing, entity, add=add, remove=remove, moment=moment)
        return made, broken

    (changed, broken), reads = await judged_by(canon, backing.space, change, audience)
    require_lawful(broken)
    documented = changed.begun or changed.ended
    return changed.entries if documented else (), reads | {thing_key(entity.id)}


async def _same_statements(
    canon: Canon, backing: Backing, new: NewFact, involved: tuple[EntityId, ...]
) -> tuple[str, ...]:
    stated = await canon.state.facts_stating(backing.space, {new.statement})
    same = [fact.id for fact in stated if _says_the_same(fact, involved)]
    return (f"facts say the same already: {', '.join(same[:_NAMED_MAX])}",) if same else ()


def _rivals(new: NewFact, involved: tuple[EntityId, ...], view: SliceView) -> tuple[str, ...]:
    """What canon holds against the fact."""
    claim = Stated(statement=new.statement, entities=frozenset(involved))
    rivals = tuple(
        f"{found.grade}: the fact {fact.id} says that {fact.statement} ({found.reason})"
        for fact, found in rivals_of(view, claim, new.time_ref, new.ends_at)
    )
    return (*rivals, *unread(view, claim))


def _says_the_same(fact: Fact, involved: tuple[EntityId, ...]) -> bool:
    return fact.level is CanonLevel.CANON and set(fact.involved) == set(involved)
