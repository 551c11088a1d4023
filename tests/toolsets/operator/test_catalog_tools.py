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


class Desk:
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

    async def entity(self, kind: str = "concept", **more: Any) -> str:
        row = {"title": f"A {kind}", "slug": kind, **more}
        saved = await self.call(
            "catalog_save_entity", projectId=self.project, entityType=kind, **row
        )
        return str(saved["id"])

    async def shown(self, entity_id: str) -> Any:
        reply = await self.call("get_entity", projectId=self.project, entityId=entity_id)
        return reply["entity"]

    async def move(self, entity_id: str, action: str, **more: Any) -> Any:
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


async def a_desk() -> Desk:
    desk = Desk()
    saved = await desk.call("catalog_save_project", name="Lab", slug="lab")
    desk.project = saved["id"]
    return desk


def test_the_toolset_is_off_by_default_and_marked() -> None:
    assert FACE.name == "operator"
    assert OPERATOR.default_agent_type is None
    assert OPERATOR.agent_types == frozenset(("Operator",))
    for tool in OPERATOR.tools:
        assert tool.extension
        assert tool.roles == frozenset(("Operator",))
    assert not select_toolsets((OPERATOR,), contract_only=True)[0].tools


@pytest.mark.parametrize("tool", OPERATOR.tools, ids=lambda tool: tool.name)
async def test_only_an_operator_may(tool: Any) -> None:
    for stranger in ("Reader", "CanonKeeper", None):
        outcome = await Desk().gateway.call(tool.name, {}, Principal(agent_type=stranger))
        assert outcome.error is not None
        assert outcome.error.data["error"] == "NOT_ALLOWED"


async def test_rows_are_made_changed_and_left() -> None:
    desk = await a_desk()
    given = {"projectId": desk.project, "entityType": "guide", "title": "One", "slug": "one"}

    made = await desk.call("catalog_save_entity", **given, summary="s")
    desk.clock.move_by(7_000_000)
    same = await desk.call("catalog_save_entity", **given, id=made["id"])
    changed = await desk.call(
        "catalog_save_entity",
        projectId=desk.project,
        entityType="guide",
        id=made["id"],
        title="Two",
        summary=None,
    )

    outcomes = [each["outcome"] for each in (made, same, changed)]
    assert outcomes == ["created", "unchanged", "changed"]
    shown = await desk.shown(made["id"])
    assert (shown["title"], shown["slug"], shown["summary"]) == ("Two", "one", None)
    assert shown["status"] == "draft"
    assert shown["createdAt"] == "2025-01-15T00:00:00.000Z"
    assert shown["updatedAt"] == "2025-01-15T00:00:07.000Z"
    assert [e["outcome"] for e in [await desk.call("catalog_save_project", id=desk.project)]] == [
        "unchanged"
    ]


async def test_a_retry_makes_nothing_twice() -> None:
    desk = await a_desk()
    given = {"projectId": desk.project, "entityType": "news", "title": "N", "slug": "n"}

    replies = [
        (await desk.gateway.call("catalog_save_entity", given, KEEPER, {KEY_META: "k"})).body
        for _ in range(2)
    ]

    assert replies[0]["id"] == replies[1]["id"]
    found = await desk.call("search_entities", projectId=desk.project, query="n")
    assert found["totalCount"] == 1


async def test_an_entity_lives_from_draft_to_archive() -> None:
    desk = await a_desk()
    concept = await desk.entity()
    guide = await desk.entity("guide")

    assert await desk.not_moved(guide, "publish") == "entity.wrong-status"
    assert await desk.not_moved(guide, "request_publish") == "entity.unfinished"
    await desk.entity("guide", id=guide, contentRef="guides/1.md")
    assert await desk.not_moved(guide, "request_publish") == "entity.unfinished"
    await desk.call(
        "catalog_save_relation",
        projectId=desk.project,
        fromEntityType="guide",
        fromEntityId=guide,
        toEntityType="concept",
        toEntityId=concept,
        relationType="GUIDE_USES_CONCEPT",
    )
    statuses = []
    for action in ("request_publish", "reject", "request_publish", "publish", "archive"):
        desk.clock.move_by(1_000_000)
        statuses.append((await desk.move(guide, action, reason="because"))["status"])

    assert statuses == [
        "publish_requested",
        "draft",
        "publish_requested",
        "published",
        "archived",
    ]
    shown = await desk.shown(guide)
    assert shown["canonicalUrl"] == "/guides/guide"
    assert shown["publishedAt"] == "2025-01-15T00:00:04.000Z"
    assert shown["archivedAt"] == shown["updatedAt"] == "2025-01-15T00:00:05.000Z"
    assert await desk.not_moved(guide, "archive") == "entity.wrong-status"
    assert await desk.not_moved(NOWHERE, "archive") == "entity.unknown"


