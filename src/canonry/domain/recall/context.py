"""Context: what a model is told about a scene, ranked, without repetitions, within a budget.

Everything here is pure and counts tokens by the estimate of `canonry.domain.texts.sentences`.
"""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from canonry.domain.ids import EntityId
from canonry.domain.provenance import AUTHORITY_RANK
from canonry.domain.texts.sentences import tokens_in
from canonry.domain.things.facts import Event, Fact
from canonry.domain.things.relations import Relation
from canonry.domain.time import Instant

T = TypeVar("T")

ID_TOKENS: Final = 10
FIELD_TOKENS: Final = 5
"""What a quoted id, and the name of a field with its punctuation, take; models read the signs
between two names of JSON together, so they are not counted one by one."""


def tokens_of(*texts: str | None) -> int:
    """About how many tokens the texts take together."""
    return sum(tokens_in(text) for text in texts if text)


def cost_of(*texts: str | None, ids: int, fields: int) -> int:
    """About how many tokens an item takes as JSON with these texts, ids and fields."""
    return tokens_of(*texts) + ids * ID_TOKENS + fields * FIELD_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class Section(Generic[T]):
    """Items of one kind in order of their rank; a heavier section is filled faster."""

    name: str
    weight: int
    items: Sequence[T]
    cost: Callable[[T], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The items of each section that fit, and the number of those left out."""

    kept: Mapping[str, Sequence[Any]]
    omitted: Mapping[str, int]
    used: int


def fit(sections: Iterable[Section[Any]], budget: int) -> Fitted:
    """Fill the budget from all sections in turn, from the heavier ones more often.

    Of each section a prefix is kept: at the first item that does not fit the section ends, and its
    room goes to the others. Never more than `budget` is used.
    """
    ordered = tuple(sections)
    turns = sorted(
        ((rank + 1) / section.weight, place, rank)
        for place, section in enumerate(ordered)
        for rank in range(len(section.items))
    )
    kept: list[list[Any]] = [[] for _ in ordered]
    used = 0
    for _, place, rank in turns:
        if len(kept[place]) < rank:
            continue
        section = ordered[place]
        cost = section.cost(section.items[rank])
        if used + cost <= budget:
            used += cost
            kept[place].append(section.items[rank])
    named = dict(zip((s.name for s in ordered), kept, strict=True))
    return Fitted(
        kept=named,
        omitted={s.name: len(s.items) - len(named[s.name]) for s in ordered},
        used=used,
    )


def without_repeats(items: Iterable[T], *keys: Callable[[T], Hashable]) -> list[T]:
    """The items in order, without those that share any of the keys with an earlier one."""
    seen: list[set[Hashable]] = [set() for _ in keys]
    fresh: list[T] = []
    for item in items:
        marks = [key(item) for key in keys]
        if not any(mark in known for mark, known in zip(marks, seen, strict=True)):
            fresh.append(item)
            for mark, known in zip(marks, seen, strict=True):
                known.add(mark)
    return fresh


def holds_at(fact: Fact, instant: Instant | None) -> bool:
    """Whether the fact holds at `instant`; None: at the end of what is known so far.

    What was superseded without a date holds at no time that could be named.
    """
    if fact.superseded and (fact.until is None or instant is None):
        return False
    if instant is None:
        return True
    begun = fact.time_ref is None or fact.time_ref <= instant
    ended = fact.ends_at is not None and fact.ends_at <= instant
    return begun and not ended


def is_promised(fact: Fact, instant: Instant | None) -> bool:
    """Whether the fact begins only after `instant`; a fact or instant without a time: no."""
    return instant is not None and fact.time_ref is not None and fact.time_ref > instant


def rank_facts(
    facts: Iterable[Fact], participants: Collection[EntityId], recalled: Collection[str] = ()
) -> list[Fact]:
    """By the number of participants that a fact involves, then the newest, then by authority.

    A fact in `recalled`, which resembles what is played, counts as if it involved one more.
    """
    present = frozenset(participants)

    def order(fact: Fact) -> tuple[int, int, int, str]:
        overlap = len(present.intersection(fact.involved)) + (fact.id in recalled)
        return (-overlap, -fact.position, -AUTHORITY_RANK[fact.authority], fact.id)

    return sorted(facts, key=order)


def rank_relations(
    relations: Iterable[Relation], inside: Collection[EntityId], *, limit: int
) -> list[Relation]:
    """Relations with both ends `inside` first, then the others, each by (created_at, id)."""
    held = frozenset(inside)

    def order(relation: Relation) -> tuple[bool, int, str]:
        within = relation.from_id in held and relation.to_id in held
        return (not within, relation.created_at, relation.id)

    return sorted(relations, key=order)[:limit]


def ties_of(relations: Iterable[Relation], seeds: Collection[EntityId]) -> dict[EntityId, int]:
    """The number of relations between each other entity and the seeds: most first, then by id."""
    held = frozenset(seeds)
    ends = ((r.from_id, r.to_id) if r.from_id in held else (r.to_id, r.from_id) for r in relations)
    counts = Counter(far for near, far in ends if near in held and far not in held)
    return dict(sorted(counts.items(), key=lambda tie: (-tie[1], tie[0])))


def loose_ends(events: Iterable[Event]) -> list[Event]:
    """Events that have no effects yet, newest first."""
    loose = (event for event in events if not event.causes)
    return sorted(loose, key=lambda event: (-event.position, event.id))
