"""Folding stored commits into views: for rebuilding, for verifying, and after an upgrade."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

import apsw

from canonry.log.canon import BESIDE_ROUNDS, beside, fold, needs
from canonry.log.commits import Commit
from canonry.log.entries import Entry, Thing
from canonry.log.sealing import Sealed, require_unaltered, unseal
from canonry.stores.sqlite import views
from canonry.stores.sqlite.ledger import records
from canonry.stores.sqlite.ledger.records import Stored
from canonry.stores.sqlite.views import Loaded

PAGE: Final = 200

Fetch = Callable[[str], bytes]
"""Gives the bytes of a blob by its digest."""


class Folder:
    """Folds commits one after the other; what they make is read once, and shown once at the end."""

    def __init__(self, db: apsw.Connection, entries: Iterable[Entry]) -> None:
        """Fold over what the views of `db` have of the things that `entries` look at."""
        self._db = db
        self._before: dict[str, Loaded] = {}
        self._now: dict[str, Thing] = {}
        self._asked: set[str] = set()
        self._stages: dict[str, list[Thing]] = {}
        self._load(needs(entries))

    def fold(self, commit: Commit) -> frozenset[str]:
        """Fold the next one; the keys that it touched."""
        wanted = needs(commit.entries)
        self._load(wanted)
        things = self._known(wanted)
        for _round in range(BESIDE_ROUNDS):
            more = beside(commit.entries, things).difference(wanted)
            self._load(more)
            things |= self._known(more)
        changes = fold(commit, things)
        self._now.update(changes.things)
        for thing in changes.things.values():
            self._stages.setdefault(thing.id, []).append(thing)
        return changes.touched

    def show(self) -> None:
        """Make the views show what was folded."""
        views.store(self._db, self._stages.values(), self._before)

    def _load(self, ids: frozenset[str]) -> None:
        fresh = ids - self._asked
        self._asked |= fresh
        found = views.load(self._db, fresh - self._now.keys())
        self._before |= found
        self._now |= {i: item.thing for i, item in found.items()}

    def _known(self, ids: frozenset[str]) -> dict[str, Thing]:
        return {i: self._now[i] for i in ids if i in self._now}


def fold_into(db: apsw.Connection, commit: Commit) -> frozenset[str]:
    """Fold `commit` into the views of `db`; the keys that it touched."""
    folder = Folder(db, commit.entries)
    touched = folder.fold(commit)
    folder.show()
    return touched


def stored_commits(
    db: apsw.Connection, *, after: int = 0, until: int | None = None
) -> Iterator[Stored]:
    """The commits past the number `after`, in the order in which the store took them.

    A page of them is read at once; between two pages no statement runs.
    """
    while page := records.by_seq(db, after=after, limit=PAGE):
        for stored in page:
            if until is not None and stored.seq > until:
                return
            yield stored
        after = page[-1].seq


def complete(stored: Stored, fetch: Fetch, left_out: frozenset[int] = frozenset()) -> Sealed:
    """The sealed commit with the payloads that are kept as blobs, without those `left_out`."""
    blobs = {entry: digest for entry, digest in stored.blobs.items() if entry not in left_out}
    sealed = stored.filled({entry: fetch(digest) for entry, digest in blobs.items()})
    if not left_out:
        return sealed
    parts = (None if i in left_out else part for i, part in enumerate(sealed.parts))
    return replace(sealed, parts=tuple(parts))


def fold_all(
    db: apsw.Connection,
    fetch: Fetch,
    *,
    after: int = 0,
    seen: Callable[[int], None] = lambda _: None,
    touched: Callable[[Stored, frozenset[str]], None] = lambda _stored, _keys: None,
) -> int:
    """Fold the commits past the number `after` into the views beside them; the last number.

    `touched` is told the keys that each of them touches.
    """
    for stored in stored_commits(db, after=after):
        touched(stored, fold_into(db, unseal(require_unaltered(complete(stored, fetch)))))
        after = stored.seq
        seen(after)
    return after
