"""What a person can look through: the resources behind templates, page by page, and completions.

Both walk the shelves of toolsets by the path of every call, so that nobody is shown what they may
not read.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.catalogue import Offer
from canonry.gateway.replies import Result
from canonry.gateway.tool import Arguments, Reply, Resource, Run, Shelf, Shelved
from canonry.values.errors import InvalidInput, NotFound
from canonry.values.json_values import folded

PAGE: Final = 50
LOOKED_THROUGH: Final = 500
"""So many, the first, are looked through for a word."""
COMPLETIONS: Final = 100
"""The most values that the protocol lets one answer hold."""
_CURSOR: Final = re.compile(r"(\d{1,4})\.(\d{1,9})")

Serve = Callable[[Offer[Any], Arguments], Awaitable[Result]]
"""The path of a call, for one caller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Browsed:
    """One page: resources with their title, and where the next page begins, if there is one."""

    entries: Sequence[tuple[Resource, str, str]]
    following: str | None


async def browse(
    resources: Iterable[Offer[Resource]], serve: Serve, cursor: str | None
) -> Browsed | Result:
    """A page of what stands behind `resources`: `(resource, uri, title)`; or why there is none.

    Raises:
        InvalidInput: `input.invalid`, the cursor is none of ours.
    """
    offers = list(_browsable(resources))
    at, offset = _place(cursor, len(offers))
    entries: list[tuple[Resource, str, str]] = []
    while at < len(offers):
        offer, shelf = offers[at]
        room = PAGE - len(entries)
        if room == 0:
            break
        result = await serve(_looking(offer, shelf), {"word": "", "offset": offset, "limit": room})
        if result.error is not None:
            return result
        found, total = result.body
        entries += [(offer.thing, offer.thing.address(value), title) for value, title in found]
        offset += len(found)
        if not found or offset >= total:
            at, offset = at + 1, 0
    return Browsed(entries=entries, following=f"{at}.{offset}" if at < len(offers) else None)


async def complete(
    offer: Offer[Any], serve: Serve, variable: str, word: str
) -> tuple[Sequence[str], int] | Result:
    """The values that begin with `word`, or whose name does, and how many there are.

    `offer` is a prompt or a resource; what nobody knows has no values.
    """
    shelf = offer.toolset.shelves.get(variable)
    if shelf is None:
        return (), 0
    asked = {"word": word, "offset": 0, "limit": COMPLETIONS}
    result = await serve(_looking(offer, shelf), asked)
    if result.error is not None:
        return result
    found, total = result.body
    return [value for value, _ in found], total


def beginning(named: Iterable[tuple[str, str]], word: str, offset: int, limit: int) -> Shelved:
    """A page of those whose value or name begins with `word`, for shelves that see all at once."""
    wanted = folded(word)
    fit = [pair for pair in named if any(folded(each).startswith(wanted) for each in pair)]
    return fit[offset : offset + limit], len(fit)


async def through(
    page: Callable[[int, int], Awaitable[Shelved]], word: str, offset: int, limit: int
) -> Shelved:
    """A page of what `page(limit, offset)` gives; for a word the first of it are looked through."""
    if not word:
        return await page(limit, offset)
    return beginning((await page(LOOKED_THROUGH, 0))[0], word, offset, limit)


def _browsable(resources: Iterable[Offer[Resource]]) -> Iterator[tuple[Offer[Resource], Shelf]]:
    for offer in resources:
        variables = offer.thing.variables
        if len(variables) == 1 and (shelf := offer.toolset.shelves.get(variables[0])):
            yield offer, shelf


def _looking(offer: Offer[Any], shelf: Shelf) -> Offer[Any]:
    """The offer of looking at a shelf, open to those who may use what it is about."""

    async def look(canon: Canon, caller: Caller, asked: Arguments) -> Reply:
        try:
            return await shelf.find(canon, caller, asked["word"], asked["offset"], asked["limit"])
        except (InvalidInput, NotFound):  # there is no such world, and so no places in it
            return (), 0

    return looking(offer, look)


def looking(offer: Offer[Any], run: Run) -> Offer[Any]:
    """The offer of another look at what is offered, for the same callers: any value is its body."""
    return replace(offer, check=_as_given, run=run, result_of=_as_value, compose=None, cached=None)


def _as_given(given: dict[str, Any]) -> dict[str, Any]:
    return given


def _as_value(reply: Reply) -> Result:
    return Result(body=reply, text="")


def _place(cursor: str | None, shelves: int) -> tuple[int, int]:
    if cursor is None:
        return 0, 0
    found = _CURSOR.fullmatch(cursor)
    if found is None or int(found[1]) >= shelves:
        message = "this cursor is not one of this server; ask without one for the first page"
        raise InvalidInput("input.invalid", message, path="/cursor")
    return int(found[1]), int(found[2])
