"""Shapes of items in replies, rows of lists, and conversion of arguments."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypedDict, TypeVar

from canonry.canon.judging.known_things import Backing, SpokenTime
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Receipt, the_made
from canonry.gateway.replies import (
    BOOLEAN,
    COUNT,
    INSTANT,
    INTEGER,
    NUMBER,
    OBJECT,
    TEXT,
    UUID,
    WORD,
    Field,
    Shape,
    array,
    enum,
    given,
    nullable,
    obj,
    optional,
)
from canonry.gateway.tool import ANYONE, Arguments, CallTool, Reply, Schema, Tool
from canonry.log.entries import ThingDraft
from canonry.log.items.entities import EntityClass
from canonry.log.items.proposals import NARRATED, ProposalType
from canonry.log.schemas.narrative import narrative_type
from canonry.values.audience import EVERYBODY, Audience, audience_in
from canonry.values.errors import BrokenInvariant, InvalidInput
from canonry.values.ids import SpaceId
from canonry.values.moments import Instant, parse_instant
from canonry.values.provenance import Authority, Evidence, parse_evidence
from canonry.values.state_tags import normal_tags

# Arguments. The gateway has validated types and enums before. Ids become lower case.

T = TypeVar("T")
LIST_MAX: Final = 500
"""The most items in a list argument."""
QUERY_MAX: Final = 500
"""The most items that one query returns."""
PAGE_DEFAULT: Final = 20
"""The default number of rows."""
PAGING: Final[Mapping[str, Field]] = {
    "limit": INTEGER.but(default=PAGE_DEFAULT, maximum=QUERY_MAX),
    "offset": INTEGER.but(default=0),
}
"""The paging arguments of every query outside of the contract."""
DETAIL: Final[Mapping[str, Field]] = {"detail": BOOLEAN.but(default=False)}
"""The argument of lists that return short rows."""


def filters(**fields: Field) -> Schema:
    """Return the optional arguments of a query: its filters, and the page."""
    return obj({}, {**fields, **PAGING, **DETAIL})


_LEGACY_CLASSES = {
    "EntityAxiomatica": EntityClass.ARCHETYPE,
    "EntityConcreta": EntityClass.INSTANCE,
}


def uuid_of(arguments: Arguments, name: str) -> str:
    """Return a required id."""
    return str(arguments[name]).lower()


def optional_uuid(arguments: Arguments, name: str) -> str | None:
    """Return an id that may be missing."""
    value = arguments.get(name)
    return None if value is None else str(value).lower()


def optional_id(arguments: Arguments, name: str, kind: Callable[[str], T]) -> T | None:
    """Return a typed id that may be missing."""
    value = arguments.get(name)
    return None if value is None else kind(str(value).lower())


def optional_of(arguments: Arguments, name: str, kind: Callable[[str], T]) -> T | None:
    """Return a text that may be missing, converted by `kind`."""
    value = arguments.get(name)
    return None if value is None else kind(value)


def proposal_types(arguments: Arguments) -> frozenset[ProposalType]:
    """Return the requested type of proposals, or all that the canon's gates judge."""
    value = arguments.get("type")
    return frozenset(NARRATED if value is None else (ProposalType(value),))


def uuids_of(arguments: Arguments, name: str, *, minimum: int = 0) -> tuple[str, ...]:
    """Return a list of ids without repeats.

    Raises:
        InvalidInput: `list.too-short`, `list.too-long` or `list.repeats`.
    """
    values = [str(value).lower() for value in checked_list(arguments.get(name) or (), name)]
    if len(values) < minimum:
        message = f"/{name} has {len(values)} items. Give at least {minimum}."
        raise InvalidInput("list.too-short", message, path=f"/{name}", minimum=minimum)
    if len(set(values)) < len(values):
        message = f"/{name} has the same id twice. Give each id once."
        raise InvalidInput("list.repeats", message, path=f"/{name}")
    return tuple(values)


def checked_list(values: Sequence[Any], name: str) -> Sequence[Any]:
    """Return the list if it is not too long.

    Raises:
        InvalidInput: `list.too-long`.
    """
    if len(values) > LIST_MAX:
        message = f"/{name} has {len(values)} items; the limit is {LIST_MAX}."
        raise InvalidInput("list.too-long", message, path=f"/{name}", limit=LIST_MAX)
    return values


