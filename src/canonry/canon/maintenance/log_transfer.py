"""Export a log, import it, and verify a store."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from canonry.language.texts.visible import escape_hidden
from canonry.log.commits import ORIGIN, Position
from canonry.log.ports.ledger import Ledger
from canonry.log.sealing import GENESIS, ErasablePart, Sealed, fault_in, unseal
from canonry.readmodels.follow_log import all_heads
from canonry.readmodels.ports.view import Finding, Maintenance, MaintenanceProgress, Verification
from canonry.values.errors import BrokenInvariant, CanonryError, Conflict, InvalidInput
from canonry.values.ids import CommitId, SpaceId
from canonry.values.json_values import decode_json, encode_json
from canonry.values.moments import Instant

# Export the log as JSON Lines, sorted by space and position; the output is deterministic.
#
# The first line names the format, each further line is a commit as it was sealed, and the last line
# is the manifest: the head of each space, for later verification of a copy.

FORMAT: Final = "canonry-log"
FORMAT_VERSION: Final = 1
PAGE: Final = 200  # bounds the memory of an export

Heads = Mapping[SpaceId, tuple[int, str]]
"""Maps a space to the (position, hash) of its newest commit."""


async def export_log(ledger: Ledger, progress: MaintenanceProgress) -> AsyncIterator[bytes]:
    """Yield the lines of the export, each with its line feed.

    The export is a consistent snapshot: later commits are left out.
    """
    heads = await all_heads(ledger)
    total = sum(head.position for head in heads)
    yield _encode_line({"format": FORMAT, "version": FORMAT_VERSION})
    done = 0
    for head in heads:
        after = ORIGIN
        while after < head.position:
            limit = min(PAGE, head.position - after)
            page = await ledger.read_sealed(head.space, after=after, limit=limit)
            for sealed in page:
                yield line_of(sealed)
            after = Position(after + len(page))
            done += len(page)
            progress(done, total)
            if not page:
                break
    yield _encode_line(
        {
            "manifest": {
                "commits": sum(head.position for head in heads),
                "heads": {head.space: [head.position, head.hash] for head in heads},
            }
        }
    )


def line_of(sealed: Sealed) -> bytes:
    """Return the line of one commit."""
    return _encode_line(
        {
            "space": sealed.space,
            "position": sealed.position,
            "id": sealed.id,
            "recorded_at": sealed.recorded_at,
            "hash": sealed.hash,
            "body": sealed.body.decode(),
            "parts": [
                None
                if part is None
                else {"salt": part.salt.hex(), "payload": part.payload.decode()}
                for part in sealed.parts
            ],
        }
    )


def _encode_line(value: Mapping[str, Any]) -> bytes:
    """Encode JSON with terminal control characters escaped, because an export may be printed."""
    return escape_hidden(encode_json(value).decode()).encode() + b"\n"


BATCH: Final = 200  # bounds the memory of an import and its transactions
_DAMAGE: Final = (
    *(ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError),
)
_END: Final = 1 << 63  # the first number too large for a store

Lines = Callable[[], Iterable[bytes]]
"""Opens the file and returns its lines; called twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedLog:
    """The result of an import: `known` commits were already stored, `late` ones were left out."""

    spaces: int
    commits: int
    known: int
    late: int = 0


async def import_log(
    ledger: Ledger, lines: Lines, progress: MaintenanceProgress, *, before: Instant | None = None
) -> ImportedLog:
    """Append the missing commits exactly as they were exported.

    Of each space, import only commits recorded before the instant `before`.

    Raises:
        InvalidInput: `import.damaged`, with the number of the line; nothing was written.
        Conflict: `import.diverged`, the store has another commit at the same position.
    """
    chain = _Chain(opens=True)
    heads = await _check_log(ledger, lines(), chain)
    total = sum(position for position, _ in chain.heads.values())
    known = done = late = 0
    batch: list[Sealed] = []
    for sealed in _read_verified(lines(), _Chain()):
        done += 1
        if sealed.position <= heads[sealed.space]:
            known += 1
            continue
        if before is not None and sealed.recorded_at >= before:
            late += 1
            continue
        if batch and (len(batch) == BATCH or batch[0].space != sealed.space):
            await _restore_batch(ledger, batch)
            batch = []
            progress(done - 1, total)
        batch.append(sealed)
    if batch:
        await _restore_batch(ledger, batch)
    progress(total, total)
    return ImportedLog(spaces=len(chain.heads), commits=total, known=known, late=late)


async def _restore_batch(ledger: Ledger, batch: list[Sealed]) -> None:
    try:
        await ledger.restore_commits(batch)
    except (BrokenInvariant, *_DAMAGE) as error:
        if isinstance(error, BrokenInvariant) and error.code.startswith("store."):
            raise
        first, last = batch[0].position, batch[-1].position
        what = error.message if isinstance(error, BrokenInvariant) else type(error).__name__
        message = (
            f"The commits {first} to {last} of {batch[0].space} are damaged: "
            f"{what.removesuffix('.')}. All earlier commits were imported."
        )
        raise InvalidInput("import.damaged", message, path=f"position {first}") from error


async def _check_log(
    ledger: Ledger, lines: Iterable[bytes], chain: "_Chain"
) -> dict[SpaceId, Position]:
    """Read the file once: it must be complete and continue the store's logs.

    Hash chains are linear: if the last common commit is equal, all before it are equal.
    """
    heads: dict[SpaceId, Position] = {}
    for sealed in _read_verified(lines, chain):
        if sealed.space not in heads:
            heads[sealed.space] = await ledger.head_position(sealed.space)
        if sealed.position == heads[sealed.space]:
            await _require_same(ledger, sealed.space, sealed.position, sealed.hash)
    for space, (position, digest) in chain.heads.items():
        if position < heads[space]:
            await _require_same(ledger, space, Position(position), digest)
    return heads


