"""Veils: what a thing is to each viewer, and in which compartments its variants lie.

What only an audience knows of a thing that others see too lies beside it as a veil. Without its
veils a thing is as if what they say had never been told.
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

T = TypeVar("T")
VEILS_MAX: Final = 4
"""What further audiences would know of one thing the game masters alone know, so that no thing has
too many variants to list."""

_ENDING: Final = ("ended", "until", "superseded_by")
_AS_OTHERS: Final = dict.fromkeys(_ENDING)
"""No end that only an audience knows of."""
_VEILED: Final = (Entity, Fact, Event, Relation)


def audience_of(thing: object) -> Audience:
    """Who may see a thing; things that have no audience are everybody's."""
    found: Audience = getattr(thing, "audience", ())
    return found


def audiences_in(thing: object) -> frozenset[Audience]:
    """Who knows of a thing, and who knows more of it."""
    veils = thing.veils if isinstance(thing, _VEILED) else ()
    return frozenset((audience_of(thing), *(veil.audience for veil in veils)))


def as_seen(thing: T, viewer: Viewer) -> T | None:
    """The thing as it is to a viewer; None where to them it does not exist."""
    if not viewer.sees(audience_of(thing)):
        return None
    if not isinstance(thing, _VEILED) or not thing.veils:
        return thing
    seen: T = _lifted(thing, [veil for veil in thing.veils if viewer.sees(veil.audience)])
    return seen


def tells_of(observation: Observation, entity: Entity) -> bool:
    """Whether all who may see an entity may know what was observed of it."""
    return covers(observation.audience, entity.audience)


def is_veiled(thing: object) -> bool:
    """Whether it is not the same to everybody."""
    return bool(getattr(thing, "audience", ()) or getattr(thing, "veils", ()))


def homed(thing: T) -> T:
    """The thing without its veils, in the compartment of those who may see it."""
    return _home(thing) if is_veiled(thing) else thing


def _home(thing: Any) -> Any:
    some: Any = thing
    if isinstance(thing, _VEILED):
        some = _lifted(thing, ())
    return revised(some, space=compartment(some.space, {some.audience: True}))


def variants(thing: T) -> Iterator[T]:
    """The thing as each kind of viewer sees it, each in the compartment of those viewers."""
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
    """The veils of a thing once an audience knows this of it too, from the position `at` on."""
    kind: Any = EntityVeil if isinstance(thing, Entity) else Veil
    if len({veil.audience for veil in thing.veils} - {audience}) >= VEILS_MAX:
        audience = GAME_MASTERS
    before = next((veil for veil in thing.veils if veil.audience == audience), None)
    known = before or kind(audience=audience)
    last = known if known.at == thing.changed_at else None
    for veil in thing.veils if at == thing.changed_at else ():  # others were told in this commit
        last = last or (veil if veil.at == at else None)
    since = thing.changed_at if last is None else last.before
    grown = revised(_joined(known, changes), at=at, before=since)
    others = (veil for veil in thing.veils if veil.audience != audience)
    return tuple(sorted((*others, grown), key=lambda veil: veil.audience))


def _lifted(thing: Any, shown: Any) -> Any:
    """The thing with what the shown veils say, and none left."""
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
    """What changes of a thing that ends so, or holds on, as far as an audience knows of it.

    What only some know of its end counts no longer where all know the same.
    """
    if not covers(audience, thing.audience):
        return {"veils": veiled(thing, audience, at, **end)}
    others = (revised(v, **_AS_OTHERS) if _end_in(v) == end else v for v in thing.veils)
    telling = tuple(v for v in others if revised(v, at=0, before=0) != Veil(audience=v.audience))
    return {**_end(thing, end), "veils": telling}


def resumed(thing: Any, audience: Audience, at: int, fallen: str | None) -> Mapping[str, Any]:
    """What changes of a thing that had ended by what has `fallen` for an audience.

    Where they alone knew of that end, it has ended for them as it has for others, if it has.
    """
    own = next((veil for veil in thing.veils if veil.audience == audience), None)
    if fallen is not None and own is not None and own.superseded_by == fallen:
        veils = veiled(thing, audience, at, **_AS_OTHERS)
        seen: Any = as_seen(revised(thing, veils=veils), viewer_of(audience))
        if seen.superseded_by != fallen:
            return {"veils": veils}
    return ended(thing, audience, at, **{**_AS_OTHERS, "ended": False})


def _end_in(veil: Veil) -> dict[str, Any]:
    return {name: getattr(veil, name) for name in _ENDING}


def _end(thing: Any, end: dict[str, Any]) -> dict[str, Any]:
    """An end in the fields that the thing has for it."""
    return {name: value for name, value in end.items() if hasattr(thing, name)}


def _joined(base: Any, changes: dict[str, Any]) -> Any:
    """What is said of a whole replaces it; what is said of parts comes beside the others."""
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