def texts_of(arguments: Arguments, name: str, maximum: int, *, within: str = "") -> tuple[str, ...]:
    """Return a list of texts, each once, in their order; none is empty or too long.

    `within` is the path of the object with the list.
    """
    path = f"{within}/{name}"
    values = checked_list(arguments.get(name) or (), path[1:])
    return tuple(
        dict.fromkeys(checked_text(v, maximum, path=f"{path}/{i}") for i, v in enumerate(values))
    )


def tags_of(arguments: Arguments, name: str, maximum: int, *, within: str = "") -> tuple[str, ...]:
    """Return a list of state tags in normal form."""
    return normal_tags(texts_of(arguments, name, maximum, within=within))


def instant_of(arguments: Arguments, name: str) -> Instant | None:
    """Return an instant that may be missing."""
    value = arguments.get(name)
    return None if value is None else parse_instant(value, path=f"/{name}")


TIME_WORDS: Final = "(words of times)"
"""The internal argument with the original words of times; callers cannot set it."""


def time_words_of(arguments: Arguments, name: str) -> str | None:
    """Return the words of a time if it was given in words of a calendar."""
    words: Mapping[str, str] = arguments.get(TIME_WORDS) or {}
    return words.get(name)


def text_of(arguments: Arguments, name: str, maximum: int | None) -> str:
    """Return a text with 1 to `maximum` characters; None: no limit.

    Raises:
        InvalidInput: `text.empty` or `text.too-long`.
    """
    return checked_text(arguments[name], maximum, path=f"/{name}")


def optional_text(arguments: Arguments, name: str, maximum: int | None) -> str | None:
    """Return a text that may be missing but not empty."""
    value = arguments.get(name)
    return None if value is None else checked_text(value, maximum, path=f"/{name}")


def checked_text(value: str, maximum: int | None, *, path: str) -> str:
    """Return the text if it is neither empty nor too long."""
    if not value.strip():
        raise InvalidInput("text.empty", f"{path} is empty. Give a text.", path=path)
    if maximum is not None and len(value) > maximum:
        message = f"{path} has {len(value)} characters; the limit is {maximum}."
        raise InvalidInput("text.too-long", message, path=path, limit=maximum, length=len(value))
    return value


def evidence_of(arguments: Arguments) -> tuple[Evidence, ...]:
    """Return the references of the form kind:uuid, at least one, each once.

    Raises:
        InvalidInput: `evidence.missing`, `evidence.malformed` or `list.too-long`.
    """
    name = "evidence_refs"
    found = [
        parse_evidence(text, path=f"/{name}/{index}")
        for index, text in enumerate(checked_list(arguments[name], name))
    ]
    if not found:
        message = f"/{name} is empty. Cite at least one kind:uuid, like source:<source_id>."
        raise InvalidInput("evidence.missing", message, path=f"/{name}")
    return tuple(dict.fromkeys(found))


def backing_of(arguments: Arguments) -> Backing:
    """Return the authority, confidence and evidence of a new item of canon."""
    words, at = time_words_of(arguments, "time_ref"), instant_of(arguments, "time_ref")
    return Backing(
        space=SpaceId(uuid_of(arguments, "universe_id")),
        authority=Authority(arguments["authority"]),
        confidence=float(arguments["confidence"]),
        evidence=evidence_of(arguments),
        spoken=None if words is None or at is None else SpokenTime(words=words, at=at),
        audience=optional_of(arguments, "audience", audience_in),
    )


def audience_of(arguments: Arguments) -> Audience:
    """Return the audience; the default is everybody."""
    return optional_of(arguments, "audience", audience_in) or EVERYBODY


def entity_class_of(value: str) -> EntityClass:
    """Return the entity class by its current or older name."""
    return _LEGACY_CLASSES.get(value) or EntityClass(value)


def limit_of(arguments: Arguments, name: str = "limit", *, default: int, maximum: int) -> int:
    """Return the requested number of items.

    Raises:
        InvalidInput: `limit.out-of-range`.
    """
    limit = int(arguments.get(name, default))
    if not 1 <= limit <= maximum:
        message = f"/{name} is {limit}. It must be between 1 and {maximum}."
        raise InvalidInput("limit.out-of-range", message, path=f"/{name}", maximum=maximum)
    return limit


class Paged(TypedDict):
    """The requested page of a query."""

    limit: int
    offset: int


