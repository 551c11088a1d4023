"""Importing a catalog: whole or not at all, named where it is wrong, and once however often."""

from pathlib import Path
from typing import Any

import pytest

from canonry.app.compose import compose_memory
from canonry.app.embedded import open_embedded
from canonry.canon.session.canon import Canon
from canonry.catalog.usecases.exchange import export_catalog
from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import Erased
from canonry.log.items.entities import Entity
from canonry.readmodels.catalog import item_id
from canonry.testing.clocks import CountingIdentities, HandClock, Scribe
from canonry.values.errors import InvalidInput
from canonry.values.ids import SpaceId
from tests.toolsets.catalog.kit import (
    LAB,
    NOWHERE,
    OTHER,
    Arrays,
    entity_row,
    hostile_names,
    import_rows,
    make_uuid,
    relation_row,
    shuffle_rows,
)

pytestmark = pytest.mark.anyio
TOTAL = sum(map(len, hostile_names().values()))


def a_canon() -> Canon:
    return compose_memory(clock=HandClock(), identities=CountingIdentities())


async def export_rows(canon: Canon) -> list[tuple[str, Any]]:
    return [row async for row in export_catalog(canon, None, lambda _done, _total: None)]


async def read_positions(canon: Canon) -> dict[str, int]:
    return {head.space: head.position for head in await canon.ledger.list_heads(limit=100)}


def change_row(array: str, row: int, **fields: Any) -> Arrays:
    arrays = hostile_names()
    arrays[array][row] = {**arrays[array][row], **fields}
    return arrays


async def test_a_second_import_adds_nothing() -> None:
    canon = a_canon()

    first = await import_rows(canon, hostile_names())
    before = await read_positions(canon)
    again = await import_rows(canon, shuffle_rows(hostile_names(), 5))

    assert sum(first.made.values()) == TOTAL
    assert sum(again.unchanged.values()) == TOTAL
    assert await read_positions(canon) == before


async def test_an_export_equals_the_import_and_can_be_imported_again() -> None:
    one, two = a_canon(), a_canon()
    await import_rows(one, hostile_names())
    answer = await export_rows(one)
    arrays: Arrays = {}
    for array, row in answer:
        arrays.setdefault(array, []).append(dict(row))

    await import_rows(two, shuffle_rows(arrays, 3))

    assert await export_rows(two) == answer
    titles = {row["id"]: row["title"] for array, row in answer if array == "entities"}
    assert titles == {row["id"]: row["title"] for row in hostile_names()["entities"]}
    assert len(answer) == TOTAL


async def test_a_changed_row_is_one_more_observation() -> None:
    canon = a_canon()
    await import_rows(canon, hostile_names())

    report = await import_rows(canon, change_row("entities", 0, title="other", summary=None))

    other_id = item_id(LAB, "guide", make_uuid(1))
    seen = await canon.state.observations(other_id, after=ORIGIN, limit=10)
    assert report.changed["entities"] == 1
    assert dict(seen[-1].fields) == {
        "description": "",
        "name": "other",
        "properties.summary": None,
    }
    entry = await canon.catalog.find_entry(SpaceId(LAB), make_uuid(1))
    assert (entry.entity.name, entry.entity.properties["summary"]) == ("other", None)


async def test_a_changed_project_keeps_its_history() -> None:
    canon = a_canon()
    await import_rows(canon, hostile_names())

    report = await import_rows(canon, change_row("projects", 0, name="Renamed"))

    assert report.changed["projects"] == 1
    space = (await canon.state.items_by_id((LAB,)))[LAB]
    past = (await canon.state.items_as_known_at((LAB,), Position(1)))[LAB]
    assert [getattr(each, "name", "") for each in (space, past)] == ["Renamed", "alpha Lab"]
    answer = await canon.catalog.projects(None, limit=9)
    assert [each.name for each in answer] == ["Alpha Lab", "beta", "Renamed"]


