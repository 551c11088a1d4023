"""The context of one call of the default toolset: the caller and the space."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, TypeVar, cast

from canonry.assistant.rows import items_shown_as, kind_of, kind_word, named_in_reader, reader_names
from canonry.assistant.wording import KINDS
from canonry.canon.canonization.undo_call import TOOLS
from canonry.canon.queries.listings import ChosenSpace, choose_space, spaces_held
from canonry.canon.queries.names import (
    TIMES,
    ambiguous_name_error,
    at_viewpoint,
    find_named,
    read_valid_time,
)
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.spoken_times import calendar_of, clock_of, scene_time
from canonry.canon.session.viewpoint import items_at_viewpoint, require_at_viewpoint, with_clock
from canonry.gateway.limits import checked_text
from canonry.gateway.tool import Arguments
from canonry.log.entries import KIND_NAMES, StoredItem
from canonry.log.items.entities import Entity
from canonry.log.items.scenes import Scene
from canonry.log.items.sources import entity_id_of_alias
from canonry.readmodels.ports.state import EntityQuery
from canonry.values.audience import EVERYBODY as ALL_READERS
from canonry.values.audience import Audience, audience_in, character_reader
from canonry.values.calendars.declaring import wording_of_time
from canonry.values.calendars.reckoning import GREGORIAN, Calendar, time_in_words
from canonry.values.data_files import read_toml
from canonry.values.errors import InvalidInput, NotAllowed, NotFound, NotSupported
from canonry.values.ids import SpaceId, SpaceKind, is_uuid
from canonry.values.json_values import fold_text
from canonry.values.moments import DAY, Instant, render_instant
from canonry.values.provenance import CanonLevel

T = TypeVar("T", bound=StoredItem)
PAGE_DEFAULT: Final = 10  # fits a reply that a model reads
PAGE_MAX: Final = 50  # bounds a reply, which fills the context of a model

NAME_MAX: Final = 500  # longer names are pasted texts
_NAMED_MAX: Final = 50  # each name is looked up on its own
_MIDNIGHT: Final = re.compile(r"midnight|\b(?:00?:00|12 ?am)", re.IGNORECASE)
_READERS: Final[Mapping[str, str]] = read_toml(__package__, "aliases.toml")["readers"]
"""The readers that words mean, beside names of characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """The space of a call, with lookups of its items by name and of its times by words."""

    canon: Canon
    caller: Caller
    space: ChosenSpace

    @property
    def is_account(self) -> bool:
        """Return whether the space is the caller's account of records and documents."""
        return self.space.kind is SpaceKind.ACCOUNT

    async def find_item(self, text: str, *kinds: type, path: str) -> StoredItem:
        """Return the item of these kinds that a text names in this space."""
        checked_text(text, NAME_MAX, path=path)
        now = self.canon.now
        if now is None or self.is_account:
            return await self._find_named(now or self.canon, text, kinds, path)
        try:
            found = await find_named(self.canon, self.caller, self.space.id, text, kinds, path=path)
        except NotFound:
            found = await self._find_named(now, text, kinds, path)
        return cast("StoredItem", await require_at_viewpoint(self.canon, found))

    async def _find_named(
        self, canon: Canon, text: str, kinds: Sequence[type], path: str
    ) -> StoredItem:
        """Return the item that a text names, or that replies show by this text."""
        try:
            return await find_named(canon, self.caller, self.space.id, text, kinds, path=path)
        except NotFound as error:
            shown = await items_shown_as(self, canon, text, kinds)
            if not shown:
                raise await self._unknown(text, error, kinds) from error
        if len(shown) > 1:
            raise ambiguous_name_error([f"{text} ({each.id})" for each in shown], path)
        return shown[0]

    async def _unknown(self, text: str, error: NotFound, kinds: Sequence[type]) -> NotFound:
        """Return the error for a name of nothing, of another kind or of a retracted entity."""
        path = error.details["path"]
        with suppress(NotFound, InvalidInput):
            other = await find_named(self.canon, self.caller, self.space.id, text)
            wanted = " or ".join(kind_word(KIND_NAMES[each]) for each in kinds)
            message = f"{path} {text!r} names something of the kind {kind_of(other)}, not {wanted}."
            return NotFound(error.code, message, path=path)
        level, here = CanonLevel.RETCONNED, frozenset((self.space.id,))
        query = EntityQuery(spaces=here, level=level, name_pattern=text.strip())
        found = (await self.canon.state.entities(query)).items
        gone = [one.id for one in found if fold_text(text.strip()) in one.known_as]
        for one in (await self.canon.caller_scope(self.caller).items_by_id(gone[-1:])).values():
            message = f"{path} {text!r} was retracted; why of={one.id} tells more."
            return NotFound(error.code, message, path=path)
        return error

    async def find_entity(self, text: str, *, path: str) -> Entity:
        """Return the entity that a text names in this space."""
        found = await self.find_item(text, Entity, path=path)
        assert isinstance(found, Entity)  # noqa: S101 - the kind was asked for
        return found

    async def merged_id(self, text: str, *, path: str) -> str:
        """Return the id of a merged entity, given that id or its former name."""
        if is_uuid(text.strip()):
            return text.strip().lower()
        root = await self.find_entity(text, path=path)
        members = (await self.canon.caller_scope(self.caller).items_by_id(root.members)).values()
        known = (one for one in members if isinstance(one, Entity))
        named = [one.id for one in known if fold_text(text.strip()) in one.known_as]
        return named[0] if len(named) == 1 else root.id

    async def read_reader(self, text: str, *, path: str) -> str:
        """Return the reader that a text names: a written reader, or a character by name."""
        if (known := _READERS.get(fold_text(text))) is not None or ":" in text:
            return known or text
        return character_reader((await self.find_entity(text, path=path)).id)

    async def read_audience(self, arguments: Arguments) -> Audience:
        """Return the audience in the argument `for`; everybody if it is absent.

        Raises:
            InvalidInput: `audience.malformed`, or an error of the lookup of a name.
        """
        if (texts := arguments.get("for")) is None:
            return ALL_READERS
        require_few(texts, "/for")
        readers = [await self.read_reader(each, path=f"/for/{n}") for n, each in enumerate(texts)]
        return audience_in(readers, path="/for")

    async def readers_in_words(self, audience: Audience) -> str:
        """Return for whom an item is kept, such as `only for gm`; empty for everybody."""
        if not audience:
            return ""
        seen = self.canon.caller_scope(self.caller)
        names = await seen.root_entities(map(named_in_reader, audience))
        return f"only for {', '.join(reader_names(audience, names))}"

    def require_reader(self, audience: Audience, *, path: str) -> None:
        """Refuse to record a text that the caller could not read afterwards.

        Raises:
            NotAllowed: `audience.beyond`.
        """
        if not self.caller.viewer.may_see(audience):
            message = f"{path} leaves you out. Add a character whom you play to /for."
            raise NotAllowed("audience.beyond", message, path=path)

    async def read_time(
        self,
        arguments: Arguments,
        name: str,
        *,
        end_of_day: bool | None = None,
        at: StoredItem | None = None,
    ) -> Instant | None:
        """Read an optional valid time: a date, RFC 3339, or words of the space's calendar.

        With `end_of_day` False, a day in words is its beginning. "Next day" counts from the present
        of `at`, a story or a scene.
        """
        text = arguments.get(name)
        if text is None:
            return None
        item = None if self.space.opened is None else at or self.space.opened
        return await read_valid_time(
            self.canon, self.caller, text, item, path=f"/{name}", end_of_day=end_of_day
        )

    async def at_viewpoint(self, arguments: Arguments) -> "CallContext":
        """Return the same with the canon as of `at` and `as_known_at`, else as of the present."""
        canon = self.canon.now or self.canon
        if not arguments.keys().isdisjoint(TIMES):
            canon = await at_viewpoint(canon, self.caller, arguments, self.space.opened)
        if canon.viewpoint.at is None:
            canon = with_clock(canon, await clock_of(canon, self.space.opened))
        return replace(self, canon=canon)

    async def items_holding(self, items: Iterable[T]) -> list[T]:
        """Return the items that hold at the viewpoint, in their state of then and in order."""
        view, there = self.canon.viewpoint, await items_at_viewpoint(self.canon, items)
        return [each for each in there if view.may_show(each) and not view.plans(each)]

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

    def time_in_words(
        self, instant: Instant, words: str | None = None, scene: StoredItem | None = None
    ) -> str:
        """Format a valid time as it was said in a scene, else in the calendar or as RFC 3339.

        The beginning of a day is a date, unless the words name midnight.
        """
        start = scene_time(scene, self.calendar) if isinstance(scene, Scene) else None
        if words is not None and (wording := wording_of_time(instant, words, self.calendar, start)):
            return wording.removeprefix("in ")
        if self.calendar is not GREGORIAN:
            return time_in_words(instant, self.calendar)
        exact = instant % DAY or _MIDNIGHT.search(words or "")
        if exact:
            return render_instant(instant)
        return time_in_words(instant, GREGORIAN).removesuffix(" AD")

    def require_judged(self, what: str) -> None:
        """Refuse a space that has no judged claims and is not the caller's account."""
        if not self.is_account:
            self.require_story_space(what, "")

    def require_story_space(self, what: str, instead: str) -> str:
        """Return the id of the space, or refuse a space without judged claims.

        Raises:
            NotSupported: `space.not-told`, with an alternative.
        """
        if self.space.may_have_stories:
            return self.space.id
        if self.space.kind is SpaceKind.PROJECT:
            instead = "Its rows come from `canonry catalog import`. Open a space for your claims."
        message = f"{what} are not possible in {self._space_in_words()}. {instead}".strip()
        raise NotSupported("space.not-told", message, path="/space")

    def require_writable(self) -> None:
        """Refuse to write to a space that is read-only.

        Raises:
            NotSupported: `space.read-only`.
        """
        if not self.space.may_have_stories and not self.is_account:
            kind = self._space_in_words()
            message = f"You can only read {kind}. Its rows come from `canonry catalog import`."
            raise NotSupported("space.read-only", message, path="/space")

    def _space_in_words(self) -> str:
        return f'"{self.space.name}", {KINDS[self.space.kind.value]}'


