"""Snippet tools: cut a document of a source into citable excerpts, and list them."""

import base64
import binascii
from typing import Any, Final

from canonry.domain.errors import InvalidInput
from canonry.domain.provenance import Evidence, EvidenceKind
from canonry.domain.texts.excerpts import DocumentType
from canonry.domain.things.sources import Snippet
from canonry.domain.time import render_instant
from canonry.gateway.tool import ANYONE, Arguments, Reply, Tool
from canonry.toolsets.narrative.replies.present import listing
from canonry.toolsets.narrative.replies.schemas import (
    COUNT,
    INSTANT,
    TEXT,
    UUID,
    enum,
    nullable,
    obj,
)
from canonry.toolsets.narrative.requests.arguments import (
    limit_of,
    offset_of,
    optional_text,
    uuid_of,
)
from canonry.toolsets.narrative.requests.pages import PAGING, QUERY_MAX
from canonry.usecases.graph.ingest_source import IngestRequest, ingest_source
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.queries.query_snippets import query_snippets

_SNIPPET: Final = obj(
    {
        "snippet_id": UUID,
        "source_id": UUID,
        "index": COUNT,
        "page": nullable(COUNT),
        "section": nullable(TEXT),
        "text": TEXT,
        "evidence_ref": TEXT,
        "created_at": INSTANT,
    }
)


def _present(snippet: Snippet) -> dict[str, Any]:
    return {
        "snippet_id": snippet.id,
        "source_id": snippet.source_id,
        "index": snippet.index,
        "page": snippet.page,
        "section": snippet.section,
        "text": snippet.text,
        "evidence_ref": str(Evidence(kind=EvidenceKind.SNIPPET, ref=snippet.id)),
        "created_at": render_instant(snippet.created_at),
    }


async def _ingest(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    data, kind = _document_of(arguments)
    request = IngestRequest(
        source_id=uuid_of(arguments, "source_id"),
        data=data,
        kind=kind,
        title=optional_text(arguments, "title", canon.policy.limits.name),
    )
    try:
        done = await ingest_source(canon, caller, request)
    except InvalidInput as error:
        path = "/text" if arguments.get("file") is None else "/file"
        raise InvalidInput(error.code, error.message, **{"path": path, **error.details}) from error
    return {
        "source_id": done.source.id,
        "universe_id": done.source.space,
        "snippets": done.snippets,
        "added": done.added,
        "first_index": done.first,
    }


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


async def _query(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    page = await query_snippets(
        canon,
        caller,
        uuid_of(arguments, "source_id"),
        limit=limit_of(arguments, default=50, maximum=QUERY_MAX),
        offset=offset_of(arguments),
    )
    shown: list[Any] = [_present(snippet) for snippet in page.items]
    return {"snippets": shown, "total": page.total}


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        name="mongodb_ingest_source",
        title="Ingest source",
        description=(
            "Cut a source's document (text, Markdown or PDF) into snippets that can be searched "
            "and cited as snippet:<id>. The same document again adds nothing."
        ),
        input_schema=obj(
            {"source_id": UUID},
            {
                "text": TEXT,
                "file": {"type": "string", "contentEncoding": "base64"},
                "mime_type": enum(*(kind.value for kind in DocumentType)),
                "title": TEXT,
            },
        ),
        output_schema=obj(
            {
                "source_id": UUID,
                "universe_id": UUID,
                "snippets": COUNT,
                "added": COUNT,
                "first_index": COUNT,
            }
        ),
        roles=frozenset({"CanonKeeper", "Indexer"}),
        run=_ingest,
        read_only=False,
        idempotent=True,
        extension=True,
    ),
    Tool(
        name="mongodb_query_snippets",
        title="Query snippets",
        description="List a source's snippets in reading order, with the reference to cite each.",
        input_schema=obj({"source_id": UUID}, PAGING),
        output_schema=listing("snippets", _SNIPPET),
        roles=ANYONE,
        run=_query,
        read_only=True,
        idempotent=True,
        extension=True,
    ),
)
