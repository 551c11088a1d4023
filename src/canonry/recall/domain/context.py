"""The content of a context: summaries of entities, and ranked memories."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, TypeVar

from canonry.language.texts.sentences import token_starts, tokens_in
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.scenes import Memory
from canonry.values.ids import EntityId, MemoryId
from canonry.values.moments import Instant
from canonry.values.policy import RecallWeights
from canonry.values.provenance import AUTHORITY_RANK

# Context: what a model is stated about a scene, ranked, without repeats, within a budget.
#
# Everything here is pure. Tokens are estimated as in `canonry.language.texts.sentences`.

T = TypeVar("T")

ID_TOKENS: Final = 10
FIELD_TOKENS: Final = 5
"""The tokens of a quoted id, or of a field's name with its punctuation.

Models read JSON punctuation between two names as one token, so it is not counted singly.
"""

CUT: Final = "\u2026"
"""Marks the end of a shortened text."""

_PARTS: Final = 4  # the least number of parts of a section, so that one long item does not fill it


def tokens_of(*texts: str | None) -> int:
    """Estimate the tokens of all texts together."""
    return sum(tokens_in(text) for text in texts if text)


def cost_of(*texts: str | None, ids: int, fields: int) -> int:
    """Estimate the tokens of an item as JSON with these texts, ids and fields."""
    return tokens_of(*texts) + ids * ID_TOKENS + fields * FIELD_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class Section(Generic[T]):
    """Ranked items of one kind, with a share of the budget by weight.

    An item longer than its part of the section is shortened by `trim`, if given. With `sharing` all
    items have equal parts; otherwise each may take a quarter of the section.
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


