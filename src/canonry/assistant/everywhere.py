"""Everywhere: in which spaces a call that only reads looks, where it does not say in which."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from canonry.assistant.desk import Desk, desk_of, space_by_id, wanted
from canonry.assistant.rows import Row, fitted
from canonry.canon.queries.listings import spaces_held
from canonry.canon.queries.names import candidate, may_mean, title_of
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.tool import Arguments
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.values.errors import CanonryError, InvalidInput, NotFound, NotSupported
from canonry.values.json_values import folded

SPACES_MAX: Final = 20
"""In so many spaces one call looks; of more it says that it did not look in all."""
MORE: Final = "not every space was looked through; name one in space"


async def desks_of(canon: Canon, caller: Caller, arguments: Arguments, *names: str) -> list[Desk]:
    """Where a call looks: where it or an id in it says, else everywhere, the last used first."""
    named = arguments.get("space") or caller.world
    if named is None and await space_by_id(canon, caller, arguments, *names) is None:
        held = await spaces_held(canon, caller)
        if len(held) == 1:
            caller.use(held[0].id)
        if held:
            return [Desk(canon=canon, caller=caller, space=each) for each in held[:SPACES_MAX]]
    return [await desk_of(canon, caller, arguments, *names)]


async def found_in(
    desks: Sequence[Desk], text: str, *kinds: type, path: str
) -> tuple[Desk, Thing, str]:
    """What a text names, the desk of its space, and a hint where another space has its like.

    Where it names things in several spaces, those of just this name go before others, and then
    the space that was used last.

    Raises:
        InvalidInput: as `Desk.thing`; `name.ambiguous` also where spaces differ.
        NotFound: `name.unknown`.
    """
    if len(desks) == 1:
        return desks[0], await desks[0].thing(text, *kinds, path=path), ""
    found: list[tuple[Desk, Thing]] = []
    refused: list[CanonryError] = []
    for desk in desks:
        try:
            found.append((desk, await desk.thing(text, *kinds, path=path)))
        except (NotFound, InvalidInput) as error:
            refused.append(error)
    found = [each for each in found if _is_called(each[1], text)] or found
    last = desks[0].caller.space_used_last
    meant = [each for each in found if each[0].space.id == last] if len(found) > 1 else found
    if not meant and found:
        named = [f"{candidate(thing)} in {desk.space.name}" for desk, thing in found]
        raise may_mean(named, path)
    if not meant:
        raise _refusal(refused, len(desks), path)
    desk, thing = meant[0]
    desk.caller.use(desk.space.id)
    others = ", ".join(each[0].space.name for each in found if each[0] is not desk)
    return (
        desk,
        thing,
        f"something in {others} is called so too; name space to mean that" if others else "",
    )


def _is_called(thing: Thing, text: str) -> bool:
    known = thing.known_as if isinstance(thing, Entity) else (folded(title_of(thing)),)
    return folded(text.strip()) in known


def _refusal(refused: Sequence[CanonryError], count: int, path: str) -> CanonryError:
    """Why nothing was found: a name that means several things, or one that means nothing."""
    several = next((each for each in refused if isinstance(each, InvalidInput)), None)
    if several is not None:
        return several
    near = [name for each in refused for name in each.details.get("candidates", ())]
    guess = f"; did you mean {near[0]}?" if near else ""
    message = f"{path} names nothing in {count} spaces{guess}"
    return NotFound("name.unknown", message, path=path, **({"candidates": near} if near else {}))


async def in_their_calendars(
    desks: Sequence[Desk], arguments: Arguments, *names: str
) -> Sequence[Desk]:
    """Those whose calendars know the times that are asked about.

    Raises:
        InvalidInput: as times are read, none of them does.
    """
    fitting: list[Desk] = []
    for desk in desks:
        try:
            for name in names:
                await desk.time(arguments, name)
        except InvalidInput:
            if len(desks) == 1:
                raise
        else:
            fitting.append(desk)
    return fitting or await in_their_calendars(desks[:1], arguments, *names)


def placed(row: Row, desk: Desk, desks: Sequence[Desk]) -> Row:
    """The row with the name of its space, where there are several; its id, if others share it."""
    if len(desks) == 1:
        return row
    names = [folded(each.space.name) for each in desks]
    alone = names.count(folded(desk.space.name)) == 1
    return {**row, "space": desk.space.name if alone else desk.space.id}


async def of_each(
    desks: Sequence[Desk],
    arguments: Arguments,
    read: Callable[[Desk], Awaitable[Row]],
    *keys: str,
) -> Row:
    """What is read of each space, one after the other; of what a kind of space lacks, nothing.

    Raises:
        NotSupported: none of them has what is read.
    """
    if len(desks) == 1:
        return await read(desks[0])
    whole: dict[str, Any] = {}
    total, lacking, more = 0, None, False
    for desk in desks:
        try:
            part = await read(desk)
        except NotSupported as error:
            lacking = error
            continue
        for key in (key for key in keys if key in part):
            whole.setdefault(key, []).extend(placed(row, desk, desks) for row in part[key])
        total, more = total + part.get("total", 0), more or "next" in part
        if "hint" in part:
            whole["hint"] = part["hint"]
    if not whole and lacking is not None:
        raise lacking
    for key in (key for key in keys if key in whole):
        page = fitted(whole[key], wanted({**arguments, "cursor": "0"}), len(whole[key]), key)
        whole[key], more = page[key], more or "next" in page
    hint = {"hint": "there is more in a space; name it in space"} if more else {}
    return {**whole, "total": total, **hint}
