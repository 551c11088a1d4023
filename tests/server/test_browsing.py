"""Browsing, completing and watching resources, through the SDK's own client, in both eras."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import mcp_types as types
import pytest
from mcp import Client, MCPError

from canonry.gateway.call import Gateway, GatewaySettings
from canonry.gateway.limits import Limits
from canonry.gateway.offers import PAGE
from canonry.gateway.principal import Principal
from canonry.narrative.toolset import NARRATIVE
from canonry.server.binding import WATCHED_EACH, bind_gateway
from canonry.server.options import ServerOptions
from tests.toolsets.narrative.kit import NOWHERE, a_principal
from tests.toolsets.narrative.stage import Stage, a_stage

pytestmark = pytest.mark.anyio

Mode = Literal["legacy", "auto"]
EARLIER = pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")
"""Of the requests that the newest revision has no more, and earlier ones are to be served."""
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
ENTITY = types.ResourceTemplateReference(type="ref/resource", uri="canonry://entity/{entity_id}")


@asynccontextmanager
async def client_of(
    stage: Stage, mode: Mode = "auto", principal: Principal | None = None, **more: Any
) -> AsyncIterator[Client]:
    """A client of the stage's server."""
    who = principal or a_principal("Narrator", spaces=stage.world.spaces)
    server = bind_gateway(stage.world.gateway, lambda: who, ServerOptions())
    async with Client(server, mode=mode, **more) as client:
        yield client


def foreign_principal() -> Principal:
    """Somebody who may see nothing of the stage."""
    return a_principal("Narrator", spaces=frozenset())


async def list_resources(client: Client) -> list[tuple[str, str]]:
    """Every resource, over all pages: its URI and what a person calls it."""
    found: list[tuple[str, str]] = []
    cursor: str | None = None
    while True:
        page = await client.list_resources(cursor=cursor)
        found += [(str(each.uri), each.title or "") for each in page.resources]
        cursor = page.next_cursor
        if cursor is None:
            return found


@MODES
async def test_every_entity_scene_and_universe_is_listed_once_over_all_pages(mode: Mode) -> None:
    stage = await a_stage()
    made = [await stage.world.entity(f"Guard {n}") for n in range(PAGE + 5)]
    scene_id = await stage.scene("The party")
    async with client_of(stage, mode) as client:
        first = await client.list_resources()
        found = dict(await list_resources(client))
        everything = await list_resources(client)

    assert first.next_cursor is not None
    assert len(everything) == len(found)
    assert {f"canonry://entity/{each}" for each in made} <= found.keys()
    assert found[f"canonry://entity/{stage.frodo}"] == "Frodo (character)"
    assert found[f"canonry://scene/{scene_id}/transcript"] == "The party"
    assert f"canonry://universe/{stage.world.universe_id}/timeline" in found
    assert "canonry://proposals/contents" in found


async def test_listed_resources_can_be_read() -> None:
    stage = await a_stage()
    await stage.scene("The party")
    async with client_of(stage) as client:
        for uri, _ in await list_resources(client):
            assert (await client.read_resource(uri)).contents


async def test_no_reader_is_shown_forbidden_resources() -> None:
    stage = await a_stage()
    async with client_of(stage, principal=foreign_principal()) as client:
        assert await list_resources(client) == [
            ("canonry://proposals/contents", "Contents of proposals")
        ]
        assert (await client.complete(ENTITY, {"name": "entity_id", "value": ""})).completion == (
            types.Completion(values=[], total=0, has_more=False)
        )


@pytest.mark.parametrize("cursor", ["x", "9999.0", "0.99999999999", "", "1.-1"])
async def test_a_cursor_of_another_caller_is_refused(cursor: str) -> None:
    stage = await a_stage()
    async with client_of(stage) as client:
        with pytest.raises(MCPError) as caught:
            await client.list_resources(cursor=cursor)
    assert caught.value.error.code == -32602
    assert "Leave it out" in caught.value.error.message


@MODES
async def test_names_and_ids_complete_to_ids(mode: Mode) -> None:
    stage = await a_stage()
    scene_id = await stage.scene("The party")
    prompt = types.PromptReference(type="ref/prompt", name="work_as_narrator")
    async with client_of(stage, mode) as client:
        by_name = await client.complete(ENTITY, {"name": "entity_id", "value": "fro"})
        by_title = await client.complete(prompt, {"name": "scene_id", "value": "the p"})
        by_id = await client.complete(prompt, {"name": "scene_id", "value": scene_id[:12]})
        unknown = await client.complete(prompt, {"name": "colour", "value": ""})

    assert by_name.completion.values == [stage.frodo]
    assert by_title.completion.values == [scene_id]
    assert scene_id in by_id.completion.values
    assert unknown.completion.values == []


async def test_a_watcher_on_the_newest_revision_is_notified_of_changes_only() -> None:
    stage = await a_stage()
    uri = f"canonry://entity/{stage.frodo}"
    async with (
        client_of(stage) as client,
        client.listen(resource_subscriptions=[uri], resources_list_changed=True) as events,
        asyncio.timeout(60),
    ):
        await stage.world.call(
            "neo4j_update_entity_state",
            entity_id=stage.sam,
            state_tag_changes={"add": ["wounded"]},
            authority="gm",
            evidence_refs=stage.world.evidence,
        )
        await stage.world.call(
            "neo4j_update_entity_state",
            entity_id=stage.frodo,
            state_tag_changes={"add": ["wounded"]},
            authority="gm",
            evidence_refs=stage.world.evidence,
        )
        first = await anext(aiter(events))
        await stage.world.entity("Gollum")
        second = await anext(aiter(events))

    assert getattr(first, "uri", "") == uri
    assert type(second).__name__ == "ResourcesListChanged"


