"""Erasure: payloads are dropped, and what the views then differ in is put right in the same step.

The space is folded afresh without the payloads while others go on writing; only the differences,
which are few, are written under the turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import apsw

from canonry.log.commits import ORIGIN, Position
from canonry.log.sealing import require_unaltered, unseal
from canonry.stores.sqlite import views
from canonry.stores.sqlite.bodies import Packed, thing_in, unpack
from canonry.stores.sqlite.connections import transaction, translated
from canonry.stores.sqlite.ledger import records
from canonry.stores.sqlite.ledger.records import Stored
from canonry.stores.sqlite.lookups import number
from canonry.stores.sqlite.store import make_views
from canonry.stores.sqlite.views import PAGE, Fetch, complete, fold_into
from canonry.values.ids import SpaceId
from canonry.values.json_values import decode_json

_ERASED: Final = "space.erased"
_CHUNK: Final = 500
_CHANGED: Final = (
    "SELECT f.id FROM fresh.things f LEFT JOIN main.things m ON m.id = f.id"
    " WHERE m.id IS NULL OR m.kind <> f.kind OR m.body <> f.body ORDER BY f.n"
)
_OURS: Final = (
    "SELECT id, since, kind, body FROM main.versions WHERE id IN (SELECT id FROM fresh.things)"
)
_TRUE: Final = "SELECT id, since, kind, body FROM fresh.versions"
_REVISED: Final = (
    f"SELECT id FROM ({_TRUE} EXCEPT {_OURS})"  # noqa: S608 - our own SQL
    f" UNION SELECT id FROM ({_OURS} EXCEPT {_TRUE})"
)
_DROP: Final = (
    "UPDATE parts SET salt = NULL, payload = NULL, blob = NULL WHERE seq = ? AND entry = ?"
)


@dataclass(slots=True, kw_only=True)
class StoreErasure:
    """The erasure of everything about `targets`; `db` has scratch views and the store as `live`."""

    db: apsw.Connection
    space: SpaceId
    targets: frozenset[str]
    fetch: Fetch
    purges: int = -1
    folded: Position = ORIGIN
    dropped: dict[int, frozenset[int]] = field(default_factory=dict)
    digests: set[str] = field(default_factory=set)

    def fold(self) -> None:
        """Fold the commits of the space that were not yet, without what is to be dropped."""
        with translated(), transaction(self.db):
            self._begin_again_after_another()
            self._fold()

    def finish(self, writer: apsw.Connection) -> None:
        """Drop the payloads and mend the views, in one transaction; the caller holds the turn."""
        self.fold()
        with translated():
            self.db.execute("DETACH live")
            writer.execute("ATTACH ? AS fresh", (self.db.filename,))
            try:
                self._replace(writer)
            finally:
                writer.execute("DETACH fresh")

    def _begin_again_after_another(self) -> None:
        """Another purge may have erased what was folded here: then fold from the start."""
        now = purges(self.db)
        if self.purges not in {-1, now}:
            make_views(self.db)
            self.folded = ORIGIN
            self.dropped.clear()
            self.digests.clear()
        self.purges = now

    def _fold(self) -> None:
        while page := records.by_space(self.db, self.space, after=self.folded, limit=PAGE):
            for stored in page:
                about = self._about(stored)
                if about:
                    self.dropped[stored.seq] = about
                    self.digests.update(d for e, d in stored.blobs.items() if e in about)
                fold_into(self.db, unseal(require_unaltered(complete(stored, self.fetch, about))))
                self.folded = stored.sealed.position

    def _about(self, stored: Stored) -> frozenset[int]:
        """The entries that are about the targets and still have their payload.

        The entry that records the erasure stays: it tells which ids are gone, and why.
        """
        headers = decode_json(stored.sealed.body)["entries"]
        return frozenset(
            entry
            for entry, (kind, _, ids, _) in enumerate(headers)
            if kind != _ERASED
            and stored.sealed.parts[entry] is not None
            and not self.targets.isdisjoint(ids)
        )

    def _replace(self, writer: apsw.Connection) -> None:
        with transaction(writer, "BEGIN IMMEDIATE"):
            dropped = [(seq, entry) for seq, some in self.dropped.items() for entry in some]
            writer.executemany(_DROP, dropped)
            count = (purges(writer) + 1,)
            writer.execute("INSERT OR REPLACE INTO main.meta VALUES ('purges', ?)", count)
            _mend(writer)


def purges(db: apsw.Connection) -> int:
    """How often something was dropped from the records."""
    return number(db, "SELECT coalesce(max(value), 0) FROM meta WHERE name = 'purges'")


def _mend(writer: apsw.Connection) -> None:
    """Make the things of `fresh`, and their versions, those of the views."""
    changed = [row[0] for row in list[Any](writer.execute(_CHANGED))]
    for start in range(0, len(changed), _CHUNK):
        chunk = changed[start : start + _CHUNK]
        before = views.load(writer, map(unpack, chunk))
        views.store(writer, ([thing] for thing in _fresh(writer, chunk)), before)
    # Storing keeps what was there before as a version; these were never versions of anything.
    for (packed,) in list[Any](writer.execute(_REVISED)):
        writer.execute("DELETE FROM main.versions WHERE id = ?", (packed,))
        writer.execute(
            f"INSERT INTO main.versions (id, since, kind, body) {_TRUE} WHERE id = ?"
            " ORDER BY since",
            (packed,),
        )


def _fresh(writer: apsw.Connection, ids: Sequence[Packed]) -> list[Any]:
    found = []
    for packed in ids:
        sql = "SELECT kind, body FROM fresh.things WHERE id = ?"
        kind, body = list[Any](writer.execute(sql, (packed,)))[0]
        found.append(thing_in(kind, body))
    return found
