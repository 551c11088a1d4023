"""Open the store of the settings; only this module knows the backends."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import quote, urlsplit

from canonry.app.load_settings import SecretVariable
from canonry.app.recall_models import recall_for, reranking_for, with_dialogue_models
from canonry.app.settings import Settings
from canonry.app.store_files import apply_file_settings
from canonry.canon.session.canon import Canon
from canonry.readmodels.ports.text import Vectors
from canonry.readmodels.ports.view import Maintenance
from canonry.recall.usecases.search_by_meaning import RecallServices
from canonry.records.usecases.files import RecordServices
from canonry.values.errors import BrokenInvariant, NotFound, NotSupported, Unavailable

if TYPE_CHECKING:
    from canonry.app.backends.postgres import SpaceMover
    from canonry.app.backends.servers import ViewServers
    from canonry.stores.objects import ObjectStore

STORE_FILE: Final = "canon.db"


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """An open store; `close` finishes pending work, and must be awaited once.

    `async with` awaits it at the end of the block.
    """

    canon: Canon
    close: Callable[[], Awaitable[None]]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptStore(Store):
    """A store that outlives the process, with its maintenance.

    `vectors` opens its index of vectors; None if that is in the data folder. `mover` moves a space
    to another server, if spaces are divided between several.
    """

    maintenance: Maintenance
    vectors: Callable[[], Vectors] | None = None
    mover: "SpaceMover | None" = None


async def open_store(settings: Settings) -> Store:
    """Open the store to serve; create it if it does not exist."""
    if settings.memory:
        from canonry.app.compose import compose_memory  # noqa: PLC0415 - one of two

        return _with_files(
            Store(canon=compose_memory(policy=settings.policy), close=_close_nothing), settings
        )
    return _with_files(await open_kept_store(settings), settings)


def _with_files(store: Store, settings: Settings) -> Store:
    """Return the store with the settings of its files and its dialogue models."""
    store = replace(store, canon=with_dialogue_models(store.canon, settings))
    canon, close_engine = store.canon, store.close
    filing = canon.find_service(RecordServices).filing
    if filing is not None:
        apply_file_settings(filing, settings, canon.outside)

    async def close_all() -> None:
        await canon.services.close()
        await close_engine()

    return replace(store, close=close_all)


async def open_sealed_store(settings: Settings) -> Store:
    """Open the store read-only for read-only toolsets; create or upgrade it first.

    Raises:
        CanonryError: the error of the backend about a folder that it cannot open.
    """
    if _uses_server(settings):
        return await open_kept_store(settings)
    from canonry.app.embedded import open_embedded_sealed  # noqa: PLC0415 - as below

    try:
        return _with_whole_canon(await open_embedded_sealed(settings.data, policy=settings.policy))
    except (NotFound, BrokenInvariant) as error:
        if error.code not in {"store.absent", "store.older"}:
            raise
        await (await open_kept_store(settings)).close()
        return _with_whole_canon(await open_embedded_sealed(settings.data, policy=settings.policy))


async def open_store_to_read(settings: Settings) -> KeptStore:
    """Open the store in the data folder for a command that only reads.

    If its disk is full or not writable, it is opened read-only: search uses words alone, and
    maintenance refuses to write.

    Raises:
        NotFound: `store.absent`.
        CanonryError: the error of the backend about a folder that it cannot open.
    """
    if _uses_server(settings):
        return await open_kept_store(settings)
    from canonry.app.embedded import open_embedded_sealed  # noqa: PLC0415 - as above
    from canonry.stores.sqlite import UNWRITABLE  # noqa: PLC0415 - loads the engine

    try:
        return await open_kept_store(settings, existing=True)
    except Unavailable as error:
        if error.code not in UNWRITABLE:
            raise
    return _with_whole_canon(await open_embedded_sealed(settings.data, policy=settings.policy))


async def open_store_to_try(settings: Settings) -> Store:
    """Open the store for a dry run; if there is none, use one in memory."""
    if store_exists(settings):
        return await open_kept_store(settings)
    return await open_store(replace(settings, memory=True))


async def open_kept_store(settings: Settings, *, existing: bool = False) -> KeptStore:
    """Open the store in the data folder; with `existing`, it must exist.

    Raises:
        NotFound: `store.absent`.
        CanonryError: the error of the backend about a folder that it cannot open.
    """
    if settings.postgres_url is not None:
        return _with_recall(await _open_postgres(settings, settings.postgres_url), settings)
    if settings.mongodb_url is not None:
        return _with_recall(await _open_mongodb(settings, settings.mongodb_url), settings)
    if existing and not store_exists(settings):
        message = f"There is no store in {settings.data}. Name its folder with --data."
        raise NotFound("store.absent", message, path=str(settings.data))
    from canonry.app.embedded import open_embedded  # noqa: PLC0415 - as above
    from canonry.stores.sqlite import Durability  # noqa: PLC0415 - loads the engine

    opened = await open_embedded(
        settings.data, durability=Durability(settings.durability), policy=settings.policy
    )
    return _with_recall(opened, settings)


def store_exists(settings: Settings) -> bool:
    """Return whether there is a store; a database is asked at opening, which creates one."""
    return _uses_server(settings) or (settings.data / STORE_FILE).is_file()


def _uses_server(settings: Settings) -> bool:
    return settings.postgres_url is not None or settings.mongodb_url is not None


async def _open_postgres(settings: Settings, url: str) -> KeptStore:
    try:
        from canonry.app.backends.postgres import open_postgres  # noqa: PLC0415 - loads the driver
    except ImportError as error:
        message = "postgres.url needs a driver. Install canonry[postgres]."
        raise NotSupported("store.no-driver", message) from error
    return await open_postgres(
        url,
        shards=settings.records_shards,
        schema=settings.postgres_schema,
        folder=settings.data,
        connections=int(settings.postgres_connections),
        policy=settings.policy,
        objects=_object_store(settings),
        view_servers=_view_servers(settings),
    )


async def _open_mongodb(settings: Settings, url: str) -> KeptStore:
    try:
        from canonry.app.backends.mongodb import open_mongodb  # noqa: PLC0415 - loads the driver
    except ImportError as error:
        message = "mongodb.url needs a driver. Install canonry[mongodb]."
        raise NotSupported("store.no-driver", message) from error
    return await open_mongodb(
        url,
        database=settings.mongodb_database,
        folder=settings.data,
        password=SecretVariable.MONGODB.read_secret(),
        policy=settings.policy,
        objects=_object_store(settings),
        view_servers=_view_servers(settings),
    )


def _view_servers(settings: Settings) -> "ViewServers":
    """Return the servers of views.

    Raises:
        NotSupported: `store.no-driver`.
    """
    from canonry.app.backends.servers import ViewServers  # noqa: PLC0415 - loads the engine

    for module, key, extra in (
        ("neo4j", settings.neo4j_url, "neo4j"),
        ("opensearchpy", settings.opensearch_url, "opensearch"),
        ("qdrant_client", settings.qdrant_url, "qdrant"),
    ):
        if key is not None and find_spec(module) is None:
            message = f"{extra}.url needs a driver. Install canonry[{extra}]."
            raise NotSupported("store.no-driver", message)
    return ViewServers(
        graph=_with_password(settings.neo4j_url, SecretVariable.NEO4J.read_secret()),
        words=settings.opensearch_url,
        words_password=SecretVariable.OPENSEARCH.read_secret(),
        meaning=settings.qdrant_url,
        meaning_key=SecretVariable.QDRANT.read_secret(),
    )


def _with_password(url: str | None, password: str | None) -> str | None:
    if url is None or not password:
        return url
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{parts.username or 'neo4j'}:{quote(password)}@{host}").geturl()


def _object_store(settings: Settings) -> "ObjectStore | None":
    if settings.files_url is None:
        return None
    try:
        from canonry.stores.objects import ObjectStore  # noqa: PLC0415 - loads the library
    except ImportError as error:
        message = "files.url needs a library. Install canonry[s3]."
        raise NotSupported("store.no-driver", message) from error
    return ObjectStore(settings.files_url, settings.files_endpoint)


def _with_recall(opened: KeptStore, settings: Settings) -> KeptStore:
    """Return the store with search by meaning as in the settings."""
    recall = recall_for(settings, opened.canon, opened.vectors)
    reranking = reranking_for(settings, opened.canon)

    async def close_all() -> None:
        if recall is not None:
            await recall.close()
        if reranking is not None:
            await reranking.close()
        await opened.close()

    canon = opened.canon.revise_service(
        RecallServices, recall=recall, reranking=reranking
    ).with_all_audiences
    return replace(opened, canon=canon, close=close_all)


def _with_whole_canon(store: KeptStore) -> KeptStore:
    return replace(store, canon=store.canon.with_all_audiences)


async def _close_nothing() -> None:
    """Do nothing: a store in memory needs no closing."""
