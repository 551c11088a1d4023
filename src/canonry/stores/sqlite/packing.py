"""How ids and sets of keys are stored: a UUID as its 16 bytes, any other id as text."""

from array import array
from collections.abc import Iterable
from functools import lru_cache
from sys import byteorder
from typing import Final, TypeAlias

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