@EARLIER
async def test_a_session_is_notified_until_it_unsubscribes() -> None:
    stage = await a_stage()
    uri = f"canonry://entity/{stage.frodo}"
    notified: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            notified.put_nowait(str(message.params.uri))

    async def hurt(tag: str) -> None:
        await stage.world.call(
            "neo4j_update_entity_state",
            entity_id=stage.frodo,
            state_tag_changes={"add": [tag]},
            authority="gm",
            evidence_refs=stage.world.evidence,
        )

    async with client_of(stage, "legacy", message_handler=hear) as client, asyncio.timeout(60):
        await client.subscribe_resource(uri)
        await hurt("wounded")
        assert await notified.get() == uri
        await client.subscribe_resource(f"canonry://entity/{stage.sam}")
        await client.unsubscribe_resource(uri)
        await hurt("tired")
        await stage.world.call(
            "neo4j_update_entity_state",
            entity_id=stage.sam,
            state_tag_changes={"add": ["tired"]},
            authority="gm",
            evidence_refs=stage.world.evidence,
        )
        assert await notified.get() == f"canonry://entity/{stage.sam}"
    assert notified.empty()


@EARLIER
async def test_unreadable_resources_cannot_be_watched() -> None:
    stage = await a_stage()
    uri = f"canonry://entity/{stage.frodo}"
    async with client_of(stage, "legacy", foreign_principal()) as client:
        for each in (uri, f"canonry://entity/{NOWHERE}", "nothing://x"):
            with pytest.raises(MCPError) as caught:
                await client.subscribe_resource(each)
            assert caught.value.error.code == -32002
            assert caught.value.error.data["error"] in {"NOT_FOUND", "UNKNOWN_RESOURCE"}


@EARLIER
async def test_a_client_watches_a_bounded_number_of_resources() -> None:
    stage = await a_stage()
    made = [await stage.world.entity(f"Guard {n}") for n in range(WATCHED_EACH + 1)]
    async with client_of(stage, "legacy") as client:
        for each in made[:-1]:
            await client.subscribe_resource(f"canonry://entity/{each}")
        with pytest.raises(MCPError) as caught:
            await client.subscribe_resource(f"canonry://entity/{made[-1]}")
    assert f"at most {WATCHED_EACH}" in caught.value.error.message


async def test_a_session_that_listed_resources_is_notified_of_list_changes() -> None:
    stage = await a_stage()
    notified: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: Any) -> None:
        if isinstance(message, types.ResourceListChangedNotification):
            notified.put_nowait(message.method)

    async with client_of(stage, "legacy", message_handler=hear) as client, asyncio.timeout(60):
        offered = client.server_capabilities
        await client.list_resources()
        await client.list_resources()
        await stage.world.entity("Gollum")
        assert await notified.get() == "notifications/resources/list_changed"
        await stage.world.entity("Smeagol")
        assert await notified.get() == "notifications/resources/list_changed"
    assert notified.empty()
    assert offered is not None
    assert offered.resources is not None
    assert offered.resources.list_changed


@EARLIER
async def test_polling_for_changes_costs_no_rate_and_reading_does() -> None:
    stage = await a_stage()
    uri = f"canonry://entity/{stage.frodo}"
    settings = GatewaySettings(limits=Limits(per_minute=3))
    stage.world.gateway = Gateway(stage.world.canon, (NARRATIVE,), settings=settings)

    async def hear(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            notified.set()

    notified = asyncio.Event()
    writer = Gateway(stage.world.canon, (NARRATIVE,))
    async with client_of(stage, "legacy", message_handler=hear) as client, asyncio.timeout(60):
        await client.subscribe_resource(uri)
        for tag in ("wounded", "tired", "hungry", "cold"):
            notified.clear()
            outcome = await writer.call(
                "neo4j_update_entity_state",
                {
                    "entity_id": stage.frodo,
                    "state_tag_changes": {"add": [tag]},
                    "authority": "gm",
                    "evidence_refs": stage.world.evidence,
                },
                a_principal("CanonKeeper"),
            )
            assert outcome.error is None
            await notified.wait()
        await client.read_resource(uri)
        await client.read_resource(uri)
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
    assert caught.value.error.data["code"] == "limits.rate"


@MODES
async def test_a_failure_to_browse_or_complete_is_reported_with_its_code(mode: Mode) -> None:
    stage = await a_stage()
    settings = GatewaySettings(limits=Limits(per_minute=1))
    stage.world.gateway = Gateway(stage.world.canon, (NARRATIVE,), settings=settings)
    async with client_of(stage, mode) as client:
        for ask in (
            client.list_resources,
            lambda: client.complete(ENTITY, {"name": "entity_id", "value": "f"}),
        ):
            with contextlib.suppress(MCPError):
                await ask()
            with pytest.raises(MCPError) as caught:
                await ask()
            assert caught.value.error.data["code"] == "limits.rate"


async def test_a_trusted_client_without_agent_browses_static_resources() -> None:
    stage = await a_stage()
    nobody = Principal(trusted=True)
    async with client_of(stage, principal=nobody) as client:
        assert await list_resources(client) == [
            ("canonry://proposals/contents", "Contents of proposals")
        ]
        found = await client.complete(ENTITY, {"name": "entity_id", "value": "f"})
        assert found.completion.values == []
