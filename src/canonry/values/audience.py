"""Audiences: the readers of an item, its viewers, and the compartments of a space.

A reader is the game masters together (`gm`), a character or a player. An empty audience means
everybody. The game masters see everything and belong to every audience.
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
"""The readers of an item, sorted; empty: everybody."""

EVERYBODY: Final[Audience] = ()
GAME_MASTERS: Final[Audience] = ("gm",)
READERS_MAX: Final = 20  # each item and each list names all of them
_READER_LENGTH: Final = 200  # longer than any id
_CHARACTER: Final = "character:"
_PLAYER: Final = "player:"
_APART: Final = "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """A viewer who sees what any of `readers` may see, or what all may, with `every_reader`."""

    masters: bool = False
    readers: frozenset[Reader] = frozenset()
    every_reader: bool = False

    def may_see(self, audience: Audience) -> bool:
        """Return whether an item with this audience exists for the viewer."""
        if not audience or self.masters:
            return True
        if self.every_reader:
            return bool(self.readers) and self.readers.issubset(audience)
        return not self.readers.isdisjoint(audience)


FULL_VIEWER: Final = Viewer(masters=True)
ANYBODY: Final = Viewer()
"""The viewer that sees only public items."""


def viewer_of(audience: Audience) -> Viewer:
    """Return the viewer of what every reader of `audience` may see; it judges their proposals."""
    if GAME_MASTERS[0] in audience:
        return FULL_VIEWER
    return Viewer(readers=frozenset(audience), every_reader=True) if audience else ANYBODY


def character_reader(entity_id: str) -> Reader:
    """Return the reader for a character."""
    return _CHARACTER + entity_id


def player_reader(user: str) -> Reader:
    """Return the reader for a player."""
    return _PLAYER + user


def narrowest(audiences: Iterable[Audience]) -> Audience:
    """Return the audience that may see all of several items; if it is empty, the game masters."""
    common: Audience = EVERYBODY
    for one in audiences:
        if not one:
            continue
        both = tuple(reader for reader in one if reader in common) if common else one
        common = both or GAME_MASTERS
    return common


def audience_covers(wide: Audience, narrow: Audience) -> bool:
    """Return whether every reader of `narrow` may also see an item with the audience `wide`."""
    return viewer_of(narrow).may_see(wide)


def wide_first(audience: Audience) -> tuple[bool, bool, int, Audience]:
    """Sort key of audiences: each comes after those that it includes, the game masters last."""
    return audience == GAME_MASTERS, audience != EVERYBODY, -len(audience), audience


def audience_in(value: object, *, path: str = "/audience") -> Audience:
    """Read an audience: `everyone`, `gm`, or a list of characters and players.

    Raises:
        InvalidInput: `audience.malformed`.
    """
    if value in ("everyone", ["everyone"]):
        return EVERYBODY
    named = (value,) if isinstance(value, str) else value
    if isinstance(named, list | tuple) and 0 < len(named) <= READERS_MAX:
        readers = {_read_reader(one) for one in named}
        if None not in readers:
            found = sorted(one for one in readers if one is not None)
            return (
                GAME_MASTERS
                if GAME_MASTERS[0] in found and len(found) == 1
                else tuple(one for one in found if one != GAME_MASTERS[0])
            )
    message = (
        f"{path} is not an audience. Give 'everyone', 'gm' (game masters only), or a list of up to "
        f"{READERS_MAX} readers like 'character:<entity id>' and 'player:<user>'."
    )
    raise InvalidInput("audience.malformed", message, path=path)


def _read_reader(value: object) -> Reader | None:
    if not isinstance(value, str) or len(value) > _READER_LENGTH or not value.isprintable():
        return None
    if value == GAME_MASTERS[0]:
        return value
    if value.startswith(_CHARACTER) and is_uuid(value[len(_CHARACTER) :]):
        return value.lower()
    return value if value.startswith(_PLAYER) and value != _PLAYER else None


Terms: TypeAlias = Mapping[Audience, bool]
"""Maps audiences to whether a viewer belongs to them."""


def compartment_id(space: SpaceId, terms: Terms) -> SpaceId:
    """Return the compartment of viewers for whom the terms hold; without terms, the space.

    Lists, totals and word counts are kept by compartment, so that a viewer's results are as if
    hidden items did not exist.
    """
    held = {audience: inside for audience, inside in terms.items() if audience}
    if not held:
        return space
    spelled = json.dumps([[inside, *audience] for audience, inside in sorted(held.items())])
    return SpaceId(f"{space}{_APART}{spelled}")


@lru_cache(maxsize=4096)  # each list of each item asks for it
def space_of(name: str) -> SpaceId:
    """Return the space of a compartment."""
    return SpaceId(name.partition(_APART)[0])


def is_compartment(name: str) -> bool:
    """Return whether the name is that of a compartment, not of a space."""
    return _APART in name


def may_view(name: str, viewer: Viewer) -> bool:
    """Return whether a viewer may see the items of a compartment."""
    return all(viewer.may_see(audience) is inside for inside, audience in _read_terms(name))


@lru_cache(maxsize=4096)  # each list of each item asks for it
def _read_terms(name: str) -> tuple[tuple[bool, Audience], ...]:
    _, _, spelled = name.partition(_APART)
    terms: list[list[Any]] = json.loads(spelled) if spelled else []
    return tuple((bool(inside), tuple(readers)) for inside, *readers in terms)
