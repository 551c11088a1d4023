"""The tools `spaces` and `open`, and the choice of the spaces that a call reads."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from canonry.assistant.desk import EVERYBODY, KEEPERS, Desk, desk_of, space_by_id, wanted
from canonry.assistant.rows import Row, cut, filled, fitted
from canonry.assistant.tools import canon_tool
from canonry.assistant.wording import HOLDS
from canonry.canon.commands.universes import create_universe, space_opened_by
from canonry.canon.queries.listings import ChosenSpace, list_opened, list_spaces, spaces_held
from canonry.canon.queries.names import AT, candidate, may_mean, no_match, title_of
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import the_made
from canonry.canon.session.spoken_times import CALENDAR
from canonry.gateway.limits import checked_text
from canonry.gateway.tool import Arguments, Reply
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.values.errors import CanonryError, InvalidInput, NotFound, NotSupported
from canonry.values.ids import SpaceDraft, SpaceKind
from canonry.values.json_values import folded


async def _spaces(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    page = wanted(arguments)
    spaces = await list_spaces(canon, caller)
    rows = [row_of(each) for each in spaces[page.offset : page.offset + page.limit]]
    reply = fitted(rows, page, len(spaces), "spaces")
    if all(each.opened is None for each in spaces):
        reply["hint"] = "No space has content yet. Open one, or tell records to space 'account'."
    return reply


def row_of(space: ChosenSpace) -> Row:
    """Return a space as a row."""
    told = "" if space.opened is None else cut(space.opened.description, full=False)
    row: Row = {"kind": space.kind.value, "id": space.id, "name": space.name, "says": told}
    row["holds"] = HOLDS[space.kind.value] if space.opened is not None else "nothing yet"
    return filled(row)


async def _open(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    name = checked_text(arguments["name"], limits.name, path="/name")
    # Callers that reuse a name usually mean the existing space.
    named = (each for each in await list_opened(canon, caller) if folded(each.name) == folded(name))
    there = next((each for each in named if each.told), None)
    if there is not None and there.id != space_opened_by(canon, caller):
        caller.use(there.id)
        hint = "This space existed already and is unchanged. For another, choose another name."
        note = f"Nothing was opened, because there is a space {there.name}."
        return {"note": note, "id": there.id, "name": there.name, "opened": False, "hint": hint}
    about = arguments.get("about")
    calendar = arguments.get(CALENDAR)
    properties: dict[str, Any] = {} if calendar is None else {CALENDAR: calendar}
    receipt = await create_universe(
        canon,
        caller,
        kind=SpaceKind.UNIVERSE,
        name=name,
        description="" if about is None else checked_text(about, limits.description, path="/about"),
        properties=properties,
    )
    made = the_made(receipt, SpaceDraft).id
    caller.use(made)
    return {
        "note": f"Opened the space {name}.",
        "id": made,
        "name": name,
        "hint": "Next, tell and propose.",
    }


TOOLS: Final = (canon_tool("spaces", _spaces, EVERYBODY), canon_tool("open", _open, KEEPERS))


SPACES_MAX: Final = 20
"""The most spaces that one call reads."""
MORE: Final = "Not every space was searched. Name one in `space`."


async def desks_of(canon: Canon, caller: Caller, arguments: Arguments, *names: str) -> list[Desk]:
    """Choose the spaces of a reading call: the named one, else all, with the last used first."""
    named = arguments.get("space") or caller.world
    if named is None and await space_by_id(canon, caller, arguments, *names) is None:
        held = await spaces_held(canon, caller)
        if len(held) == 1:
            caller.use(held[0].id)
        if held:
            every = [Desk(canon=canon, caller=caller, space=each) for each in held[:SPACES_MAX]]
            return await _at_viewpoint(every, arguments)
    return [await desk_of(canon, caller, arguments, *names)]


async def _at_viewpoint(desks: Sequence[Desk], arguments: Arguments) -> list[Desk]:
    """Return those spaces at the viewpoint whose calendars and scenes have the times.

    Raises:
        InvalidInput: none of them has them.
    """
    fitting: list[Desk] = []
    for desk in desks:
        try:
            for name in {"from", "to"} & arguments.keys():
                await desk.at_viewpoint({AT: arguments[name]})
            fitting.append(await desk.at_viewpoint(arguments))
        except InvalidInput:
            if len(desks) == 1:
                raise
    return fitting or await _at_viewpoint(desks[:1], arguments)


async def found_in(
    desks: Sequence[Desk], text: str, *kinds: type, path: str
) -> tuple[Desk, Thing, str]:
    """Find the item that a text names, its space, and a hint if other spaces have that name.

    If several spaces match, exact names win, then the space that was used last.

    Raises:
        InvalidInput: those of `Desk.thing`; `name.ambiguous` also for several spaces.
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
        several = next((each for each in refused if isinstance(each, InvalidInput)), None)
        near = [name for each in refused for name in each.details.get("candidates", ())]
        raise several or no_match(text, f"{len(desks)} spaces", near, path)
    desk, thing = meant[0]
    desk.caller.use(desk.space.id)
    others = ", ".join(each[0].space.name for each in found if each[0] is not desk)
    return (
        desk,
        thing,
        f"The name also exists in {others}. To choose, set `space`." if others else "",
    )


def _is_called(thing: Thing, text: str) -> bool:
    known = thing.known_as if isinstance(thing, Entity) else (folded(title_of(thing)),)
    return folded(text.strip()) in known


def placed(row: Row, desk: Desk, desks: Sequence[Desk]) -> Row:
    """Add the space's name to the row if there are several spaces; its id if names repeat."""
    if len(desks) == 1:
        return row
    names = [folded(each.space.name) for each in desks]
    alone = names.count(folded(desk.space.name)) == 1
    return {**row, "space": desk.space.name if alone else desk.space.id}


async def of_each(
    desks: Sequence[Desk], arguments: Arguments, read: Callable[[Desk], Awaitable[Row]], *keys: str
) -> Row:
    """Read every space in turn and combine the replies; skip spaces that do not support it.

    Raises:
        NotSupported: no space supports it.
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
    hint = (
        {"hint": "A space has more rows. Name it in `space` to page through them."} if more else {}
    )
    return {**whole, "total": total, **hint}
