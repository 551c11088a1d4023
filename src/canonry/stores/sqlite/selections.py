"""Selections: which rows of which list a query asks for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from canonry.log.items.entities import EntityClass, normalised_name
from canonry.readmodels.listing import MERGED, NOBODY, TAG, List, Owner, storable
from canonry.readmodels.ports.documents import ProposalQuery, SceneQuery
from canonry.readmodels.ports.state import (
    EntityQuery,
    EventQuery,
    FactQuery,
    RelationQuery,
    Spaces,
)
from canonry.values.errors import InvalidInput
from canonry.values.ids import SpaceId, SpaceKind
from canonry.values.provenance import CanonLevel

# `canonry.readmodels.listing` says what rows there are; `rows.py` carries out what is planned here.

_SIDES: Final = {"out": ("out", "both"), "in": ("in", "both")}
_WHOLE: Final = (NOBODY, MERGED)
_PATTERN_BYTES: Final = 40_000
_WILD: Final = re.compile(r"[*%]")


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetWish:
    """Which facets fit: by their parts between slashes, counted from the left or, below 0, the end.

    `whole` names facets outright, because a type that an agent chose may hold a slash itself.
    `asks` is met by any of them between the signs `+` of the last part.
    """

    parts: Mapping[int, frozenset[str]] = field(default_factory=dict)
    whole: frozenset[str] | None = None
    asks: frozenset[str] | None = None

    def fits(self, facet: str) -> bool:
        """Whether rows of this facet are asked for."""
        if self.whole is not None and facet not in self.whole:
            return False
        told = facet.split("/")
        return all(told[place] in among for place, among in self.parts.items()) and (
            self.asks is None or not self.asks.isdisjoint(told[-1].split("+"))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AlsoListed:
    """That the same thing stands in the list under any of `owners` too, or under none of them.

    Its row there has the same space, facet and place. `named` is a pattern for the row's name, in
    which `*` stands for any characters.
    """

    listed: List
    owners: tuple[Owner, ...]
    never: bool = False
    named: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Rows of a list under any of `owners` whose facet fits.

    `disjoint` owners have no row in common. `newest_first` turns the order of the ranks around, but
    not that of the ids. A row that begins after `begun_by` or has ended at `open_after` is left
    out, as is one whose rank is greater than `rank_most`.
    """

    listed: List
    owners: tuple[Owner, ...] = (NOBODY,)
    spaces: Spaces = None
    facet: FacetWish | None = None
    begun_by: int | None = None
    open_after: int | None = None
    rank_most: float | None = None
    standing: tuple[AlsoListed, ...] = ()
    disjoint: bool = False
    newest_first: bool = False


def all_of(listed: List, spaces: Spaces, *, newest_first: bool = False) -> Selection:
    """Everything in a list that nobody owns."""
    return Selection(listed=listed, spaces=spaces, newest_first=newest_first)


def owned(listed: List, owner: Owner) -> Selection:
    """Everything in the list of one owner."""
    return Selection(listed=listed, owners=(owner,))


def spaces_in(kind: SpaceKind | None, parent: SpaceId | None) -> Selection:
    """The spaces of a kind, of all or below one."""
    return Selection(
        listed=List.SPACES if parent is None else List.SPACES_IN,
        owners=(NOBODY if parent is None else parent,),
        facet=_wish((kind,)),
    )


def facts_of(query: FactQuery) -> Selection:
    """The facts that a query asks for."""
    return Selection(
        listed=List.FACTS_OF if query.entities else List.FACTS,
        owners=_owners(query.entities),
        spaces=query.spaces,
        facet=_wish((query.level, query.authority, query.fact_type)),
        begun_by=storable(query.end),
        open_after=storable(query.start),
    )


def events_of(query: EventQuery) -> Selection:
    """The events that a query asks for."""
    listed, owners = List.EVENTS, _owners(query.entities)
    standing: tuple[AlsoListed, ...] = ()
    if query.scene_id is not None:
        listed = List.EVENTS_IN
        if query.entities:
            standing = (AlsoListed(listed=List.EVENTS_OF, owners=owners),)
        owners = (query.scene_id,)
    elif query.entities:
        listed = List.EVENTS_OF
    return Selection(
        listed=listed,
        owners=owners,
        spaces=query.spaces,
        facet=_wish((query.level,)),
        standing=standing,
    )


