"""The tools `spaces` and `open`, and the choice of the spaces that a call reads."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from canonry.assistant.call_context import (
    EVERYBODY,
    KEEPERS,
    CallContext,
    context_of,
    read_page,
    space_by_id,
)
from canonry.assistant.rows import Row, cut_text, fit_rows, without_empty
from canonry.assistant.tools import canon_tool
from canonry.assistant.wording import HOLDS
from canonry.canon.commands.universes import create_universe, space_opened_by
from canonry.canon.queries.listings import ChosenSpace, list_opened, list_spaces, spaces_held
from canonry.canon.queries.names import (
    AT,
    ambiguous_name_error,
    describe_candidate,
    title_of,
    unknown_name_error,
)
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import first_made
from canonry.canon.session.spoken_times import CALENDAR
from canonry.gateway.limits import checked_text
from canonry.gateway.tool import Arguments, Reply
from canonry.log.entries import StoredItem
from canonry.log.items.entities import Entity
from canonry.values.errors import CanonryError, InvalidInput, NotFound, NotSupported
from canonry.values.ids import SpaceDraft, SpaceKind
from canonry.values.json_values import fold_text


async def _show_spaces(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    page = read_page(arguments)
    spaces = await list_spaces(canon, caller)
    rows = [row_of(each) for each in spaces[page.offset : page.offset + page.limit]]
    reply = fit_rows(rows, page, len(spaces), "spaces")
    if all(each.opened is None for each in spaces):
        reply["hint"] = "No space has content yet. Open one, or tell records to space 'account'."
    return reply


def row_of(space: ChosenSpace) -> Row:
    """Return a space as a row."""
    description = "" if space.opened is None else cut_text(space.opened.description, full=False)
    row: Row = {"kind": space.kind.value, "id": space.id, "name": space.name, "says": description}
    row["holds"] = HOLDS[space.kind.value] if space.opened is not None else "nothing yet"
    return without_empty(row)


async def _open_space(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    name = checked_text(arguments["name"], limits.name, path="/name")
    # Callers that reuse a name usually mean the existing space.
    named = (e for e in await list_opened(canon, caller) if fold_text(e.name) == fold_text(name))
    there = next((each for each in named if each.may_have_stories), None)
    if there is not None and there.id != space_opened_by(canon, caller):
        caller.use_space(there.id)
        hint = "This space existed already and is unchanged. For another, choose another name."
        note = f"Nothing was opened, because there is a space {there.name}."
        return {"note": note, "id": there.id, "name": there.name, "opened": False, "hint": hint}
    about, calendar = arguments.get("about"), arguments.get(CALENDAR)
    properties: dict[str, Any] = {} if calendar is None else {CALENDAR: calendar}
    receipt = await create_universe(
        canon,
        caller,
        kind=SpaceKind.UNIVERSE,
        name=name,
        description="" if about is None else checked_text(about, limits.description, path="/about"),
        properties=properties,
    )
    made = first_made(receipt, SpaceDraft).id
    caller.use_space(made)
    return {
        "note": f"Opened the space {name}.",
        "id": made,
        "name": name,
        "hint": "Next, tell and propose.",
    }


TOOLS: Final = (
    canon_tool("spaces", _show_spaces, EVERYBODY),
    canon_tool("open", _open_space, KEEPERS),
)


SPACES_MAX: Final = 20
"""The most spaces that one call reads."""
MORE: Final = "Not every space was searched. Name one in `space`."


async def contexts_of(
    canon: Canon, caller: Caller, arguments: Arguments, *names: str
) -> list[CallContext]:
    """Choose the spaces of a reading call: the named one, else all, with the last used first."""
    named = arguments.get("space") or caller.world
    if named is None and await space_by_id(canon, caller, arguments, *names) is None:
        held = await spaces_held(canon, caller)
        if len(held) == 1:
            caller.use_space(held[0].id)
        if held:
            every = [CallContext(canon=canon, caller=caller, space=e) for e in held[:SPACES_MAX]]
            return await _at_viewpoint(every, arguments)
    return [await context_of(canon, caller, arguments, *names)]


async def _at_viewpoint(contexts: Sequence[CallContext], arguments: Arguments) -> list[CallContext]:
    """Return those spaces at the viewpoint whose calendars and scenes have the times.

    Raises:
        InvalidInput: none of them has them.
    """
    fitting: list[CallContext] = []
    for context in contexts:
        try:
            for name in {"from", "to"} & arguments.keys():
                await context.at_viewpoint({AT: arguments[name]})
            fitting.append(await context.at_viewpoint(arguments))
        except InvalidInput:
            if len(contexts) == 1:
                raise
    return fitting or await _at_viewpoint(contexts[:1], arguments)


async def find_item_in(
    contexts: Sequence[CallContext], text: str, *kinds: type, path: str
) -> tuple[CallContext, StoredItem, str]:
    """Find the item that a text names, its space, and a hint if other spaces have that name.

    If several spaces match, exact names win, then the space that was used last.

    Raises:
        InvalidInput: those of `Desk.thing`; `name.ambiguous` also for several spaces.
        NotFound: `name.unknown`.
    """
    if len(contexts) == 1:
        return contexts[0], await contexts[0].find_item(text, *kinds, path=path), ""
    found: list[tuple[CallContext, StoredItem]] = []
    refused: list[CanonryError] = []
    for context in contexts:
        try:
            found.append((context, await context.find_item(text, *kinds, path=path)))
        except (NotFound, InvalidInput) as error:
            refused.append(error)
    found = [each for each in found if _is_called(each[1], text)] or found
    last = contexts[0].caller.space_used_last
    meant = [each for each in found if each[0].space.id == last] if len(found) > 1 else found
    if not meant and found:
        named = [f"{describe_candidate(item)} in {context.space.name}" for context, item in found]
        raise ambiguous_name_error(named, path)
    if not meant:
        several = next((each for each in refused if isinstance(each, InvalidInput)), None)
        near = [name for each in refused for name in each.details.get("candidates", ())]
        raise several or unknown_name_error(text, f"{len(contexts)} spaces", near, path)
    context, item = meant[0]
    context.caller.use_space(context.space.id)
    others = ", ".join(each[0].space.name for each in found if each[0] is not context)
    hint = f"The name also exists in {others}. To choose, set `space`." if others else ""
    return context, item, hint


def _is_called(item: StoredItem, text: str) -> bool:
    known = item.known_as if isinstance(item, Entity) else (fold_text(title_of(item)),)
    return fold_text(text.strip()) in known


def with_space_name(row: Row, context: CallContext, contexts: Sequence[CallContext]) -> Row:
    """Add the space's name to the row if there are several spaces; its id if names repeat."""
    if len(contexts) == 1:
        return row
    names = [fold_text(each.space.name) for each in contexts]
    alone = names.count(fold_text(context.space.name)) == 1
    return {**row, "space": context.space.name if alone else context.space.id}


async def read_each_space(
    contexts: Sequence[CallContext],
    arguments: Arguments,
    read: Callable[[CallContext], Awaitable[Row]],
    *keys: str,
) -> Row:
    """Read every space in turn and combine the replies; skip spaces that do not support it.

    Raises:
        NotSupported: no space supports it.
    """
    if len(contexts) == 1:
        return await read(contexts[0])
    whole: dict[str, Any] = {}
    total, lacking, more = 0, None, False
    for context in contexts:
        try:
            part = await read(context)
        except NotSupported as error:
            lacking = error
            continue
        for key in (key for key in keys if key in part):
            whole.setdefault(key, []).extend(
                with_space_name(row, context, contexts) for row in part[key]
            )
        total, more = total + part.get("total", 0), more or "next" in part
        if "hint" in part:
            whole["hint"] = part["hint"]
    if not whole and lacking is not None:
        raise lacking
    for key in (key for key in keys if key in whole):
        page = fit_rows(whole[key], read_page({**arguments, "cursor": "0"}), len(whole[key]), key)
        whole[key], more = page[key], more or "next" in page
    if more:
        whole["hint"] = "A space has more rows. Name it in `space` to page through them."
    return {**whole, "total": total}
