"""Addresses that name nothing, or a time that nobody can read, are reported as such."""

import pytest

from tests.inspector.kit import Harbour, a_harbour

pytestmark = pytest.mark.anyio
NOBODY = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
async def harbour() -> Harbour:
    return await a_harbour()


@pytest.mark.parametrize("name", ["nonsense", "%00", "a b", "7", NOBODY])
@pytest.mark.parametrize("path", ["/thing/{}", "/difference/{}", "/page/{}/1"])
async def test_a_missing_item_is_404(harbour: Harbour, path: str, name: str) -> None:
    answer = await harbour.reader().get(path.format(name))

    assert answer.status == 404
    assert "<h1>" in answer.text


@pytest.mark.parametrize("query", ["at=blah", "known=blah", "at=2024-13-45", "at=blah&known=blah"])
async def test_an_unreadable_time_is_refused_by_every_page(harbour: Harbour, query: str) -> None:
    reader = harbour.reader()
    for path in harbour.page_addresses():
        answer = await reader.get(f"{path}{'&' if '?' in path else '?'}{query}")
        assert answer.status == 400, (path, answer.text[-300:])
        assert any(each in answer.text for each in ("blah", "2024-13-45", "Name one in /space"))


async def test_a_readable_time_is_accepted_by_every_page(harbour: Harbour) -> None:
    reader = harbour.reader()
    for path in harbour.page_addresses():
        if not path.startswith("/thing"):
            answer = await reader.get(f"{path}{'&' if '?' in path else '?'}at=1207-11-03")
            assert answer.status == 200, (path, answer.text[-300:])