async def test_what_is_missing_for_publication_is_named() -> None:
    desk = await a_desk()
    project = await desk.entity("project")
    news = await desk.entity("news")

    for entity_id in (project, news):
        assert await desk.not_moved(entity_id, "request_publish") == "entity.unfinished"
    await desk.entity("project", id=project, repoUrl="https://example.org")
    await desk.entity("news", id=news, contentRef="news/1.md")

    for entity_id in (project, news):
        assert (await desk.move(entity_id, "request_publish"))["status"] == "publish_requested"


async def test_relations_are_made_once_between_fitting_kinds_and_withdrawn() -> None:
    desk = await a_desk()
    one, two = await desk.entity(), await desk.entity(slug="other")
    ends = {
        "projectId": desk.project,
        "fromEntityType": "concept",
        "fromEntityId": one,
        "toEntityType": "concept",
        "toEntityId": two,
        "relationType": "CONCEPT_RELATES_TO_CONCEPT",
    }

    made = await desk.call("catalog_save_relation", **ends, notes="n")
    assert await desk.refused("catalog_save_relation", **ends) == "relation.exists"
    misfit = {**ends, "relationType": "GUIDE_USES_CONCEPT"}
    assert await desk.refused("catalog_save_relation", **misfit) == "relation.kinds"
    absent = {**ends, "toEntityId": NOWHERE}
    assert await desk.refused("catalog_save_relation", **absent) == "entity.unknown"
    assert (await desk.shown(one))["relationshipCounts"] == {"outgoing": 1, "incoming": 0}

    noted = {"projectId": desk.project, "id": made["id"], "notes": "m"}
    outcomes = [(await desk.call("catalog_save_relation", **noted))["outcome"] for _ in range(2)]
    assert outcomes == ["changed", "unchanged"]
    assert (await desk.shown(one))["relationshipCounts"] == {"outgoing": 1, "incoming": 0}

    gone = {"projectId": desk.project, "relationId": made["id"]}
    await desk.call("catalog_withdraw_relation", **gone)
    assert (await desk.shown(one))["relationshipCounts"] == {"outgoing": 0, "incoming": 0}
    assert await desk.refused("catalog_withdraw_relation", **gone) == "relation.unknown"
    again = await desk.call("catalog_save_relation", **ends, id=made["id"])
    assert again["outcome"] == "created"


async def test_sources_and_publications_elsewhere_are_kept() -> None:
    desk = await a_desk()
    concept = await desk.entity()
    shown = {
        "projectId": desk.project,
        "platform": "youtube",
        "externalUrl": "https://v",
        "primaryEntityType": "concept",
        "primaryEntityId": concept,
    }

    source = {"projectId": desk.project, "sourceType": "rss", "url": "https://s"}
    assert await desk.call("catalog_save_source_item", **source, operatorIntent="read")
    assert await desk.refused("catalog_save_source_item", **source) == "field.missing"
    twice = {**source, "operatorIntent": "again"}
    assert await desk.refused("catalog_save_source_item", **twice) == "url.taken"
    assert await desk.call("catalog_save_video", **shown)
    assert await desk.call("catalog_save_distribution_event", **shown)
    absent = {**shown, "primaryEntityId": NOWHERE}
    assert await desk.refused("catalog_save_video", **absent) == "entity.unknown"


async def test_r15_an_address_that_would_be_run_is_refused() -> None:
    desk = await a_desk()
    given = {"projectId": desk.project, "entityType": "project", "title": "t", "slug": "t"}
    run = " JavaScript:alert(1)"
    assert await desk.refused("catalog_save_entity", **given, repoUrl=run) == "field.address"
    source = {"projectId": desk.project, "sourceType": "rss", "operatorIntent": "read"}
    data = "data:text/html,x"
    assert await desk.refused("catalog_save_source_item", **source, url=data) == "field.address"


