"""Tools on sources, and tools by which an operator looks after a store."""

import base64
import binascii
from typing import Final

from canonry.canon.canonization.change_audience import change_audience
from canonry.canon.commands.entities import EntityUpdate, update_entity
from canonry.canon.commands.relations import QuantityTransfer, transfer_quantity
from canonry.canon.commands.retcon_things import Retcon, Retconnable, list_dependents, retcon_thing
from canonry.canon.commands.sources import IngestRequest, NewSource, create_source, ingest_source
from canonry.canon.queries.listings import query_snippets, query_sources
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import (
    BOOLEAN,
    COUNT,
    INSTANT,
    NUMBER,
    OBJECT,
    TEXT,
    UUID,
    WORD,
    Shape,
    array,
    enum,
    given,
    nullable,
    obj,
)
from canonry.gateway.tool import Arguments, Reply
from canonry.language.texts.sentences import (
    DocumentType,
)
from canonry.log.entries import THING_KINDS
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.scenes import StoryStatus
from canonry.log.items.sources import SourceDraft, SourceType
from canonry.narrative.toolset.arguments import (
    evidence_of,
    instant_of,
    optional_of,
    optional_text,
    text_of,
    uuid_of,
    uuids_of,
)
from canonry.narrative.toolset.contract import contract_tool, listing_tool, writing_tool
from canonry.narrative.toolset.shapes import (
    AUDIENCE,
    AUTHORITY,
    SOURCE,
    UUIDS,
    Listing,
    RowShape,
    canon_created,
    created,
    gist,
)
from canonry.narrative.usecases.stories import update_story
from canonry.values.audience import audience_in
from canonry.values.errors import InvalidInput
from canonry.values.ids import SpaceId
from canonry.values.provenance import Authority, CanonLevel, Evidence, EvidenceKind

_UPDATED: Final = Shape(entity_id=UUID.of("id"), name=TEXT, aliases=array(TEXT), updated_at=INSTANT)


def says(thing: Retconnable) -> str:
    """What a thing of canon is, in words."""
    match thing:
        case Entity():
            return thing.name
        case Fact():
            return thing.statement
        case Event():
            return thing.title
        case Relation():
            return thing.rel_type


DEPENDENT: Final = Shape(
    id=UUID.of("thing.id"),
    kind=WORD.of(lambda each: THING_KINDS[type(each.thing)]),
    says=TEXT.of(lambda each: says(each.thing)),
    tie=WORD,
    rests_on=UUID,
    certain=BOOLEAN,
)
"""What rests on a thing; `certain`: it falls along, where asked, without being named."""

_RETCONNED: Final = Shape(
    id=UUID.of("thing.id"),
    kind=WORD,
    dry_run=given(BOOLEAN),
    dependents=array(DEPENDENT),
    dependents_truncated=BOOLEAN.of("more"),
    retconned=UUIDS.of("fallen"),
    resumed=UUIDS,
)


_TRANSFERRED: Final = Shape(
    from_quantity=NUMBER,
    to_quantity=NUMBER,
    from_relationship_id=nullable(UUID).of("from_relation"),
    to_relationship_id=UUID.of("to_relation"),
)
"""How much each has from then on, and the relations that say so."""


_MOVED: Final = Shape(story_id=UUID.of("id"), status=WORD)


_AUDIENCE: Final = Shape(
    ids=UUIDS,
    audience=array(TEXT).of(lambda told: told.audience or ("everyone",)),
    changed_at=INSTANT.of("recorded_at"),
)


