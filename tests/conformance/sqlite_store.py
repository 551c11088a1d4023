"""The embedded store as contracts see it: opened in a folder, shared, reopened and harmed."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from canonry.app.embedded import Embedded, open_embedded
from canonry.stores.sqlite import Durability
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.testing.conformance import Backend, Damages

ROW = "(list, owner, space, facet, rank, later, id)"
FIRST_LISTED = f"{ROW} = (SELECT {ROW.strip('()')} FROM listing LIMIT 1)"

VIEWS = {
    "a fact says something else": (
        "UPDATE things SET body = CAST(replace(CAST(body AS TEXT), 'is small', 'is large')"
        " AS BLOB) WHERE kind = 'fact'"
    ),
    "a memory is missing": "DELETE FROM things WHERE kind = 'memory'",
    "a thing has another kind": "UPDATE things SET kind = 'event' WHERE kind = 'axiom'",
    "a row of a list is missing": f"DELETE FROM listing WHERE {FIRST_LISTED}",
    "a row of a list has another name": f"UPDATE listing SET name = 'zz' WHERE {FIRST_LISTED}",
    "a count is wrong": "UPDATE counts SET n = n + 1 WHERE n = (SELECT max(n) FROM counts)",
    "a version is missing": "DELETE FROM versions WHERE n = (SELECT max(n) FROM versions)",
    "an identifier is missing": (
        "DELETE FROM identifiers WHERE key = (SELECT min(key) FROM identifiers)"
    ),
    "an identifier leads elsewhere": "UPDATE identifiers SET merged_into = zeroblob(16)",
    "a date is missing": "DELETE FROM timeline WHERE current = 1",
    "a date has another source": "UPDATE timeline SET source = zeroblob(16)",
    "a word was never said": (
        "INSERT INTO passages (rowid, words, marks) VALUES (99999, 'ghost', 'ghost')"
    ),
    "a stem is counted that nobody said": "INSERT INTO stem_counts VALUES ('ghost', 'ghost', 1)",
    "stems are kept of no passage": (
        "INSERT INTO passage_stems VALUES (99999, 'ghost', 'ghost', NULL, NULL, NULL, '', 'ghost')"
    ),
}
RECORDS = {
    "a payload says something else": ("UPDATE parts SET payload = CAST(payload || x'20' AS BLOB)"),
    "a salt is another": "UPDATE parts SET salt = zeroblob(16) WHERE seq = 3",
    "a payload was dropped": "UPDATE parts SET salt = NULL, payload = NULL WHERE seq = 4",
    "an entry is missing": "DELETE FROM parts WHERE seq = 4 AND entry = 2",
    "a commit is missing": "DELETE FROM commits WHERE seq = 5",
    "a commit has other sealed bytes": (
        "UPDATE commits SET body = CAST(replace(CAST(body AS TEXT), 'scribe-001', 'scribe-002')"
        " AS BLOB) WHERE seq = 6"
    ),
    "a commit has another hash": "UPDATE commits SET hash = zeroblob(32) WHERE seq = 7",
    "a commit has another time": "UPDATE commits SET recorded_at = recorded_at - 1 WHERE seq = 8",
    "a commit has another id": "UPDATE commits SET id = zeroblob(16) WHERE seq = 9",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """Opens stores below `root` and closes all of them in the end."""

    root: Path
    closing: AsyncExitStack
    durability: Durability = Durability.NORMAL
    opened: list[Path] = field(default_factory=list)

    async def fresh(self) -> Backend:
        """An empty store in a folder of its own."""
        folder = self.root / f"store {len(self.opened)}"
        return await self.open(folder, HandClock())

    async def open(self, folder: Path, clock: HandClock) -> Backend:
        """The store in `folder`, whatever it holds."""
        self.opened.append(folder)
        identities = CountingIdentities(prefix=len(self.opened))
        embedded = await open_embedded(
            folder, clock=clock, identities=identities, durability=self.durability
        )
        self.closing.push_async_callback(embedded.close)
        return Backend(
            canon=embedded.canon,
            blobs=embedded.blobs,
            clock=clock,
            another=self.fresh,
            maintenance=embedded.maintenance,
            close=embedded.close,
            reopen=self._reopening(embedded, folder, clock),
            second=lambda: self.open(folder, clock),
            open_backup=lambda target: self.open(target, clock),
            files=lambda: files_of(folder),
            damages=damages_of(folder),
        )

    def _reopening(
        self, embedded: Embedded, folder: Path, clock: HandClock
    ) -> Callable[[], Awaitable[Backend]]:
        async def reopen() -> Backend:
            await embedded.close()
            return await self.open(folder, clock)

        return reopen


def files_of(folder: Path) -> Iterable[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def damages_of(folder: Path) -> Damages:
    def by(statement: str) -> Callable[[], Awaitable[None]]:
        async def harm() -> None:
            db = apsw.Connection(str(folder / "canon.db"))
            try:
                before = db.total_changes()
                db.execute(statement)
                assert db.total_changes() > before, f"this harms nothing: {statement}"
            finally:
                db.close()

        return harm

    async def alter(digest: str) -> None:
        (path,) = (p for p in files_of(folder) if p.name and digest.endswith(p.name))
        data = path.read_bytes()
        path.chmod(0o600)
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))

    return Damages(
        views={name: by(statement) for name, statement in VIEWS.items()},
        records={name: by(statement) for name, statement in RECORDS.items()},
        blob=alter,
    )
