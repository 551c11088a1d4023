"""Each tutorial shows what its calls return, and takes five minutes."""

from pathlib import Path

import pytest

from tests.docs.tutorials import CALL, PAGES, play_page

WORDS_MAX = 800
USERS = {"game-master", "personal-assistant", "development-team", "novelist"}


@pytest.mark.anyio
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
async def test_a_tutorial_shows_the_replies_to_its_calls(page: Path, tmp_path: Path) -> None:
    again = "write them with `python -m tests.docs.tutorials`"

    assert await play_page(page, tmp_path) == page.read_text(encoding="utf-8"), again


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_is_short_and_each_of_its_blocks_is_run(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert len(text.split()) <= WORDS_MAX
    assert text.count("```json") == 2 * len(CALL.findall(text))


def test_each_kind_of_user_has_a_tutorial() -> None:
    assert {page.stem for page in PAGES} == USERS
