"""The context of one call of the default toolset: who calls, and in which space."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from canonry.canon.queries.listings import ChosenSpace, choose_space, spaces_held
from canonry.canon.queries.names import find_named
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.spoken_times import calendar_of, in_words
from canonry.gateway.replies import BOOLEAN, INTEGER, TEXT, Field, array, obj
from canonry.gateway.tool import Arguments, Schema
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.items.sources import entity_id_behind
from canonry.values.audience import EVERYBODY as ALL_READERS
from canonry.values.audience import Audience, audience_in, character
from canonry.values.calendars.reckoning import GREGORIAN, spoken
from canonry.values.errors import InvalidInput, NotAllowed, NotFound, NotSupported
from canonry.values.ids import SpaceId, SpaceKind, is_uuid
from canonry.values.json_values import encode_json, folded
from canonry.values.moments import DAY, Instant, parse_instant, render_instant

PAGE_DEFAULT: Final = 10
PAGE_MAX: Final = 50
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)

NAME_MAX: Final = 500
SPACE: Final = TEXT.but(
    description="Name or id of a space. Default: reads look in all, writes use the last one used."
)
AT: Final = TEXT.but(
    description="Valid time of the state to show: a date or an RFC 3339 time; default now."
)
KNOWN_AT: Final = TEXT.but(
    description="Transaction time: use only records made by this date or RFC 3339 time."
)
FULL: Final = BOOLEAN.but(description="true returns whole texts and all details; default false.")
ANYTHING: Final = Field({"type": "object"})
PAGING: Final[Mapping[str, Field]] = {
    "limit": INTEGER.but(description="Number of rows, 1 to 50; default 10."),
    "cursor": TEXT.but(
        description="Value of `next` in the previous reply; omit for the first page."
    ),
}
_NAMED_MAX: Final = 50
_READERS: Final = frozenset({"gm", "everyone"})


def named(description: str) -> Field:
    """An argument that names something."""
    return TEXT.but(description=description)


def names(description: str) -> Field:
    """An argument that names several things."""
    return array(TEXT).but(description=description)


def takes(required: Mapping[str, Field], optional: Mapping[str, Field]) -> Schema:
    """The schema of arguments, in as few words as it takes: the gateway closes every object."""
    schema = obj(required, optional)
    kept = ("type", "properties", *(("required",) if required else ()))
    return {key: schema[key] for key in kept}


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A space of a caller, and how its things and times are found by what calls them."""

    canon: Canon
    caller: Caller
    space: ChosenSpace

    @property
    def is_account(self) -> bool:
        """Whether it is the caller's own records and documents."""
        return self.space.kind is SpaceKind.ACCOUNT

    async def thing(self, text: str, *kinds: type, path: str) -> Thing:
        """What a text names here."""
        checked(text, NAME_MAX, path=path)
        return await find_named(self.canon, self.caller, self.space.id, text, kinds, path=path)

    async def entity(self, text: str, *, path: str) -> Entity:
        """The entity that a text names here."""
        found = await self.thing(text, Entity, path=path)
        assert isinstance(found, Entity)  # noqa: S101 - the kind was asked for
        return found

    async def merged(self, text: str, *, path: str) -> str:
        """The id of somebody who was merged into another, by that id or by their own name."""
        if is_uuid(text.strip()):
            return text.strip().lower()
        root = await self.entity(text, path=path)
        members = (await self.canon.seen_by(self.caller).things(root.members)).values()
        known = (one for one in members if isinstance(one, Entity))
        named = [one.id for one in known if folded(text.strip()) in one.known_as]
        return named[0] if len(named) == 1 else root.id

    async def entities(self, texts: Sequence[str], *, path: str) -> Sequence[Entity]:
        """The entities that texts name here, each once."""
        require_few(texts, path)
        found = [await self.entity(each, path=f"{path}/{n}") for n, each in enumerate(texts)]
        return list({each.id: each for each in found}.values())

    async def reader(self, text: str, *, path: str) -> str:
        """Somebody who may know: as it is written, or the character of that name."""
        if text in _READERS or ":" in text:
            return text
        return character((await self.entity(text, path=path)).id)

    async def audience(self, arguments: Arguments) -> Audience:
        """Who alone may know of what a call keeps; everybody where it does not say.

        Raises:
            InvalidInput: `audience.malformed`, or as names are found.
        """
        if (texts := arguments.get("for")) is None:
            return ALL_READERS
        require_few(texts, "/for")
        readers = [await self.reader(each, path=f"/for/{n}") for n, each in enumerate(texts)]
        return audience_in(readers, path="/for")

    def require_reader(self, audience: Audience, *, path: str) -> None:
        """Refuse to keep words that whoever keeps them may not read.

        Raises:
            NotAllowed: `audience.beyond`.
        """
        if not self.caller.viewer.sees(audience):
            message = (
                f"{path} would keep words that you may not read yourself, so you could not cite "
                "them; add a character whom you play to for"
            )
            raise NotAllowed("audience.beyond", message, path=path)

    async def time(
        self,
        arguments: Arguments,
        name: str,
        *,
        end_of_day: bool = False,
        at: Thing | None = None,
    ) -> Instant | None:
        """A time in the world that may be missing: a date, RFC 3339, or words of its calendar.

        "Next day" counts from the present `at` a story or a scene.
        """
        text = arguments.get(name)
        if text is None:
            return None
        path = f"/{name}"
        if _DATE.fullmatch(text) or self.space.opened is None:
            return recorded_time(text, path=path, end_of_day=end_of_day)
        place = at or self.space.opened
        return await in_words(self.canon, self.caller, place, lambda read: read(text, path))

    def spoken(self, instant: Instant) -> str:
        """A time of the world in the words of the calendar that the space has declared, if any."""
        opened = self.space.opened
        calendar = GREGORIAN if opened is None else calendar_of(opened)
        return render_instant(instant) if calendar is GREGORIAN else spoken(instant, calendar)

    def require_told(self, what: str, instead: str) -> str:
        """The id of the space, if claims are judged in it.

        Raises:
            NotSupported: `space.not-told`, with what to do instead.
        """
        if self.space.told:
            return self.space.id
        if self.space.kind is SpaceKind.PROJECT:
            instead = "its rows come from `canonry catalog import`; open a space for what you say"
        message = f"{what} has no place in {self._kind()}: {instead}"
        raise NotSupported("space.not-told", message, path="/space")

    def require_writable(self) -> None:
        """Refuse to write to what is only read here.

        Raises:
            NotSupported: `space.read-only`.
        """
        if not self.space.told and not self.is_account:
            message = (
                f"{self._kind()} is only read here; its rows come from `canonry catalog import`"
            )
            raise NotSupported("space.read-only", message, path="/space")

    def _kind(self) -> str:
        return f"{self.space.name}, which is {_KINDS[self.space.kind]}"


