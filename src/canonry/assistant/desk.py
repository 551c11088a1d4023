"""The context of one call of the default toolset: the caller and the space."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar, cast

from canonry.assistant.rows import shown_as
from canonry.assistant.wording import KINDS
from canonry.canon.canonization.undo_call import TOOLS
from canonry.canon.queries.listings import ChosenSpace, choose_space, spaces_held
from canonry.canon.queries.names import TIMES, at_viewpoint, find_named, may_mean, valid_time
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.narrowing import require_there, there_then, with_clock
from canonry.canon.session.spoken_times import calendar_of, clock_of, scene_time
from canonry.gateway.limits import checked_text
from canonry.gateway.tool import Arguments
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.items.scenes import Scene
from canonry.log.items.sources import entity_id_behind
from canonry.readmodels.ports.state import EntityQuery
from canonry.values.audience import EVERYBODY as ALL_READERS
from canonry.values.audience import Audience, audience_in, character
from canonry.values.calendars.declaring import spoken_as_said
from canonry.values.calendars.reckoning import GREGORIAN, Calendar, spoken
from canonry.values.errors import InvalidInput, NotAllowed, NotFound, NotSupported
from canonry.values.ids import SpaceId, SpaceKind, is_uuid
from canonry.values.json_values import folded
from canonry.values.moments import Instant, render_instant
from canonry.values.provenance import CanonLevel

T = TypeVar("T", bound=Thing)
PAGE_DEFAULT: Final = 10
PAGE_MAX: Final = 50

NAME_MAX: Final = 500
_NAMED_MAX: Final = 50
_MIDNIGHT: Final = re.compile(r"midnight|\b(?:00?:00|12 ?am)", re.IGNORECASE)
_READERS: Final = {"gm": "gm", "owner": "gm", "everyone": "everyone"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """The space of a call, with lookups of its items by name and of its times by words."""

    canon: Canon
    caller: Caller
    space: ChosenSpace

    @property
    def is_account(self) -> bool:
        """Whether the space is the caller's account of records and documents."""
        return self.space.kind is SpaceKind.ACCOUNT

    async def thing(self, text: str, *kinds: type, path: str) -> Thing:
        """Return the item of these kinds that a text names in this space."""
        checked_text(text, NAME_MAX, path=path)
        now = self.canon.now
        if now is None or self.is_account:
            return await self._named(now or self.canon, text, kinds, path)
        try:
            found = await find_named(self.canon, self.caller, self.space.id, text, kinds, path=path)
        except NotFound:
            found = await self._named(now, text, kinds, path)
        return cast("Thing", await require_there(self.canon, found))

    async def _named(self, canon: Canon, text: str, kinds: Sequence[type], path: str) -> Thing:
        """Return the item that a text names, or that replies show by this text."""
        try:
            return await find_named(canon, self.caller, self.space.id, text, kinds, path=path)
        except NotFound as error:
            shown = await shown_as(self, canon, text, kinds)
            if not shown:
                raise await self._unknown(text, error) from error
        if len(shown) > 1:
            raise may_mean([f"{text} ({each.id})" for each in shown], path)
        return shown[0]

    async def _unknown(self, text: str, error: NotFound) -> NotFound:
        """Return the error for a name that matches nothing, or only a retracted entity."""
        level, here = CanonLevel.RETCONNED, frozenset((self.space.id,))
        query = EntityQuery(spaces=here, level=level, name_pattern=text.strip())
        found = (await self.canon.state.entities(query)).items
        gone = [one.id for one in found if folded(text.strip()) in one.known_as]
        for one in (await self.canon.seen_by(self.caller).things(gone[-1:])).values():
            message = f"{error.details['path']} {text!r} was retracted; why of={one.id} tells more."
            return NotFound(error.code, message, path=error.details["path"])
        return error

    async def entity(self, text: str, *, path: str) -> Entity:
        """Return the entity that a text names in this space."""
        found = await self.thing(text, Entity, path=path)
        assert isinstance(found, Entity)  # noqa: S101 - the kind was asked for
        return found

    async def merged(self, text: str, *, path: str) -> str:
        """Return the id of a merged entity, given that id or its former name."""
        if is_uuid(text.strip()):
            return text.strip().lower()
        root = await self.entity(text, path=path)
        members = (await self.canon.seen_by(self.caller).things(root.members)).values()
        known = (one for one in members if isinstance(one, Entity))
        named = [one.id for one in known if folded(text.strip()) in one.known_as]
        return named[0] if len(named) == 1 else root.id

    async def entities(self, texts: Sequence[str], *, path: str) -> Sequence[Entity]:
        """Return the entities that texts name in this space, without repetitions."""
        require_few(texts, path)
        found = [await self.entity(each, path=f"{path}/{n}") for n, each in enumerate(texts)]
        return list({each.id: each for each in found}.values())

    async def reader(self, text: str, *, path: str) -> str:
        """Return the reader that a text names: a written reader, or a character by name."""
        if text in _READERS or ":" in text:
            return _READERS.get(text, text)
        return character((await self.entity(text, path=path)).id)

    async def audience(self, arguments: Arguments) -> Audience:
        """Return the audience in the argument `for`; everybody if it is absent.

        Raises:
            InvalidInput: `audience.malformed`, or an error of the lookup of a name.
        """
        if (texts := arguments.get("for")) is None:
            return ALL_READERS
        require_few(texts, "/for")
        readers = [await self.reader(each, path=f"/for/{n}") for n, each in enumerate(texts)]
        return audience_in(readers, path="/for")

    def require_reader(self, audience: Audience, *, path: str) -> None:
        """Refuse to record a text that the caller could not read afterwards.

        Raises:
            NotAllowed: `audience.beyond`.
        """
        if not self.caller.viewer.sees(audience):
            message = (
                f"{path} has readers that do not include you, and you could not cite the text. "
                "Add a character whom you play to /for."
            )
            raise NotAllowed("audience.beyond", message, path=path)

    async def time(
        self,
        arguments: Arguments,
        name: str,
        *,
        end_of_day: bool | None = None,
        at: Thing | None = None,
    ) -> Instant | None:
        """Read an optional valid time: a date, RFC 3339, or words of the space's calendar.

        With `end_of_day` False, a day in words is its beginning. "Next day" counts from the present
        of `at`, a story or a scene.
        """
        text = arguments.get(name)
        if text is None:
            return None
        place = None if self.space.opened is None else at or self.space.opened
        return await valid_time(
            self.canon, self.caller, text, place, path=f"/{name}", end_of_day=end_of_day
        )

    async def at_viewpoint(self, arguments: Arguments) -> "Desk":
        """Return the same with the canon as of `at` and `as_known_at`, else as of the present."""
        canon = self.canon.now or self.canon
        if not arguments.keys().isdisjoint(TIMES):
            canon = await at_viewpoint(canon, self.caller, arguments, self.space.opened)
        if canon.viewpoint.at is None:
            canon = with_clock(canon, await clock_of(canon, self.space.opened))
        return replace(self, canon=canon)

    async def holding(self, things: Iterable[T]) -> list[T]:
        """Return the items that hold at the viewpoint, as they are there, in their order."""
        view, there = self.canon.viewpoint, await there_then(self.canon, things)
        return [each for each in there if view.shows(each) and not view.plans(each)]

    def require_now(self, arguments: Arguments, *times: str) -> None:
        """Refuse times that this read does not honour.

        Raises:
            NotSupported: `viewpoint.unsupported`.
        """
        for name in times:
            if name in arguments:
                message = f"This read does not support /{name}. Call it again without /{name}."
                raise NotSupported("viewpoint.unsupported", message, path=f"/{name}")

    @property
    def calendar(self) -> Calendar:
        """The calendar of the space."""
        return GREGORIAN if self.space.opened is None else calendar_of(self.space.opened)

    def spoken(self, instant: Instant, words: str | None = None, scene: Thing | None = None) -> str:
        """Format a valid time as it was said in a scene, else as RFC 3339 or in the calendar.

        The beginning of a day is a date, unless the words name midnight.
        """
        start = scene_time(scene, self.calendar) if isinstance(scene, Scene) else None
        if words is not None and (said := spoken_as_said(instant, words, self.calendar, start)):
            return said.removeprefix("in ")
        own = self.calendar is not GREGORIAN
        if own:
            return spoken(instant, self.calendar)
        whole = render_instant(instant)
        return whole if _MIDNIGHT.search(words or "") else whole.removesuffix("T00:00:00Z")

    def require_judged(self, what: str) -> None:
        """Refuse a space that has no judged claims and is not the caller's account."""
        if not self.is_account:
            self.require_told(what, "")

    def require_told(self, what: str, instead: str) -> str:
        """Return the id of the space, or refuse a space without judged claims.

        Raises:
            NotSupported: `space.not-told`, with an alternative.
        """
        if self.space.told:
            return self.space.id
        if self.space.kind is SpaceKind.PROJECT:
            instead = "Its rows come from `canonry catalog import`. Open a space for your claims."
        message = f"{what} are not possible in {self._kind()}. {instead}".strip()
        raise NotSupported("space.not-told", message, path="/space")

    def require_writable(self) -> None:
        """Refuse to write to a space that is read-only.

        Raises:
            NotSupported: `space.read-only`.
        """
        if not self.space.told and not self.is_account:
            message = (
                f"You can only read {self._kind()}. Its rows come from `canonry catalog import`."
            )
            raise NotSupported("space.read-only", message, path="/space")

    def _kind(self) -> str:
        return f'"{self.space.name}", {KINDS[self.space.kind.value]}'


