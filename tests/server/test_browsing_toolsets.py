"""Accounts, worlds and catalogs are browsed, completed and read by whoever may, and linked to."""

import base64
import json
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, MCPError

from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.server.binding import bind_gateway
from canonry.server.options import ServerOptions
from canonry.values.ids import SpaceId
from tests.server.test_browsing import list_resources
from tests.toolsets.canon.kit import make_driver as make_canon_driver
from tests.toolsets.catalog.kit import LAB, OTHER, hostile_names, make_filled_driver, make_uuid
from tests.toolsets.narrative.kit import a_principal
from tests.toolsets.narrative.stage import a_stage
from tests.toolsets.truth.kit import ANN, BOB, make_driver
from tests.toolsets.world.kit import a_world

pytestmark = pytest.mark.anyio
BILL = "Invoice INV-7 of ACME, 120 EUR, due 2025-03-01."


def client_of(gateway: Gateway, principal: Principal, **more: Any) -> Client:
    """A client of a server over a gateway."""
    return Client(bind_gateway(gateway, lambda: principal, ServerOptions()), **more)


def make_user(name: str) -> Principal:
    """A user of the truth toolset."""
    return Principal(agent_id="desk", user=name)


async def text_at(client: Client, uri: str) -> Any:
    """Return the JSON of a resource."""
    content = (await client.read_resource(uri)).contents[0]
    assert isinstance(content, types.TextResourceContents)
    return json.loads(content.text)


async def complete_word(client: Client, template: str, variable: str, word: str) -> list[str]:
    """The values to which a word completes."""
    named = types.ResourceTemplateReference(type="ref/resource", uri=template)
    found = await client.complete(named, {"name": variable, "value": word})
    return list(found.completion.values)


def resource_links(result: Any) -> dict[str, str]:
    """The resource links of a reply: their names by URI."""
    return {str(e.uri): e.name for e in result.content if isinstance(e, types.ResourceLink)}


async def test_a_user_browses_the_own_account_its_entities_and_sources() -> None:
    driver = make_driver()
    acme = await driver.entity("company", name="ACME", email="office@acme.example")
    bill = {"file_content": base64.b64encode(BILL.encode()).decode(), "mime_type": "text/plain"}
    kept = await driver.call("ingest", user_id=ANN, original_filename="bill.txt", **bill)
    async with client_of(driver.gateway, make_user(ANN)) as client:
        found = dict(await list_resources(client))
        account = await text_at(client, f"truth://account/{ANN}")
        entity = await text_at(client, f"truth://entity/{acme}")
        source = await text_at(client, f"truth://source/{kept['source_id']}")
        (file,) = (await client.read_resource(source["file"])).contents
        for uri in found:
            assert (await client.read_resource(uri)).contents
        begun = await complete_word(client, "truth://entity/{entity_id}", "entity_id", "AC")
        titled = await complete_word(client, "truth://source/{source_id}", "source_id", "bill")

    assert found[f"truth://entity/{acme}"] == "ACME (company)"
    assert found[f"truth://source/{kept['source_id']}"] == "bill.txt"
    assert "company" in {each["entity_type"] for each in account["entity_types"]}
    assert entity["snapshot"]["email"] == "office@acme.example"
    assert isinstance(file, types.BlobResourceContents)
    assert (base64.b64decode(file.blob).decode(), file.mime_type) == (BILL, "text/plain")
    assert acme in begun
    assert titled == [kept["source_id"]]


async def test_other_users_cannot_browse_or_read_an_account() -> None:
    driver = make_driver()
    acme = await driver.entity("company", name="ACME")
    mine = await driver.call("ingest", user_id=ANN, entities=[{"entity_type": "note", "name": "n"}])
    source = mine["source_id"]
    async with client_of(driver.gateway, make_user(BOB)) as client:
        assert [uri for uri, _ in await list_resources(client)] == [f"truth://account/{BOB}"]
        for uri in (f"account/{ANN}", f"entity/{acme}", f"source/{source}", f"file/{source}"):
            with pytest.raises(MCPError):
                await client.read_resource(f"truth://{uri}")
    async with client_of(driver.gateway, make_user(ANN)) as client:
        with pytest.raises(MCPError, match="There is no such file"):
            await client.read_resource(f"truth://file/{source}")


async def test_an_explained_value_links_to_its_documents() -> None:
    driver = make_driver()
    acme = await driver.entity("company", name="ACME", email="office@acme.example")
    async with client_of(driver.gateway, make_user(ANN)) as client:
        explained = await client.call_tool("explain_snapshot", {"entity_id": acme})
        (uri,) = resource_links(explained)
        assert (await text_at(client, uri))["id"] == uri.rpartition("/")[2]
    async with client_of(driver.gateway, make_user(BOB)) as client:
        with pytest.raises(MCPError):
            await client.read_resource(uri)


async def test_worlds_and_their_locations_are_browsed_and_read() -> None:
    isle = await a_world()
    narrator = Principal(agent_id="n", agent_type="Narrative")
    async with client_of(isle.gateway, narrator) as client:
        found = dict(await list_resources(client))
        world = await text_at(client, f"world://world/{isle.world}")
        inn = await text_at(client, f"world://location/{isle.id('inn')}")
        for uri in found:
            assert (await client.read_resource(uri)).contents
        begun = await complete_word(client, "world://location/{location_id}", "location_id", "Tow")
        with pytest.raises(MCPError, match="location"):
            await client.read_resource(f"world://location/{make_uuid(1)}")

    assert found[f"world://world/{isle.world}"] == world["name"]
    assert world["tick"] > 0
    assert found[f"world://location/{isle.id('inn')}"] == "Inn" == inn["location"]["name"]
    assert begun == [isle.id("tower")]


