"""Changes: what was written since a place in the log of a space, or since an instant in all."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from canonry.assistant.desk import (
    EVERYBODY,
    PAGING,
    SPACE,
    Desk,
    desk_of,
    named,
    recorded_time,
    takes,
    wanted,
)
from canonry.assistant.everywhere import desks_of, placed
from canonry.assistant.rows import Names, Row, fitted, kind_of, named_in, reply_schema, row_of
from canonry.canon.queries.timeline import ChangeQuery, Written, list_changes
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import COUNT, OBJECT, TEXT, array
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.log.canon import ids_of
from canonry.log.commits import Position
from canonry.log.entries import (
    EntitiesMerged,
    EntitiesUnmerged,
    Entry,
    EvidenceLinked,
    FactSuperseded,
    Made,
    ProposalDecided,
    ProposalDeferred,
    RelationEnded,
    Thing,
)
from canonry.log.items.scenes import Memory, Scene
from canonry.log.schemas.narrative import PROPERTY_PREFIX
from canonry.values.moments import parse_instant, render_instant
from canonry.values.observations import Observation

_WORDS_MAX: Final = 120
_ABOUT: Final = 4
"""So many things of each kind are told of one commit."""


async def _changes(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    """Of one space, or of each: then in the order of time, with an instant as the cursor."""
    since = _since(arguments.get("since"))
    if "after" in since:
        return await _written_to(await desk_of(canon, caller, arguments), arguments)
    desks = await desks_of(canon, caller, arguments)
    if len(desks) == 1:
        return await _written_to(desks[0], arguments)
    page = wanted({"limit": arguments["limit"]} if "limit" in arguments else {})
    rows: list[Row] = []
    left = 0
    for desk in desks:
        part = await _written_to(desk, arguments)
        rows += [placed(row, desk, desks) for row in part["changes"]]
        left += part["left"]
    rows.sort(key=lambda row: parse_instant(row["when"]))
    some = rows[: page.limit] if since else rows[-page.limit :]
    kept = fitted(some, page, len(some), "changes")["changes"]
    if since and kept:  # of one instant all, as the next question begins past it
        kept += [row for row in rows[len(kept) :] if row["when"] == kept[-1]["when"]]
    left += len(rows) - len(kept) if since else len(some) - len(kept)
    given = arguments.get("since") or render_instant(canon.clock.now())
    cursor = kept[-1]["when"] if kept else given
    reply: Row = {"changes": kept, "cursor": cursor, "left": left}
    return {**reply, "hint": f"changes since={cursor} goes on"} if left else reply


async def _written_to(desk: Desk, arguments: Arguments) -> Reply:
    canon, caller = desk.canon, desk.caller
    page = wanted({name: arguments[name] for name in ("limit", "full") if name in arguments})
    query = ChangeQuery(space=desk.space.id, limit=page.limit, **_since(arguments.get("since")))
    found = await list_changes(canon, caller, query)
    seen = canon.seen_by(caller)
    names = await seen.roots(i for each in found.things.values() for i in named_in(each))
    rows = [_written(each, found.things, names) for each in found.written if each.entries]
    kept = fitted(rows, page, len(rows), "changes")["changes"]
    cursor, left = found.cursor, found.left
    if len(kept) < len(rows):
        cursor = Position(kept[-1]["at"])
        left += len(rows) - len(kept)
    reply: Row = {"changes": kept, "cursor": str(cursor), "left": left}
    if left:
        reply["hint"] = f"changes since={cursor} goes on"
    return reply


def _since(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    if text.isascii() and text.isdecimal() and len(text) < 16:  # noqa: PLR2004 - as a position
        return {"after": Position(int(text))}
    return {"since": recorded_time(text, path="/since")}


def _written(written: Written, things: Mapping[str, Thing], names: Names) -> Row:
    commit = written.commit
    return {
        "at": commit.position,
        "when": render_instant(commit.recorded_at),
        "by": commit.actor.agent_id,
        "tool": commit.tool,
        "what": _what(written.entries, things, names),
    }


def _what(entries: Iterable[Entry], things: Mapping[str, Thing], names: Names) -> list[Row]:
    """What happened, of each kind the first few, so that an import is told in a line or two."""
    told: list[Row] = []
    counts: dict[tuple[str, str], int] = {}
    new = {ids_of(each)[0] for each in entries if isinstance(each, Made)}
    for entry in entries:
        thing, how = things[ids_of(entry)[0]], how_of(entry)
        words = says(thing, names)
        if isinstance(thing, Observation):
            if thing.entity_id in new or thing.entity_id not in things:
                continue  # the entity that it is about says it
            fields = ", ".join(name.removeprefix(PROPERTY_PREFIX) for name in thing.fields)
            thing, how = things[thing.entity_id], "said"
            words = f"{says(thing, names)}: {fields}"
        kind = kind_of(thing)
        counts[how, kind] = counts.get((how, kind), 0) + 1
        if counts[how, kind] <= _ABOUT:
            told.append({"how": how, "kind": kind, "id": thing.id, "says": words})
    told += [
        {"how": how, "kind": kind, "says": f"{count - _ABOUT} more"}
        for (how, kind), count in counts.items()
        if count > _ABOUT
    ]
    return told


def says(thing: Thing, names: Names) -> str:
    """A thing in a few words."""
    row = row_of(thing, names, {}, full=False)
    silent = isinstance(thing, Scene | Memory)  # of these the title alone is told
    return row.get("name") or ("" if silent else row.get("says", "")[:_WORDS_MAX]) or kind_of(thing)


def how_of(entry: Entry) -> str:  # noqa: PLR0911 - one case a kind
    """What an entry did, in a word or two."""
    match entry:
        case Made():
            return "new"
        case ProposalDecided(decision=decision):
            return decision.status.value
        case ProposalDeferred():
            return "needs review"
        case EntitiesMerged():
            return "merged"
        case EntitiesUnmerged():
            return "separated"
        case FactSuperseded() | RelationEnded():
            return "ended"
        case EvidenceLinked():
            return "said again"
        case _:
            name = type(entry).__name__
            return "retconned" if name.endswith("Retconned") else "changed"


CHANGES: Final = Tool(
    name="changes",
    title="Changes",
    description="What was written since you last looked, oldest first; else what is newest.",
    input_schema=takes(
        {},
        {
            "since": named("A cursor of changes, a date or RFC 3339 time."),
            "space": SPACE,
            "limit": PAGING["limit"],
        },
    ),
    output_schema=reply_schema({"changes": array(OBJECT), "cursor": TEXT, "left": COUNT}, {}),
    roles=EVERYBODY,
    run=_changes,
    read_only=True,
)
TOOLS: Final = (CHANGES,)
