"""Secret parts: an item as each viewer sees it, and the compartments of its variants.

A secret part (in code: `veil`) is information about a visible item that only one audience knows. An
item without its secret parts is as if nobody had recorded them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import product
from typing import Any, Final, TypeVar

from canonry.log.items.entities import Entity, SecretEntityPart
from canonry.log.items.facts import Event, Fact, Relation, SecretPart
from canonry.log.schemas.narrative import policy_of
from canonry.values.audience import (
    GAME_MASTERS,
    Audience,
    Viewer,
    audience_covers,
    compartment_id,
    viewer_of,
    wide_first,
)
from canonry.values.fields import with_changes
from canonry.values.merge_policies import join_accumulators
from canonry.values.observations import Observation
from canonry.values.provenance import CanonLevel

T = TypeVar("T")
SECRET_PARTS_MAX: Final = 4
"""The most secret parts of one item, so that it never has too many variants to list.

Those of further audiences are kept for the game masters alone."""

_ENDING: Final = ("ended", "until", "superseded_by")
_AS_OTHERS: Final = dict.fromkeys(_ENDING)
"""No end that only an audience knows of."""
_WITH_SECRETS: Final = (Entity, Fact, Event, Relation)


def audience_of(item: object) -> Audience:
    """Return the audience of an item; items without one are visible to everybody."""
    found: Audience = getattr(item, "audience", ())
    return found


def audiences_in(item: object) -> frozenset[Audience]:
    """Return the audiences of an item and of its secret parts."""
    parts = item.veils if isinstance(item, _WITH_SECRETS) else ()
    return frozenset((audience_of(item), *(part.audience for part in parts)))


def as_seen(item: T, viewer: Viewer) -> T | None:
    """Return the item as a viewer sees it; None: it does not exist for the viewer."""
    if not viewer.may_see(audience_of(item)):
        return None
    if not isinstance(item, _WITH_SECRETS) or not item.veils:
        return item
    seen: T = _reveal_parts(item, [part for part in item.veils if viewer.may_see(part.audience)])
    return seen


def may_all_know(observation: Observation, entity: Entity) -> bool:
    """Return whether every reader of an entity may know an observation of it."""
    return audience_covers(observation.audience, entity.audience)


def has_variants(item: object) -> bool:
    """Return whether viewers see different variants of the item."""
    return bool(getattr(item, "audience", ()) or getattr(item, "veils", ()))


def in_compartment(item: T) -> T:
    """Return the item without its secret parts, in the compartment of its readers."""
    if not has_variants(item):
        return item
    some: Any = _reveal_parts(item, ()) if isinstance(item, _WITH_SECRETS) else item
    home: T = with_changes(some, space=compartment_id(some.space, {some.audience: True}))
    return home


def list_variants(item: T) -> Iterator[T]:
    """Return the item as each kind of viewer sees it, each in the compartment of those viewers."""
    if not has_variants(item):
        yield item
        return
    some: Any = item
    parts: tuple[Any, ...] = getattr(some, "veils", ())
    for inside in product((False, True), repeat=len(parts)):
        terms = {some.audience: True}
        terms |= {part.audience: is_in for part, is_in in zip(parts, inside, strict=True)}
        shown = [part for part, is_in in zip(parts, inside, strict=True) if is_in]
        seen = _reveal_parts(some, shown) if parts else some
        yield with_changes(seen, space=compartment_id(some.space, terms))


def add_secret_part(item: Any, audience: Audience, at: int, **changes: Any) -> tuple[Any, ...]:
    """Return an item's secret parts after `audience` learns these changes at position `at`."""
    kind: Any = SecretEntityPart if isinstance(item, Entity) else SecretPart
    if len({part.audience for part in item.veils} - {audience}) >= SECRET_PARTS_MAX:
        audience = GAME_MASTERS
    before = next((part for part in item.veils if part.audience == audience), None)
    known = before or kind(audience=audience)
    last = known if known.at == item.changed_at else None
    for part in item.veils if at == item.changed_at else ():  # other secret parts of this commit
        last = last or (part if part.at == at else None)
    since = item.changed_at if last is None else last.before
    grown = with_changes(_join_values(known, changes), at=at, before=since)
    others = (part for part in item.veils if part.audience != audience)
    return tuple(sorted((*others, grown), key=lambda part: part.audience))


