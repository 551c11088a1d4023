"""Rows of lists, and batches of calls."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import COUNT, OBJECT, TEXT, Field, Shape, array, nullable, obj, optional
from canonry.gateway.tool import ANYONE, Arguments, CallTool, Reply, Schema, Tool
from canonry.values.errors import BrokenInvariant

GIST: Final = 140
"""So many characters of a description stand in a row."""
_NAME: Final = nullable(TEXT)
_NAMES: Final[Mapping[str, tuple[str, Field]]] = {
    "involved_entity_ids": ("involved_names", array(TEXT)),
    "from_entity_id": ("from_name", _NAME),
    "to_entity_id": ("to_name", _NAME),
    "location_ref": ("location_name", _NAME),
}
"""Beside which ids the names stand, and where."""


class RowShape:
    """A thing as lists answer it: in `kept`, or in all fields where somebody asks for detail."""

    def __init__(self, whole: Shape, *kept: str, **more: Field) -> None:
        """`more` are fields that the thing itself does not have, or that are shorter in a row."""
        short = Shape(**{**whole.only(*kept), **more})
        whole = Shape(**{**more, **whole.fields})
        self.shortens = short.fields != whole.fields
        self._shapes = (short, whole)
        names = dict(_NAMES[key] for key in kept if key in _NAMES)
        self.schema: Schema = obj({**short.fields, **names}, {**short.fields, **whole.fields})

    def __call__(self, thing: Any, *, detail: bool) -> dict[str, Any]:
        """The thing as JSON, still without names."""
        return self._shapes[detail](thing)


class Listing:
    """A page of rows under `name`, with the number of all that match."""

    def __init__(self, name: str, row: RowShape) -> None:
        """The rows are those of the things of a page."""
        self._name, self._row, self.shortens = name, row, row.shortens
        self.gives: Final = Field(obj({name: array(Field(row.schema)), "total": COUNT}))

    async def __call__(
        self, canon: Canon, caller: Caller, page: Any, arguments: Arguments
    ) -> dict[str, Any]:
        """The page as it was asked for."""
        rows = [self._row(each, detail=bool(arguments.get("detail"))) for each in page.items]
        await name_in(canon, caller, rows)
        return {self._name: rows, "total": page.total}


async def name_in(canon: Canon, caller: Caller, rows: Iterable[dict[str, Any]]) -> None:
    """Set names beside the ids in rows; of what the caller may not see there is none."""
    rows = list(rows)
    ids = {i for row in rows for key in _NAMES for i in _ids(row.get(key))}
    found = await canon.seen_by(caller).roots(sorted(ids))
    names = {i: entity.name for i, entity in found.items()}
    for row in rows:
        for key in _NAMES.keys() & row.keys():
            value = row[key]
            listed = [names[i] for i in value if i in names] if isinstance(value, list) else None
            row[_NAMES[key][0]] = names.get(value) if listed is None else listed


def _ids(value: Any) -> Iterable[str]:
    return value if isinstance(value, list) else () if value is None else (value,)


def gist(text: str | None) -> str | None:
    """The beginning of a long text."""
    return text if text is None or len(text) <= GIST else f"{text[: GIST - 1].rstrip()}…"


_CALLS_MAX: Final = 50
_CALL: Final = Shape(name=TEXT, arguments=optional(OBJECT.but(default={})))


async def _together(call: CallTool, arguments: Arguments) -> Reply:
    calls = arguments["calls"]
    replies = await asyncio.gather(*(call(each["name"], each["arguments"]) for each in calls))
    return {"results": list(replies)}


async def _never(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    del canon, caller, arguments  # the gateway composes this tool of other calls
    raise BrokenInvariant("tool.composed", "a composed tool is not run by itself")


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        name="batch_call",
        title="Batch call",
        description=(
            "Call several tools in parallel; results come in order, each a reply or an error. "
            "Use it only for calls that do not depend on each other."
        ),
        input_schema=obj({"calls": array(_CALL).but(minItems=1, maxItems=_CALLS_MAX)}),
        output_schema=obj({"results": array(Field({"type": "object"}))}),
        roles=ANYONE,
        run=_never,
        compose=_together,
        read_only=False,
        extension=True,
    ),
)
