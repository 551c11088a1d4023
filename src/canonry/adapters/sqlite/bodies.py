"""Bodies: a thing as a row holds it, with a checksum that is compared whenever it is read.

A bit that flips on a disk changes a name into another name, and the row still reads well. The
checksum covers the kind too. It is CRC-32, which sees every change of up to 32 bits in a row; who
alters a row on purpose is found by `verify`, which has the records to compare with.
"""

from typing import Any, Final
from zlib import crc32

from canonry.adapters.sqlite.packing import Packed, unpack
from canonry.domain.errors import BrokenInvariant
from canonry.domain.log.encoding import decode_thing, encode_thing
from canonry.domain.log.entries import THING_KINDS, Thing

_WIDTH: Final = 4
_RIGHT: Final = 0x2144DF1C
"""What the checksum of bytes is that end with their own checksum."""

_SEEDS: Final = {kind: crc32(kind.encode()) for kind in THING_KINDS.values()}


def body_of(kind: str, thing: Thing) -> bytes:
    """What a row of this kind holds of a thing."""
    payload = encode_thing(thing)
    return payload + crc32(payload, _SEEDS[kind]).to_bytes(_WIDTH, "little")


def thing_in(kind: str, body: Any, part: type | None = None) -> Any:
    """The thing that a row holds, or the `part` of it that is asked for.

    Raises:
        BrokenInvariant: `store.altered`, the row is not what was written.
    """
    # Not even the type of a column is sure: a bit may flip in the head of a row.
    seed = _SEEDS.get(kind) if isinstance(body, bytes) else None
    if seed is None or crc32(body, seed) != _RIGHT:
        raise altered()
    return decode_thing(kind, body[:-_WIDTH], part=part)


def thing_under(packed: Packed, kind: str, body: Any, part: type | None = None) -> Any:
    """The thing that was looked up by its id: an index whose bits flip leads to another one.

    Raises:
        BrokenInvariant: `store.altered`.
    """
    thing = thing_in(kind, body, part)
    if thing.id != unpack(packed):
        raise altered()
    return thing


def altered() -> BrokenInvariant:
    """What is raised where rows do not agree with each other or with their checksums."""
    message = (
        "a stored row is not what was written, so the disk may be failing: run `canonry verify`; "
        "`canonry rebuild` makes the views anew if the records are whole, else `canonry restore` "
        "a backup"
    )
    return BrokenInvariant("store.altered", message)
