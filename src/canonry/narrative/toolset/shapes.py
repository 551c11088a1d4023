"""Shapes of items in replies, and rows of lists; `tools.toml` has their fields."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Receipt, first_made
from canonry.gateway.replies import (
    COUNT,
    INSTANT,
    NUMBER,
    OBJECT,
    SHARE,
    TEXT,
    UUID,
    WORD,
    Field,
    Shape,
    array,
    given_field,
    nullable_field,
    object_schema,
)
from canonry.gateway.tables import FieldTable, named_code
from canonry.gateway.tool import ANYONE, Arguments, CallTool, Reply, Schema, Tool
from canonry.log.entries import ItemDraft
from canonry.log.schemas.narrative import narrative_type
from canonry.narrative.toolset.arguments import DEFAULTING, READERS
from canonry.values.errors import BrokenInvariant

_DIGITS: Final = 4
GIST: Final = 140
"""The most characters of a description in a row."""


def gist_of(text: str | None) -> str | None:
    """Return the start of a long text."""
    return text if text is None or len(text) <= GIST else f"{text[: GIST - 1].rstrip()}…"


def _round_number(number: float) -> float:
    return round(number, _DIGITS)


TABLE: Final = FieldTable(
    __package__,
    {
        "gist": TEXT.with_render(gist_of),
        "known_at": Field({"anyOf": [INSTANT.schema, COUNT.with_keywords(maximum=2**53).schema]}),
        "relation_type": TEXT.with_render(lambda kind: kind.name),
        "rounded": NUMBER.with_render(_round_number),
        "rounded_share": SHARE.with_render(_round_number),
        "texts_by_name": Field({"type": "object", "additionalProperties": TEXT.schema}, dict),
        "type": TEXT.with_render(narrative_type),
    },
    READERS,
    DEFAULTING,
)
TABLE.kinds["constraint"] = OBJECT.with_render(TABLE.make_shape("constraint_shown"))


# Shapes. The game master's notes are in no shape of a scene, only in its context.

ENTITY: Final = TABLE.make_shape("entity")
FACT: Final = TABLE.make_shape("fact")
_NAMED_TURN: Final = TABLE.make_shape("named_turn")


def _named_turns(page: Any) -> list[dict[str, Any]]:
    names = page.names
    return [_NAMED_TURN(turn, entity_name=names.get(turn.entity_id or "")) for turn in page.turns]


TABLE.kinds["named_turns"] = array(_NAMED_TURN).with_render(_named_turns)
"""Turns, from an object with `turns` and the `names` of the speaking entities."""


class Created(Field):
    """The item of a kind that a commit made; its time and warnings are the commit's."""

    def __init__(self, shape: Shape, kind: type[ItemDraft]) -> None:
        """Take the shape of the item."""
        super().__init__(shape.schema)
        self._shape, self._kind = shape, kind

    def __call__(self, receipt: Receipt[Any]) -> dict[str, Any]:
        """Return the item that the commit made."""
        made: dict[str, Any] = dict.fromkeys(self._shape.given, receipt.recorded_at)
        if "warnings" in made:
            made["warnings"] = receipt.warnings
        return self._shape(first_made(receipt, self._kind), **made)


_NAME: Final = nullable_field(TEXT)
_NAMES: Final[Mapping[str, tuple[str, Field]]] = {
    "involved_entity_ids": ("involved_names", array(TEXT)),
    "from_entity_id": ("from_name", _NAME),
    "to_entity_id": ("to_name", _NAME),
    "location_ref": ("location_name", _NAME),
}
"""The ids that get a name next to them, and the name's position."""


