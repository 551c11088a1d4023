"""Writing drafts: judged against the head, sealed, recorded and folded, inside one transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import apsw

from canonry.log.commits import Append, Appended, Outcome, Position, Stale
from canonry.log.ports.ledger import Sealer
from canonry.log.sealing import Sealed, commit_of, fault_in, unseal
from canonry.stores.sqlite.ledger import records
from canonry.stores.sqlite.ledger.records import Tip
from canonry.stores.sqlite.views import Folder
from canonry.values.errors import Conflict

Payloads = Sequence[bytes]
"""The entries of a draft as they are stored."""

BlobDigests = Mapping[int, str]
"""The digests of those parts of a commit that are kept as blobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pen:
    """Writes through the one connection that may."""

    db: apsw.Connection
    sealer: Sealer

    def append(
        self, batch: Sequence[Append], payloads: Sequence[Payloads], blobs: Sequence[BlobDigests]
    ) -> Sequence[Outcome]:
        """Append drafts as `Ledger.append` says; `payloads` and `blobs` for each draft."""
        spaces = {item.draft.space for item in batch}
        tips = {space: records.tip_of(self.db, space) for space in spaces}
        start = {space: tip.position for space, tip in tips.items()}
        fresh = [not self._stale(item, start[item.draft.space]) for item in batch]
        outcomes: list[Outcome] = []
        here = [item.draft.entries for item in batch if item.foreseen is None]
        folder = Folder(self.db, chain.from_iterable(here))
        stopped = False
        for item, is_fresh, said, kept in zip(batch, fresh, payloads, blobs, strict=True):
            known = records.known(self.db, item.draft.id)
            if known is not None:
                outcomes.append(Appended(position=known[0], recorded_at=known[1], replayed=True))
                continue
            stopped = stopped or not is_fresh
            if stopped:
                outcomes.append(Stale(head=start[item.draft.space]))
            else:
                tip = self._write(item, said, kept, tips[item.draft.space], folder)
                tips[item.draft.space] = tip
                outcomes.append(Appended(position=tip.position, recorded_at=tip.recorded_at))
        folder.show()
        return outcomes

    def restore(
        self,
        sealed: Sequence[Sealed],
        blobs: Sequence[BlobDigests],
        touched: Sequence[frozenset[str]] | None,
    ) -> None:
        """Append sealed commits as `Ledger.restore` says."""
        folder = Folder(self.db, ())
        for n, (item, kept) in enumerate(zip(sealed, blobs, strict=True)):
            tip = records.tip_of(self.db, item.space)
            position = Position(tip.position + 1)
            fault = fault_in(item, position=position, previous=tip.hash)
            if fault is None and records.known(self.db, item.id) is not None:
                fault = "a commit of that id is in the log"
            if fault is not None:
                raise Conflict("ledger.chain-broken", f"the import does not fit: {fault}")
            keys = folder.fold(unseal(item)) if touched is None else touched[n]
            records.insert(self.db, item, keys, kept)
        folder.show()

    def _stale(self, item: Append, head: Position) -> bool:
        rests = [(item.judged_at, item.reads)]
        if item.foreseen is not None:
            rests.append((item.foreseen.at, item.foreseen.over))
        return any(
            at < head and records.is_stale(self.db, item.draft.space, at, keys)
            for at, keys in rests
        )

    def _write(
        self, item: Append, payloads: Payloads, blobs: BlobDigests, tip: Tip, folder: Folder
    ) -> Tip:
        draft = item.draft
        newest = tip.recorded_at if tip.position else None
        sealed = self.sealer.sealed(
            draft, after=tip.position, newest=newest, previous=tip.hash, payloads=payloads
        )
        if item.foreseen is None:
            touched = folder.fold(commit_of(draft, sealed, tip.hash))
        else:
            touched = item.foreseen.touched
        records.insert(self.db, sealed, touched, blobs)
        return Tip(position=sealed.position, recorded_at=sealed.recorded_at, hash=sealed.hash)