async def context_of(
    canon: Canon, caller: Caller, arguments: Arguments, *names: str, opens: bool = False
) -> CallContext:
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
        named = await _space_by_name(canon, caller, _list_texts(arguments, *names))
    space = await choose_space(canon, caller, named)
    caller.use_space(space.id)
    if caller.idempotency_key is None and caller.tool in TOOLS:
        caller = caller.with_arguments(
            {"call": canon.identities.new_id()}
        )  # its commits are one call
    return await CallContext(canon=canon, caller=caller, space=space).at_viewpoint(arguments)


async def space_by_id(
    canon: Canon, caller: Caller, arguments: Arguments, *names: str
) -> SpaceId | None:
    """Return the space of the first item that these arguments name by id."""
    for text in _list_texts(arguments, *names):
        plain = text.strip().rpartition(":")[2]
        given = plain.lower() if is_uuid(plain) else entity_id_of_alias(text)
        item = None if given is None else await canon.caller_scope(caller).find_item(given)
        if item is not None:
            return item.space
    return None


async def _space_by_name(canon: Canon, caller: Caller, texts: Sequence[str]) -> SpaceId | None:
    """Return the only space that knows the first of these names; prefer the last used."""
    held = await spaces_held(canon, caller) if texts and caller.world is None else ()
    found: list[SpaceId] = []
    for space in held[:_SEARCHED_MAX] if len(held) > 1 else ():
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