async def _require_same(ledger: Ledger, space: SpaceId, position: Position, digest: str) -> None:
    (held,) = await ledger.read_sealed(space, after=Position(position - 1), limit=1)
    if held.hash != digest:
        message = (
            f"The store holds another history: at position {position} of {space} it has a "
            "different commit. Import into an empty folder."
        )
        raise Conflict("import.diverged", message, space=space)


@dataclass(slots=True)
class _Chain:
    """The head of each space while the lines are read; `opens`: decode the entries too."""

    opens: bool = False
    heads: dict[SpaceId, tuple[int, str]] = field(default_factory=dict)


def _read_verified(lines: Iterable[bytes], chain: _Chain) -> Iterator[Sealed]:
    """Yield the commits, each checked against the chain; then check the manifest."""
    number = 0
    ended = False
    for number, line in enumerate(lines, 1):
        if ended:
            raise _damaged_line(number, "there is content after the manifest")
        try:
            data: dict[str, Any] = decode_json(line)
            if number == 1:
                _require_format(data)
            elif "manifest" in data:
                _require_manifest(data["manifest"], chain, number)
                ended = True
            else:
                sealed = _read_sealed(data)
                _check_next(sealed, chain, number)
                if chain.opens:
                    unseal(sealed)
                yield sealed
        except CanonryError as error:
            if isinstance(error, BrokenInvariant):
                raise _damaged_line(number, error.message) from error
            raise
        except _DAMAGE as error:
            raise _damaged_line(number, "`canonry export` writes no such line") from error
    if not ended:
        raise _damaged_line(number + 1, "the manifest is missing: the file was cut off")


def _require_format(data: dict[str, Any]) -> None:
    if data["format"] != FORMAT:
        raise _damaged_line(1, "this is not a log that `canonry export` wrote")
    if data["version"] != FORMAT_VERSION:
        message = (
            f"This log has the format version {data['version']}, but this Canonry reads "
            f"{FORMAT_VERSION}. Import it with a newer Canonry."
        )
        raise InvalidInput("import.newer", message, path="line 1")


def _require_manifest(manifest: dict[str, Any], chain: _Chain, number: int) -> None:
    heads = {space: (position, digest) for space, (position, digest) in manifest["heads"].items()}
    if heads != chain.heads:
        raise _damaged_line(number, "commits are missing: the heads differ from the manifest's")


def _check_next(sealed: Sealed, chain: _Chain, number: int) -> None:
    position, previous = chain.heads.get(sealed.space, (0, GENESIS))
    fault = fault_in(sealed, position=Position(position + 1), previous=previous)
    if fault is not None:
        raise _damaged_line(number, fault)
    chain.heads[sealed.space] = (sealed.position, sealed.hash)


def _read_sealed(data: dict[str, Any]) -> Sealed:
    if not all(isinstance(data[name], str) for name in ("space", "id")):
        raise TypeError
    if not all(type(data[n]) is int and 0 <= data[n] < _END for n in ("position", "recorded_at")):
        raise TypeError
    return Sealed(
        space=SpaceId(data["space"]),
        position=Position(data["position"]),
        id=CommitId(data["id"]),
        recorded_at=Instant(data["recorded_at"]),
        body=data["body"].encode(),
        hash=data["hash"],
        parts=tuple(
            None
            if part is None
            else ErasablePart(salt=bytes.fromhex(part["salt"]), payload=part["payload"].encode())
            for part in data["parts"]
        ),
    )


def _damaged_line(number: int, what: str) -> InvalidInput:
    message = f"Line {number} is damaged: {what.removesuffix('.')}. Nothing was imported."
    return InvalidInput("import.damaged", message, path=f"line {number}", line=number)


# Verify a store: its chains, its views, and its heads against recorded ones.
#
# A chain alone cannot show that its tail was cut off or that it was replaced as a whole. A head
# recorded elsewhere can.


async def verify_store(
    ledger: Ledger,
    maintenance: Maintenance,
    progress: MaintenanceProgress,
    *,
    against: Heads | None = None,
) -> Verification:
    """Return the faults of the store; it must still contain the heads in `against`."""
    verification = await maintenance.verify(progress)
    if not against:
        return verification
    extra: list[Finding] = []
    for space, (position, digest) in sorted(against.items()):
        page = await ledger.read_sealed(space, after=Position(position - 1), limit=1)
        where = f"{space} at position {position}"
        if not page:
            what = f"the log ends at {await ledger.head_position(space)}: its tail was cut off"
            extra.append(Finding(where=where, what=what))
        elif page[0].hash != digest:
            what = "the recorded commit was replaced by another"
            extra.append(Finding(where=where, what=what))
    return replace(verification, findings=(*extra, *verification.findings))


def heads_from(text: bytes, name: str) -> Heads:
    """Return the heads of a backup's manifest, `verify --record`, or an export's last line.

    Raises:
        InvalidInput: `manifest.unreadable`.
    """
    try:
        data = decode_json(text)
        data = data.get("manifest", data)
        return {
            SpaceId(space): (int(position), str(digest))
            for space, (position, digest) in data["heads"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        message = f"{name} holds no manifest. Name a backup's manifest.json or an exported log."
        raise InvalidInput("manifest.unreadable", message, path=name) from None
