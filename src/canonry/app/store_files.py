"""Files of a store: their folders, their access, and the reader of plain text."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence, ValuesView
from functools import partial
from pathlib import Path
from typing import Final

from typing_extensions import override

from canonry.app.load_settings import SecretVariable
from canonry.app.packages import is_installed, require_package
from canonry.app.settings import Settings
from canonry.canon.ports.files import FILE_BYTES_MAX, DocumentReader, FileHint, FileType, Reading
from canonry.language.texts.sentences import Box, DocumentType, Part
from canonry.log.ports.ledger import Blobs
from canonry.log.ports.world import Identities
from canonry.models.outside_services import OutsideServices
from canonry.records.ports.interpreter import Interpreter
from canonry.records.usecases.files import KEY_BYTES, Filing, UserFiles
from canonry.stores.folder import FolderBlobs, FolderLocalFiles, read_key
from canonry.values.errors import InvalidInput, NotFound
from canonry.values.ids import is_uuid

FOLDER: Final = "files"
KEY_FILE: Final = "files.key"
_PAGE: Final = 500  # bounds the memory of a comparison of all files
_SHARED_KEY_MIN: Final = 16


def memory_filing(identities: Identities) -> Filing:
    """Return files in memory; no path of the machine is read."""
    from canonry.stores.memory import MemoryBlobs  # noqa: PLC0415 - a store on disk does not need it

    kept: dict[str, Blobs] = {}
    return Filing(
        blobs_of=lambda user_id: kept.setdefault(user_id, MemoryBlobs()),
        users=partial(asyncio.to_thread, lambda: sorted(kept)),
        stored_at=_never_stored,
        local=FolderLocalFiles(()),
        interpreters=_rule_interpreters(),
        secret=_fresh_key(identities),
    )


def folder_filing(
    folder: Path, identities: Identities, *, syncs: bool, signs: bool = True
) -> Filing:
    """Return files in the store's folder, and its key for links, if links are to be signed."""
    fresh = partial(_fresh_key, identities)
    return Filing(
        blobs_of=blobs_in(folder, syncs=syncs),
        users=partial(asyncio.to_thread, users_in, folder),
        stored_at=lambda user_id, digest: _folder_of(folder / FOLDER, user_id).stored_at(digest),
        local=FolderLocalFiles(()),
        interpreters=_rule_interpreters(),
        secret=read_key(folder / KEY_FILE, fresh) if signs else fresh(),
    )


def shared_filing(
    folder: Path,
    identities: Identities,
    *,
    blobs_of: Callable[[str], Blobs],
    users: Callable[[], Awaitable[Sequence[str]]],
    stored_at: Callable[[str, str], Awaitable[float | None]],
) -> Filing:
    """Return files in a store that several machines share; each has its own key for links."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Filing(
        blobs_of=blobs_of,
        users=users,
        stored_at=stored_at,
        local=FolderLocalFiles(()),
        interpreters=_rule_interpreters(),
        secret=read_key(folder / KEY_FILE, partial(_fresh_key, identities)),
    )


def blobs_in(folder: Path, *, syncs: bool) -> Callable[[str], Blobs]:
    """Return the blobs of each user, in their own folder."""
    return lambda user_id: _folder_of(folder / FOLDER, user_id, syncs=syncs)


def files_in_folder(folder: Path) -> UserFiles:
    """Return files in the layout of a store's folder of files."""
    return UserFiles(
        blobs_of=lambda user_id: _folder_of(folder, user_id),
        users=partial(asyncio.to_thread, _users_below, folder),
    )


def _folder_of(files: Path, user_id: str, *, syncs: bool = True) -> FolderBlobs:
    if not is_uuid(user_id):
        raise ValueError(user_id)
    return FolderBlobs(files / user_id.lower(), syncs=syncs)


async def _never_stored(user_id: str, digest: str) -> float | None:
    """Return None: files in memory are not collected."""
    del user_id, digest
    return None


def users_in(folder: Path) -> Sequence[str]:
    """Return the users with files in the store's folder."""
    return _users_below(folder / FOLDER)


def _users_below(files: Path) -> Sequence[str]:
    try:
        return sorted(each.name for each in files.iterdir() if is_uuid(each.name))
    except FileNotFoundError:
        return ()


async def copy_files(folder: Path, target: Path) -> None:
    """Copy all files to another store's folder; existing files stay."""
    for user_id in await asyncio.to_thread(users_in, folder):
        source, copy = blobs_in(folder, syncs=True)(user_id), blobs_in(target, syncs=True)(user_id)
        last = ""
        while page := await source.list_digests(after=last, limit=_PAGE):
            last = page[-1]
            for digest in page:
                with contextlib.suppress(NotFound):  # the file was erased meanwhile
                    await copy.put_bytes(await source.get_bytes(digest))