def _list_texts(arguments: Arguments, *names: str) -> list[str]:
    """List the texts of these arguments; `claims/of` reads the member `of` of each claim."""
    found: list[str] = []
    for name in names:
        outer, _, inner = name.partition("/")
        given = arguments.get(outer)
        parts = [each.get(inner) for each in given or ()] if inner else [given]
        for value in parts:
            found += [value] if isinstance(value, str) else (value or ())
    return found


_SEARCHED_MAX: Final = 20  # a name is looked up in each space: bounds the time of a call


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPage:
    """The requested page of rows, and whether texts are shortened."""

    limit: int
    offset: int
    full: bool


def read_page(arguments: Arguments) -> RowPage:
    """Read the requested page from the arguments.

    Raises:
        InvalidInput: `cursor.malformed`.
    """
    cursor = arguments.get("cursor", "0")
    if not cursor.isascii() or not cursor.isdecimal() or len(cursor) > 9:  # noqa: PLR2004
        message = f"/cursor {cursor[:20]!r} is not the next of an earlier reply. Omit it to begin."
        raise InvalidInput("cursor.malformed", message, path="/cursor")
    limit = min(max(int(arguments.get("limit", PAGE_DEFAULT)), 1), PAGE_MAX)
    return RowPage(limit=limit, offset=int(cursor), full=bool(arguments.get("full")))


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
PRIVATE: Final = "for you alone, like everything in your account"
_OWNERS: Final = frozenset({"me", "myself", "only me", "owner", "gm", "private"})


def is_owner(readers: Collection[str]) -> bool:
    """Return whether words for readers name nobody but the owner of an account."""
    return _OWNERS.issuperset(map(fold_text, readers))