def page_of(arguments: Arguments) -> Paged:
    """Return the requested page of a query, from its paging arguments.

    Raises:
        InvalidInput: `limit.out-of-range` or `offset.negative`.
    """
    limit = limit_of(arguments, default=PAGE_DEFAULT, maximum=QUERY_MAX)
    offset = int(arguments.get("offset", 0))
    if not 0 <= offset < 2**62:
        raise InvalidInput("offset.negative", "/offset must be 0 or more.", path="/offset")
    return {"limit": limit, "offset": offset}


# Shapes. The game master's notes are in no shape of a scene, only in its context.

AUDIENCE: Final = array(TEXT)
AUTHORITY: Final = enum("source", "gm", "player", "system")
SCENE_STATUS: Final = enum("active", "finalizing", "completed")
PROPOSAL_STATUS: Final = enum("pending", "accepted", "rejected")
PROPOSAL_TYPE: Final = enum("fact", "entity", "relationship", "state_change", "event")
WORDS: Final = array(WORD)
UUIDS: Final = array(UUID)
TEXTS_BY_NAME: Final = Field({"type": "object", "additionalProperties": TEXT.schema}, dict)

_BACKED: Final[Mapping[str, Field]] = {
    "canon_level": WORD.of("level"),
    "confidence": NUMBER,
    "authority": WORD,
    "evidence_refs": WORDS.of("evidence"),
    "created_at": INSTANT,
}


def _property(name: str) -> Field:
    return optional(TEXT).of(lambda space: space.properties.get(name))


SPACE: Final = Shape(
    universe_id=optional(UUID).of("id"),
    multiverse_id=optional(nullable(UUID)).of("parent"),
    name=TEXT,
    description=TEXT,
    genre=_property("genre"),
    tone=_property("tone"),
    tech_level=_property("tech_level"),
    system_name=_property("system_name"),
    calendar=optional(OBJECT).of(lambda space: space.properties.get("calendar")),
    created_at=INSTANT,
)

ENTITY: Final = Shape(
    entity_id=UUID.of("id"),
    universe_id=UUID.of("space"),
    entity_class=WORD,
    entity_type=TEXT.by(narrative_type),
    name=TEXT,
    aliases=array(TEXT),
    description=TEXT,
    properties=OBJECT,
    state_tags=array(TEXT),
    derives_from=nullable(UUID),
    merged_entity_ids=UUIDS.of("members"),
    replaced_by=nullable(UUID),
    **_BACKED,
    updated_at=INSTANT,
)
"""An entity with its current snapshot; `merged_entity_ids` are its merged members."""

RELATION: Final = Shape(
    relationship_id=UUID.of("id"),
    universe_id=UUID.of("space"),
    rel_type=TEXT,
    from_entity_id=UUID.of("from_id"),
    to_entity_id=UUID.of("to_id"),
    properties=OBJECT,
    since=nullable(INSTANT),
    until=nullable(INSTANT),
    current=BOOLEAN,
    scene_id=nullable(UUID),
    proposal_id=nullable(UUID),
    replaced_by=nullable(UUID),
    retcon_reason=nullable(TEXT),
    **_BACKED,
)
"""A relation; `current` means that it is canon and has not ended."""

FACT: Final = Shape(
    fact_id=UUID.of("id"),
    universe_id=UUID.of("space"),
    statement=TEXT,
    fact_type=WORD,
    properties=OBJECT,
    time_ref=nullable(INSTANT),
    time_words=nullable(TEXT),
    duration=nullable(COUNT),
    until=nullable(INSTANT),
    involved_entity_ids=UUIDS.of("involved"),
    scene_id=nullable(UUID),
    proposal_id=nullable(UUID),
    replaces=nullable(UUID),
    replaced_by=nullable(UUID),
    superseded_by=nullable(UUID),
    retcon_reason=nullable(TEXT),
    **_BACKED,
)
"""A fact; `until` is the time at which another superseded it, if known."""

EVENT: Final = Shape(
    event_id=UUID.of("id"),
    universe_id=UUID.of("space"),
    scene_id=nullable(UUID),
    title=TEXT,
    description=TEXT,
    time_ref=nullable(INSTANT),
    time_words=nullable(TEXT),
    severity=INTEGER,
    involved_entity_ids=UUIDS.of("involved"),
    causes_event_ids=UUIDS.of("causes"),
    proposal_id=nullable(UUID),
    replaced_by=nullable(UUID),
    retcon_reason=nullable(TEXT),
    **_BACKED,
)
"""An event; `causes_event_ids` are the events that it caused."""

