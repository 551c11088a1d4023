"""Packed records: a payload or a sealed body as its row holds it, deflated where that is shorter.

Payloads are mostly names of fields and ids that their commit has as well. Each is packed alone, so
that it can be erased alone, against `parts.txt` and what the sealed bytes say of it, which outlast
it. What begins with another byte is as an earlier version has written it.

`parts.txt` never changes, as records are read by it for ever: another one gets another mark.
"""

from collections.abc import Sequence
from importlib.resources import files
from typing import Any, Final
from zlib import DEFLATED, Z_DEFAULT_STRATEGY, compress, compressobj, decompressobj, error

_PACKED: Final = b"\x01"
"""What a packed value begins with, and no JSON does."""

_LEAST: Final = 200
"""Shorter payloads are left as they are."""

_PAYLOAD_MAX: Final = 64_000
_TRIED_MAX: Final = 256_000
"""How long a payload is at most that is packed in order to see how long it is then."""

_BODY_LEAST: Final = 4_096
_LONG: Final = 8_192
_LEVEL: Final = 3
_IDS_MAX: Final = 8
_COMMON: Final = files(__package__).joinpath("parts.txt").read_bytes()


class PartPacking:
    """Packs and unpacks the payloads of one commit."""

    def __init__(self, body: Any) -> None:
        """For the commit with this sealed body, as decoded."""
        self._entries: Sequence[Sequence[Any]] = body["entries"]
        ends = (*self._entries[:2], *self._entries[-1:])
        shared = [body["space"], *[i for each in ends for i in each[2][:_IDS_MAX]]]
        self._shared = _COMMON + " ".join(shared).encode()

    def pack(self, entry: int, payload: bytes) -> bytes:
        """The payload of an entry, by its place in the commit, as its row holds it."""
        if len(payload) < _LEAST:
            return payload
        window, memory = (-12, 5) if len(payload) < _LONG else (-15, 8)
        words = self._words(entry)
        packer = compressobj(_LEVEL, DEFLATED, window, memory, Z_DEFAULT_STRATEGY, words)
        return _PACKED + packer.compress(payload) + packer.flush()

    def unpack(self, entry: int, held: bytes) -> bytes:
        """The inverse of `pack`.

        Raises:
            zlib.error: it is not what was packed.
        """
        if held[:1] != _PACKED:
            return held
        return _whole(held, -15, self._words(entry))

    def _words(self, entry: int) -> bytes:
        return self._shared + " ".join(self._entries[entry][2][:_IDS_MAX]).encode()


def is_long(payload: bytes) -> bool:
    """Whether a payload is a blob, in a file of its own; so many shorter ones are rows like any."""
    if len(payload) <= _PAYLOAD_MAX:
        return False
    return len(payload) > _TRIED_MAX or len(compress(payload, 1)) > _PAYLOAD_MAX


def pack_body(body: bytes) -> bytes:
    """A sealed body as its row holds it."""
    return body if len(body) < _BODY_LEAST else _PACKED + compress(body, 1)


def unpack_body(held: bytes) -> bytes:
    """The inverse of `pack_body`.

    Raises:
        zlib.error: it is not what was packed.
    """
    return _whole(held, 15) if held[:1] == _PACKED else held


def _whole(held: bytes, window: int, words: bytes = b"") -> bytes:
    unpacker = decompressobj(window, words)
    value = unpacker.decompress(held[1:])
    if not unpacker.eof or unpacker.unused_data:  # no byte of a row may be another one
        raise error
    return value
