"""Secret parts: an item as each viewer sees it, and the compartments of its variants.

A secret part (in code: `veil`) is information about a visible item that only one audience knows. An
item without its secret parts is as if nobody had recorded them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import product
from typing import Any, Final, TypeVar

from canonry.log.items.entities import Entity, EntityVeil
from canonry.log.items.facts import Event, Fact, Relation, Veil
from canonry.log.schemas.narrative import policy_of
from canonry.values.audience import (
    GAME_MASTERS,
    Audience,
    Viewer,
    compartment,
    covers,
    viewer_of,
    wide_first,
)
from canonry.values.fields import revised
from canonry.values.merge import join
from canonry.values.observations import Observation
from canonry.values.provenance import CanonLevel

T = TypeVar("T")
VEILS_MAX: Final = 4
"""The most secret parts of one item, so that it never has too many variants to list.

Those of further audiences are kept for the game masters alone."""

_ENDING: Final = ("ended", "until", "superseded_by")
_AS_OTHERS: Final = dict.fromkeys(_ENDING)
"""No end that only an audience knows of."""
_VEILED: Final = (Entity, Fact, Event, Relation)


def audience_of(thing: object) -> Audience:
    """Return the audience of an item; items without one are visible to everybody."""
    found: Audience = getattr(thing, "audience", ())
    return found


def audiences_in(thing: object) -> frozenset[Audience]:
    """Return the audiences of an item and of its secret parts."""
    veils = thing.veils if isinstance(thing, _VEILED) else ()
    return frozenset((audience_of(thing), *(veil.audience for veil in veils)))


def as_seen(thing: T, viewer: Viewer) -> T | None:
    """Return the item as a viewer sees it; None: it does not exist for the viewer."""
    if not viewer.sees(audience_of(thing)):
        return None
    if not isinstance(thing, _VEILED) or not thing.veils:
        return thing
    seen: T = _lifted(thing, [veil for veil in thing.veils if viewer.sees(veil.audience)])
    return seen


def tells_of(observation: Observation, entity: Entity) -> bool:
    """Return whether every reader of an entity may know an observation of it."""
    return covers(observation.audience, entity.audience)


def is_veiled(thing: object) -> bool:
    """Return whether viewers see different variants of it."""
    return bool(getattr(thing, "audience", ()) or getattr(thing, "veils", ()))


def homed(thing: T) -> T:
    """Return the item without its secret parts, in the compartment of its readers."""
    if not is_veiled(thing):
        return thing
    some: Any = _lifted(thing, ()) if isinstance(thing, _VEILED) else thing
    home: T = revised(some, space=compartment(some.space, {some.audience: True}))
    return home


def variants(thing: T) -> Iterator[T]:
    """Return the item as each kind of viewer sees it, each in the compartment of those viewers."""
    if not is_veiled(thing):
        yield thing
        return
    some: Any = thing
    veils: tuple[Any, ...] = getattr(some, "veils", ())
    for inside in product((False, True), repeat=len(veils)):
        terms = {some.audience: True}
        terms |= {veil.audience: is_in for veil, is_in in zip(veils, inside, strict=True)}
        shown = [veil for veil, is_in in zip(veils, inside, strict=True) if is_in]
        seen = _lifted(some, shown) if veils else some
        yield revised(seen, space=compartment(some.space, terms))


def veiled(thing: Any, audience: Audience, at: int, **changes: Any) -> tuple[Any, ...]:
    """Return an item's secret parts after `audience` learns these changes at position `at`."""
    kind: Any = EntityVeil if isinstance(thing, Entity) else Veil
    if len({veil.audience for veil in thing.veils} - {audience}) >= VEILS_MAX:
        audience = GAME_MASTERS
    before = next((veil for veil in thing.veils if veil.audience == audience), None)
    known = before or kind(audience=audience)
    last = known if known.at == thing.changed_at else None
    for veil in thing.veils if at == thing.changed_at else ():  # other secret parts of this commit
        last = last or (veil if veil.at == at else None)
    since = thing.changed_at if last is None else last.before
    grown = revised(_joined(known, changes), at=at, before=since)
    others = (veil for veil in thing.veils if veil.audience != audience)
    return tuple(sorted((*others, grown), key=lambda veil: veil.audience))


