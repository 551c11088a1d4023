"""Verify a store: its chains, its views, and its heads against some that were recorded elsewhere.

A chain alone cannot show that its tail was cut off, or that all of it was replaced; a head that
somebody kept elsewhere can.
"""

from collections.abc import AsyncIterator
from dataclasses import replace

from canonry.canon.upkeep.export_log import Heads
from canonry.log.commits import Position
from canonry.log.ports.ledger import Ledger
from canonry.readmodels.ports.upkeep import Finding, Upkeep, UpkeepProgress, Verification
from canonry.values.errors import InvalidInput
from canonry.values.ids import SpaceId
from canonry.values.json_values import decode_json


async def verify_store(
    ledger: Ledger, upkeep: Upkeep, told: UpkeepProgress, *, against: Heads | None = None
) -> Verification:
    """What is wrong with the store; `against` are heads that it must still hold or have passed."""
    verification = await upkeep.verify(told)
    if not against:
        return verification
    extra = [finding async for finding in _missing(ledger, against)]
    return replace(verification, findings=(*extra, *verification.findings))


async def _missing(ledger: Ledger, against: Heads) -> AsyncIterator[Finding]:
    for space, (position, digest) in sorted(against.items()):
        page = await ledger.read_sealed(space, after=Position(position - 1), limit=1)
        where = f"{space} at position {position}"
        if not page:
            head = await ledger.head(space)
            yield Finding(where=where, what=f"the log ends at {head}: its tail was cut off")
        elif page[0].hash != digest:
            yield Finding(where=where, what="the recorded commit was replaced by another")


def heads_from(text: bytes, name: str) -> Heads:
    """The heads in a manifest: of a backup, of `verify --record`, or the last line of an export.

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
        message = f"{name} holds no manifest: name a backup's manifest.json or an exported log"
        raise InvalidInput("manifest.unreadable", message, path=name) from None