_KINDS: Final = {
    SpaceKind.ACCOUNT: "your own account of documents and records",
    SpaceKind.PROJECT: "a project of a catalog",
    SpaceKind.MULTIVERSE: "a group of spaces",
    SpaceKind.UNIVERSE: "a space of its own",
    SpaceKind.WORLD: "a world",
}


async def desk_of(
    canon: Canon, caller: Caller, arguments: Arguments, *names: str, opens: bool = False
) -> Desk:
    """The desk of a call: where it says, else where what it names lies, else that used last.

    A call that `opens` what it names means the space used last, even if only another has the name.

    Raises:
        NotFound: `space.unknown`.
        InvalidInput: `space.ambiguous`, with the call that would work.
    """
    named = arguments.get("space")
    if named is not None:
        checked(named, NAME_MAX, path="/space")
    elif (named := await space_by_id(canon, caller, arguments, *names)) is None and not (
        opens and caller.space_used_last
    ):
        named = await _space_by_name(canon, caller, _listed(arguments, *names))
    try:
        space = await choose_space(canon, caller, named)
    except InvalidInput as error:
        raise _with_example(error, caller.tool, arguments) from error
    caller.use(space.id)
    return Desk(canon=canon, caller=caller, space=space)


async def space_by_id(
    canon: Canon, caller: Caller, arguments: Arguments, *names: str
) -> SpaceId | None:
    """The space of the first thing that these arguments name by its id."""
    for text in _listed(arguments, *names):
        plain = text.strip().rpartition(":")[2]
        given = plain.lower() if is_uuid(plain) else entity_id_behind(text)
        thing = None if given is None else await canon.seen_by(caller).thing(given)
        if thing is not None:
            return thing.space
    return None


async def _space_by_name(canon: Canon, caller: Caller, texts: Sequence[str]) -> SpaceId | None:
    """The only space in which the first of these names means anything; the one used last first."""
    held = await spaces_held(canon, caller) if texts and caller.world is None else ()
    found: list[SpaceId] = []
    for space in held[:_LOOKED_MAX] if len(held) > 1 else ():
        try:
            await find_named(canon, caller, space.id, texts[0])
        except NotFound:
            continue
        except InvalidInput:
            pass  # several things are called so, and all of them lie there
        if space.id == caller.space_used_last:
            return space.id
        found.append(space.id)
    return found[0] if len(found) == 1 else None