async def test_what_stands_against_a_row_is_told() -> None:
    desk = await a_desk()
    concept = await desk.entity()

    assert await desk.refused("catalog_save_project", name="x", slug="lab") == "slug.taken"
    given = {"projectId": desk.project, "title": "t", "slug": "concept"}
    assert await desk.refused("catalog_save_entity", **given, entityType="concept") == "slug.taken"
    retyped = {**given, "entityType": "guide", "id": concept}
    assert await desk.refused("catalog_save_entity", **retyped) == "item.kind"
    lost = {**given, "projectId": NOWHERE, "entityType": "concept"}
    assert await desk.refused("catalog_save_entity", **lost) == "project.unknown"


async def test_another_project_is_out_of_reach() -> None:
    desk = await a_desk()
    concept = await desk.entity()
    narrow = Principal(agent_type="Operator", spaces=frozenset((SpaceId(NOWHERE),)))
    own = {"projectId": desk.project}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("catalog_save_entity", {**own, "entityType": "concept", "title": "t", "slug": "s"}),
        ("catalog_move_entity", {**own, "entityId": concept, "action": "archive"}),
        ("catalog_withdraw_relation", {**own, "relationId": concept}),
        ("catalog_save_project", {"name": "n", "slug": "s"}),
        ("catalog_save_project", {"id": desk.project, "name": "n"}),
    ]

    for tool, arguments in calls:
        outcome = await desk.gateway.call(tool, arguments, narrow)
        assert outcome.error is not None
        assert outcome.error.data["error"] == "NOT_FOUND", outcome.text


async def test_a_publication_needs_an_address_to_the_end() -> None:
    desk = await a_desk()
    concept = await desk.entity()
    await desk.move(concept, "request_publish")
    await desk.entity(id=concept, slug="")

    assert await desk.not_moved(concept, "publish") == "entity.unfinished"
    await desk.entity(id=concept, slug="again")

    assert (await desk.move(concept, "publish"))["status"] == "published"
    assert (await desk.shown(concept))["canonicalUrl"] == "/concepts/again"


async def test_a_new_concept_is_a_standard_one() -> None:
    desk = await a_desk()

    plain, own = await desk.entity(), await desk.entity(slug="own", conceptKind="comparison")
    none = await desk.entity(slug="none", conceptKind=None)
    await desk.entity(id=plain, conceptKind=None)
    guide = await desk.entity("guide")

    kinds = [(await desk.shown(each))["conceptKind"] for each in (plain, own, none, guide)]
    assert kinds == [None, "comparison", None, None]
    other = await desk.entity(slug="other")
    assert (await desk.shown(other))["conceptKind"] == "standard"
    await desk.entity(id=other, slug="other", title="told again")
    assert (await desk.shown(other))["conceptKind"] == "standard"


async def test_items_say_since_when_they_are_published_or_archived() -> None:
    desk = await a_desk()
    concept = await desk.entity()
    shown = {"primaryEntityType": "concept", "primaryEntityId": concept, "platform": "youtube"}
    video = {**shown, "projectId": desk.project, "externalUrl": "https://v"}
    source = {"projectId": desk.project, "sourceType": "rss", "url": "s", "operatorIntent": "read"}

    made = await desk.call("catalog_save_video", **video, status="published")
    kept = await desk.call("catalog_save_source_item", **source)
    desk.clock.move_by(3_000_000)
    for status in ("archived", "archived"):
        await desk.call("catalog_save_video", **{**video, "id": made["id"], "status": status})
        await desk.call("catalog_save_source_item", **source, id=kept["id"], status=status)
        desk.clock.move_by(3_000_000)
    told = {
        array: row
        async for array, row in export_catalog(desk.canon, None, lambda _done, _all: None)
    }

    assert told["videos"]["publishedAt"] == "2025-01-15T00:00:00.000Z"
    assert told["videos"]["archivedAt"] == "2025-01-15T00:00:03.000Z"
    assert told["sourceItems"]["archivedAt"] == "2025-01-15T00:00:03.000Z"
    assert told["sourceItems"]["updatedAt"] == "2025-01-15T00:00:03.000Z"


async def test_what_was_merged_away_is_moved_no_more() -> None:
    desk = await a_desk()
    kept, merged = await desk.entity(), await desk.entity(slug="other")
    ids = [item_id(desk.project, "concept", each) for each in (kept, merged)]
    scribe = Scribe(desk.canon, space=SpaceId(desk.project))
    await scribe.write_entries(EntitiesMerged(kept=ids[0], merged=ids[1], members=(), reason=""))

    assert await desk.not_moved(merged, "archive") == "entity.unknown"
    assert (await desk.move(kept, "archive"))["status"] == "archived"