async def test_a_changed_relation_ends_and_begins_anew() -> None:
    canon = a_canon()
    await import_rows(canon, hostile_names())

    noted = await import_rows(canon, change_row("relations", 2, notes="second"))
    again = await import_rows(canon, change_row("relations", 2, notes="second"))
    moved = await import_rows(
        canon, change_row("relations", 2, toEntityId=make_uuid(5), notes="second")
    )

    assert (noted.changed["relations"], again.changed["relations"]) == (1, 0)
    assert moved.changed["relations"] == 1
    entry = await canon.catalog.find_entry(SpaceId(LAB), make_uuid(1))
    links = await canon.catalog.relations_from(entry.entity.id, after=("", ""), limit=50)
    assert entry.outgoing == len(links)
    assert [r.properties.get("notes") for r in links].count("second") == 1


async def test_an_omitted_field_has_its_default_and_now() -> None:
    canon = a_canon()
    arrays = {
        "projects": [{"id": LAB, "name": "lab", "slug": "lab"}],
        "entities": [
            {"id": make_uuid(1), "projectId": LAB, "entityType": "news", "title": "t", "slug": "s"}
        ],
    }

    await import_rows(canon, arrays)

    (project, entity_row) = await export_rows(canon)
    assert project[1]["createdAt"] == "2025-01-15T00:00:00.000Z"
    assert entity_row[1]["status"] == "draft"
    assert entity_row[1]["updatedAt"] == "2025-01-15T00:00:00.000Z"
    assert entity_row[1]["comparisonTargets"] == ()
    canon.clock.move_by(5_000_000)  # type: ignore[attr-defined]
    assert not (await import_rows(canon, arrays)).changed
    arrays["entities"][0]["title"] = "u"
    await import_rows(canon, arrays)
    assert (await export_rows(canon))[1][1]["updatedAt"] == "2025-01-15T00:00:05.000Z"


WRONG: tuple[tuple[Arrays, str, int, str, str], ...] = (
    (change_row("entities", 1, id="x"), "entities", 1, "id", "field.uuid"),
    (change_row("entities", 1, title=""), "entities", 1, "title", "field.empty"),
    (change_row("entities", 1, title=None), "entities", 1, "title", "field.missing"),
    (change_row("entities", 1, title=7), "entities", 1, "title", "field.type"),
    (change_row("entities", 1, title="x" * 1_001), "entities", 1, "title", "field.long"),
    (change_row("entities", 1, summary="a\0b"), "entities", 1, "summary", "field.text"),
    (change_row("entities", 1, summary="a\ud800"), "entities", 1, "summary", "field.text"),
    (change_row("entities", 1, entityType="video"), "entities", 1, "entityType", "field.word"),
    (change_row("entities", 1, createdAt="now"), "entities", 1, "createdAt", "time.malformed"),
    (change_row("entities", 1, colour="red"), "entities", 1, "colour", "field.unknown"),
    (change_row("entities", 1, slug="guide-1"), "entities", 1, "slug", "slug.repeated"),
    (change_row("entities", 1, id=make_uuid(1)), "entities", 1, "id", "id.repeated"),
    (change_row("entities", 1, projectId=NOWHERE), "entities", 1, "projectId", "project.unknown"),
    (
        change_row("entities", 3, comparisonTargets=["x"]),
        "entities",
        3,
        "comparisonTargets",
        "field.uuid",
    ),
    (change_row("projects", 1, slug="slug-1"), "projects", 1, "slug", "slug.repeated"),
    (
        change_row("sourceItems", 0, snapshotBytes=-1),
        "sourceItems",
        0,
        "snapshotBytes",
        "field.count",
    ),
    (
        change_row("videos", 0, primaryEntityId=make_uuid(3)),
        "videos",
        0,
        "primaryEntityId",
        "entity.unknown",
    ),
    (
        change_row("relations", 0, relationType="VIDEO_EXPLAINS_GUIDE"),
        "relations",
        0,
        "fromEntityType",
        "relation.kinds",
    ),
    (
        change_row("relations", 0, toEntityId=make_uuid(16)),
        "relations",
        0,
        "toEntityId",
        "entity.unknown",
    ),
    (
        change_row("relations", 0, fromEntityId=make_uuid(3)),
        "relations",
        0,
        "fromEntityId",
        "entity.unknown",
    ),
    (
        change_row("relations", 2, toEntityId=make_uuid(3)),
        "relations",
        2,
        "relationType",
        "relation.repeated",
    ),
    (change_row("relations", 0, projectId=OTHER), "relations", 0, "fromEntityId", "entity.unknown"),
)