@writing_tool(
    "neo4j_update_entity",
    "Change an entity's name, description or properties. "
    "What was said before is kept, and former names still find it.",
    takes=obj(
        {"entity_id": UUID, "authority": AUTHORITY, "evidence_refs": array(TEXT)},
        {"name": TEXT, "description": TEXT, "properties": OBJECT},
    ),
    gives=_UPDATED,
    idempotent=True,
)
async def _update_entity(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    update = EntityUpdate(
        name=optional_text(arguments, "name", limits.name),
        description=optional_text(arguments, "description", limits.description),
        properties=arguments.get("properties") or {},
    )
    updated = await update_entity(
        canon,
        caller,
        uuid_of(arguments, "entity_id"),
        update,
        authority=Authority(arguments["authority"]),
        evidence=evidence_of(arguments),
    )
    return _UPDATED(updated)


@writing_tool(
    "neo4j_retcon_thing",
    "Say that a fact, event, relation or entity never was. Lists what rests on it; "
    "dry_run only lists, along retcons what is certain, along_ids what is named.",
    takes=obj(
        {"id": UUID, "reason": TEXT},
        {
            "dry_run": BOOLEAN.but(default=False),
            "along": BOOLEAN.but(default=False),
            "along_ids": array(UUID),
            "authority": AUTHORITY.but(default="system"),
            "evidence_refs": array(TEXT),
        },
    ),
    gives=_RETCONNED,
)
async def _retcon_thing(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    thing_id, dry_run = uuid_of(arguments, "id"), bool(arguments["dry_run"])
    retcon = Retcon(
        reason=text_of(arguments, "reason", canon.policy.limits.description),
        along=bool(arguments["along"]),
        along_ids=uuids_of(arguments, "along_ids"),
        authority=Authority(arguments["authority"]),
        evidence=evidence_of(arguments) if "evidence_refs" in arguments else (),
    )
    if dry_run:
        found = await list_dependents(canon, caller, thing_id)
    else:
        found = await retcon_thing(canon, caller, thing_id, retcon)
    return _RETCONNED(found, dry_run=dry_run)


@writing_tool(
    "neo4j_transfer_quantity",
    "Give a counted part of what somebody OWNS, like coins, to another. "
    "Nobody gives more than they have.",
    takes=obj(
        {
            "from_entity_id": UUID,
            "to_entity_id": UUID,
            "thing_entity_id": UUID,
            "quantity": NUMBER,
            "authority": AUTHORITY,
            "evidence_refs": array(TEXT),
        },
        {"at": INSTANT},
    ),
    gives=_TRANSFERRED,
)
async def _transfer_quantity(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    transfer = QuantityTransfer(
        from_id=uuid_of(arguments, "from_entity_id"),
        to_id=uuid_of(arguments, "to_entity_id"),
        thing_id=uuid_of(arguments, "thing_entity_id"),
        quantity=arguments["quantity"],
        at=instant_of(arguments, "at"),
        authority=Authority(arguments["authority"]),
        evidence=evidence_of(arguments),
    )
    return _TRANSFERRED(await transfer_quantity(canon, caller, transfer))


@writing_tool(
    "neo4j_update_story",
    "Complete or abandon a story, or take it up again as active.",
    takes=obj({"story_id": UUID, "status": enum("completed", "abandoned", "active")}),
    gives=_MOVED,
    idempotent=True,
)
async def _update_story(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    status = StoryStatus(arguments["status"])
    return _MOVED(await update_story(canon, caller, uuid_of(arguments, "story_id"), status))


@writing_tool(
    "neo4j_set_audience",
    "Reveal or hide a fact, event, relation, entity or source: 'everyone', 'gm', "
    "'character:<id>', 'player:<user>'.",
    takes=obj(
        {"id": UUID, "audience": array(TEXT), "reason": TEXT},
        {"evidence_refs": array(TEXT)},
    ),
    gives=_AUDIENCE,
    idempotent=True,
)
async def _set_audience(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    told = await change_audience(
        canon,
        caller,
        uuid_of(arguments, "id"),
        audience_in(arguments["audience"]),
        reason=text_of(arguments, "reason", canon.policy.limits.description),
        evidence=evidence_of(arguments) if "evidence_refs" in arguments else (),
    )
    return _AUDIENCE(told)


TOOLS: Final = (_update_entity, _retcon_thing, _transfer_quantity, _update_story, _set_audience)


_CREATED: Final = canon_created("source_id")
_SNIPPET: Final = Shape(
    snippet_id=UUID.of("id"),
    source_id=UUID,
    index=COUNT,
    page=nullable(COUNT),
    section=nullable(TEXT),
    text=TEXT,
    evidence_ref=WORD.of(lambda snippet: Evidence(kind=EvidenceKind.SNIPPET, ref=snippet.id)),
    created_at=INSTANT,
)
_INGESTED: Final = Shape(
    source_id=UUID.of("source.id"),
    universe_id=UUID.of("source.space"),
    snippets=COUNT,
    added=COUNT,
    first_index=COUNT.of("first"),
)


def _document_of(arguments: Arguments) -> tuple[bytes, DocumentType]:
    """The bytes and their kind; text as it came is UTF-8, and a file says what it is."""
    text, file, named = (arguments.get(name) for name in ("text", "file", "mime_type"))
    if (text is None) == (file is None):
        message = "give the document either as /text or, in base64, as /file"
        raise InvalidInput("document.not-given", message, path="/text")
    if file is None:
        kind = DocumentType(named or DocumentType.PLAIN)
        if kind is DocumentType.PDF:
            message = "a PDF comes as /file in base64, not as /text"
            raise InvalidInput("document.not-text", message, path="/mime_type")
        return str(text).encode(), kind
    if named is None:
        message = "say in /mime_type what kind of document /file is"
        raise InvalidInput("document.no-type", message, path="/mime_type")
    try:
        return base64.b64decode("".join(file.split()), validate=True), DocumentType(named)
    except (binascii.Error, ValueError) as error:
        message = "/file is no base64; encode the bytes of the document with the standard alphabet"
        raise InvalidInput("document.not-base64", message, path="/file") from error


@contract_tool(
    "neo4j_create_source",
    "Register a document that canon can cite as evidence, as source:<source_id>.",
    gives=_CREATED,
    also={"audience": AUDIENCE},
)
async def _create_source(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    new = NewSource(
        space=SpaceId(uuid_of(arguments, "universe_id")),
        doc_id=text_of(arguments, "doc_id", limits.name),
        title=text_of(arguments, "title", limits.name),
        edition=optional_text(arguments, "edition", limits.name),
        origin=optional_text(arguments, "provenance", limits.description),
        source_type=SourceType(arguments["source_type"]),
        level=CanonLevel(arguments["canon_level"]),
        audience=optional_of(arguments, "audience", audience_in),
    )
    receipt = await create_source(canon, caller, new)
    return created(_CREATED, receipt, SourceDraft)


_query_sources: Final = listing_tool(
    "neo4j_query_sources",
    "List the sources of a universe, oldest first.",
    query_sources,
    within="universe_id",
    gives=Listing("sources", RowShape(SOURCE, *SOURCE.fields)),
)


@writing_tool(
    "mongodb_ingest_source",
    "Cut a source's document (text, Markdown or PDF) into snippets that can be searched "
    "and cited as snippet:<id>. The same document again adds nothing.",
    takes=obj(
        {"source_id": UUID},
        {
            "text": TEXT,
            "file": TEXT.but(contentEncoding="base64"),
            "mime_type": enum(*DocumentType),
            "title": TEXT,
        },
    ),
    gives=_INGESTED,
    roles=frozenset({"CanonKeeper", "Indexer"}),
    idempotent=True,
)
async def _ingest_source(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    data, kind = _document_of(arguments)
    request = IngestRequest(
        source_id=uuid_of(arguments, "source_id"),
        data=data,
        kind=kind,
        title=optional_text(arguments, "title", canon.policy.limits.name),
    )
    try:
        return _INGESTED(await ingest_source(canon, caller, request))
    except InvalidInput as error:
        path = "/text" if arguments.get("file") is None else "/file"
        raise InvalidInput(error.code, error.message, **{"path": path, **error.details}) from error


_query_snippets: Final = listing_tool(
    "mongodb_query_snippets",
    "List a source's snippets in reading order, with the reference to cite each.",
    query_snippets,
    within="source_id",
    gives=Listing(
        "snippets",
        RowShape(
            _SNIPPET,
            *("snippet_id", "index", "page", "section", "text", "evidence_ref"),
            text=TEXT.by(gist),
        ),
    ),
)


SOURCES_TOOLS: Final = (_create_source, _query_sources, _ingest_source, _query_snippets)