def _lifted(thing: Any, shown: Any) -> Any:
    """Apply the shown secret parts to the item and remove all of them."""
    changed_at = thing.changed_at
    shown = tuple(shown)
    news = {veil.at for veil in shown}
    hidden = {v.at: v.before for v in thing.veils if v.at != v.before and v.at not in news}
    while changed_at in hidden:
        changed_at = hidden[changed_at]
    seen = revised(thing, veils=(), changed_at=changed_at)
    for veil in sorted(shown, key=lambda one: wide_first(one.audience)):
        said = {name: getattr(veil, name) for name in _SAID[type(veil)]}
        told = {name: value for name, value in said.items() if value not in (None, ())}
        if told.pop("ended", None) is not None:
            told |= _end(seen, _end_in(veil))
        seen = _joined(seen, told)
    return seen


def ended(thing: Any, audience: Audience, at: int, **end: Any) -> Mapping[str, Any]:
    """Return the changes of an item that ends or continues, as far as an audience knows of it.

    Secret parts about its end are dropped once all readers know the same.
    """
    alone = end["ended"] and end["superseded_by"] is None and isinstance(thing, Relation)
    said = (end["until"],) if alone else ()
    if not covers(audience, thing.audience):
        return {"veils": veiled(thing, audience, at, **end, said_ends=said)}
    others = (
        revised(v, **_AS_OTHERS, said_ends=()) if _end_in(v) == end else v for v in thing.veils
    )
    telling = tuple(v for v in others if revised(v, at=0, before=0) != Veil(audience=v.audience))
    kept = {"said_ends": said} if said else {}
    return {**_end(thing, end), **kept, "veils": telling}


def resumed(thing: Any, audience: Audience, at: int, fallen: str | None) -> Mapping[str, Any]:
    """Return the changes of an item whose end by `fallen` is undone for an audience.

    An end that was recorded without a successor applies again. If only they knew of the end by
    `fallen`, the end that others know of, if any, applies to them again. If the item was retconned
    in favour of `fallen`, or alone, it is canon again, and its end stays.
    """
    seen: Any = as_seen(thing, viewer_of(audience)) or thing
    if (seen.level, seen.replaced_by) == (CanonLevel.RETCONNED, fallen):
        return _restored(thing, audience, at)
    own = next((veil for veil in thing.veils if veil.audience == audience), None)
    if fallen is not None and own is not None and own.superseded_by == fallen:
        veils = veiled(thing, audience, at, **_AS_OTHERS)
        then: Any = as_seen(revised(thing, veils=veils), viewer_of(audience))
        if then.superseded_by != fallen:
            return {"veils": veils}
    if not isinstance(seen, Relation) or not seen.said_ends:
        return ended(thing, audience, at, **{**_AS_OTHERS, "ended": False})
    if fallen is None:
        return {**ended(thing, audience, at, **{**_AS_OTHERS, "ended": False}), "said_ends": ()}
    said = {"ended": True, "until": seen.said_ends[-1], "superseded_by": None}
    return ended(thing, audience, at, **said)


def _restored(thing: Any, audience: Audience, at: int) -> Mapping[str, Any]:
    """Return the changes of an item whose retcon is undone for an audience."""
    blank = {"replaced_by": None, "retcon_reason": None}
    if thing.level is CanonLevel.RETCONNED:
        return {"level": CanonLevel.CANON, **blank}
    return {"veils": veiled(thing, audience, at, level=None, **blank)}


def _end_in(veil: Veil) -> dict[str, Any]:
    return {name: getattr(veil, name) for name in _ENDING}


def _end(thing: Any, end: dict[str, Any]) -> dict[str, Any]:
    """Return an end in the fields that the item has for it."""
    return {name: value for name, value in end.items() if hasattr(thing, name)}


def _joined(base: Any, changes: dict[str, Any]) -> Any:
    """Join secret values to the base: single values replace, collections add."""
    joined: dict[str, Any] = {}
    for name, value in changes.items():
        now = getattr(base, name)
        if name in {"own", "absorbed"}:
            joined[name] = join(now, value, policy_of)
        elif name in {"sightings", "absorbed_sightings"}:
            joined[name] = now + value
        elif isinstance(value, tuple):
            joined[name] = tuple(dict.fromkeys((*now, *value)))
        else:
            joined[name] = value
    return revised(base, **joined) if joined else base


_SAID: Final = {
    kind: tuple(each.name for each in fields(kind) if each.name not in {"audience", "at", "before"})
    for kind in (EntityVeil, Veil)
}