STORY: Final = Shape(
    story_id=UUID.of("id"),
    universe_id=UUID.of("space"),
    title=TEXT,
    story_type=WORD,
    theme=nullable(TEXT),
    premise=nullable(TEXT),
    parent_story_id=nullable(UUID).of("parent_id"),
    start_time_ref=nullable(INSTANT),
    status=WORD,
    scene_count=COUNT,
    created_at=INSTANT,
)

SOURCE: Final = Shape(
    source_id=UUID.of("id"),
    universe_id=UUID.of("space"),
    doc_id=TEXT,
    title=TEXT,
    edition=nullable(TEXT),
    provenance=nullable(TEXT).of("origin"),
    source_type=WORD,
    canon_level=WORD.of("level"),
    created_at=INSTANT,
)

AXIOM: Final = Shape(
    axiom_id=UUID.of("id"),
    universe_id=UUID.of("space"),
    statement=TEXT,
    domain=WORD,
    constraint=nullable(OBJECT).by(
        Shape(kind=TEXT, values=array(TEXT), entity_type=optional(TEXT))
    ),
    **_BACKED,
)
"""A law of a world, with the constraint that the gates enforce, if any."""

SCENE: Final = Shape(
    scene_id=UUID.of("id"),
    story_id=UUID,
    universe_id=UUID.of("space"),
    title=TEXT,
    purpose=nullable(TEXT),
    status=SCENE_STATUS,
    order=INTEGER,
    location_ref=nullable(UUID),
    participating_entities=UUIDS.of("participants"),
    departed_entities=UUIDS.of("departed"),
    time_ref=nullable(INSTANT),
    time_words=nullable(TEXT),
    canonical_outcomes=UUIDS.of("outcomes"),
    summary=nullable(TEXT),
    total_turns=COUNT.of("turn_count"),
    created_at=INSTANT,
    updated_at=INSTANT,
    completed_at=nullable(INSTANT),
)

TURN: Final = Shape(
    turn_id=UUID.of("id"),
    index=COUNT,
    speaker=enum("user", "gm", "entity"),
    entity_id=nullable(UUID),
    text=TEXT,
    timestamp=INSTANT,
    resolution_ref=nullable(TEXT),
)
"""One utterance; `index` counts from 0 within its scene."""

_NAMED_TURN: Final = Shape(**TURN.fields, entity_name=nullable(given(TEXT)))


def _named(page: Any) -> list[dict[str, Any]]:
    names = page.names
    return [_NAMED_TURN(turn, entity_name=names.get(turn.entity_id or "")) for turn in page.turns]


NAMED_TURNS: Final = array(_NAMED_TURN).by(_named)
"""Turns, from an object with `turns` and the `names` of the speaking entities."""

CONFLICTS: Final = array(
    Shape(id=TEXT, grade=enum("contradiction", "possible").by(str), reason=TEXT)
)
"""Conflicts of a proposal, each with its certainty and reason."""

_DECISION: Final = Shape(
    rule=TEXT,
    score=nullable(NUMBER),
    conflicts=array(TEXT),
    conflict_details=CONFLICTS.of("all_conflicts"),
    made=UUIDS,
    decided_by=TEXT,
)
_REVIEW: Final = Shape(
    rule=TEXT,
    rationale=TEXT,
    score=nullable(NUMBER),
    conflicts=array(TEXT),
    conflict_details=CONFLICTS.of("all_conflicts"),
    judged_at=INSTANT.of("decided_at"),
)
PROPOSAL: Final = Shape(
    proposal_id=UUID.of("id"),
    universe_id=UUID.of("space"),
    scene_id=nullable(UUID),
    turn_id=nullable(UUID),
    type=PROPOSAL_TYPE,
    content=OBJECT,
    original_content=OBJECT.of("original"),
    evidence=array(Shape(type=WORD.of("kind"), ref_id=UUID.of("ref"))),
    confidence=NUMBER,
    authority=AUTHORITY,
    proposed_by=TEXT,
    status=PROPOSAL_STATUS,
    rationale=nullable(TEXT).of(lambda each: each.decision and each.decision.rationale),
    canonical_id=nullable(UUID).of(lambda each: each.decision and each.decision.canonical_id),
    decision=nullable(_DECISION),
    review=nullable(_REVIEW),
    waived=array(TEXT),
    created_at=INSTANT,
    evaluated_at=nullable(INSTANT).of(lambda each: each.decision and each.decision.decided_at),
)
"""A proposal with its verdict, if it has one."""

