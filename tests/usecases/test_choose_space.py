"""Choosing a space where nobody names one."""

import pytest

from canonry.canon.queries.listings import _only_space
from canonry.values.errors import NotFound
from tests.toolsets.canon.kit import a_desk

pytestmark = pytest.mark.anyio


def test_who_may_see_no_space_is_told_whom_to_ask() -> None:
    with pytest.raises(NotFound, match="Ask the operator"):
        _only_space(())


async def test_so_many_spaces_are_chosen_from_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = a_desk()
    for name in ("Fen", "Isle", "Moor"):
        await desk.call("open", name=name)
    monkeypatch.setattr("canonry.canon.queries.listings.SPACES_MAX", 2)

    known = [
        row["name"] for row in (await desk.call("spaces"))["spaces"] if row["kind"] != "account"
    ]

    assert known == ["Fen", "Isle"]


async def test_a_name_of_nothing_but_signs_names_nobody() -> None:
    desk = a_desk()
    await desk.saltmere()
    error = await desk.refused("get", of="?!")
    assert error["code"] == "NOT_FOUND"
