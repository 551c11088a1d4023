"""Export the log: JSON Lines, sorted by space and position, the same bytes for the same log.

The first line names the format, each further one is a commit exactly as it was sealed, and the
last is the manifest: the head of every space, against which a copy can be verified later.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

from canonry.language.texts.visible import visible
from canonry.log.commits import ORIGIN, Position
from canonry.log.ports.ledger import Head, Ledger
from canonry.log.sealing import Sealed
from canonry.readmodels.follow_log import every_head
from canonry.readmodels.ports.upkeep import UpkeepProgress
from canonry.values.ids import SpaceId
from canonry.values.json_values import encode_json

FORMAT: Final = "canonry-log"
FORMAT_VERSION: Final = 1
PAGE: Final = 200

Heads = Mapping[SpaceId, tuple[int, str]]
"""Space -> (position, hash) of its newest commit."""


async def export_log(ledger: Ledger, told: UpkeepProgress) -> AsyncIterator[bytes]:
    """The lines of the export, each with its line feed.

    It shows one moment: what is committed while it runs is left out.
    """
    heads = await every_head(ledger)
    total = sum(head.position for head in heads)
    yield _line({"format": FORMAT, "version": FORMAT_VERSION})
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
            told(done, total)
            if not page:
                break
    yield _line({"manifest": manifest_of(heads)})


def manifest_of(heads: Sequence[Head]) -> dict[str, Any]:
    """The heads as the last line of an export, and as `canonry verify --record` writes them."""
    return {
        "commits": sum(head.position for head in heads),
        "heads": {head.space: [head.position, head.hash] for head in heads},
    }


def line_of(sealed: Sealed) -> bytes:
    """The line of one commit."""
    return _line(commit_as_data(sealed))


def commit_as_data(sealed: Sealed) -> dict[str, Any]:
    """One commit as JSON values; bodies and payloads are JSON text already and stay byte-exact."""
    return {
        "space": sealed.space,
        "position": sealed.position,
        "id": sealed.id,
        "recorded_at": sealed.recorded_at,
        "hash": sealed.hash,
        "body": sealed.body.decode(),
        "parts": [
            None if part is None else {"salt": part.salt.hex(), "payload": part.payload.decode()}
            for part in sealed.parts
        ],
    }


def _line(value: Mapping[str, Any]) -> bytes:
    """JSON in which what steers a terminal is escaped, because an export may be printed."""
    return visible(encode_json(value).decode()).encode() + b"\n"
