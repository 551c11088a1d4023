"""Create a fact directly: the keeper's word, with evidence; the same statement earns a warning."""

from dataclasses import dataclass
from functools import partial
from typing import Final

from canonry.domain.ids import EntityId, NewId
from canonry.domain.judging.comparing.conflicts import Stated
from canonry.domain.judging.comparing.rivals import rivals_of, unread
from canonry.domain.judging.making import Backing, make_fact
from canonry.domain.judging.slices import SliceView
from canonry.domain.provenance import CanonLevel
from canonry.domain.things.facts import Fact
from canonry.domain.time import SECOND, Instant
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Change, Receipt, commit_change
from canonry.usecases.kernel.involved import require_involved, standing_beside
from canonry.usecases.kernel.lookup import require_evidence, require_universe

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
    """Assert the fact.

    Raises:
        NotFound: `universe.unknown`, `entity.unknown` or `evidence.unknown`.
        Conflict: `space.foreign` or `entity.retconned`.
    """
    await require_universe(canon, caller, backing.space)

    async def prepare(new_id: NewId) -> Change:
        reads = await require_evidence(canon, caller, backing.space, backing.evidence)
        involved, read = await require_involved(
            canon, caller, backing.space, new.involved, path="/involved_entity_ids"
        )
        ids = tuple(entity.id for entity in involved)
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
            entries=(made,),
            reads=reads | read | looked,
            warnings=(*same, *rivals),
            audience=backing.audience,
        )

    return await commit_change(canon, caller, backing.space, prepare)


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