def _listed(arguments: Arguments, *names: str) -> list[str]:
    """The texts of these arguments; those of claims where a name says so, as in `claims/of`."""
    found: list[str] = []
    for name in names:
        outer, _, inner = name.partition("/")
        given = arguments.get(outer)
        parts = [each.get(inner) for each in given or ()] if inner else [given]
        for value in parts:
            found += [value] if isinstance(value, str) else (value or ())
    return found


def _with_example(error: InvalidInput, tool: str, arguments: Arguments) -> InvalidInput:
    """The error with the call as it would work, its long texts shortened."""
    names = error.details.get("names", ())
    if not names:
        return error
    call = {"tool": tool, "arguments": {**_brief(arguments), "space": names[0]}}
    message = f"{error.message.removesuffix('.')}, for example {encode_json(call).decode()}"
    details = {name: each for name, each in error.details.items() if name != "names"}
    return InvalidInput(error.code, message, **details, call=call)


def _brief(value: Any) -> Any:
    match value:
        case str():
            return value if len(value) <= _EXAMPLE else f"{value[:_EXAMPLE]}…"
        case Mapping():
            return {name: _brief(each) for name, each in value.items()}
        case list():
            return [_brief(each) for each in value[:2]]
        case _:
            return value


_EXAMPLE: Final = 40
_LOOKED_MAX: Final = 20


def recorded_time(text: str, *, path: str, end_of_day: bool = False) -> Instant:
    """A time of ours: RFC 3339, or a date, which means its beginning or its end."""
    if not _DATE.fullmatch(text):
        return parse_instant(text, path=path)
    start = parse_instant(f"{text}T00:00:00Z", path=path)
    return Instant(start + DAY - 1) if end_of_day else start


def known_at(arguments: Arguments) -> Instant | None:
    """The instant whose knowledge is asked for, if any is; a date means the end of that day."""
    text = arguments.get("as_known_at")
    return None if text is None else recorded_time(text, path="/as_known_at", end_of_day=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which rows are wanted, and how long they may be."""

    limit: int
    offset: int
    full: bool


def wanted(arguments: Arguments) -> Wanted:
    """The page that the arguments ask for.

    Raises:
        InvalidInput: `cursor.malformed` or `limit.out-of-range`.
    """
    cursor = arguments.get("cursor", "0")
    if not cursor.isascii() or not cursor.isdecimal() or len(cursor) > 9:  # noqa: PLR2004
        message = "a cursor is the next of an earlier reply; leave it out to begin"
        raise InvalidInput("cursor.malformed", message, path="/cursor")
    limit = int(arguments.get("limit", PAGE_DEFAULT))
    if not 1 <= limit <= PAGE_MAX:
        message = f"/limit lies between 1 and {PAGE_MAX}"
        raise InvalidInput("limit.out-of-range", message, path="/limit", maximum=PAGE_MAX)
    return Wanted(limit=limit, offset=int(cursor), full=bool(arguments.get("full")))


def checked(text: str, most: int, *, path: str) -> str:
    """The text, if it says something and is not too long.

    Raises:
        InvalidInput: `text.empty` or `text.too-long`.
    """
    if not text.strip():
        raise InvalidInput("text.empty", f"{path} is empty; say something", path=path)
    if len(text) > most:
        message = f"{path} has {len(text)} characters; the limit is {most}"
        raise InvalidInput("text.too-long", message, path=path, limit=most)
    return text


def require_few(texts: Sequence[str], path: str) -> None:
    """Refuse to look up more names than one call may.

    Raises:
        InvalidInput: `list.too-long`.
    """
    if len(texts) > _NAMED_MAX:
        message = f"{path} has {len(texts)} items; the limit is {_NAMED_MAX}"
        raise InvalidInput("list.too-long", message, path=path, limit=_NAMED_MAX)


READER: Final = "Reader"
CONTRIBUTOR: Final = "Contributor"
KEEPER: Final = "Keeper"
SOLO: Final = "Solo"
"""One person on their own machine, who tells, proposes and decides."""

EVERYBODY: Final = frozenset({READER, CONTRIBUTOR, KEEPER, SOLO})
CONTRIBUTORS: Final = frozenset({CONTRIBUTOR, KEEPER, SOLO})
KEEPERS: Final = frozenset({KEEPER, SOLO})
