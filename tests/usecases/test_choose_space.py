"""Choosing a space where nobody names one."""

import pytest

from canonry.canon.queries.listings import _only_space
from canonry.values.errors import NotFound
from tests.toolsets.canon.kit import make_driver

pytestmark = pytest.mark.anyio


def test_a_caller_without_spaces_learns_whom_to_ask() -> None:
    with pytest.raises(NotFound, match="Ask the operator"):
        _only_space(())


async def test_a_limited_number_of_spaces_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = make_driver()
    for name in ("Fen", "Isle", "Moor"):
        await driver.call("open", name=name)
    monkeypatch.setattr("canonry.canon.queries.listings.SPACES_MAX", 2)

    known = [
        row["name"] for row in (await driver.call("spaces"))["spaces"] if row["kind"] != "account"
    ]

    assert known == ["Fen", "Isle"]


async def test_a_name_of_only_signs_names_nobody() -> None:
    driver = make_driver()
    await driver.saltmere()
    error = await driver.refused("get", of="?!")
    assert error["code"] == "NOT_FOUND"