async def test_a_caller_without_worlds_or_permission_browses_none() -> None:
    isle = await a_world()
    blind = Principal(agent_id="n", agent_type="Narrative", spaces=frozenset())
    safety = Principal(agent_id="s", agent_type="Safety", world=isle.world)
    elsewhere = Principal(agent_id="n", agent_type="Narrative", world=SpaceId(make_uuid(7)))
    for principal in (blind, safety, elsewhere):
        async with client_of(isle.gateway, principal) as client:
            assert await list_resources(client) == []
            with pytest.raises(MCPError):
                await client.read_resource(f"world://location/{isle.id('inn')}")


async def test_projects_and_items_of_a_catalog_are_browsed_and_read() -> None:
    driver = await make_filled_driver(hostile_names())
    async with client_of(driver.gateway, Principal()) as client:
        found = dict(await list_resources(client))
        project = await text_at(client, f"catalog://project/{LAB}")
        item = await text_at(client, f"catalog://item/{make_uuid(2)}")
        for uri in found:
            assert (await client.read_resource(uri)).contents
        begun = await complete_word(client, "catalog://item/{item_id}", "item_id", "snake")
        projects = await complete_word(
            client, "catalog://project/{project_id}", "project_id", LAB[:30]
        )

    assert found[f"catalog://project/{LAB}"] == project["name"]
    assert found[f"catalog://item/{make_uuid(2)}"].startswith("snake_case (")
    assert item["entity"]["title"] == "snake_case"
    assert begun == [make_uuid(2)]
    assert LAB in projects


async def test_items_of_invisible_projects_are_neither_listed_nor_read() -> None:
    driver = await make_filled_driver(hostile_names())
    async with client_of(driver.gateway, Principal(spaces=frozenset({SpaceId(OTHER)}))) as client:
        found = dict(await list_resources(client))
        for uri in (
            f"catalog://item/{make_uuid(2)}",
            f"catalog://project/{LAB}",
            "catalog://item/x",
        ):
            with pytest.raises(MCPError):
                await client.read_resource(uri)

    assert {uri for uri in found if "project" in uri} == {f"catalog://project/{OTHER}"}
    assert f"catalog://item/{make_uuid(2)}" not in found


async def test_an_explanation_links_to_readable_scenes_and_sources() -> None:
    stage = await a_stage()
    scene_id = await stage.scene("The party")
    turn = await stage.turn(scene_id, "Frodo has the Ring.")
    await stage.world.call(
        "mongodb_ingest_source", source_id=stage.world.source_id, text="One ring to rule them all."
    )
    cited = [f"turn:{turn}", *stage.world.evidence]
    fact = await stage.world.fact("Frodo has the Ring", stage.frodo, evidence_refs=cited)
    async with client_of(stage.world.gateway, a_principal("Narrator")) as client:
        found = resource_links(await client.call_tool("neo4j_explain", {"id": fact}))
        texts = [str((await client.read_resource(uri)).contents[0]) for uri in found]
        sources = await complete_word(client, "canonry://source/{source_id}", "source_id", "The F")
        prompted = dict(await list_resources(client))

    assert list(found.values()) == ["The party", "The First Book"]
    assert "Frodo has the Ring." in texts[0]
    assert "One ring to rule them all." in texts[1]
    assert sources == [stage.world.source_id]
    assert prompted[f"canonry://source/{stage.world.source_id}"] == "The First Book"
    async with client_of(
        stage.world.gateway, a_principal("Narrator", spaces=frozenset())
    ) as stranger:
        for uri in found:
            with pytest.raises(MCPError):
                await stranger.read_resource(uri)


async def test_a_long_source_counts_its_omitted_parts() -> None:
    stage = await a_stage()
    text = "\n\n".join(f"# Part {n}\n\n{'The road goes on. ' * 60}" for n in range(250))
    await stage.world.call("mongodb_ingest_source", source_id=stage.world.source_id, text=text)
    async with client_of(stage.world.gateway, a_principal("Narrator")) as client:
        uri = f"canonry://source/{stage.world.source_id}"
        reported = (await client.read_resource(uri)).contents[0]

    assert "more parts; mongodb_query_snippets returns them.)" in str(reported)
    assert len(str(reported)) < 230_000


async def test_why_links_only_to_resources_readable_by_the_caller() -> None:
    driver = make_canon_driver()
    await driver.saltmere()
    kept = await driver.call("tell", text="Odo Brand has one eye.", title="The log")
    (made,) = (
        await driver.call(
            "propose",
            claims=[{"kind": "fact", "says": "Odo has one eye", "about": ["Odo Brand"]}],
            evidence=[kept["passages"][0]["id"]],
        )
    )["verdicts"]
    solo = Principal(agent_id="solo", agent_type="Solo", authorities=None)
    async with client_of(driver.gateway, solo) as client:
        why = await client.call_tool("why", {"of": made["id"]})
        ((uri, name),) = resource_links(why).items()
        answer = await text_at(client, uri)
    async with client_of(
        driver.gateway, Principal(agent_id="r", agent_type="Reader", spaces=frozenset())
    ) as stranger:
        with pytest.raises(MCPError):
            await stranger.read_resource(uri)

    assert (name, answer["name"]) == ("The log", "The log")
    assert "one eye" in answer["passages"][0]["says"]


async def test_why_links_own_records_to_their_sources() -> None:
    driver = make_canon_driver()
    await driver.call(
        "tell", space="account", records=[{"type": "person", "name": "Mara", "phone": "030 1"}]
    )
    solo = Principal(agent_id="solo", agent_type="Solo", authorities=None)
    async with client_of(driver.gateway, solo) as client:
        why = await client.call_tool("why", {"of": "Mara", "space": "account"})
        (uri,) = resource_links(why)
        assert (await text_at(client, uri))["kind"] == "document"
