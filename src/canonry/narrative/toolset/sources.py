"""Source tools: register a document, list them, cut one into citable snippets, list those."""

import base64
import binascii
from typing import Final

from canonry.canon.commands.sources import IngestRequest, NewSource, create_source, ingest_source
from canonry.canon.queries.listings import query_snippets, query_sources
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import COUNT, INSTANT, TEXT, UUID, WORD, Shape, enum, nullable, obj
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.language.texts.sentences import DocumentType
from canonry.log.items.sources import SourceDraft, SourceType
from canonry.narrative.toolset.arguments import optional_of, optional_text, text_of, uuid_of
from canonry.narrative.toolset.contract import contract_tool, listing_tool, writing_tool
from canonry.narrative.toolset.rows import Listing, RowShape, gist
from canonry.narrative.toolset.shapes import AUDIENCE, SOURCE, canon_created, created
from canonry.values.audience import audience_in
from canonry.values.errors import InvalidInput
from canonry.values.ids import SpaceId
from canonry.values.provenance import CanonLevel, Evidence, EvidenceKind

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


async def _create(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
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


async def _ingest(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
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


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "neo4j_create_source",
        "Create source",
        "Register a document that canon can cite as evidence, as source:<source_id>.",
        _create,
        gives=_CREATED,
        also={"audience": AUDIENCE},
    ),
    listing_tool(
        "neo4j_query_sources",
        "Query sources",
        "List the sources of a universe, oldest first.",
        query_sources,
        within="universe_id",
        gives=Listing("sources", RowShape(SOURCE, *SOURCE.fields)),
    ),
    writing_tool(
        "mongodb_ingest_source",
        "Ingest source",
        "Cut a source's document (text, Markdown or PDF) into snippets that can be searched "
        "and cited as snippet:<id>. The same document again adds nothing.",
        _ingest,
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
    ),
    listing_tool(
        "mongodb_query_snippets",
        "Query snippets",
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
    ),
)
