"""Folding stored commits into views: for rebuilding, for verifying, and after an upgrade."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import apsw

from canonry.adapters.sqlite import views
from canonry.adapters.sqlite.ledger import records
from canonry.adapters.sqlite.ledger.records import Stored
from canonry.domain.log.canon import beside, fold, needs
from canonry.domain.log.commits import Commit
from canonry.domain.log.sealing import Sealed, require_unaltered, unseal

PAGE: Final = 200

Fetch = Callable[[str], bytes]
"""Gives the bytes of a blob by its digest."""


def fold_into(db: apsw.Connection, commit: Commit) -> frozenset[str]:
    """Fold `commit` into the views of `db`; the keys that it touched."""
    loaded = views.load(db, needs(commit.entries))
    things = {i: item.thing for i, item in loaded.items()}
    more = views.load(db, beside(commit.entries, things).difference(loaded))
    if more:
        loaded |= more
        things |= {i: item.thing for i, item in more.items()}
    changes = fold(commit, things)
    views.store(db, changes.things.values(), loaded)
    return changes.touched


def stored_commits(db: apsw.Connection, *, after: int = 0) -> Iterator[Stored]:
    """The commits past the number `after`, in the order in which the store took them."""
    while page := records.by_seq(db, after=after, limit=PAGE):
        yield from page
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
) -> int:
    """Fold the commits past the number `after` into the views beside them; the last number."""
    for stored in stored_commits(db, after=after):
        fold_into(db, unseal(require_unaltered(complete(stored, fetch))))
        after = stored.seq
        seen(after)
    return after
