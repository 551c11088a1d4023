"""The operator's tools for a catalog: rows, lives, relations, and who may."""

from typing import Any

import pytest

from canonry.app.compose import compose_memory
from canonry.catalog.operator import FACE, OPERATOR
from canonry.catalog.toolset import CATALOG
from canonry.catalog.usecases.exchange import export_catalog
from canonry.gateway.call import Gateway
from canonry.gateway.offers import select_toolsets
from canonry.gateway.principal import KEY_META, Principal
from canonry.log.entries import EntitiesMerged
from canonry.readmodels.catalog import item_id
from canonry.testing.clocks import CountingIdentities, HandClock, Scribe
from canonry.values.ids import SpaceId

pytestmark = pytest.mark.anyio
KEEPER = Principal(agent_id="keeper-1", agent_type="Operator")
NOWHERE = "00000000-0000-4000-8000-00000000dead"


class OperatorDriver:
    """An operator at work on an empty store."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.canon = compose_memory(clock=self.clock, identities=CountingIdentities())
        self.gateway = Gateway(self.canon, (OPERATOR, CATALOG))
        self.project = ""

    async def call(self, tool: str, **arguments: Any) -> Any:
        outcome = await self.gateway.call(tool, arguments, KEEPER)
        assert outcome.error is None, outcome.text
        return outcome.body

    async def refused(self, tool: str, **arguments: Any) -> str:
        before = await self.canon.ledger.list_heads(limit=9)
        outcome = await self.gateway.call(tool, arguments, KEEPER)
        assert outcome.error is not None, outcome.text
        assert await self.canon.ledger.list_heads(limit=9) == before
        return str(outcome.error.data["code"])

    async def create_entity(self, kind: str = "concept", **more: Any) -> str:
        row = {"title": f"A {kind}", "slug": kind, **more}
        saved = await self.call(
            "catalog_save_entity", projectId=self.project, entityType=kind, **row
        )
        return str(saved["id"])

    async def show_entity(self, entity_id: str) -> Any:
        reply = await self.call("get_entity", projectId=self.project, entityId=entity_id)
        return reply["entity"]

    async def move_entity(self, entity_id: str, action: str, **more: Any) -> Any:
        return await self.call(
            "catalog_move_entity",
            projectId=self.project,
            entityId=entity_id,
            action=action,
            **more,
        )

    async def not_moved(self, entity_id: str, action: str) -> str:
        given = {"projectId": self.project, "entityId": entity_id, "action": action}
        return await self.refused("catalog_move_entity", **given)


async def make_driver() -> OperatorDriver:
    driver = OperatorDriver()
    saved = await driver.call("catalog_save_project", name="Lab", slug="lab")
    driver.project = saved["id"]
    return driver


def test_the_toolset_is_off_by_default_and_marked() -> None:
    assert FACE.name == "operator"
    assert OPERATOR.default_agent_type is None
    assert OPERATOR.agent_types == frozenset(("Operator",))
    for tool in OPERATOR.tools:
        assert tool.extension
        assert tool.roles == frozenset(("Operator",))
    assert not select_toolsets((OPERATOR,), contract_only=True)[0].tools


@pytest.mark.parametrize("tool", OPERATOR.tools, ids=lambda tool: tool.name)
async def test_only_an_operator_may_write(tool: Any) -> None:
    for stranger in ("Reader", "CanonKeeper", None):
        outcome = await OperatorDriver().gateway.call(tool.name, {}, Principal(agent_type=stranger))
        assert outcome.error is not None
        assert outcome.error.data["error"] == "NOT_ALLOWED"


async def test_rows_are_created_changed_and_kept_unchanged() -> None:
    driver = await make_driver()
    given = {"projectId": driver.project, "entityType": "guide", "title": "One", "slug": "one"}

    made = await driver.call("catalog_save_entity", **given, summary="s")
    driver.clock.move_by(7_000_000)
    same = await driver.call("catalog_save_entity", **given, id=made["id"])
    changed = await driver.call(
        "catalog_save_entity",
        projectId=driver.project,
        entityType="guide",
        id=made["id"],
        title="Two",
        summary=None,
    )

    outcomes = [each["outcome"] for each in (made, same, changed)]
    assert outcomes == ["created", "unchanged", "changed"]
    shown = await driver.show_entity(made["id"])
    assert (shown["title"], shown["slug"], shown["summary"]) == ("Two", "one", None)
    assert shown["status"] == "draft"
    assert shown["createdAt"] == "2025-01-15T00:00:00.000Z"
    assert shown["updatedAt"] == "2025-01-15T00:00:07.000Z"
    assert [
        e["outcome"] for e in [await driver.call("catalog_save_project", id=driver.project)]
    ] == ["unchanged"]


async def test_a_retry_creates_nothing_twice() -> None:
    driver = await make_driver()
    given = {"projectId": driver.project, "entityType": "news", "title": "N", "slug": "n"}

    replies = [
        (await driver.gateway.call("catalog_save_entity", given, KEEPER, {KEY_META: "k"})).body
        for _ in range(2)
    ]

    assert replies[0]["id"] == replies[1]["id"]
    found = await driver.call("search_entities", projectId=driver.project, query="n")
    assert found["totalCount"] == 1


async def test_an_entity_goes_from_draft_to_archive() -> None:
    driver = await make_driver()
    concept = await driver.create_entity()
    guide = await driver.create_entity("guide")

    assert await driver.not_moved(guide, "publish") == "entity.wrong-status"
    assert await driver.not_moved(guide, "request_publish") == "entity.unfinished"
    await driver.create_entity("guide", id=guide, contentRef="guides/1.md")
    assert await driver.not_moved(guide, "request_publish") == "entity.unfinished"
    await driver.call(
        "catalog_save_relation",
        projectId=driver.project,
        fromEntityType="guide",
        fromEntityId=guide,
        toEntityType="concept",
        toEntityId=concept,
        relationType="GUIDE_USES_CONCEPT",
    )
    statuses = []
    for action in ("request_publish", "reject", "request_publish", "publish", "archive"):
        driver.clock.move_by(1_000_000)
        statuses.append((await driver.move_entity(guide, action, reason="because"))["status"])

    assert statuses == [
        "publish_requested",
        "draft",
        "publish_requested",
        "published",
        "archived",
    ]
    shown = await driver.show_entity(guide)
    assert shown["canonicalUrl"] == "/guides/guide"
    assert shown["publishedAt"] == "2025-01-15T00:00:04.000Z"
    assert shown["archivedAt"] == shown["updatedAt"] == "2025-01-15T00:00:05.000Z"
    assert await driver.not_moved(guide, "archive") == "entity.wrong-status"
    assert await driver.not_moved(NOWHERE, "archive") == "entity.unknown"


async def test_an_incomplete_publication_names_what_is_missing() -> None:
    driver = await make_driver()
    project = await driver.create_entity("project")
    news = await driver.create_entity("news")

    for entity_id in (project, news):
        assert await driver.not_moved(entity_id, "request_publish") == "entity.unfinished"
    await driver.create_entity("project", id=project, repoUrl="https://example.org")
    await driver.create_entity("news", id=news, contentRef="news/1.md")

    for entity_id in (project, news):
        assert (await driver.move_entity(entity_id, "request_publish"))[
            "status"
        ] == "publish_requested"


async def test_relations_join_fitting_kinds_once_and_are_withdrawn() -> None:
    driver = await make_driver()
    one, two = await driver.create_entity(), await driver.create_entity(slug="other")
    ends = {
        "projectId": driver.project,
        "fromEntityType": "concept",
        "fromEntityId": one,
        "toEntityType": "concept",
        "toEntityId": two,
        "relationType": "CONCEPT_RELATES_TO_CONCEPT",
    }

    made = await driver.call("catalog_save_relation", **ends, notes="n")
    assert await driver.refused("catalog_save_relation", **ends) == "relation.exists"
    misfit = {**ends, "relationType": "GUIDE_USES_CONCEPT"}
    assert await driver.refused("catalog_save_relation", **misfit) == "relation.kinds"
    absent = {**ends, "toEntityId": NOWHERE}
    assert await driver.refused("catalog_save_relation", **absent) == "entity.unknown"
    assert (await driver.show_entity(one))["relationshipCounts"] == {"outgoing": 1, "incoming": 0}

    noted = {"projectId": driver.project, "id": made["id"], "notes": "m"}
    outcomes = [(await driver.call("catalog_save_relation", **noted))["outcome"] for _ in range(2)]
    assert outcomes == ["changed", "unchanged"]
    assert (await driver.show_entity(one))["relationshipCounts"] == {"outgoing": 1, "incoming": 0}

    gone = {"projectId": driver.project, "relationId": made["id"]}
    await driver.call("catalog_withdraw_relation", **gone)
    assert (await driver.show_entity(one))["relationshipCounts"] == {"outgoing": 0, "incoming": 0}
    assert await driver.refused("catalog_withdraw_relation", **gone) == "relation.unknown"
    again = await driver.call("catalog_save_relation", **ends, id=made["id"])
    assert again["outcome"] == "created"


async def test_sources_and_external_publications_are_kept() -> None:
    driver = await make_driver()
    concept = await driver.create_entity()
    shown = {
        "projectId": driver.project,
        "platform": "youtube",
        "externalUrl": "https://v",
        "primaryEntityType": "concept",
        "primaryEntityId": concept,
    }

    source = {"projectId": driver.project, "sourceType": "rss", "url": "https://s"}
    assert await driver.call("catalog_save_source_item", **source, operatorIntent="read")
    assert await driver.refused("catalog_save_source_item", **source) == "field.missing"
    twice = {**source, "operatorIntent": "again"}
    assert await driver.refused("catalog_save_source_item", **twice) == "url.taken"
    assert await driver.call("catalog_save_video", **shown)
    assert await driver.call("catalog_save_distribution_event", **shown)
    absent = {**shown, "primaryEntityId": NOWHERE}
    assert await driver.refused("catalog_save_video", **absent) == "entity.unknown"


async def test_an_executable_address_is_refused() -> None:
    driver = await make_driver()
    given = {"projectId": driver.project, "entityType": "project", "title": "t", "slug": "t"}
    run = " JavaScript:alert(1)"
    assert await driver.refused("catalog_save_entity", **given, repoUrl=run) == "field.address"
    source = {"projectId": driver.project, "sourceType": "rss", "operatorIntent": "read"}
    data = "data:text/html,x"
    assert await driver.refused("catalog_save_source_item", **source, url=data) == "field.address"


async def test_objections_to_a_row_are_reported() -> None:
    driver = await make_driver()
    concept = await driver.create_entity()

    assert await driver.refused("catalog_save_project", name="x", slug="lab") == "slug.taken"
    given = {"projectId": driver.project, "title": "t", "slug": "concept"}
    assert (
        await driver.refused("catalog_save_entity", **given, entityType="concept") == "slug.taken"
    )
    retyped = {**given, "entityType": "guide", "id": concept}
    assert await driver.refused("catalog_save_entity", **retyped) == "item.kind"
    lost = {**given, "projectId": NOWHERE, "entityType": "concept"}
    assert await driver.refused("catalog_save_entity", **lost) == "project.unknown"


async def test_another_project_is_out_of_reach() -> None:
    driver = await make_driver()
    concept = await driver.create_entity()
    narrow = Principal(agent_type="Operator", spaces=frozenset((SpaceId(NOWHERE),)))
    own = {"projectId": driver.project}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("catalog_save_entity", {**own, "entityType": "concept", "title": "t", "slug": "s"}),
        ("catalog_move_entity", {**own, "entityId": concept, "action": "archive"}),
        ("catalog_withdraw_relation", {**own, "relationId": concept}),
        ("catalog_save_project", {"name": "n", "slug": "s"}),
        ("catalog_save_project", {"id": driver.project, "name": "n"}),
    ]

    for tool, arguments in calls:
        outcome = await driver.gateway.call(tool, arguments, narrow)
        assert outcome.error is not None
        assert outcome.error.data["error"] == "NOT_FOUND", outcome.text


async def test_a_publication_needs_a_complete_address() -> None:
    driver = await make_driver()
    concept = await driver.create_entity()
    await driver.move_entity(concept, "request_publish")
    await driver.create_entity(id=concept, slug="")

    assert await driver.not_moved(concept, "publish") == "entity.unfinished"
    await driver.create_entity(id=concept, slug="again")

    assert (await driver.move_entity(concept, "publish"))["status"] == "published"
    assert (await driver.show_entity(concept))["canonicalUrl"] == "/concepts/again"


async def test_a_new_concept_is_a_standard_one() -> None:
    driver = await make_driver()

    plain, own = (
        await driver.create_entity(),
        await driver.create_entity(slug="own", conceptKind="comparison"),
    )
    none = await driver.create_entity(slug="none", conceptKind=None)
    await driver.create_entity(id=plain, conceptKind=None)
    guide = await driver.create_entity("guide")

    kinds = [(await driver.show_entity(each))["conceptKind"] for each in (plain, own, none, guide)]
    assert kinds == [None, "comparison", None, None]
    other = await driver.create_entity(slug="other")
    assert (await driver.show_entity(other))["conceptKind"] == "standard"
    await driver.create_entity(id=other, slug="other", title="told again")
    assert (await driver.show_entity(other))["conceptKind"] == "standard"


async def test_items_have_publication_and_archive_times() -> None:
    driver = await make_driver()
    concept = await driver.create_entity()
    shown = {"primaryEntityType": "concept", "primaryEntityId": concept, "platform": "youtube"}
    video = {**shown, "projectId": driver.project, "externalUrl": "https://v"}
    source = {
        "projectId": driver.project,
        "sourceType": "rss",
        "url": "s",
        "operatorIntent": "read",
    }

    made = await driver.call("catalog_save_video", **video, status="published")
    kept = await driver.call("catalog_save_source_item", **source)
    driver.clock.move_by(3_000_000)
    for status in ("archived", "archived"):
        await driver.call("catalog_save_video", **{**video, "id": made["id"], "status": status})
        await driver.call("catalog_save_source_item", **source, id=kept["id"], status=status)
        driver.clock.move_by(3_000_000)
    found = {
        array: row
        async for array, row in export_catalog(driver.canon, None, lambda _done, _all: None)
    }

    assert found["videos"]["publishedAt"] == "2025-01-15T00:00:00.000Z"
    assert found["videos"]["archivedAt"] == "2025-01-15T00:00:03.000Z"
    assert found["sourceItems"]["archivedAt"] == "2025-01-15T00:00:03.000Z"
    assert found["sourceItems"]["updatedAt"] == "2025-01-15T00:00:03.000Z"


async def test_merged_items_are_moved_no_more() -> None:
    driver = await make_driver()
    kept, merged = await driver.create_entity(), await driver.create_entity(slug="other")
    ids = [item_id(driver.project, "concept", each) for each in (kept, merged)]
    scribe = Scribe(driver.canon, space=SpaceId(driver.project))
    await scribe.write_entries(EntitiesMerged(kept=ids[0], merged=ids[1], members=(), reason=""))

    assert await driver.not_moved(merged, "archive") == "entity.unknown"
    assert (await driver.move_entity(kept, "archive"))["status"] == "archived"
