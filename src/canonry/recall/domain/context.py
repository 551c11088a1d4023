"""Context: what a model is told about a scene, ranked, without repetitions, within a budget.

Everything here is pure and counts tokens by the estimate of `canonry.language.texts.sentences`.
"""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from canonry.language.texts.sentences import token_starts, tokens_in
from canonry.log.items.facts import Event, Fact
from canonry.log.items.relations import Relation
from canonry.values.ids import EntityId
from canonry.values.provenance import AUTHORITY_RANK
from canonry.values.time import Instant

T = TypeVar("T")

ID_TOKENS: Final = 10
FIELD_TOKENS: Final = 5
"""What a quoted id, and the name of a field with its punctuation, take; models read the signs
between two names of JSON together, so they are not counted one by one."""

CUT: Final = "\u2026"
"""What a text ends with that was cut short."""

_PARTS: Final = 4
"""In so many parts a section is shared at least, so that one long item does not fill it alone."""


def tokens_of(*texts: str | None) -> int:
    """About how many tokens the texts take together."""
    return sum(tokens_in(text) for text in texts if text)


def cost_of(*texts: str | None, ids: int, fields: int) -> int:
    """About how many tokens an item takes as JSON with these texts, ids and fields."""
    return tokens_of(*texts) + ids * ID_TOKENS + fields * FIELD_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class Section(Generic[T]):
    """Items of one kind in order of their rank; of the budget it has a share by its weight.

    What is longer than its part of the section is shortened by `trim`, where there is one. With
    `sharing` all items have the same part; without, each may have a quarter of the section.
    """

    name: str
    weight: int
    items: Sequence[T]
    cost: Callable[[T], int]
    trim: Callable[[T, int], T] | None = None
    sharing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The items of each section that fit, and the number of those left out."""

    kept: Mapping[str, Sequence[Any]]
    omitted: Mapping[str, int]
    used: int


def fit(sections: Iterable[Section[Any]], budget: int) -> Fitted:
    """Fill the share that each section has of the budget; what one does not need, others get.

    Of each section a prefix is kept: at the first item that does not fit the section ends. Never
    more than `budget` is used.
    """
    ordered = tuple(sections)
    costs = [[section.cost(item) for item in section.items] for section in ordered]
    rooms = shares_of(budget, [sum(each) for each in costs], [s.weight for s in ordered])
    fills = [
        _filled(section, known, room)
        for section, known, room in zip(ordered, costs, rooms, strict=True)
    ]
    left = budget - sum(used for _, used in fills)
    named: dict[str, list[Any]] = {}
    for section, known, (kept, _used) in zip(ordered, costs, fills, strict=True):
        for item, cost in list(zip(section.items, known, strict=True))[len(kept) :]:
            if cost > left:
                break
            kept.append(item)
            left -= cost
        named[section.name] = kept
    return Fitted(
        kept=named,
        omitted={s.name: len(s.items) - len(named[s.name]) for s in ordered},
        used=budget - left,
    )


def shares_of(budget: int, wanted: Sequence[int], weights: Sequence[int]) -> list[int]:
    """What each gets of the budget: by its weight, but no more than it wants; others get the rest.

    What is left of a division goes to nobody.
    """
    shares = [0] * len(wanted)
    left, waiting = max(0, budget), set(range(len(wanted)))
    while waiting:
        total = sum(weights[n] for n in waiting)
        content = {n for n in waiting if wanted[n] * total <= left * weights[n]}
        for n in content or waiting:
            shares[n] = wanted[n] if content else left * weights[n] // total
        left -= sum(shares[n] for n in content)
        waiting -= content or waiting
    return shares


def _filled(section: Section[T], costs: Sequence[int], room: int) -> tuple[list[T], int]:
    """The first items that fit the room, the long ones shortened, and what they take."""
    longest = max(shares_of(room, costs, [1] * len(costs)), default=0)
    if not section.sharing:
        longest = max(longest, room // _PARTS)
    kept: list[T] = []
    used = 0
    for item, cost in zip(section.items, costs, strict=True):
        told, takes = item, cost
        if cost > longest and section.trim is not None:
            told = section.trim(item, min(longest, room - used))
            takes = section.cost(told)
        if used + takes > room:
            break
        kept.append(told)
        used += takes
    return kept, used


def cut(text: str, room: int) -> str:
    """The beginning of the text that takes about so many tokens, ended by a sign where cut."""
    starts = token_starts(text)
    if len(starts) <= room:
        return text
    return text[: starts[max(0, room - 1)]].rstrip() + CUT


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
