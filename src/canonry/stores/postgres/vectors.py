"""Vectors in PostgreSQL with pgvector: exact search for few vectors, HNSW for many.

All vectors of a model have one size, so each model has its own index. It is created when the model
has enough vectors for the index to be faster than a scan.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from importlib.resources import files
from typing import Any, Final

from psycopg import sql
from typing_extensions import override

from canonry.readmodels.ports.text import (
    NUMBER_BYTES,
    EmbeddingModel,
    Vector,
    VectorBatch,
    VectorEntry,
    VectorHit,
    VectorQuery,
    Vectors,
    VectorStatus,
    numbers_of,
    require_sizes,
)
from canonry.stores.postgres.database import (
    Database,
    PgConnection,
    PgRow,
    fetch_rows,
    run_statement,
)
from canonry.values.errors import CanonryError, Unavailable

INDEXED_FROM: Final = 10_000
"""A scan of this many vectors takes a few milliseconds."""

DIMENSIONS_MAX: Final = 2_000
"""pgvector indexes no longer vectors of four-byte numbers. Longer ones are scanned."""

_EXACT: Final = 64
"""Candidates whose scores are computed here, with the precision of the given numbers."""

_SCHEMA: Final = files(__package__).joinpath("vectors.sql").read_text(encoding="utf-8")
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtext(%s))"
_CURSOR: Final = "SELECT cursor FROM vector_models WHERE model = %s FOR UPDATE"
_MOVE: Final = (
    "INSERT INTO vector_models (model, name, version, dimensions, weights, cursor)"
    " VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (model) DO UPDATE SET cursor = excluded.cursor"
)
_GONE: Final = "DELETE FROM vectors WHERE model = %s AND id = ANY(%s)"
_PUT: Final = (
    "INSERT INTO vectors (space, model, id, part, collection, entities, scene, source, digest,"
    " embedding) VALUES (%s, %s, %s, %s, %s, %s::text[], %s, %s, %s, %s::vector)"
)
_FILTERS: Final = (
    "model = %(model)s AND collection = %(collection)s"
    " AND (%(spaces)s::text[] IS NULL OR space = ANY(%(spaces)s))"
    " AND (%(entities)s::text[] IS NULL OR entities && %(entities)s::text[])"
    " AND (%(source)s::text IS NULL OR source = %(source)s)"
    " AND (%(without)s::text IS NULL OR scene IS DISTINCT FROM %(without)s)"
)
_SEARCH: Final = (
    "SELECT id, part, embedding::text FROM vectors WHERE {filters}"
    " ORDER BY embedding::vector({size}) <#> %(vector)s::vector({size}) LIMIT %(limit)s"
)
_INDEX: Final = (
    "CREATE INDEX IF NOT EXISTS {name} ON vectors"
    " USING hnsw ((embedding::vector({size})) vector_ip_ops) WHERE model = {model}"
)
_CURSORS: Final = "SELECT name, version, dimensions, weights, cursor FROM vector_models ORDER BY n"
_STATUS: Final = (
    "SELECT m.name, m.version, m.dimensions, m.weights, m.cursor,"
    " (SELECT count(*) FROM vectors v WHERE v.model = m.model) FROM vector_models m ORDER BY m.n"
)
_INDEXED: Final = "SELECT to_regclass(%s) IS NOT NULL"


class PostgresVectors(Vectors):
    """The vectors of every model in one table."""

    def __init__(self, database: Database, *, indexed_from: int = INDEXED_FROM) -> None:
        """Share `database` with the ledger. The first use creates the tables."""
        self._database = database
        self._indexed_from = indexed_from
        self._ready = False

    @override
    async def apply(self, batch: VectorBatch) -> None:
        require_sizes(batch)
        model = _key_of(batch.model)

        async def write_batch(db: PgConnection) -> None:
            await run_statement(db, _LOCK, (f"{self._database.name}/{model}",))
            rows = await fetch_rows(db, _CURSOR, (model,))
            kept = rows[0][0] if rows else ""
            if batch.follows is not None and batch.follows != kept:
                raise Unavailable("vectors.moved", "Another process changed the index. Try again.")
            about = batch.model
            said = (model, about.name, about.version, about.dimensions, about.digest)
            await run_statement(db, _MOVE, (*said, batch.cursor))
            gone = [*batch.removed, *(entry.id for entry in batch.entries)]
            if gone:
                await run_statement(db, _GONE, (model, gone))
            if batch.entries:
                async with db.cursor() as cursor:
                    await cursor.executemany(_PUT, [_vector_row(model, e) for e in batch.entries])

        await self._prepare_tables()
        await _await_database(self._database.write_transaction(write_batch))

    @override
    async def search(self, query: VectorQuery) -> Sequence[VectorHit]:
        size = query.model.dimensions
        if len(query.vector) != NUMBER_BYTES * size or query.limit < 1:
            return []
        values = {
            "model": _key_of(query.model),
            "collection": str(query.collection),
            "spaces": None if query.spaces is None else list(query.spaces),
            "entities": list(query.entities) or None,
            "source": query.source_id,
            "without": query.without_scene,
            "vector": _vector_text(query.vector),
            "limit": max(query.limit, _EXACT),
        }
        statement = _SEARCH.format(filters=_FILTERS, size=size)

        async def read_rows(db: PgConnection) -> list[PgRow]:
            # Filters may discard the first results of the index, so the search continues.
            await run_statement(db, "SET LOCAL hnsw.iterative_scan = strict_order")
            return await fetch_rows(db, statement, values)

        await self._prepare_tables()
        rows = await _await_database(self._database.read_transaction(read_rows))
        wanted = numbers_of(query.vector)
        hits = [
            VectorHit(identity, part, sum(a * b for a, b in zip(wanted, stored, strict=True)))
            for identity, part, text in rows
            if (stored := [float(each) for each in text[1:-1].split(",")])
        ]
        hits.sort(key=lambda hit: (-hit.similarity, hit.id, hit.part))
        return hits[: query.limit]

    @override
    async def status(self) -> Sequence[VectorStatus]:
        return [
            VectorStatus(model=_model_of(*model), count=count, cursor=cursor, waiting=0)
            for *model, cursor, count in await self._fetch_rows(_STATUS)
        ]

    @override
    async def cursors(self) -> Mapping[EmbeddingModel, str]:
        return {_model_of(*model): cursor for *model, cursor in await self._fetch_rows(_CURSORS)}

    @override
    async def vector_digests(
        self, model: EmbeddingModel, ids: Sequence[str]
    ) -> Mapping[str, Sequence[bytes]]:
        rows = await self._fetch_rows(
            "SELECT id, array_agg(digest ORDER BY part) FROM vectors"
            " WHERE model = %s AND id = ANY(%s) GROUP BY id",
            (_key_of(model), list(ids)),
        )
        return {identity: tuple(found) for identity, found in rows}

    @override
    async def passages_about(
        self, model: EmbeddingModel, entity: str, *, after: str = "", limit: int
    ) -> Sequence[str]:
        rows = await self._fetch_rows(
            "SELECT DISTINCT id FROM vectors WHERE model = %s AND entities @> ARRAY[%s] AND id > %s"
            " ORDER BY id LIMIT %s",
            (_key_of(model), entity, after, limit),
        )
        return [identity for (identity,) in rows]

    @override
    async def remove(self, ids: Sequence[str]) -> None:
        await self._fetch_rows("DELETE FROM vectors WHERE id = ANY(%s) RETURNING 1", (list(ids),))

    @override
    async def purge(self) -> None:
        await self._prepare_tables()
        async with self._database.borrow_connection() as db:
            await run_statement(db, "VACUUM (FULL) vectors")

    @override
    async def compact_updates(self, model: EmbeddingModel) -> bool:
        if model.dimensions > DIMENSIONS_MAX:
            return False
        key, name = _key_of(model), _index_of(model)
        rows = await self._fetch_rows(
            "SELECT count(*) FROM (SELECT 1 FROM vectors WHERE model = %s LIMIT %s) v",
            (key, self._indexed_from),
        )
        if rows[0][0] < self._indexed_from or (await self._fetch_rows(_INDEXED, (name,)))[0][0]:
            return False
        statement = sql.SQL(_INDEX).format(
            name=sql.Identifier(name), size=sql.Literal(model.dimensions), model=sql.Literal(key)
        )
        async with self._database.borrow_connection() as db:
            await run_statement(db, "SET statement_timeout = 0")
            try:
                await db.execute(statement)
            finally:
                await self._database.configure_connection(db)
        return True

    @override
    async def drop(self, model: EmbeddingModel | None = None) -> None:
        async def delete_rows(db: PgConnection) -> None:
            which, values = ("true", ()) if model is None else ("model = %s", (_key_of(model),))
            await run_statement(db, f"DELETE FROM vectors WHERE {which}", values)
            await run_statement(db, f"DELETE FROM vector_models WHERE {which}", values)
            if model is not None:
                named = sql.Identifier(_index_of(model))
                await db.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(named))

        await self._prepare_tables()
        await _await_database(self._database.write_transaction(delete_rows))

    @override
    async def close(self) -> None:
        """Do nothing: the store closes the shared database."""

    async def _fetch_rows(self, statement: str, values: Any = ()) -> list[PgRow]:
        await self._prepare_tables()
        rows: list[PgRow] = await _await_database(self._database.fetch_rows(statement, values))
        return rows

    async def _prepare_tables(self) -> None:
        """Create the tables. If the database forbids the extension, search uses words only."""
        if self._ready:
            return

        async def make_tables(db: PgConnection) -> None:
            async with db.transaction():
                await db.execute(_LOCK, (f"{self._database.name}/vectors",))
                path = sql.SQL("SET LOCAL search_path = {}, public")
                await db.execute(path.format(sql.Identifier(self._database.name)))
                await db.execute(_SCHEMA)

        await _await_database(self._database.attempt_work(make_tables))
        self._ready = True


async def _await_database(work: Any) -> Any:
    """Await the database, and report a failure as unavailable vectors."""
    try:
        return await work
    except CanonryError as error:
        if error.code.startswith("vectors."):
            raise
        message = "The vector index did not answer. Search by words instead."
        raise Unavailable("vectors.unavailable", message, cause=error.code) from error


def _key_of(model: EmbeddingModel) -> str:
    weights = "" if model.digest is None else f"\n{model.digest}"
    return f"{model.name}\n{model.version}\n{model.dimensions}{weights}"


def _model_of(name: str, version: str, dimensions: int, weights: str | None) -> EmbeddingModel:
    return EmbeddingModel(name=name, version=version, dimensions=dimensions, digest=weights)


def _index_of(model: EmbeddingModel) -> str:
    digest = blake2b(_key_of(model).encode(), digest_size=8).hexdigest()
    return f"vectors_of_{digest}"


def _vector_text(vector: Vector) -> str:
    return "[" + ",".join(map(repr, numbers_of(vector))) + "]"


def _vector_row(model: str, entry: VectorEntry) -> tuple[Any, ...]:
    return (
        entry.space,
        model,
        entry.id,
        entry.part,
        str(entry.collection),
        list(entry.entities),
        entry.scene_id,
        entry.source_id,
        entry.digest,
        _vector_text(entry.vector),
    )