async def desk_of(
    canon: Canon, caller: Caller, arguments: Arguments, *names: str, opens: bool = False
) -> Desk:
    """Choose the space of a call: the named one, else that of a named item, else the last used.

    A call that `opens` a scene by a new title chooses the space that was used last.

    Raises:
        NotFound: `space.unknown`.
        InvalidInput: `space.ambiguous`, with a corrected call.
    """
    named = arguments.get("space")
    if named is not None:
        checked_text(named, NAME_MAX, path="/space")
    elif (named := await space_by_id(canon, caller, arguments, *names)) is None and not (
        opens and caller.space_used_last
    ):
        named = await _space_by_name(canon, caller, _listed(arguments, *names))
    space = await choose_space(canon, caller, named)
    caller.use(space.id)
    if caller.idempotency_key is None and caller.tool in TOOLS:
        caller = caller.asking({"call": canon.identities.fresh()})  # its commits are one call
    return await Desk(canon=canon, caller=caller, space=space).at_viewpoint(arguments)


async def space_by_id(
    canon: Canon, caller: Caller, arguments: Arguments, *names: str
) -> SpaceId | None:
    """Return the space of the first item that these arguments name by id."""
    for text in _listed(arguments, *names):
        plain = text.strip().rpartition(":")[2]
        given = plain.lower() if is_uuid(plain) else entity_id_behind(text)
        thing = None if given is None else await canon.seen_by(caller).thing(given)
        if thing is not None:
            return thing.space
    return None