def apply_file_settings(
    filing: Filing, settings: Settings, outside: OutsideServices | None = None
) -> None:
    """Apply the settings of interpreters, of paths and of the key for links.

    Over standard input and output the caller is on this machine and may name files in the working
    folder; over HTTP only files in folders of the settings.

    Raises:
        InvalidInput: `settings.malformed`, if the key in the environment is too short.
    """
    roots = settings.truth_upload_roots
    if not roots and settings.http is None:
        roots = (str(Path.cwd()),)
    filing.local = FolderLocalFiles([Path(root) for root in roots])
    filing.interpreters = _Interpreters(settings, filing, outside or OutsideServices())
    filing.provider = settings.truth_interpreter
    key = (SecretVariable.FILES.read_secret() or "").encode()
    if 0 < len(key) < _SHARED_KEY_MIN:
        message = (
            f"{SecretVariable.FILES} has fewer than {_SHARED_KEY_MIN} bytes, and links could be "
        )
        message += "forged. Make a longer one: openssl rand -hex 32"
        raise InvalidInput("settings.malformed", message, path=SecretVariable.FILES.value)
    filing.secret = key or filing.secret


class _Interpreters(Mapping[str, Interpreter]):
    """The configured interpreters, each made at its first use."""

    def __init__(self, settings: Settings, filing: Filing, outside: OutsideServices) -> None:
        self._outside = outside
        self._settings = settings
        self._filing = filing
        self._made: dict[str, Interpreter] = {}

    @override
    def __getitem__(self, provider: str) -> Interpreter:
        if provider not in set(self):
            raise KeyError(provider)
        if provider not in self._made:
            self._made[provider] = _make_interpreter(
                provider, self._settings, self._filing, self._outside
            )
        return self._made[provider]

    @override
    def __iter__(self) -> Iterator[str]:
        yield "rules"
        if self._settings.truth_interpreter != "rules":
            yield self._settings.truth_interpreter
        if self._filing.client is not None:
            yield "client"

    @override
    def __len__(self) -> int:
        return sum(1 for _ in self)

    @override
    def values(self) -> ValuesView[Interpreter]:
        return self._made.values()


def _make_interpreter(
    provider: str, settings: Settings, filing: Filing, outside: OutsideServices
) -> Interpreter:
    require_package("documents", "the interpretation of files")
    if provider == "rules":
        return _rule_interpreters()[provider]
    if provider == "client" and filing.client is not None:
        from canonry.documents.interpreters.answering import ClientInterpreter  # noqa: PLC0415

        return ClientInterpreter(filing.client)
    # Only a model needs a client for endpoints.
    from canonry.documents.interpreters.answering import ANTHROPIC, OPENAI, EndpointInterpreter  # noqa: PLC0415 - only for a model
    from canonry.models.endpoint import ModelEndpoint  # noqa: PLC0415

    endpoint = ModelEndpoint(
        base_url=settings.truth_url or "",
        model=settings.truth_model or "",
        key=SecretVariable.TRUTH.read_secret(),
    )
    protocol = ANTHROPIC if provider == "anthropic" else OPENAI
    return EndpointInterpreter(protocol, endpoint, outside.service_named("interpreter"))


def _rule_interpreters() -> dict[str, Interpreter]:
    """Return the interpreter of rules by its name, or nothing without the package documents."""
    if not is_installed("documents"):
        return {}
    from canonry.documents.interpreters.rules import RulesInterpreter  # noqa: PLC0415 - see above

    return {"rules": RulesInterpreter()}


def _fresh_key(identities: Identities) -> bytes:
    key = b""
    while len(key) < KEY_BYTES:
        key += identities.new_salt()
    return key[:KEY_BYTES]


_PLAIN_READER_OTHERS: Final = "Install the package canonry.documents for other files."


class PlainReader(DocumentReader):
    """Reads a text as one part."""

    @override
    async def read_parts(
        self, data: bytes, kind: DocumentType, *, charset: str | None = None
    ) -> Sequence[Part]:
        if kind is DocumentType.PDF:
            raise InvalidInput(
                "document.unsupported", f"Only plain text can be read here. {_PLAIN_READER_OTHERS}"
            )
        return (Part(text=_text_of(data, charset)),)

    @override
    def kind_of(self, data: bytes, hint: FileHint) -> FileType:
        _text_of(data, hint.charset_name)
        return FileType.MARKDOWN if hint.media_type == FileType.MARKDOWN else FileType.PLAIN

    @override
    async def examine_file(self, data: bytes, hint: FileHint) -> Reading:
        parts = (Part(text=_text_of(data, hint.charset_name)),)
        return Reading(kind=self.kind_of(data, hint), name=hint.name, parts=parts)

    @override
    async def render_page(
        self, data: bytes, hint: FileHint, page: int, boxes: Sequence[Box]
    ) -> bytes:
        raise InvalidInput(
            "document.no-page", f"Pages cannot be drawn here. {_PLAIN_READER_OTHERS}"
        )


def _text_of(data: bytes, charset: str | None) -> str:
    if len(data) > FILE_BYTES_MAX:
        message = f"The file has {len(data)} bytes. The limit is {FILE_BYTES_MAX}."
        raise InvalidInput("document.too-large", message, limit=FILE_BYTES_MAX)
    try:
        text = data.decode(charset or "utf-8-sig")
    except (LookupError, UnicodeError) as error:
        message = f"The text is not {charset or 'utf-8'}. Save it as UTF-8. {_PLAIN_READER_OTHERS}"
        raise InvalidInput("document.encoding", message) from error
    if "\0" in text:
        raise InvalidInput(
            "document.not-text", f"The file holds NUL and is no text. {_PLAIN_READER_OTHERS}"
        )
    if not text.strip():
        raise InvalidInput("document.empty", "The document holds no text.")
    return text.replace("\r\n", "\n").replace("\r", "\n")
