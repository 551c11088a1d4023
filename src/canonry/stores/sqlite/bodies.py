"""Bodies of items as SQLite keeps them."""

from array import array
from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files
from sys import byteorder
from typing import Any, Final, TypeAlias
from zlib import DEFLATED, Z_DEFAULT_STRATEGY, compressobj, crc32, decompressobj

from canonry.log.encoding import decode_thing, encode_thing
from canonry.log.entries import THING_KINDS, Thing
from canonry.values.errors import BrokenInvariant

Packed: TypeAlias = bytes | str
"""An id as stored; the order of packed UUIDs is that of their text."""

_UUID_LENGTH: Final = 36
_UUID_BYTES: Final = 16


@lru_cache(maxsize=16_384)
def pack(identity: str) -> Packed:
    """The stored form of an id."""
    if len(identity) != _UUID_LENGTH:
        return identity
    try:
        raw = bytes.fromhex(identity.replace("-", ""))
    except ValueError:
        return identity
    return raw if len(raw) == _UUID_BYTES and unpack(raw) == identity else identity


@lru_cache(maxsize=16_384)
def unpack(packed: Packed) -> str:
    """The inverse of `pack`."""
    if isinstance(packed, str):
        return packed
    text = packed.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def in_order(packed: Packed) -> tuple[bool, Packed]:
    """A key that sorts stored ids as the store does: those that are text first."""
    return isinstance(packed, bytes), packed


def pack_keys(hashes: Iterable[int]) -> bytes:
    """Signed 64-bit numbers, sorted, each as 8 bytes, the lowest first."""
    numbers = array("q", sorted(hashes))
    if byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def unpack_keys(packed: bytes) -> "array[int]":
    """The inverse of `pack_keys`."""
    numbers = array("q")
    numbers.frombytes(packed)
    if byteorder == "big":
        numbers.byteswap()
    return numbers


# Bodies: a thing as a row holds it, with a checksum that is compared whenever it is read.
#
# A bit that flips on a disk changes a name into another name, and the row still reads well. The
# checksum covers the kind too. It is CRC-32, which sees every change of up to 32 bits in a row; who
# alters a row on purpose is found by `verify`, which has the records to compare with.
#
# Entities, observations and sources are mostly names of fields. They are packed against
# `bodies.txt`, which has these once; it changes with `VIEWS_VERSION` alone.

_WIDTH: Final = 4
_RIGHT: Final = 0x2144DF1C
"""What the checksum of bytes is that end with their own checksum."""

_DENSE: Final = frozenset(("entity", "observation", "source"))
_PACKED: Final = b"\x01"
"""What a packed payload begins with, and no JSON does."""

_COMMON: Final = files(__package__).joinpath("bodies.txt").read_bytes()
_WINDOW: Final = -12
_MEMORY: Final = 5
"""Smaller than usual, as bodies are: what they are packed with is copied for each."""

_LEVEL: Final = 3
_PACKER: Final = compressobj(_LEVEL, DEFLATED, _WINDOW, _MEMORY, Z_DEFAULT_STRATEGY, _COMMON)
"""Never fed: who packs takes a copy, which knows the common words already."""

_SEEDS: Final = {kind: crc32(kind.encode()) for kind in THING_KINDS.values()}


def body_of(kind: str, thing: Thing) -> bytes:
    """What a row of this kind holds of a thing."""
    payload = encode_thing(thing)
    if kind in _DENSE:
        packer = _PACKER.copy()
        payload = _PACKED + packer.compress(payload) + packer.flush()
    return payload + crc32(payload, _SEEDS[kind]).to_bytes(_WIDTH, "little")


def thing_in(kind: str, body: Any, part: type | None = None) -> Any:
    """The thing that a row holds, or the `part` of it that is asked for.

    Raises:
        BrokenInvariant: `store.altered`, the row is not what was written.
    """
    return decode_thing(kind, said_in(kind, body), part=part)


def said_in(kind: str, body: Any) -> bytes:
    """The payload of a row, which is the same however another machine has packed it.

    Raises:
        BrokenInvariant: `store.altered`.
    """
    # Not even the type of a column is sure: a bit may flip in the head of a row.
    seed = _SEEDS.get(kind) if isinstance(body, bytes) else None
    if seed is None or crc32(body, seed) != _RIGHT:
        raise altered()
    payload: bytes = body[:-_WIDTH]
    if payload[:1] != _PACKED:
        return payload
    return decompressobj(_WINDOW, _COMMON).decompress(payload[1:])


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
