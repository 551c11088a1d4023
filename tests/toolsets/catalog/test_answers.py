"""Golden answers: the same bytes whatever the backend, the order of rows, or how they are found."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from canonry.app.embedded import Embedded, open_embedded
from canonry.stores.sqlite import Durability
from canonry.stores.sqlite import catalog as catalog_search
from canonry.testing.clocks import CountingIdentities, HandClock
from tests.toolsets.catalog.kit import hostile_names, import_rows, make_filled_driver, shuffle_rows
from tests.toolsets.catalog.questions import answer_texts

pytestmark = pytest.mark.anyio
GOLDEN = Path(__file__).parent / "golden.json"


def read_golden() -> list[str]:
    reply: list[str] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return reply


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Embedded]:
    opened = await open_embedded(
        tmp_path / "store",
        clock=HandClock(),
        identities=CountingIdentities(),
        durability=Durability.NORMAL,
    )
    yield opened
    await opened.close()


async def test_answers_equal_the_golden_ones() -> None:
    answer = await answer_texts(await make_filled_driver(hostile_names()))

    assert answer == read_golden()


@pytest.mark.parametrize("seed", range(3))
async def test_the_order_of_rows_makes_no_difference(seed: int) -> None:
    assert (
        await answer_texts(await make_filled_driver(shuffle_rows(hostile_names(), seed)))
        == read_golden()
    )


@pytest.mark.parametrize("few", [1_000, 2, 0])
async def test_the_embedded_store_gives_the_same_bytes(
    store: Embedded, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """The texts are found in the index, or read in order, or some of each."""
    monkeypatch.setattr(catalog_search, "FEW", few)
    driver = await make_filled_driver(shuffle_rows(hostile_names(), 7), store.canon)

    assert await answer_texts(driver) == read_golden()


async def test_answers_survive_a_rebuild_and_verify(store: Embedded) -> None:
    driver = await make_filled_driver(hostile_names(), store.canon)
    renamed = {"entities": [{**hostile_names()["entities"][0], "title": "another"}]}
    await import_rows(store.canon, renamed)
    await import_rows(store.canon, {"entities": hostile_names()["entities"][:1]})

    verified = await store.maintenance.verify(lambda _done, _total: None)
    await store.maintenance.rebuild(lambda _done, _total: None)

    assert not verified.findings
    assert await answer_texts(driver) == read_golden()