async def _space_by_name(canon: Canon, caller: Caller, texts: Sequence[str]) -> SpaceId | None:
    """Return the only space that knows the first of these names; prefer the last used."""
    held = await spaces_held(canon, caller) if texts and caller.world is None else ()
    found: list[SpaceId] = []
    for space in held[:_LOOKED_MAX] if len(held) > 1 else ():
        try:
            await find_named(canon, caller, space.id, texts[0])
        except NotFound:
            continue
        except InvalidInput:
            pass  # the name is ambiguous, but all candidates are in this space
        if space.id == caller.space_used_last:
            return space.id
        found.append(space.id)
    return found[0] if len(found) == 1 else None


def _listed(arguments: Arguments, *names: str) -> list[str]:
    """List the texts of these arguments; `claims/of` reads the member `of` of each claim."""
    found: list[str] = []
    for name in names:
        outer, _, inner = name.partition("/")
        given = arguments.get(outer)
        parts = [each.get(inner) for each in given or ()] if inner else [given]
        for value in parts:
            found += [value] if isinstance(value, str) else (value or ())
    return found


_LOOKED_MAX: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The requested page of rows, and whether texts are shortened."""

    limit: int
    offset: int
    full: bool


def wanted(arguments: Arguments) -> Wanted:
    """Read the requested page from the arguments.

    Raises:
        InvalidInput: `cursor.malformed`.
    """
    cursor = arguments.get("cursor", "0")
    if not cursor.isascii() or not cursor.isdecimal() or len(cursor) > 9:  # noqa: PLR2004
        message = f"/cursor {cursor[:20]!r} is not the next of an earlier reply. Omit it to begin."
        raise InvalidInput("cursor.malformed", message, path="/cursor")
    limit = min(max(int(arguments.get("limit", PAGE_DEFAULT)), 1), PAGE_MAX)
    return Wanted(limit=limit, offset=int(cursor), full=bool(arguments.get("full")))


def require_few(texts: Sequence[str], path: str) -> None:
    """Refuse a list with more names than one call may look up.

    Raises:
        InvalidInput: `list.too-long`.
    """
    if len(texts) > _NAMED_MAX:
        message = f"{path} has {len(texts)} items; the limit is {_NAMED_MAX}."
        raise InvalidInput("list.too-long", message, path=path, limit=_NAMED_MAX)


READER: Final = "Reader"
CONTRIBUTOR: Final = "Contributor"
KEEPER: Final = "Keeper"
SOLO: Final = "Solo"
"""The role of one person on their own machine: it may tell, propose and decide."""

EVERYBODY: Final = frozenset({READER, CONTRIBUTOR, KEEPER, SOLO})
CONTRIBUTORS: Final = frozenset({CONTRIBUTOR, KEEPER, SOLO})
KEEPERS: Final = frozenset({KEEPER, SOLO})
PRIVATE: Final = "Only you can read your account."
_OWNERS: Final = frozenset({"me", "myself", "only me", "owner", "gm", "private"})


def is_owner(readers: Collection[str]) -> bool:
    """Tell whether words for readers name nobody but the owner of an account."""
    return _OWNERS.issuperset(map(folded, readers))
