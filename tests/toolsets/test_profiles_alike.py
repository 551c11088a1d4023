"""The same calls of all toolsets leave the same replies and the same export on every profile.

The calls come from tests without fixtures, each in a store of its own: in a folder, and in
PostgreSQL and MongoDB, each with a copy that answers. Clocks and ids count, so that not one
byte may differ.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from hashlib import sha256
from importlib import import_module
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import pytest
from typing_extensions import override

from canonry.app.compose import compose_memory
from canonry.app.doctor import report_nothing
from canonry.app.embedded import open_embedded
from canonry.app.stores import KeptStore
from canonry.canon.maintenance.log_transfer import export_log
from canonry.canon.session.canon import Canon
from canonry.gateway.call import Gateway
from canonry.gateway.replies import Result
from canonry.log.sealing import SALT_BYTES
from canonry.testing.clocks import CountingIdentities
from tests.conformance import mongodb_store, postgres_store
from tests.toolsets import test_on_mongodb, test_on_postgres
from tests.toolsets.test_mixed_engines import KITS, calls_of

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]
Compose = Callable[..., Canon]
PLAYED = {
    "canon.test_reading": 3,
    "canon.test_writing": 2,
    "catalog.test_answers": 3,
    "narrative.test_canonization": 2,
    "narrative.test_facts": 4,
    "truth.test_examples": 4,
    "world.test_movement": 3,
}
"""The first tests of these modules, so many of each."""


class Unsalted(CountingIdentities):
    """Salts do not count: one store needs more of them than another, and ids would differ."""

    @override
    def new_salt(self) -> bytes:
        return bytes(SALT_BYTES)


def in_folders(closing: AsyncExitStack) -> Compose:
    root = Path(closing.enter_context(TemporaryDirectory()))

    def compose(**given: Any) -> Canon:
        opened: list[KeptStore] = []

        async def open_one() -> None:
            opened.append(
                await open_embedded(
                    root / str(len(list(root.iterdir()))), **given | {"identities": Unsalted()}
                )
            )

        opening = Thread(target=lambda: asyncio.run(open_one()))
        opening.start()
        opening.join()
        closing.push_async_callback(opened[0].close)
        ports = compose_memory(**given)
        return replace(opened[0].canon, identities=ports.identities, services=ports.services)

    return compose


PROFILES = {
    "postgres": test_on_postgres.make_composer,
    "polyglot": test_on_mongodb.make_composer,
}


@pytest.fixture
async def closing() -> AsyncIterator[AsyncExitStack]:
    if not postgres_store.URL:
        pytest.skip("no PostgreSQL server: `make servers` starts one")
    mongodb_store.require_server()
    async with AsyncExitStack() as stack:
        yield stack


@pytest.mark.parametrize("module", PLAYED)
async def test_a_session_leaves_the_same_on_every_profile(
    module: str, closing: AsyncExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = await play_module(module, in_folders(closing), monkeypatch)
    assert any(replies for replies, _ in here)

    for name, composer in PROFILES.items():
        there = await play_module(module, composer(closing), monkeypatch)
        for (replies, export), (others, other) in zip(here, there, strict=True):
            assert others == replies, name
            assert other == export, name


async def play_module(
    module: str, compose: Compose, patch: pytest.MonkeyPatch
) -> Sequence[tuple[Sequence[str], Sequence[str]]]:
    """Return the replies to each test, and the digests of the exports of its writes."""
    listed: list[str] = []
    made: list[Canon] = []
    call = Gateway.call

    async def heard(gateway: Gateway, *given: Any, **named: Any) -> Result:
        result = await call(gateway, *given, **named)
        listed.append(result.text)
        return result

    def remembered(**given: Any) -> Canon:
        made.append(compose(**given | {"identities": Unsalted()}))
        return made[-1]

    found = list[tuple[Sequence[str], Sequence[str]]]()
    with patch.context() as context:
        context.setattr(Gateway, "call", heard)
        for kit in (*KITS, "canon.kit"):
            context.setattr(import_module(f"tests.toolsets.{kit}"), "compose_memory", remembered)
        for test in islice(calls_of(f"toolsets.{module}").values(), PLAYED[module]):
            await test()
            found.append((tuple(listed), [await digest_of(canon) for canon in made]))
            listed.clear()
            made.clear()
    return found


async def digest_of(canon: Canon) -> str:
    digest = sha256()
    async for line in export_log(canon.ledger, report_nothing):
        digest.update(line)
    return digest.hexdigest()
