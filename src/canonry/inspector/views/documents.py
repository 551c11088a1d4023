"""Documents: what was brought in, with those of its passages marked on which anything rests."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from canonry.assistant.desk import Desk, desk_of, known_at
from canonry.canon.ports.files import FileType
from canonry.canon.queries.query_facts import FactQuery, query_facts
from canonry.canon.queries.query_snippets import query_snippets
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.tool import Arguments
from canonry.inspector.views.moments import as_of, one_as_of
from canonry.inspector.views.places import SpaceSeen, place_of
from canonry.inspector.views.things import LinkTo, links
from canonry.language.texts.excerpts import Box
from canonry.log.items.entities import Entity
from canonry.log.items.sources import Snippet, Source
from canonry.log.schemas.narrative_fields import PROPERTY_PREFIX
from canonry.records.notation.places import WrittenPlace, places_of
from canonry.records.usecases.review.locate_value import picture_of, reading_of

PAGE: Final = 50
PART_MAX: Final = 20_000
"""So much of a page of a file is shown."""
VALUE_MAX: Final = 500
_LOOKED_AT: Final = 500
_SHORTEST: Final = 3
"""A shorter value stands in too many places to say that it was read here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassagePiece:
    """A part of a passage; `values` are the fields that were read out of it."""

    text: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageSeen:
    """A passage in pieces, and what rests on it."""

    snippet: Snippet
    pieces: Sequence[PassagePiece]
    resting: Sequence[LinkTo]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRead:
    """A value that a document gave: of whom, which field, and where it stands in a file."""

    entity: LinkTo
    field: str
    value: str
    found: bool
    places: Sequence[WrittenPlace]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSeen:
    """A document with a page of its passages, beside the values that it gave.

    `parts` are what is read in a file that has no passages, each with its page, and `spots` where
    in it the value stands that is asked for. `pictures` are by the numbers of the pages that can
    be drawn, with the boxes of what was read out of each.
    """

    space: SpaceSeen
    source: Source
    title: str
    passages: Sequence[PassageSeen]
    parts: Sequence[tuple[int | None, Sequence[PassagePiece]]]
    pictures: Mapping[int, Sequence[Box]]
    spots: Sequence[WrittenPlace]
    values: Sequence[ValueRead]
    resting: Sequence[LinkTo]
    total: int


async def seen_document(canon: Canon, caller: Caller, arguments: Arguments) -> DocumentSeen:
    """The document that `of` names."""
    desk = await desk_of(canon, caller, arguments, "of")
    source = await desk.thing(arguments["of"], Source, path="/of")
    assert isinstance(source, Source)  # noqa: S101 - the kind was asked for
    source = await one_as_of(desk, source, arguments)
    offset = arguments.get("offset", 0)
    page = await query_snippets(canon, caller, source.id, limit=PAGE, offset=offset)
    passages = await as_of(desk, page.items, arguments)
    resting = await _resting(desk, arguments)
    said = await _values(desk, source, arguments)
    value = arguments.get("value", "")
    marked = [(value, "")] if value else []
    marked += [(str(each), field) for _, fields in said for field, each in fields.items()]
    texts = [each.text for each in passages]
    reading = await reading_of(canon, caller, source) if desk.is_account else None
    parts = () if reading is None or texts else reading.parts[offset : offset + PAGE]
    texts += [each.text for each in parts]
    spots = places_of(reading, {}, value) if reading is not None and value else ()
    values = [
        ValueRead(
            entity=LinkTo(id=entity.id, name=entity.name, kind="entity"),
            field=field,
            value=str(each),
            found=any(str(each) in text for text in texts),
            places=() if reading is None else places_of(reading, fields, each)[:1],
        )
        for entity, fields in said
        for field, each in fields.items()
    ]
    places = [*spots, *(place for each in values for place in each.places)]
    drawn = reading is not None and reading.kind is FileType.PDF
    numbers = [*(each.page for each in passages), *(each.page for each in parts)]
    return DocumentSeen(
        space=await place_of(desk),
        source=source,
        title=source.title or source.file_name or source.source_type.value,
        passages=[
            PassageSeen(
                snippet=each,
                pieces=pieces(each.text, marked),
                resting=await links(desk, resting.get(each.id, ())),
            )
            for each in passages
        ],
        parts=[(each.page, pieces(each.text[:PART_MAX], marked)) for each in parts],
        pictures={
            page: [one.box for one in places if one.box and one.page == page]
            for page in (numbers if drawn else ())
            if page is not None
        },
        spots=spots,
        values=values,
        resting=await links(desk, resting.get(source.id, ())),
        total=page.total or (0 if reading is None else len(reading.parts)),
    )


def pieces(text: str, values: Sequence[tuple[str, str]]) -> Sequence[PassagePiece]:
    """The text cut where a value stands in it, with the fields of each; longest values first."""
    spans: list[tuple[int, int, set[str]]] = []
    for value, field in sorted(values, key=lambda each: -len(each[0])):
        start = text.find(value) if len(value) >= _SHORTEST else -1
        while start >= 0:
            end = start + len(value)
            same = next((s for s in spans if s[0] == start and s[1] == end), None)
            if same is not None:
                same[2].add(field)
            elif all(end <= s[0] or start >= s[1] for s in spans):
                spans.append((start, end, {field}))
            start = text.find(value, end)
    found: list[PassagePiece] = []
    reached = 0
    for start, end, fields in sorted(spans):
        if start > reached:
            found.append(PassagePiece(text=text[reached:start]))
        found.append(PassagePiece(text=text[start:end], values=tuple(sorted(fields))))
        reached = end
    if reached < len(text):
        found.append(PassagePiece(text=text[reached:]))
    return found


async def picture(canon: Canon, caller: Caller, arguments: Arguments) -> bytes:
    """A page of the document `of` as PNG, with `boxes` marked."""
    desk = await desk_of(canon, caller, arguments, "of")
    source = await desk.thing(arguments["of"], Source, path="/of")
    assert isinstance(source, Source)  # noqa: S101 - the kind was asked for
    boxes = [Box(*each) for each in arguments.get("boxes", ())]
    return await picture_of(canon, caller, source, arguments["page"], boxes)


async def _resting(desk: Desk, arguments: Arguments) -> dict[str, list[str]]:
    """By what they cite, the facts of the space that do."""
    found: dict[str, list[str]] = defaultdict(list)
    if desk.space.opened is None:
        return found
    query = FactQuery(limit=_LOOKED_AT)
    ids = {"universe_id": desk.space.id, "entity_id": None}
    page = await query_facts(desk.canon, desk.caller, query, **ids)
    for fact in await as_of(desk, page.items, arguments):
        for each in fact.evidence:
            if len(found[each.ref]) < PAGE:
                found[each.ref].append(fact.id)
    return found


async def _values(
    desk: Desk, source: Source, arguments: Arguments
) -> Sequence[tuple[Entity, Mapping[str, Any]]]:
    """What observations that rest on the source say, each of whom."""
    page = await desk.canon.state.observations_from(source.id, limit=PAGE, offset=0)
    then = known_at(arguments)
    seen = [each for each in page.items if then is None or each.recorded_at <= then]
    who = await desk.canon.seen_by(desk.caller).roots(each.entity_id for each in seen)
    return [
        (who[each.entity_id], {n.removeprefix(PROPERTY_PREFIX): v for n, v in said.items()})
        for each in seen
        if each.entity_id in who
        for said in ({n: v for n, v in each.fields.items() if _is_plain(v)},)
    ]


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""
