"""Appending in one trip, where this process knows the log and what the drafts look at.

Drafts are judged, sealed and folded before anything is asked. One statement among those that write
makes sure that all this rested on is still so, and fails otherwise, so that nothing of it happens;
then the group is appended as if nothing had been known.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final

from psycopg import errors
from typing_extensions import override

from canonry.log.commits import ORIGIN, Append, LookedAt, Stale
from canonry.log.encoding import encode_thing
from canonry.log.entries import THING_KINDS, Thing
from canonry.log.keys import key_hash
from canonry.log.ports.turns import Call
from canonry.log.sealing import GENESIS
from canonry.log.upcasters import ENCODING_VERSION
from canonry.stores.postgres import records, views
from canonry.stores.postgres.appending import ENTER, Appender, Writing
from canonry.stores.postgres.database import PgConnection, run, written
from canonry.stores.postgres.ends import KnownEnd, RememberedEnds, WrittenHere
from canonry.stores.postgres.records import LogEnd
from canonry.values.errors import CanonryError, Conflict
from canonry.values.ids import SpaceId

_GENESIS: Final = bytes.fromhex(GENESIS)
# What is erased leaves a thing changed and the log as long as it was: so things are compared too.
_STILL_SO: Final = (
    "SELECT 1 / (EXISTS (SELECT FROM heads WHERE space = %s AND position = %s AND hash = %s)"
    " AND EXISTS (SELECT FROM meta WHERE name = 'min_reader' AND value <= %s)"
    " AND NOT EXISTS (SELECT FROM commits WHERE id = ANY(%s))"
    " AND NOT EXISTS (SELECT FROM unnest(%s::text[], %s::text[], %s::bytea[]) AS g (id, kind, hash)"
    " LEFT JOIN things t ON t.id = g.id WHERE t.kind IS DISTINCT FROM g.kind"
    " OR sha256(t.body) IS DISTINCT FROM g.hash))::int"
)
"""Divides by zero where it is not."""

_NOT_SO: Final = (errors.DivisionByZero, errors.UniqueViolation)


class ForeknowingAppender:
    """Appends groups, over as many trips as it takes."""

    def __init__(self, appender: Appender, ends: RememberedEnds) -> None:
        """Let `appender` do what is not known."""
        self._appender = appender
        self._ends = ends

    async def append(self, db: PgConnection, group: Sequence[Call]) -> Writing:
        """Append what calls ask for, all in one space, all or nothing; durable on return."""
        items = [item for call in group for item in call.batch]
        space, shown = items[0].draft.space, [i.looked_at for i in items if i.looked_at is not None]
        if len(shown) < len(items):
            return await written(db, lambda db: self._appender.append(db, group))
        known = self._ends.of(space)
        if known is None and all(each.at == ORIGIN for each in shown):
            known = KnownEnd((ORIGIN, 0, _GENESIS))
        if known is not None and self._ends.pays(space) and _covers(known, items, shown):
            foreknown = _Foreknown(self._appender, known, shown, db)
            if await foreknown.is_written(group):
                try:
                    await written(db, lambda db: foreknown.send(db, space, items))
                except _NOT_SO:
                    self._ends.was(space, right=False)
                    known = None
                else:
                    self._ends.was(space, right=True)
                    return self._followed(space, foreknown.writing)
        writing = await written(db, lambda db: self._appender.append(db, group))
        if known is not None:
            self._ends.was(space, right=known.row == writing.before)
        return self._followed(space, writing)

    def _followed(self, space: SpaceId, writing: Writing) -> Writing:
        told = [
            WrittenHere(each.sealed.position, [*map(key_hash, each.touched)], each.things or {})
            for each in writing.made
        ]
        self._ends.follow(space, writing.before, writing.tip.row, told)
        return writing


def _covers(known: KnownEnd, items: Sequence[Append], shown: Sequence[LookedAt]) -> bool:
    """Whether all is known that happened since whatever these rest on."""
    rests_on = [*(item.judged_at for item in items), *(each.at for each in shown)]
    return known.since <= min(rests_on) and max(rests_on) <= known.position


class _Foreknown:
    """A group that is written from what is known."""

    def __init__(
        self, appender: Appender, known: KnownEnd, shown: Sequence[LookedAt], db: PgConnection
    ) -> None:
        self._name = appender.name
        self._known = known
        self._ids = {i for each in shown for i in each.ids}
        self._things: dict[str, Thing] = {}
        for each in {id(each): each for each in shown}.values():
            self._things |= each.things
            for commit in known.written:
                if commit.position > each.at:
                    self._things |= {i: t for i, t in commit.things.items() if i in each.ids}
        touched = [(each.position, each.touched) for each in known.written]
        loading = _OnlyKnown(db, self._things, set(self._ids))
        self.writing = Writing(appender, LogEnd(known.row), (), touched, loading)

    async def is_written(self, group: Sequence[Call]) -> bool:
        """Whether all of it can be written; who is refused may be told so only after a look."""
        try:
            await self.writing.write(group)
        except CanonryError:
            return False
        told = [outcome for each in self.writing.outcomes for outcome in each]
        return bool(self.writing.made) and not any(isinstance(each, Stale) for each in told)

    async def send(self, db: PgConnection, space: SpaceId, items: Sequence[Append]) -> None:
        position, _, digest = self._known.row
        found = {i: self._things.get(i) for i in self._ids}
        await run(db, ENTER, (self._name,))
        await run(db, records.LOCK, (space, _GENESIS))
        so = (
            *(space, position, digest, ENCODING_VERSION, [item.draft.id for item in items]),
            list(found),
            [None if t is None else THING_KINDS[type(t)] for t in found.values()],
            [None if t is None else sha256(encode_thing(t)).digest() for t in found.values()],
        )
        await run(db, _STILL_SO, so)
        await self.writing.record(db, space)


class _OnlyKnown(views.Loading):
    """Things that are known; there is no look at others."""

    @override
    async def _load(self, ids: Iterable[str]) -> None:
        if not self._asked.issuperset(ids):
            raise Conflict("ledger.unknown", "a draft looks at what is not known")