def fit_sections(sections: Iterable[Section[Any]], budget: int) -> Fitted:
    """Fill each section's share of the budget; unused room goes to other sections.

    Each section keeps a prefix: it ends at the first item that does not fit. The total never
    exceeds `budget`.
    """
    ordered = tuple(sections)
    costs = [[section.cost(item) for item in section.items] for section in ordered]
    rooms = shares_of(budget, [sum(each) for each in costs], [s.weight for s in ordered])
    fills = [
        _fill_section(section, known, room)
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
    """Divide the budget by weight, at most as much as wanted each; others get the rest.

    The remainder of a division stays unused.
    """
    shares = [0] * len(wanted)
    left, unfilled = max(0, budget), set(range(len(wanted)))
    while unfilled:
        total = sum(weights[n] for n in unfilled)
        content = {n for n in unfilled if wanted[n] * total <= left * weights[n]}
        for n in content or unfilled:
            shares[n] = wanted[n] if content else left * weights[n] // total
        left -= sum(shares[n] for n in content)
        unfilled -= content or unfilled
    return shares


def _fill_section(section: Section[T], costs: Sequence[int], room: int) -> tuple[list[T], int]:
    """Return the first items that fit the room, long ones shortened, and their tokens."""
    longest = max(shares_of(room, costs, [1] * len(costs)), default=0)
    if not section.sharing:
        longest = max(longest, room // _PARTS)
    kept: list[T] = []
    used = 0
    for item, cost in zip(section.items, costs, strict=True):
        shown, takes = item, cost
        if cost > longest and section.trim is not None:
            shown = section.trim(item, min(longest, room - used))
            takes = section.cost(shown)
        if used + takes > room:
            break
        kept.append(shown)
        used += takes
    return kept, used


def cut_text(text: str, room: int) -> str:
    """Return the start of the text with about `most` tokens, marked if it was cut."""
    starts = token_starts(text)
    return text if len(starts) <= room else text[: starts[max(0, room - 1)]].rstrip() + CUT


def without_repeats(items: Iterable[T], key: Callable[[T], Hashable]) -> list[T]:
    """Return the items in order, without those that have the key of an earlier one."""
    fresh: dict[Hashable, T] = {}
    for item in items:
        fresh.setdefault(key(item), item)
    return list(fresh.values())


def rank_facts(
    facts: Iterable[Fact], participants: Collection[EntityId], recalled: Collection[str] = ()
) -> list[Fact]:
    """Rank facts by the number of participants, then the newest, then by authority.

    A fact in `recalled` resembles the scene and counts as one with a further participant.
    """
    present = frozenset(participants)

    def fact_order(fact: Fact) -> tuple[int, int, int, str]:
        overlap = len(present.intersection(fact.involved)) + (fact.id in recalled)
        return (-overlap, -fact.position, -AUTHORITY_RANK[fact.authority], fact.id)

    return sorted(facts, key=fact_order)


def rank_relations(
    relations: Iterable[Relation], inside: Collection[EntityId], *, limit: int
) -> list[Relation]:
    """Return relations with both ends `inside` first, then others, each by (created_at, id)."""
    held = frozenset(inside)

    def relation_order(relation: Relation) -> tuple[bool, int, str]:
        within = relation.from_id in held and relation.to_id in held
        return (not within, relation.created_at, relation.id)

    return sorted(relations, key=relation_order)[:limit]


def ties_of(relations: Iterable[Relation], seeds: Collection[EntityId]) -> dict[EntityId, int]:
    """Return the number of relations of each other entity to the seeds, in descending order."""
    held = frozenset(seeds)
    ends = ((r.from_id, r.to_id) if r.from_id in held else (r.to_id, r.from_id) for r in relations)
    counts = Counter(far for near, far in ends if near in held and far not in held)
    return dict(sorted(counts.items(), key=lambda tie: (-tie[1], tie[0])))


def loose_ends(events: Iterable[Event]) -> list[Event]:
    """Return events that have no effects yet, newest first."""
    loose = (event for event in events if not event.causes)
    return sorted(loose, key=lambda event: (-event.position, event.id))


# Sheets: summaries of entities in a scene; the name always, long parts if there is room.
#
# Omitted properties are named, so that a reader can query them.

TAGS_TOKENS: Final = 200
"""The most tokens of one entity's state tags."""
BRIEF_TOKENS: Final = 120
"""The most tokens of the sheet of an entity that is not in the scene."""
NAMED_MAX: Final = 20
"""The most omitted properties that are named; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """The location of an entity."""

    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """The identity, state and location of an entity, given for everybody in the scene."""

    entity: Entity
    tags: tuple[str, ...]
    tags_left: int = 0
    location: Whereabouts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntitySummary:
    """The further data of an entity; `left` are the properties that did not fit."""

    entity: Entity
    description: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    left: tuple[str, ...] = ()

    @property
    def is_shortened(self) -> bool:
        """Return whether the description was cut."""
        return self.description != self.entity.description


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextEntity:
    """An entity in a context; without a summary, the budget had no room for one."""

    head: Presence
    summary: EntitySummary

    @property
    def entity(self) -> Entity:
        """The entity itself."""
        return self.head.entity


def head_of(entity: Entity, tags: tuple[str, ...], location: Whereabouts | None) -> Presence:
    """Return the head of an entity; of very many tags it has the first ones."""
    used, shown = 0, 0
    for tag in tags:
        used += tokens_of(tag) + 1
        if used > TAGS_TOKENS:
            break
        shown += 1
    return Presence(
        entity=entity, tags=tags[:shown], tags_left=len(tags) - shown, location=location
    )


def summary_of(entity: Entity) -> EntitySummary:
    """Return the complete summary of an entity."""
    return EntitySummary(
        entity=entity, description=entity.description, properties=entity.properties
    )


def head_cost(head: Presence) -> int:
    """Estimate the tokens of a head."""
    location_name = () if head.location is None else (head.location.name,)
    return cost_of(
        head.entity.name, *head.tags, *location_name, ids=1 + len(location_name), fields=9
    )


def summary_cost(summary: EntitySummary) -> int:
    """Estimate the tokens of a summary; an empty one has none."""
    own = sum(_property_cost(key, value) for key, value in summary.properties.items())
    if summary.left or summary.is_shortened:
        own += cost_of(*summary.left[:NAMED_MAX], ids=0, fields=4)
    return own + tokens_of(summary.description)


def entity_cost(shown: ContextEntity) -> int:
    """Estimate the tokens of an entity with its summary."""
    return head_cost(shown.head) + summary_cost(shown.summary)


def trim_summary(summary: EntitySummary, room: int) -> EntitySummary:
    """Fit a summary into a budget: the description, then properties that are short enough."""
    names = tuple(summary.properties)
    named = cost_of(*names[:NAMED_MAX], ids=0, fields=4)
    left = max(0, room - named)
    if not left:
        return empty_summary(summary)
    short = cut_text(
        summary.description,
        max(
            left // 2,
            left - sum((_property_cost(key, value) for key, value in summary.properties.items())),
        ),
    )
    left -= tokens_of(short)
    kept: dict[str, Any] = {}
    for key, value in summary.properties.items():
        cost = _property_cost(key, value)
        if cost <= left:
            kept[key] = value
            left -= cost
    missing = tuple(key for key in names if key not in kept)
    return replace(summary, description=short, properties=kept, left=missing)


def empty_summary(summary: EntitySummary) -> EntitySummary:
    """Return an empty summary."""
    return replace(summary, description="", properties={}, left=tuple(summary.properties))


def brief_summary(entity: Entity) -> EntitySummary:
    """Return the summary of an entity that is not in the scene."""
    whole = summary_of(entity)
    return whole if summary_cost(whole) <= BRIEF_TOKENS else trim_summary(whole, BRIEF_TOKENS)


def _property_cost(key: str, value: Any) -> int:
    return tokens_of(key, str(value)) + FIELD_TOKENS


def recency_score(created_at: Instant, now: Instant, half_life: int) -> float:
    """Return 1 for a memory of now, halved every `half_life` microseconds; at most 1."""
    age = max(0, now - created_at)
    return float(2.0 ** -(age / half_life))


def recall_score(memory: Memory, *, meaning: float, now: Instant, weights: RecallWeights) -> float:
    """Return how well a memory answers a question, by meaning, importance and recency."""
    return (
        weights.meaning * meaning
        + weights.importance * memory.importance
        + weights.recency * recency_score(memory.created_at, now, weights.half_life)
    )


def rank_memories(
    memories: Iterable[Memory],
    meaning: Mapping[str, float],
    *,
    now: Instant,
    weights: RecallWeights,
) -> Sequence[tuple[Memory, float]]:
    """Return each memory once with its score, strongest first; missing ids have meaning 0.

    A limit of n takes the first n results.
    """
    known: dict[MemoryId, Memory] = {memory.id: memory for memory in memories}

    def memory_score(memory: Memory) -> float:
        strength = meaning.get(memory.id, 0.0)
        return recall_score(memory, meaning=strength, now=now, weights=weights)

    scored = [(memory, memory_score(memory)) for memory in known.values()]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0].id))


def rank_by_importance(memories: Iterable[Memory]) -> Sequence[Memory]:
    """Return each memory once: the most important first, then the newest."""
    known: dict[MemoryId, Memory] = {memory.id: memory for memory in memories}
    return sorted(known.values(), key=lambda m: (-m.importance, -m.created_at, m.id))
