"""Audiences: who may see a thing, who looks, and the compartments that things of one space lie in.

A reader is the game masters together (`gm`), a character or a player. Nobody named: everybody may
see it. The game masters see everything, so that every audience includes them.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

from canonry.values.errors import InvalidInput
from canonry.values.ids import SpaceId, is_uuid

Reader: TypeAlias = str
"""`gm`, `character:<entity id>` or `player:<user>`."""

Audience: TypeAlias = tuple[Reader, ...]
"""The readers of a thing, sorted; empty: everybody."""

EVERYBODY: Final[Audience] = ()
GAME_MASTERS: Final[Audience] = ("gm",)
READERS_MAX: Final = 20
_READER_LENGTH: Final = 200
_CHARACTER: Final = "character:"
_PLAYER: Final = "player:"
_APART: Final = "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Somebody who looks: all that any of the `readers` may see, or `together` what each may."""

    masters: bool = False
    readers: frozenset[Reader] = frozenset()
    together: bool = False

    def sees(self, audience: Audience) -> bool:
        """Whether a thing with this audience is there for them."""
        if not audience or self.masters:
            return True
        if self.together:
            return bool(self.readers) and self.readers.issubset(audience)
        return not self.readers.isdisjoint(audience)


ALL_SEEING: Final = Viewer(masters=True)
ANYBODY: Final = Viewer()
"""Who sees only what everybody may see."""


def viewer_of(audience: Audience) -> Viewer:
    """Who sees what each reader of `audience` may see: by what they know something is judged."""
    if GAME_MASTERS[0] in audience:
        return ALL_SEEING
    return Viewer(readers=frozenset(audience), together=True) if audience else ANYBODY


def character(entity_id: str) -> Reader:
    """The reader that a character is."""
    return _CHARACTER + entity_id


def player(user: str) -> Reader:
    """The reader that a player is."""
    return _PLAYER + user


def narrowest(audiences: Iterable[Audience]) -> Audience:
    """Who may see all of several things; where that is nobody, the game masters alone."""
    common: Audience = EVERYBODY
    for one in audiences:
        if not one:
            continue
        both = tuple(reader for reader in one if reader in common) if common else one
        common = both or GAME_MASTERS
    return common


def covers(wide: Audience, narrow: Audience) -> bool:
    """Whether all who may see something with the audience `narrow` may also see one of `wide`."""
    return viewer_of(narrow).sees(wide)


def wide_first(audience: Audience) -> tuple[bool, bool, int, Audience]:
    """Sorts audiences so that each comes after those whose things it sees; the masters last."""
    return audience == GAME_MASTERS, audience != EVERYBODY, -len(audience), audience


def audience_in(value: object, *, path: str = "/audience") -> Audience:
    """The audience that somebody writes: `everyone`, `gm`, or a list of characters and players.

    Raises:
        InvalidInput: `audience.malformed`.
    """
    if value in ("everyone", ["everyone"]):
        return EVERYBODY
    named = (value,) if isinstance(value, str) else value
    if isinstance(named, list | tuple) and 0 < len(named) <= READERS_MAX:
        readers = {_reader(one) for one in named}
        if None not in readers:
            found = sorted(one for one in readers if one is not None)
            return GAME_MASTERS if GAME_MASTERS[0] in found and len(found) == 1 else _named(found)
    message = (
        f"{path} is who may see it: 'everyone', 'gm' (the game masters alone), or up to "
        f"{READERS_MAX} of 'character:<entity id>' and 'player:<user>'"
    )
    raise InvalidInput("audience.malformed", message, path=path)


def _named(readers: Iterable[Reader]) -> Audience:
    """The game masters see it anyway, so that they are named only where nobody else is."""
    return tuple(one for one in readers if one != GAME_MASTERS[0])


def _reader(value: object) -> Reader | None:
    if not isinstance(value, str) or len(value) > _READER_LENGTH or not value.isprintable():
        return None
    if value == GAME_MASTERS[0]:
        return value
    if value.startswith(_CHARACTER) and is_uuid(value[len(_CHARACTER) :]):
        return value.lower()
    return value if value.startswith(_PLAYER) and value != _PLAYER else None


Terms: TypeAlias = Mapping[Audience, bool]
"""Which audiences a viewer belongs to, and which not."""


def compartment(space: SpaceId, terms: Terms) -> SpaceId:
    """Where a thing lies for the viewers of whom the terms hold: the space, where there are none.

    Lists, totals and figures of words are kept by compartment, so that each viewer's are as if what
    lies elsewhere did not exist.
    """
    held = {audience: inside for audience, inside in terms.items() if audience}
    if not held:
        return space
    spelled = json.dumps([[inside, *audience] for audience, inside in sorted(held.items())])
    return SpaceId(f"{space}{_APART}{spelled}")


@lru_cache(maxsize=4096)
def space_of(name: str) -> SpaceId:
    """The space that a compartment is a part of."""
    return SpaceId(name.partition(_APART)[0])


def is_part(name: str) -> bool:
    """Whether this names a compartment, and not a space."""
    return _APART in name


def is_open(name: str, viewer: Viewer) -> bool:
    """Whether what lies in a compartment is there for a viewer."""
    return all(viewer.sees(audience) is inside for inside, audience in _terms(name))


@lru_cache(maxsize=4096)
def _terms(name: str) -> tuple[tuple[bool, Audience], ...]:
    _, _, spelled = name.partition(_APART)
    terms: list[list[Any]] = json.loads(spelled) if spelled else []
    return tuple((bool(inside), tuple(readers)) for inside, *readers in terms)
