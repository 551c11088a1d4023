"""Records as documents: a commit is one, and what was said in it can be read in the shell."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from canonry.log.commits import ORIGIN, Append, Position
from canonry.log.folding import ANY, key_hash
from canonry.log.sealing import GENESIS, ErasablePart, Sealed, altered
from canonry.stores.mongodb.database import BsonDocument
from canonry.values.errors import BrokenInvariant
from canonry.values.ids import CommitId, SpaceId
from canonry.values.moments import Instant

TOUCHED_MAX: Final = 1000
"""After more commits than this a verdict is stale without a look at what they touched."""

TOUCHES_ANYTHING: Final = frozenset((ANY,))
_DIGITS: Final = 19
_ANYTHING: Final = key_hash(ANY)
TIP: Final = {"position": 1, "recorded_at": 1, "hash": 1}


def place_of(space: SpaceId, position: int) -> str:
    """The `_id` of a commit: those of a space are in order."""
    return f"{space}:{position:0{_DIGITS}}"


def past(space: SpaceId, position: int) -> BsonDocument:
    """The commits of a space past a position."""
    last = f"{space}:{'9' * _DIGITS}"
    return {"_id": {"$gt": place_of(space, position), "$lte": last}, "space": space}


def next_after(space: SpaceId, position: int, count: int) -> BsonDocument:
    """So many commits of a space past a position: no place in a log is left out."""
    places = range(position + 1, position + count + 1)
    return {"_id": {"$in": [place_of(space, each) for each in places]}}


class ChainEnd:
    """Where a space's log stands while it is written."""

    __slots__ = ("hash", "newest", "position")

    def __init__(self, tip: Mapping[str, Any] | None) -> None:
        """Take the newest commit, by the fields of `TIP`; None, or one at 0: there is none."""
        self.position = ORIGIN if tip is None else Position(int(tip["position"]))
        self.newest = Instant(int(tip["recorded_at"])) if tip and self.position else None
        self.hash: str = GENESIS if tip is None else tip["hash"]

    def follow(self, sealed: Sealed) -> None:
        """Stand at a commit that is to be written."""
        self.position, self.newest, self.hash = sealed.position, sealed.recorded_at, sealed.hash


def document_of(sealed: Sealed, touched: Iterable[str], written: int) -> BsonDocument:
    """The commit as it is stored; `opens` stands in the first one of a space alone."""
    first = {"opens": sealed.space} if sealed.position == 1 else {}
    return {
        "_id": place_of(sealed.space, sealed.position),
        "space": sealed.space,
        "position": sealed.position,
        "commit": sealed.id,
        "recorded_at": sealed.recorded_at,
        "hash": sealed.hash,
        "body": _readable(sealed.body),
        "payloads": [None if part is None else _readable(part.payload) for part in sealed.parts],
        "salts": [None if part is None else part.salt for part in sealed.parts],
        "touched": sorted(map(key_hash, touched)),
        "written": written,
        **first,
    }


def sealed_in(stored: Mapping[str, Any]) -> Sealed:
    """The commit that a document holds.

    Raises:
        BrokenInvariant: `ledger.altered`, it is not what was written.
    """
    try:
        parts = tuple(
            None if salt is None else ErasablePart(salt=bytes(salt), payload=_bytes(payload))
            for salt, payload in zip(stored["salts"], stored["payloads"], strict=True)
        )
        return Sealed(
            space=SpaceId(stored["space"]),
            position=Position(int(stored["position"])),
            id=CommitId(stored["commit"]),
            recorded_at=Instant(int(stored["recorded_at"])),
            body=_bytes(stored["body"]),
            hash=stored["hash"],
            parts=parts,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise altered() from error


def is_stale(item: Append, others: Iterable[Mapping[str, Any]], head: Position) -> bool:
    """Whether a commit of `others`, which are the newest ones, touches what a draft rests on."""
    told = list(others)
    rests_on = [(item.judged_at, item.reads)]
    if item.foreseen is not None:
        rests_on.append((item.foreseen.at, item.foreseen.over))
    return any(_is_touched(told, at, head, reads) for at, reads in rests_on)


def _is_touched(
    others: Iterable[Mapping[str, Any]], at: Position, head: Position, reads: frozenset[str]
) -> bool:
    if at >= head:
        return False
    if head - at > TOUCHED_MAX:
        return True
    touched: set[int] = set()
    for each in others:
        if each["position"] > at:
            touched.update(map(int, each["touched"]))
    if not touched:
        return False
    return ANY in reads or _ANYTHING in touched or not touched.isdisjoint(map(key_hash, reads))


def _readable(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _bytes(stored: object) -> bytes:
    match stored:
        case str():
            return stored.encode()
        case bytes():
            return stored
        case _:
            raise BrokenInvariant("ledger.altered", "a commit holds what is no text")