class RowShape:
    """The row of an item in lists: the fields that its table keeps, or all with `detail`."""

    def __init__(self, name: str) -> None:
        """Take the name of the shape, with its table in `rows`.

        Its `more` are fields that the item does not have, or that are shorter in a row.
        """
        whole, row = TABLE.known_shape(name), TABLE.rows[name]
        kept = row.get("keeps", [*whole.fields])
        more = {name: TABLE.make_field(written) for name, written in row.get("more", {}).items()}
        short = Shape(**{**whole.some_fields(*kept), **more})
        whole = Shape(**{**more, **whole.fields})
        self.shortens = short.fields != whole.fields
        self._shapes = (short, whole)
        names = dict(_NAMES[key] for key in kept if key in _NAMES)
        self.schema: Schema = object_schema(
            {**short.fields, **names}, {**short.fields, **whole.fields}
        )

    def __call__(self, item: Any, *, detail: bool) -> dict[str, Any]:
        """Return the item as JSON, without names."""
        return self._shapes[detail](item)


class Listing(Field):
    """A page of rows under `name`, with the total number of matches."""

    def __init__(self, name: str, row: RowShape) -> None:
        """Make rows of the items of a page."""
        super().__init__(object_schema({name: array(Field(row.schema)), "total": COUNT}))
        self._name, self._row = name, row

    async def __call__(
        self, canon: Canon, caller: Caller, page: Any, arguments: Arguments
    ) -> dict[str, Any]:
        """Return the requested page."""
        rows = [self._row(each, detail=bool(arguments.get("detail"))) for each in page.items]
        await name_in(canon, caller, rows)
        return {self._name: rows, "total": page.total}


async def name_in(canon: Canon, caller: Caller, rows: Iterable[dict[str, Any]]) -> None:
    """Add the names of ids to rows, except of entities that the caller may not see."""
    rows = list(rows)
    ids = {i for row in rows for key in _NAMES for i in _list_ids(row.get(key))}
    found = await canon.caller_scope(caller).root_entities(sorted(ids))
    names = {i: entity.name for i, entity in found.items()}
    for row in rows:
        for key in _NAMES.keys() & row.keys():
            value = row[key]
            listed = [names[i] for i in value if i in names] if isinstance(value, list) else None
            row[_NAMES[key][0]] = names.get(value) if listed is None else listed


def _list_ids(value: Any) -> Iterable[str]:
    return value if isinstance(value, list) else () if value is None else (value,)


def shape_shown(written: str | Mapping[str, str]) -> Field:
    """Return the shape that an entry of `tools.toml` names in `shows`."""
    match written:
        case str():
            return TABLE.known_shape(written)
        case {"rows": name, "of": row}:
            return Listing(name, RowShape(row))
        case {"id": name, "of": kind}:
            kind = named_code(kind)
            fields = {name: UUID.from_source("id"), "canon_level": WORD.from_source("level")}
            more = {"created_at": given_field(INSTANT), "warnings": given_field(array(TEXT))}
            return Created(Shape(**fields, **more), kind)
        case _:
            return Created(TABLE.known_shape(written["shape"]), named_code(written["of"]))


_CALLS_MAX: Final = 50  # bounds the time of a batch, which runs as one call
_CALL: Final = TABLE.make_shape("call")


async def _run_calls(call: CallTool, arguments: Arguments) -> Reply:
    calls = arguments["calls"]
    replies = await asyncio.gather(*(call(each["name"], each["arguments"]) for each in calls))
    return {"results": list(replies)}


async def _refuse_run(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    del canon, caller, arguments  # the gateway composes this tool of other calls
    raise BrokenInvariant("tool.composed", "A composed tool has no operation of its own.")


BATCH: Final = Tool(
    name="batch_call",
    title="Batch call",
    description=(
        "Run several independent calls in parallel. Results keep the order of the calls, "
        "and each is a reply or an error."
    ),
    input_schema=object_schema(
        {"calls": array(_CALL).with_keywords(minItems=1, maxItems=_CALLS_MAX)}
    ),
    output_schema=object_schema({"results": array(Field({"type": "object"}))}),
    roles=ANYONE,
    run=_refuse_run,
    compose=_run_calls,
    read_only=False,
    extension=True,
)