@pytest.mark.parametrize(("arrays", "array", "row", "field", "code"), WRONG)
async def test_one_wrong_row_refuses_everything_and_is_named(
    arrays: Arrays, array: str, row: int, field: str, code: str
) -> None:
    canon = a_canon()

    with pytest.raises(InvalidInput) as refused:
        await import_rows(canon, arrays)

    reported = refused.value.details["problems"]
    assert any(each.startswith(f"{array}[{row}].{field}: ") for each in reported), reported
    assert await read_positions(canon) == {}
    lenient = await import_rows(canon, arrays, lenient=True)
    assert (array, row, field, code) in {
        (each.array, each.row, each.field, each.code) for each in lenient.problems
    }
    assert sum(lenient.made.values()) + lenient.refused == TOTAL
    assert lenient.made["projects"] >= 2


async def test_a_dry_run_reports_and_stores_nothing() -> None:
    canon = a_canon()

    report = await import_rows(canon, hostile_names(), dry_run=True)

    assert report.dry_run
    assert sum(report.made.values()) == TOTAL
    assert await read_positions(canon) == {}


async def test_rows_that_refer_to_a_refused_row_are_refused_too() -> None:
    canon = a_canon()
    broken = change_row("entities", 2, title="")

    report = await import_rows(canon, broken, lenient=True)

    blamed = {each.array for each in report.problems}
    assert blamed == {"entities", "relations"}
    assert {each.code for each in report.problems} == {"field.empty", "entity.unknown"}