def relations_of(query: RelationQuery) -> Selection:
    """The relations that a query asks for."""
    sides = _SIDES.get(query.direction, ("out", "in", "both")) if query.entities else ("edge",)
    states = ("current",) if query.current else ("current", "past")
    if query.rel_type is None:
        wish = FacetWish(parts={0: frozenset(sides), 1: frozenset(states)})
    else:
        wish = FacetWish(
            whole=frozenset(f"{s}/{state}/{query.rel_type}" for s in sides for state in states)
        )
    return Selection(
        listed=List.RELATIONS_OF if query.entities else List.RELATIONS,
        owners=_owners(query.entities),
        spaces=query.spaces,
        facet=wish,
        newest_first=query.newest_first,
    )


def entities_of(query: EntityQuery, leading: str | None) -> Selection:
    """The entities that a query asks for.

    Of several tags that all are asked for, the list of the one named `leading` is walked.
    """
    owners: tuple[Owner, ...] = (NOBODY,)
    every = set(query.all_of)
    some = tuple(TAG + tag for tag in sorted(query.any_of))
    standing: list[AlsoListed] = []
    if every:
        owners = (f"{TAG}{leading}",)
        standing += [_tagged((TAG + tag,)) for tag in sorted(every - {leading})]
        standing += [_tagged(some)] if some else []
    elif some:
        owners = some
    elif query.include_merged and not query.none_of:
        owners = _WHOLE
    if query.none_of:
        standing.append(_tagged(tuple(TAG + tag for tag in sorted(query.none_of)), never=True))
    if query.name_pattern is not None:
        standing.append(AlsoListed(listed=List.ENTITIES, owners=_WHOLE, named=query.name_pattern))
    return Selection(
        listed=List.ENTITIES,
        owners=owners,
        spaces=query.spaces,
        facet=_entity_wish(query),
        standing=tuple(standing),
        disjoint=owners == _WHOLE,
    )


def scenes_of(query: SceneQuery) -> Selection:
    """The scenes that a query asks for."""
    return Selection(
        listed=List.SCENES if query.story_id is None else List.SCENES_OF,
        owners=(NOBODY if query.story_id is None else query.story_id,),
        spaces=query.spaces,
        facet=_wish((query.status,)),
    )


def proposals_of(query: ProposalQuery) -> Selection:
    """The proposals that a query asks for."""
    parts = {0: frozenset(map(str, query.types))}
    if query.status is not None:
        parts[1] = frozenset((str(query.status),))
    wish = FacetWish(
        parts=parts, asks=None if query.asks is None else frozenset(map(str, query.asks))
    )
    return Selection(
        listed=List.PROPOSALS if query.scene_id is None else List.PROPOSALS_OF,
        owners=(NOBODY if query.scene_id is None else query.scene_id,),
        spaces=query.spaces,
        facet=wish,
    )


def _tagged(owners: tuple[Owner, ...], *, never: bool = False) -> AlsoListed:
    return AlsoListed(listed=List.ENTITIES, owners=owners, never=never)


def _wish(parts: Sequence[str | None]) -> FacetWish | None:
    """A wish for facets whose parts are these, where one is named."""
    wanted = {n: frozenset((str(part),)) for n, part in enumerate(parts) if part is not None}
    return FacetWish(parts=wanted) if wanted else None


def _entity_wish(query: EntityQuery) -> FacetWish | None:
    """By the last two parts; with the type before them, which may be any text, outright."""
    if query.entity_type is None:
        told = {-2: query.entity_class, -1: query.level}
        parts = {n: frozenset((str(part),)) for n, part in told.items() if part is not None}
        return FacetWish(parts=parts) if parts else None
    classes = EntityClass if query.entity_class is None else (query.entity_class,)
    levels = CanonLevel if query.level is None else (query.level,)
    return FacetWish(
        whole=frozenset(f"{query.entity_type}/{c}/{level}" for c in classes for level in levels)
    )


def _owners(ids: Iterable[str]) -> tuple[Owner, ...]:
    return tuple(sorted(ids)) or (NOBODY,)


def parts_of_pattern(pattern: str) -> list[str]:
    """The normalised texts between the wildcards of a pattern.

    Raises:
        InvalidInput: `query.pattern-long`.
    """
    if len(pattern.encode()) > _PATTERN_BYTES:
        message = f"a pattern has at most {_PATTERN_BYTES} bytes"
        raise InvalidInput("query.pattern-long", message, path="name_pattern")
    return _WILD.split(normalised_name(pattern))
