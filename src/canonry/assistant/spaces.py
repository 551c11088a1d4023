"""Spaces: which there are, and opening one for a game, a study, a household or a company."""

from typing import Any, Final

from canonry.assistant.desk import (
    ANYTHING,
    EVERYBODY,
    KEEPERS,
    PAGING,
    checked,
    named,
    takes,
    wanted,
)
from canonry.assistant.rows import ROWS, Row, cut, filled, fitted, reply_schema
from canonry.canon.commands.universes import create_universe, space_opened_by
from canonry.canon.queries.listings import ChosenSpace, list_opened, list_spaces
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import the_made
from canonry.canon.session.spoken_times import CALENDAR
from canonry.gateway.shapes import BOOLEAN, COUNT, TEXT
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.values.ids import SpaceDraft, SpaceKind
from canonry.values.json_values import folded

_HOLDS: Final = {
    SpaceKind.UNIVERSE: "claims that are judged; scenes",
    SpaceKind.WORLD: "an online world: claims that are judged; places",
    SpaceKind.MULTIVERSE: "other spaces",
    SpaceKind.PROJECT: "a catalog, only to read",
    SpaceKind.ACCOUNT: "your own documents and records",
}


async def _spaces(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    page = wanted(arguments)
    spaces = await list_spaces(canon, caller)
    rows = [row_of(each) for each in spaces[page.offset : page.offset + page.limit]]
    reply = fitted(rows, page, len(spaces), "spaces")
    if all(each.opened is None for each in spaces):
        reply["hint"] = "nothing is kept yet: open a space, or tell records to 'account'"
    return reply


def row_of(space: ChosenSpace) -> Row:
    """A space as lists answer it."""
    told = "" if space.opened is None else cut(space.opened.description, full=False)
    row: Row = {"kind": space.kind.value, "id": space.id, "name": space.name, "says": told}
    row["holds"] = _HOLDS[space.kind] if space.opened is not None else "nothing yet"
    return filled(row)


async def _open(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    name = checked(arguments["name"], limits.name, path="/name")
    there = await _of_name(canon, caller, name)
    if there is not None and there.id != space_opened_by(canon, caller):
        caller.use(there.id)
        hint = "it was there already and is as it was; another needs another name"
        return {"id": there.id, "name": there.name, "opened": False, "hint": hint}
    about = arguments.get("about")
    calendar = arguments.get(CALENDAR)
    properties: dict[str, Any] = {} if calendar is None else {CALENDAR: calendar}
    receipt = await create_universe(
        canon,
        caller,
        kind=SpaceKind.UNIVERSE,
        name=name,
        description="" if about is None else checked(about, limits.description, path="/about"),
        properties=properties,
    )
    made = the_made(receipt, SpaceDraft).id
    caller.use(made)
    return {
        "id": made,
        "name": name,
        "hint": "tell what is known, then propose what is to be true",
    }


async def _of_name(canon: Canon, caller: Caller, name: str) -> ChosenSpace | None:
    """The space that is called so: who forgot it does not mean a second one."""
    for space in await list_opened(canon, caller):
        if space.told and folded(space.name) == folded(name):
            return space
    return None


TOOLS: Final = (
    Tool(
        name="spaces",
        title="Spaces",
        description="List the spaces that you may see: each keeps a truth of its own.",
        input_schema=takes({}, dict(PAGING)),
        output_schema=reply_schema({"spaces": ROWS, "total": COUNT}, {}),
        roles=EVERYBODY,
        run=_spaces,
        read_only=True,
    ),
    Tool(
        name="open",
        title="Open a space",
        description=(
            "Open a new space for what belongs together: a game's world, a study, a company. "
            "Your own documents and records need none; they have the space 'account'."
        ),
        input_schema=takes(
            {"name": named("What it is called.")},
            {
                "about": TEXT.but(description="What it is about."),
                "calendar": ANYTHING.but(
                    description="How it counts days: months [{name, days}], week, eras."
                ),
            },
        ),
        output_schema=reply_schema({"id": TEXT, "name": TEXT}, {"opened": BOOLEAN}),
        roles=KEEPERS,
        run=_open,
        read_only=False,
    ),
)