@pytest.mark.parametrize("arrays", [{"guides": []}, {"entities": {}}, {"relations": "x"}])
async def test_arrays_must_be_known(arrays: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        await import_rows(a_canon(), arrays)

    assert refused.value.code == "catalog.malformed"


async def test_rows_in_the_store_count_too() -> None:
    canon = a_canon()
    await import_rows(canon, hostile_names())
    taken = entity_row(99, "guide", "late", slug="guide-1")
    other = {**entity_row(1, "concept", "a guide until now"), "slug": "new"}
    twice = relation_row(99, "GUIDE_USES_CONCEPT", make_uuid(1), make_uuid(3))
    project = {"id": NOWHERE, "name": "n", "slug": "slug-1"}

    report = await import_rows(
        canon,
        {"projects": [project], "entities": [taken, other], "relations": [twice]},
        lenient=True,
    )

    assert [(each.field, each.code) for each in report.problems] == [
        ("slug", "slug.taken"),
        ("slug", "slug.taken"),
        ("entityType", "item.kind"),
        ("relationType", "relation.exists"),
    ]


async def test_a_slug_is_free_once_its_owner_has_another() -> None:
    canon = a_canon()
    await import_rows(canon, hostile_names())
    owner = {**hostile_names()["entities"][0], "slug": "moved"}
    successor = entity_row(99, "guide", "late", slug="guide-1")

    report = await import_rows(canon, {"entities": [owner, successor]})

    assert (report.changed["entities"], report.made["entities"]) == (1, 1)


async def test_an_erased_id_is_not_used_again() -> None:
    canon = a_canon()
    await import_rows(canon, hostile_names())
    scribe = Scribe(canon, space=SpaceId(LAB))
    await scribe.write_entries(Erased(targets=(item_id(LAB, "concept", make_uuid(12)),), reason=""))

    report = await import_rows(canon, hostile_names(), lenient=True)

    assert [(each.row, each.code) for each in report.problems] == [(11, "item.erased")]


async def test_a_catalog_entity_is_one_of_the_shared_canon() -> None:
    canon = a_canon()
    await import_rows(canon, hostile_names())

    other_id = item_id(LAB, "guide", make_uuid(2))
    found = (await canon.state.items_by_id((other_id,)))[other_id]

    assert isinstance(found, Entity)
    assert (found.entity_type, found.name, found.space) == ("guide", "snake_case", LAB)
    assert found.properties["contentRef"] == "guides/2.md"


async def test_two_relations_swap_their_ends() -> None:
    canon = a_canon()
    await import_rows(canon, hostile_names())
    arrays = hostile_names()
    one, two = arrays["relations"][2], arrays["relations"][3]
    one["fromEntityId"], two["fromEntityId"] = two["fromEntityId"], one["fromEntityId"]

    report = await import_rows(canon, {"relations": arrays["relations"]})
    again = await import_rows(canon, {"relations": arrays["relations"]})

    assert (report.changed["relations"], again.changed["relations"]) == (2, 0)
    found = {
        row["id"]: row["fromEntityId"]
        for array, row in await export_rows(canon)
        if "from" in str(row)
    }
    assert (found[one["id"]], found[two["id"]]) == (make_uuid(2), make_uuid(1))


async def test_views_on_disk_follow_a_swap(tmp_path: Path) -> None:
    store = await open_embedded(tmp_path)
    try:
        await import_rows(store.canon, hostile_names())
        arrays = hostile_names()
        one, two = arrays["relations"][2:4]
        one["fromEntityId"], two["fromEntityId"] = two["fromEntityId"], one["fromEntityId"]
        three, four = arrays["entities"][2:4]
        three["slug"], four["slug"] = four["slug"], three["slug"]

        report = await import_rows(store.canon, arrays)

        assert (report.changed["relations"], report.changed["entities"]) == (2, 2)
        assert (await store.maintenance.verify(lambda *_: None)).findings == ()
        assert sum((await import_rows(store.canon, arrays)).unchanged.values()) == TOTAL
    finally:
        await store.close()


async def test_three_entities_rotate_their_slugs() -> None:
    canon = a_canon()
    await import_rows(canon, hostile_names())
    rows = hostile_names()["entities"][2:5]
    slugs = [row["slug"] for row in rows]
    for row, slug in zip(rows, (*slugs[1:], slugs[0]), strict=True):
        row["slug"] = slug

    report = await import_rows(canon, {"entities": rows})

    assert report.changed["entities"] == 3
    found = {
        row["id"]: row["slug"] for array, row in await export_rows(canon) if array == "entities"
    }
    assert [found[row["id"]] for row in rows] == [*slugs[1:], slugs[0]]


async def test_a_refused_row_releases_nothing_to_another() -> None:
    canon = a_canon()
    await import_rows(canon, hostile_names())
    one, two = hostile_names()["relations"][2:4]
    one["fromEntityId"] = two["fromEntityId"]
    two["fromEntityId"] = NOWHERE

    report = await import_rows(canon, {"relations": [one, two]}, lenient=True)

    assert [problem.code for problem in report.problems] == ["relation.exists", "entity.unknown"]
    assert not report.changed["relations"]


async def test_a_swap_across_many_rows_is_one_commit() -> None:
    canon = a_canon()
    concepts = [entity_row(n, "concept", f"c{n}") for n in range(700)]
    lab = [each for each in hostile_names()["projects"] if each["id"] == LAB]
    await import_rows(canon, {"projects": lab, "entities": concepts})
    before = (await read_positions(canon))[LAB]
    concepts[0]["slug"], concepts[699]["slug"] = concepts[699]["slug"], concepts[0]["slug"]

    report = await import_rows(canon, {"entities": concepts})

    assert report.changed["entities"] == 2
    assert (await read_positions(canon))[LAB] == before + 1
