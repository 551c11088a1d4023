"""Documents that are told: however they came, and kept with their passages."""

from pathlib import PurePosixPath
from typing import Final

from canonry.assistant.desk import Desk, checked
from canonry.assistant.roles import SOLO
from canonry.canon.commands.import_documents import GivenDocument, ImportedDocument, keep_document
from canonry.canon.ports.files import FileHint
from canonry.gateway.tool import Arguments
from canonry.language.texts.excerpts import DocumentType
from canonry.log.items.sources import SourceType
from canonry.records.usecases.store_file import GivenFile, given_file, read_local
from canonry.values.audience import EVERYBODY, Audience
from canonry.values.errors import InvalidInput, NotAllowed
from canonry.values.provenance import CanonLevel

_PLAIN: Final = "text/plain; charset=utf-8"
_KINDS: Final = {
    **{kind.value: kind for kind in DocumentType},
    ".md": DocumentType.MARKDOWN,
    ".pdf": DocumentType.PDF,
}


async def given_document(desk: Desk, arguments: Arguments, form: str) -> GivenFile:
    """The document, however it came."""
    title = arguments.get("title") or ""
    if form == "text":
        if not arguments["text"].strip():
            raise InvalidInput("text.empty", "/text is empty; say something", path="/text")
        hint = FileHint(mime_type=arguments.get("mime_type") or _PLAIN, name=title)
        return GivenFile(data=arguments["text"].encode(), hint=hint)
    if form == "file":
        mime = arguments.get("mime_type")
        if mime is None:
            message = "say of which type the file is, such as application/pdf"
            raise InvalidInput("file.mime-type", message, path="/mime_type")
        return given_file(arguments["file"], mime, title or None)
    if desk.caller.actor.agent_type != SOLO:
        message = f"only the agent type {SOLO} reads files of this machine; send it as file"
        raise NotAllowed("tell.path", message, path="/path", allowed_types=[SOLO])
    return await read_local(desk.canon, arguments["path"], arguments.get("mime_type") or "")


async def keep_text(
    desk: Desk,
    space: str,
    given: GivenFile,
    *,
    title: str,
    doc_id: str | None = None,
    audience: Audience = EVERYBODY,
) -> ImportedDocument:
    """A document of a told space with its passages; with a `doc_id`, one more of its texts."""
    media = given.hint.media or ""
    kind = _KINDS.get(media) or _KINDS.get(PurePosixPath(given.hint.name).suffix.lower())
    if kind is None and media and not media.startswith("text/"):
        message = "documents are read here as text, Markdown or PDF; others in your account"
        raise InvalidInput("document.unsupported", message, path="/mime_type")
    document = GivenDocument(
        name=doc_id or title,
        title=checked(title, desk.canon.policy.limits.name, path="/title"),
        data=given.data,
        kind=kind or DocumentType.PLAIN,
        doc_id=doc_id,
        audience=audience,
    )
    return await keep_document(
        desk.canon,
        desk.caller,
        document,
        universe_id=space,
        source_type=SourceType.DOCUMENT,
        level=CanonLevel.CANON,
    )
