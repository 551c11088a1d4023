"""Projects that take each other's slugs in one import: each finds its own free, in any order."""

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from canonry.app.compose import compose_memory
from canonry.app.embedded import open_embedded
from canonry.canon.session.canon import Canon
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.values.errors import InvalidInput
from tests.toolsets.catalog.kit import import_rows, make_uuid

pytestmark = pytest.mark.anyio


def project_rows(*slugs: str) -> list[dict[str, Any]]:
    return [{"id": make_uuid(n), "name": f"p {n}", "slug": slug} for n, slug in enumerate(slugs)]


async def list_slugs(canon: Canon) -> list[str]:
    return [str(each.properties["slug"]) for each in await canon.catalog.projects(None, limit=9)]


@pytest.mark.parametrize("wanted", tuple(permutations("abcd", 3)), ids="".join)
async def test_slugs_rotate_in_any_order(wanted: tuple[str, ...]) -> None:
    canon = compose_memory(clock=HandClock(), identities=CountingIdentities())
    await import_rows(canon, {"projects": project_rows("a", "b", "c")})
    rows = project_rows(*wanted)

    for order in (rows, rows[::-1]):
        await import_rows(canon, {"projects": project_rows("a", "b", "c")})
        report = await import_rows(canon, {"projects": order})
        changed = sum(one != two for one, two in zip(wanted, "abc", strict=True))

        assert report.changed["projects"] == changed
        assert report.unchanged["projects"] == 3 - changed
        assert await list_slugs(canon) == list(wanted)
        assert not (await import_rows(canon, {"projects": order})).changed


async def test_views_on_disk_follow_a_swap_of_projects(tmp_path: Path) -> None:
    store = await open_embedded(tmp_path)
    try:
        await import_rows(store.canon, {"projects": project_rows("a", "b")})

        await import_rows(store.canon, {"projects": project_rows("b", "a")})

        assert await list_slugs(store.canon) == ["b", "a"]
        assert not (await store.maintenance.verify(lambda *_: None)).findings
    finally:
        await store.close()


async def test_an_unmoved_project_keeps_its_slug_from_others() -> None:
    canon = compose_memory(clock=HandClock(), identities=CountingIdentities())
    await import_rows(canon, {"projects": project_rows("a", "b", "c")})
    rows = project_rows("b", "a")
    rows[1]["name"] = ""

    with pytest.raises(InvalidInput) as refused:
        await import_rows(canon, {"projects": project_rows("c", "a")})
    assert "projects[0].slug: Another project has this slug" in str(refused.value)
    report = await import_rows(canon, {"projects": rows}, lenient=True)

    assert [(each.row, each.code) for each in report.problems] == [
        (1, "field.empty"),
        (0, "slug.taken"),
    ]
    assert await list_slugs(canon) == ["a", "b", "c"]
