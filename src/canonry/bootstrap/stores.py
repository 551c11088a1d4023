"""Opens the store that the settings name; the only place that knows which backends there are."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final, Self

from canonry.bootstrap.filing import set_up
from canonry.bootstrap.recalling import recall_for
from canonry.bootstrap.settings import Settings
from canonry.domain.errors import BrokenInvariant, NotFound, Unavailable
from canonry.ports.views.upkeep import Upkeep
from canonry.usecases.kernel.canon import Canon

STORE_FILE: Final = "canon.db"


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """An open store; `close` finishes what was begun, and must be awaited once.

    `async with` does that at the end of its block.
    """

    canon: Canon
    close: Callable[[], Awaitable[None]]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptStore(Store):
    """A store that outlives the process, with what an operator does to it."""

    upkeep: Upkeep


async def open_store(settings: Settings) -> Store:
    """The store to serve; made when it does not exist."""
    if settings.memory:
        from canonry.bootstrap.compose import compose_memory  # noqa: PLC0415 - one of two

        return _filed(Store(canon=compose_memory(policy=settings.policy), close=_nothing), settings)
    return _filed(await open_kept_store(settings), settings)


def _filed(store: Store, settings: Settings) -> Store:
    """The same store, whose files are interpreted and read as the settings say."""
    filing = store.canon.filing
    if filing is None:
        return store
    set_up(filing, settings)

    async def close() -> None:
        await filing.close()
        await store.close()

    return replace(store, close=close)


async def open_sealed_store(settings: Settings) -> Store:
    """The store to serve where every toolset only reads: it is made or brought up first.

    Raises:
        CanonryError: whatever the backend says of a folder that it cannot open.
    """
    from canonry.bootstrap.embedded import open_embedded_sealed  # noqa: PLC0415 - as below

    try:
        return await open_embedded_sealed(settings.data, policy=settings.policy)
    except (NotFound, BrokenInvariant) as error:
        if error.code not in {"store.absent", "store.older"}:
            raise
        await (await open_kept_store(settings)).close()
        return await open_embedded_sealed(settings.data, policy=settings.policy)


async def open_store_to_look(settings: Settings) -> KeptStore:
    """The store in the data folder, for what changes nothing of it.

    Where its disk is full or cannot be written, it is opened for reading alone: nothing is found
    by meaning then, and upkeep refuses what would write.

    Raises:
        NotFound: `store.absent`.
        CanonryError: whatever the backend says of a folder that it cannot open.
    """
    from canonry.adapters.sqlite import UNWRITABLE  # noqa: PLC0415 - loads the engine
    from canonry.bootstrap.embedded import open_embedded_sealed  # noqa: PLC0415 - as above

    try:
        return await open_kept_store(settings, existing=True)
    except Unavailable as error:
        if error.code not in UNWRITABLE:
            raise
    return await open_embedded_sealed(settings.data, policy=settings.policy)


async def open_kept_store(settings: Settings, *, existing: bool = False) -> KeptStore:
    """The store in the data folder; with `existing`, one must be there already.

    Raises:
        NotFound: `store.absent`.
        CanonryError: whatever the backend says of a folder that it cannot open.
    """
    if existing and not (settings.data / STORE_FILE).is_file():
        message = f"there is no store in {settings.data}; name its folder with --data"
        raise NotFound("store.absent", message, path=str(settings.data))
    from canonry.adapters.sqlite import Durability  # noqa: PLC0415 - loads the engine
    from canonry.bootstrap.embedded import open_embedded  # noqa: PLC0415 - as above

    opened = await open_embedded(
        settings.data, durability=Durability(settings.durability), policy=settings.policy
    )
    recall = recall_for(settings, opened.canon)

    async def close() -> None:
        if recall is not None:
            await recall.close()
        await opened.close()

    canon = replace(opened.canon, recall=recall)
    return KeptStore(canon=canon, close=close, upkeep=opened.upkeep)


async def _nothing() -> None:
    """Memory needs no closing."""