MEMORY: Final = Shape(
    memory_id=UUID.of("id"),
    entity_id=UUID,
    text=TEXT,
    linked_fact_id=nullable(UUID),
    scene_id=nullable(UUID),
    emotional_valence=NUMBER,
    importance=NUMBER,
    certainty=NUMBER,
    created_at=INSTANT,
)
"""A belief of one character."""


def canon_created(id_name: str) -> Shape:
    """Return the shape of a new item: id, level, recording date and warnings."""
    return Shape(
        **{id_name: UUID.of("id")},
        canon_level=WORD.of("level"),
        created_at=given(INSTANT),
        warnings=given(array(TEXT)),
    )


def created(shape: Shape, receipt: Receipt[Any], kind: type[ThingDraft]) -> dict[str, Any]:
    """Return the item that a commit made; `created_at` and `warnings` are the commit's."""
    thing = the_made(receipt, kind)
    return shape(thing, created_at=receipt.recorded_at, warnings=receipt.warnings)


GIST: Final = 140
"""The most characters of a description in a row."""
_NAME: Final = nullable(TEXT)
_NAMES: Final[Mapping[str, tuple[str, Field]]] = {
    "involved_entity_ids": ("involved_names", array(TEXT)),
    "from_entity_id": ("from_name", _NAME),
    "to_entity_id": ("to_name", _NAME),
    "location_ref": ("location_name", _NAME),
}
"""The ids that get a name next to them, and the name's position."""


class RowShape:
    """The row of an item in lists: the fields `kept`, or all of them with `detail`."""

    def __init__(self, whole: Shape, *kept: str, **more: Field) -> None:
        """`more` are fields that the item does not have, or that are shorter in a row."""
        short = Shape(**{**whole.only(*kept), **more})
        whole = Shape(**{**more, **whole.fields})
        self.shortens = short.fields != whole.fields
        self._shapes = (short, whole)
        names = dict(_NAMES[key] for key in kept if key in _NAMES)
        self.schema: Schema = obj({**short.fields, **names}, {**short.fields, **whole.fields})

    def __call__(self, thing: Any, *, detail: bool) -> dict[str, Any]:
        """Return the item as JSON, without names."""
        return self._shapes[detail](thing)


class Listing:
    """A page of rows under `name`, with the total number of matches."""

    def __init__(self, name: str, row: RowShape) -> None:
        """Make rows of the items of a page."""
        self._name, self._row, self.shortens = name, row, row.shortens
        self.gives: Final = Field(obj({name: array(Field(row.schema)), "total": COUNT}))

    async def __call__(
        self, canon: Canon, caller: Caller, page: Any, arguments: Arguments
    ) -> dict[str, Any]:
        """Return the requested page."""
        rows = [self._row(each, detail=bool(arguments.get("detail"))) for each in page.items]
        await name_in(canon, caller, rows)
        return {self._name: rows, "total": page.total}

    async def query(
        self,
        canon: Canon,
        caller: Caller,
        arguments: Arguments,
        run: Callable[..., Awaitable[Any]],
        query: Any,
        *within: str,
    ) -> dict[str, Any]:
        """Run a use case for a query, and return its page."""
        ids = {name: optional_uuid(arguments, name) for name in within}
        return await self(canon, caller, await run(canon, caller, query, **ids), arguments)


async def name_in(canon: Canon, caller: Caller, rows: Iterable[dict[str, Any]]) -> None:
    """Add the names of ids to rows, except of entities that the caller may not see."""
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
    """Return the start of a long text."""
    return text if text is None or len(text) <= GIST else f"{text[: GIST - 1].rstrip()}…"


_CALLS_MAX: Final = 50
_CALL: Final = Shape(name=TEXT, arguments=optional(OBJECT.but(default={})))


async def _together(call: CallTool, arguments: Arguments) -> Reply:
    calls = arguments["calls"]
    replies = await asyncio.gather(*(call(each["name"], each["arguments"]) for each in calls))
    return {"results": list(replies)}


async def _never(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    del canon, caller, arguments  # the gateway composes this tool of other calls
    raise BrokenInvariant("tool.composed", "A composed tool has no operation of its own.")


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        name="batch_call",
        title="Batch call",
        description=(
            "Run several independent calls in parallel. Results keep the order of the calls, "
            "and each is a reply or an error."
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
