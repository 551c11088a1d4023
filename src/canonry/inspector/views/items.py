"""One item, or one document, with its evidence."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from canonry.assistant.call_context import CallContext, context_of
from canonry.assistant.explaining import SUCCESSORS
from canonry.assistant.rows import kind_of, rows_of
from canonry.canon.judging.contents import CONTENT_SHAPES, Holding
from canonry.canon.ports.files import FileType
from canonry.canon.queries.explain import explain_item
from canonry.canon.queries.listings import query_all_asserted, query_asserted, query_snippets
from canonry.canon.queries.names import find_mentioned, title_of
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.tool import Arguments
from canonry.inspector.views.spaces import Seen, space_of_call
from canonry.language.texts.sentences import Box
from canonry.log.entries import StoredItem, Tombstone
from canonry.log.items.entities import Entity, is_nameable
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Scene, Story
from canonry.log.items.secret_parts import audience_of
from canonry.log.items.sources import Snippet, Source
from canonry.log.schemas.narrative import PROPERTY_PREFIX
from canonry.readmodels.ports.state import FactQuery, RelationQuery
from canonry.recall.usecases.find_items import involved_entities
from canonry.records.notation.labels import find_locations
from canonry.records.usecases.corrections import picture_of, reading_of
from canonry.records.usecases.identity import DIFFERENT_FROM
from canonry.values.ids import ObservationId
from canonry.values.moments import Instant
from canonry.values.observations import Observation

MARKS_MAX: Final = 60  # more marks overlap on a line of time
_NEAR: Final = 100  # bounds the graph around an item: bench inspector
NAMING: Final = frozenset({Holding.REFERENCE, Holding.REFERENCES})
"""The kinds of members with references to items."""
_ENDS: Final = ("entity_id", "from_entity_id", "to_entity_id")
"""The members that name entities in a proposal of an act."""
_EXPLAINED: Final = (Entity, Relation, Fact, Event, Axiom, Proposal)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkTo:
    """An item with its name."""

    id: str
    name: str
    kind: str


async def seen_item(canon: Canon, caller: Caller, arguments: Arguments) -> Seen:
    """Return the item `of`; `explained` means that the tool `why` accepts it.

    `apart` means that the item separates two others, which can be undone in an account as well.
    `marks` are the moments at which the canon recorded something about the item.
    """
    context = await context_of(canon, caller, arguments, "of")
    item = await context.find_item(arguments["of"], path="/of")
    marks = [_history_mark(item, "new")]
    ties: Sequence[Seen] = ()
    fields: Sequence[Seen] = ()
    if isinstance(item, _EXPLAINED):
        found = await explain_item(canon, caller, item.id)
        seen = {each.id: each for each in found.observations}
        for each in (e for e in found.observations if e.position != item.position):
            names = ", ".join(name.removeprefix(PROPERTY_PREFIX) for name in each.fields)
            marks.append({"when": each.recorded_at, "how": "said", "says": names})
        if isinstance(item, Entity):
            fields = await _field_rows(context, item, seen)
            known, ties = await _nearby_rows(context, item)
            marks += known
        if found.fall is not None:
            why = getattr(found.fall.entry, "reason", "")
            marks.append({"when": found.fall.commit.recorded_at, "how": "ended", "says": why})
    return {
        "space": await space_of_call(context),
        "id": item.id,
        "kind": kind_of(item),
        "name": name_of(item),
        "within": await _container_of(context, item),
        "about": await links_to(context, _related_ids(item)),
        "successors": await links_to(
            context, [i for n in SUCCESSORS if (i := getattr(item, n, None))]
        ),
        "audience": audience_of(item),
        "explained": isinstance(item, _EXPLAINED),
        "apart": isinstance(item, Relation) and item.rel_type == DIFFERENT_FROM,
        "citation": f"{kind_of(item)}:{item.id}",
        "marks": sorted(marks, key=lambda each: int(each["when"]))[-MARKS_MAX:],
        "ties": ties,
        "fields": fields,
    }


def name_of(item: StoredItem) -> str:
    """Return the name of an item, or the beginning of its text."""
    if isinstance(item, Tombstone):
        return ""
    texts = (getattr(item, name, "") for name in ("statement", "text", "title", "name"))
    return title_of(item) or next((text for text in texts if text), "")


TextLinks = Mapping[str, Sequence[tuple[int, int, str]]]
"""Text -> (first character, character behind the last, id of the named entity), in order."""

_NAMED_MAX: Final = 100_000  # the most characters of a page in which names are looked for


async def names_in(canon: Canon, caller: Caller, arguments: Arguments) -> TextLinks:
    """Return the entities that `texts` name in the space of the item `of`, by one lookup."""
    context = await context_of(canon, caller, arguments, "of")
    texts = [each for each in dict.fromkeys(arguments["texts"]) if each]
    whole = "\n\n".join(texts)[:_NAMED_MAX]
    mentions = await find_mentioned(context.canon, context.space.id, whole)
    found: dict[str, list[tuple[int, int, str]]] = {}
    begin = 0
    for text in texts:
        end = begin + len(text)
        inside = [one for one in mentions.spans if begin <= one[0] and one[1] <= end]
        found[text] = sorted((first - begin, last - begin, of) for first, last, of in inside)
        begin = end + 2
    return found


async def links_to(context: CallContext, ids: Iterable[str]) -> Sequence[LinkTo]:
    """Return links to the items that the user may read, in the order of the ids."""
    wanted = tuple(dict.fromkeys(ids))
    found = await context.canon.caller_scope(context.caller).items_by_id(wanted)
    rows = await rows_of(context, (found[i] for i in wanted if i in found))
    return [
        LinkTo(id=row["id"], name=row.get("name") or row.get("says", ""), kind=row["kind"])
        for row in rows
    ]


def link_of(entity: Entity) -> LinkTo:
    """Return a link to an entity."""
    return LinkTo(id=entity.id, name=entity.name, kind="entity")


def references_in(proposal: Proposal) -> tuple[str, ...]:
    """Return the references in a proposal, each once."""
    shape, content = CONTENT_SHAPES.get(proposal.type), proposal.content
    members = () if shape is None else shape.members
    names = [one.name for one in members if one.kind in NAMING] or _ENDS
    found = [content.get(name) or () for name in names]
    listed = [(each,) if isinstance(each, str) else each for each in found]
    return tuple(dict.fromkeys(one for each in listed for one in each))


def _related_ids(item: StoredItem) -> tuple[str, ...]:
    match item:
        case Proposal():
            return references_in(item)
        case Scene():
            location = () if item.location_ref is None else (item.location_ref,)
            return (*item.participants, *location)
        case Entity(derives_from=kind):
            return () if kind is None else (kind,)
        case _:
            return involved_entities(item)


async def _container_of(context: CallContext, item: StoredItem) -> LinkTo | None:
    """Return the container of an item: the scene of a turn, the story of a scene, and so on."""
    match item:
        case Snippet(source_id=outer) | Scene(story_id=outer):
            holder: str | None = outer
        case Story(parent_id=parent):
            holder = parent
        case _:
            holder = getattr(item, "scene_id", None)
    found = [] if holder is None else await links_to(context, (holder,))
    return next(iter(found), None)


async def _field_rows(
    context: CallContext, entity: Entity, seen: Mapping[ObservationId, Observation]
) -> Sequence[Seen]:
    found: list[Seen] = []
    properties = entity.properties
    for name, behind in entity.provenance.items():
        observation = seen.get(behind)
        bare = name.removeprefix(PROPERTY_PREFIX)
        if observation is None or bare == name or bare not in properties:
            continue
        found.append(
            {
                "name": bare,
                "value": properties[bare],
                "authority": observation.authority.value,
                "when": observation.recorded_at,
                "evidence": await links_to(
                    context, (each.ref for each in observation.evidence[:3])
                ),
            }
        )
    return found


async def _nearby_rows(
    context: CallContext, entity: Entity
) -> tuple[Sequence[Seen], Sequence[Seen]]:
    canon, caller = context.canon, context.caller
    if context.space.opened is None:
        return (), ()
    queries = (FactQuery(limit=_NEAR), RelationQuery(limit=_NEAR, newest_first=True))
    facts, relations = await query_all_asserted(
        canon, caller, queries, universe_id=entity.space, entity_id=entity.id
    )
    own = {entity.id, *entity.members}
    ends = {one for each in relations.items for one in (each.from_id, each.to_id)} - own
    others = {each.id: each for each in await links_to(context, ends)}
    ties = [
        {
            "id": each.id,
            "rel_type": each.rel_type,
            "other": others[far],
            "outward": each.from_id in own,
            "since": each.since,
            "until": each.until,
        }
        for each in relations.items
        if (far := each.to_id if each.from_id in own else each.from_id) in others and each.current
    ]
    marks = [_history_mark(each, "fact") for each in facts.items]
    tied = await links_to(context, (each.id for each in relations.items))
    names = {each.id: each.name for each in tied}
    marks += [
        {"when": each.created_at, "how": "relation", "says": names.get(each.id, "")}
        for each in relations.items
    ]
    return marks, ties


def _history_mark(item: StoredItem, how: str) -> Seen:
    when = getattr(item, "created_at", None) or getattr(item, "timestamp", None)
    return {"when": Instant(when or 0), "how": how, "says": name_of(item)}


PAGE: Final = 50  # bounds the time of a page: bench inspector
PART_MAX: Final = 20_000
"""The most characters of a page of a file that are shown."""
VALUE_MAX: Final = 500  # longer values would hide the others on a page
_SEARCHED_MAX: Final = 500  # bounds the time of a page: bench inspector
_SHORTEST: Final = 3  # the least characters of a marked value: shorter ones occur too often


async def seen_document(canon: Canon, caller: Caller, arguments: Arguments) -> Seen:
    """Return the document `of`, a page of its passages, and the values that were read from it.

    `parts` are the texts of a file without passages, each with its page; `spots` are the places
    of the requested value; `pictures` maps each drawable page to the boxes of its values.
    """
    context = await context_of(canon, caller, arguments, "of")
    source = await context.find_item(arguments["of"], Source, path="/of")
    assert isinstance(source, Source)  # noqa: S101 - the kind was asked for
    offset = arguments.get("offset", 0)
    page = await query_snippets(context.canon, caller, source.id, limit=PAGE, offset=offset)
    passages = page.items
    resting = await _supported_facts(context)
    read_values = await _values_read(context, source)
    value = arguments.get("value", "")
    marked = [(value, "")] if value else []
    marked += [(str(each), field) for _, fields in read_values for field, each in fields.items()]
    texts = [each.text for each in passages]
    reading = await reading_of(canon, caller, source) if context.is_account else None
    parts = () if reading is None or texts else reading.parts[offset : offset + PAGE]
    texts += [each.text for each in parts]
    spots = find_locations(reading, {}, value) if reading is not None and value else ()
    values: list[Seen] = [
        {
            "entity": link_of(entity),
            "field": field,
            "value": str(each),
            "found": any(str(each) in text for text in texts),
            "places": () if reading is None else find_locations(reading, fields, each)[:1],
        }
        for entity, fields in read_values
        for field, each in fields.items()
    ]
    positions = [*spots, *(position for each in values for position in each["places"])]
    numbers = [*(each.page for each in passages), *(each.page for each in parts)]
    drawn = reading is not None and reading.kind is FileType.PDF
    shown = [page for page in numbers if page is not None] if drawn else []
    return {
        "space": await space_of_call(context),
        "source": source,
        "title": source.title or source.file_name or source.source_type.value,
        "passages": [
            {
                "snippet": each,
                "pieces": cut_pieces(each.text, marked),
                "resting": await links_to(context, resting.get(each.id, ())),
            }
            for each in passages
        ],
        "parts": [(each.page, cut_pieces(each.text[:PART_MAX], marked)) for each in parts],
        "image": _image_type(source) is not None and bool(source.files),
        "pictures": {
            page: [one.box for one in positions if one.box and one.page == page] for page in shown
        },
        "spots": spots,
        "read": values,
        "resting": await links_to(context, resting.get(source.id, ())),
        "total": page.total or (0 if reading is None else len(reading.parts)),
    }


def cut_pieces(text: str, values: Sequence[tuple[str, str]]) -> Sequence[tuple[str, Sequence[str]]]:
    """Return the text cut around its values, each part with the fields that were read from it.

    Of two values that overlap, the longer one is marked.
    """
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
    found: list[tuple[str, Sequence[str]]] = []
    reached = 0
    for start, end, fields in sorted(spans):
        found += [(text[reached:start], ()), (text[start:end], sorted(fields))]
        reached = end
    return [each for each in (*found, (text[reached:], ())) if each[0]]


async def draw_picture(canon: Canon, caller: Caller, arguments: Arguments) -> tuple[bytes, str]:
    """Return a page of the document `of` as PNG with marked `boxes`, or the image that it is.

    The second value is the media type.
    """
    context = await context_of(canon, caller, arguments, "of")
    source = await context.find_item(arguments["of"], Source, path="/of")
    assert isinstance(source, Source)  # noqa: S101 - the kind was asked for
    boxes = [Box(*each) for each in arguments.get("boxes", ())]
    data = await picture_of(canon, caller, source, arguments["page"], boxes)
    return data, _image_type(source) or "image/png"


def _image_type(source: Source) -> str | None:
    """Return the media type of a source that is an image."""
    kind = source.mime_type or ""
    return kind if kind in set(FileType) and FileType(kind).is_image else None


async def _supported_facts(context: CallContext) -> dict[str, list[str]]:
    """Return citation -> the facts of the space with it."""
    found: dict[str, list[str]] = defaultdict(list)
    if context.space.opened is None:
        return found
    query = FactQuery(limit=_SEARCHED_MAX)
    ids = {"universe_id": context.space.id, "entity_id": None}
    page = await query_asserted(context.canon, context.caller, query, **ids)
    for fact in await context.items_holding(page.items):
        for each in fact.evidence:
            if len(found[each.ref]) < PAGE:
                found[each.ref].append(fact.id)
    return found


async def _values_read(
    context: CallContext, source: Source
) -> Sequence[tuple[Entity, Mapping[str, Any]]]:
    """Return the values of observations from the source, with their entities."""
    seen = (await context.canon.state.observations_from(source.id, limit=PAGE, offset=0)).items
    who = await context.canon.caller_scope(context.caller).root_entities(e.entity_id for e in seen)
    found: list[tuple[Entity, Mapping[str, Any]]] = []
    for each in (one for one in seen if one.entity_id in who):
        fields = {name.removeprefix(PROPERTY_PREFIX): v for name, v in each.fields.items()}
        found.append((who[each.entity_id], {n: v for n, v in fields.items() if is_nameable(v)}))
    return found