def _reveal_parts(item: Any, shown: Any) -> Any:
    """Apply the shown secret parts to the item and remove all of them."""
    changed_at = item.changed_at
    shown = tuple(shown)
    news = {part.at for part in shown}
    hidden = {v.at: v.before for v in item.veils if v.at != v.before and v.at not in news}
    while changed_at in hidden:
        changed_at = hidden[changed_at]
    seen = with_changes(item, veils=(), changed_at=changed_at)
    for part in sorted(shown, key=lambda one: wide_first(one.audience)):
        values = {name: getattr(part, name) for name in _SECRET_FIELDS[type(part)]}
        changes = {name: value for name, value in values.items() if value not in (None, ())}
        if changes.pop("ended", None) is not None:
            changes |= _fitting_end(seen, _end_of_part(part))
        seen = _join_values(seen, changes)
    return seen


def end_for_audience(item: Any, audience: Audience, at: int, **end: Any) -> Mapping[str, Any]:
    """Return the changes of an item that ends or continues, for an audience that knows it.

    Secret parts about its end are dropped once all readers know the same.
    """
    alone = end["ended"] and end["superseded_by"] is None and isinstance(item, Relation)
    own_ends = (end["until"],) if alone else ()
    if not audience_covers(audience, item.audience):
        return {"veils": add_secret_part(item, audience, at, **end, said_ends=own_ends)}
    others = (
        with_changes(v, **_AS_OTHERS, said_ends=()) if _end_of_part(v) == end else v
        for v in item.veils
    )
    parts_left = tuple(
        v for v in others if with_changes(v, at=0, before=0) != SecretPart(audience=v.audience)
    )
    kept = {"said_ends": own_ends} if own_ends else {}
    return {**_fitting_end(item, end), **kept, "veils": parts_left}


def resume_for_audience(
    item: Any, audience: Audience, at: int, retracted: str | None
) -> Mapping[str, Any]:
    """Return the changes of an item whose end by `retracted` is undone for an audience.

    An end that was recorded without a successor applies again. If only they knew of the end by
    `retracted`, the end that others know of, if any, applies to them again. If the item was
    retconned in favour of `retracted`, or alone, it is canon again, and its end stays.
    """
    seen: Any = as_seen(item, viewer_of(audience)) or item
    if (seen.level, seen.replaced_by) == (CanonLevel.RETCONNED, retracted):
        blank = {"replaced_by": None, "retcon_reason": None}
        if item.level is CanonLevel.RETCONNED:
            return {"level": CanonLevel.CANON, **blank}
        return {"veils": add_secret_part(item, audience, at, level=None, **blank)}
    own = next((part for part in item.veils if part.audience == audience), None)
    if retracted is not None and own is not None and own.superseded_by == retracted:
        parts = add_secret_part(item, audience, at, **_AS_OTHERS)
        then: Any = as_seen(with_changes(item, veils=parts), viewer_of(audience))
        if then.superseded_by != retracted:
            return {"veils": parts}
    if not isinstance(seen, Relation) or not seen.said_ends:
        return end_for_audience(item, audience, at, **{**_AS_OTHERS, "ended": False})
    if retracted is None:
        return {
            **end_for_audience(item, audience, at, **{**_AS_OTHERS, "ended": False}),
            "said_ends": (),
        }
    own_end = {"ended": True, "until": seen.said_ends[-1], "superseded_by": None}
    return end_for_audience(item, audience, at, **own_end)


def _end_of_part(part: SecretPart) -> dict[str, Any]:
    return {name: getattr(part, name) for name in _ENDING}


def _fitting_end(item: Any, end: dict[str, Any]) -> dict[str, Any]:
    """Return an end in the fields that the item has for it."""
    return {name: value for name, value in end.items() if hasattr(item, name)}


def _join_values(base: Any, changes: dict[str, Any]) -> Any:
    """Join secret values to the base: single values replace, collections add."""
    joined: dict[str, Any] = {}
    for name, value in changes.items():
        now = getattr(base, name)
        if name in {"own", "absorbed"}:
            joined[name] = join_accumulators(now, value, policy_of)
        elif name in {"sightings", "absorbed_sightings"}:
            joined[name] = now + value
        elif isinstance(value, tuple):
            joined[name] = tuple(dict.fromkeys((*now, *value)))
        else:
            joined[name] = value
    return with_changes(base, **joined) if joined else base


_SECRET_FIELDS: Final = {
    kind: tuple(each.name for each in fields(kind) if each.name not in {"audience", "at", "before"})
    for kind in (SecretEntityPart, SecretPart)
}
