"""Every read there is, asked by every kind of reader: nobody is told words of others' secrets.

The reads come from the registry of toolsets, the resources, the prompts and the routes of HTTP. A
read by which whoever may know a secret is told nothing of it proves nothing: it fails here, unless
it is named with a reason.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import BaseRoute, Mount, Route

from canonry.app.embedded import open_embedded
from canonry.assistant import CANON
from canonry.canon.maintenance.log_transfer import verify_store
from canonry.gateway.call import Gateway
from canonry.gateway.offers import PAGE
from canonry.gateway.principal import Principal
from canonry.gateway.replies import Result
from canonry.gateway.tool import Toolset
from canonry.inspector.app import inspector_app
from canonry.inspector.sign_in import Unlocked
from canonry.server.http import http_app
from canonry.server.options import ServerOptions
from canonry.testing.clocks import CountingIdentities
from tests.inspector.reader import Reader
from tests.toolsets.planted_secrets import (
    EVERY,
    KNOWING,
    Planted,
    a_role_of,
    asked_of,
    plant_secrets,
    reveals_secret,
)

pytestmark = pytest.mark.anyio
TOOLSETS = pytest.mark.parametrize("toolset", EVERY, ids=lambda each: each.name)

_SPACES = "it tells of spaces, which have no audience"
_CATALOG = "it tells rows of a catalog, which have no audience"
_ACCOUNT = "it reads an account, which is its user's alone"
_ATLAS = "it tells places, movers, happenings and lore, which come with the world"
_RULES = "it answers from the rules or from the words given, and reads no canon"
QUIET: Mapping[str, str] = {
    **dict.fromkeys(("spaces", "neo4j_get_universe", "neo4j_query_universes"), _SPACES),
    "neo4j_query_stories": "stories have no audience; their scenes have",
    "neo4j_query_axioms": "axioms have no audience",
    "mongodb_retrieve_character_memories": "a memory is its character's own",
    "composite_get_verdicts": "it tells verdicts by ids, without the words that were judged",
    **dict.fromkeys(
        ("list_projects", "search_entities", "get_entity", "get_entity_graph"), _CATALOG
    ),
    **dict.fromkeys(
        (
            *("get_file_url", "list_timeline_events", "list_entity_types", "list_entity_schemas"),
            *("get_relationship_snapshot", "list_possible_duplicates", "list_unclear_values"),
            *("search_records", "summarise_records"),
        ),
        _ACCOUNT,
    ),
    **dict.fromkeys(
        (
            *("health", "get-location-context", "get-atmosphere", "get-spatial-context"),
            *("get-location", "list-exits", "get-player-context", "get-recent-events"),
            *("get-canonical-fact", "search-lore", "get-fact-version", "get-realm-context"),
            *("get-player-view", "get-surroundings", "find-route", "get-changes"),
            *("get-proposal", "list-proposals", "generate-arc"),
        ),
        _ATLAS,
    ),
    **dict.fromkeys(
        (
            *("parse-to-action-frame", "classify-intent", "moderate-content", "lookup-rule"),
            *("search-rules", "roll-dice", "can-cast-here"),
        ),
        _RULES,
    ),
    "canon://space/{space_id}": _SPACES,
    "canonry://proposals/contents": "it tells what proposals may hold",
    "catalog://project/{project_id}": _CATALOG,
    "catalog://item/{item_id}": _CATALOG,
    "truth://account/{user_id}": _ACCOUNT,
    "truth://source/{source_id}": _ACCOUNT,
    "truth://file/{file_id}": _ACCOUNT,
    "world://world/{world_id}": _ATLAS,
    "world://location/{location_id}": _ATLAS,
    **dict.fromkeys(("/healthz", "/readyz", "/metrics", "/health"), "it tells how the store is"),
    "/": "it tells which spaces there are, and how many things lie in them",
    **{each.name: "it names a scene by its id alone" for one in EVERY for each in one.prompts},
    "/files/{key:path}": "a link to a file is signed for whoever got it",
    "/map": _ATLAS,
    "/api/proposals/{id}": _ATLAS,
    **dict.fromkeys(("/api/prompts", "/api/prompts/{id}"), "templates come with the program"),
    **dict.fromkeys(
        ("/api/v1/tools", "/api/v1/openapi.json"), "the tools come with the program, too"
    ),
    "/api/telemetry/ai-usage": "it tells numbers of calls",
    "/enter": "it lets visitors in",
    "/page/{id}/{number}": "it draws pages of files, which an account has",
    "/review/head": "it tells how many wait for whoever may see them",
}
"""Reads by which nobody is told a secret, not even whoever may know it, and why."""

Answers = Callable[[Principal], Awaitable[str]]


async def reveals_to_informed(here: Planted, role: str, ask: Answers) -> bool:
    """Return whether an informed viewer is told a secret; check that others are told none."""
    answers = {name: await ask(who) for name, who in here.readers_of(role).items()}
    leaks = {
        name: text for name, text in answers.items() if name not in KNOWING and reveals_secret(text)
    }
    assert leaks == {}
    return any(reveals_secret(text) for text in answers.values())


def require_proof(reads: Iterable[str], revealing: Iterable[str]) -> None:
    """Each read has told a secret to whoever may know it, or is named with a reason."""
    silent = set(reads) - set(revealing)
    assert sorted(silent - QUIET.keys()) == [], "nobody is told a secret by these: ask them better"
    assert sorted(QUIET.keys() & set(revealing)) == [], "these need no exception any longer"


async def list_revealing_tools(here: Planted, toolset: Toolset) -> set[str]:
    """The reading tools of a toolset by which whoever may know a secret is told one."""
    gateway, revealing = here.make_gateway(toolset), set[str]()
    for tool in toolset.tools:
        asked = asked_of(tool, here) if tool.read_only else ()
        for given in {repr(sorted(each.items(), key=repr)): each for each in asked}.values():

            async def ask(who: Principal, given: Any = given, name: str = tool.name) -> str:
                return (await gateway.call(name, given, who)).text

            if await reveals_to_informed(here, a_role_of(tool, toolset), ask):
                revealing.add(tool.name)
    return revealing


@TOOLSETS
async def test_no_reading_tool_reveals_others_secrets(toolset: Toolset) -> None:
    revealing = await list_revealing_tools(await plant_secrets(), toolset)

    require_proof([tool.name for tool in toolset.tools if tool.read_only], revealing)


async def test_no_reading_tool_reveals_others_secrets_from_disk(tmp_path: Path) -> None:
    store = await open_embedded(tmp_path, identities=CountingIdentities())
    try:
        revealing = await list_revealing_tools(await plant_secrets(store.canon), CANON)
        checked = await verify_store(store.canon.ledger, store.maintenance, lambda *_: None)
    finally:
        await store.close()

    require_proof([tool.name for tool in CANON.tools if tool.read_only], revealing)
    assert list(checked.findings) == []


@TOOLSETS
async def test_no_resource_or_prompt_reveals_others_secrets(toolset: Toolset) -> None:
    here = await plant_secrets()
    gateway, revealing = here.make_gateway(toolset), set[str]()
    ids = [*here.known.values(), *here.secret.values(), here.space]
    for each, one in product(toolset.resources, ids):
        uri = re.sub(r"\{[^}]*\}", one, each.uri_template)

        async def read(who: Principal, uri: str = uri) -> str:
            return (await gateway.read_resource(uri, who))[1].text

        if await reveals_to_informed(here, a_role_of(each, toolset), read):
            revealing.add(each.uri_template)
    for prompt, one in product(toolset.prompts, ids):
        given = {argument.name: one for argument in prompt.arguments}

        async def render(who: Principal, given: Any = given, name: str = prompt.name) -> str:
            return (await gateway.get_prompt(name, given, who))[1].text

        if await reveals_to_informed(here, a_role_of(prompt, toolset), render):
            revealing.add(prompt.name)

    require_proof([each.uri_template for each in toolset.resources], revealing)
    require_proof([each.name for each in toolset.prompts], revealing)


@TOOLSETS
async def test_no_resource_list_or_completion_reveals_others_secrets(
    toolset: Toolset,
) -> None:
    here = await plant_secrets()
    gateway, reported = here.make_gateway(toolset), False
    for named, variable in yield_completions(toolset):

        async def complete(who: Principal, named: str = named, variable: str = variable) -> str:
            return str(
                [await gateway.complete_value(named, variable, w, who) for w in ("", "zy", "a")]
            )

        role = min(toolset.agent_types - {"*"}, default="Reader")
        reported |= await reveals_to_informed(here, role, complete)
    for role in sorted(toolset.agent_types - {"*"}) or ["Reader"]:

        async def browse(who: Principal) -> str:
            return await browse_resources(gateway, who)

        reported |= await reveals_to_informed(here, role, browse)

    assert reported is (toolset.name in {"canon", "narrative", "truth"})


def yield_completions(toolset: Toolset) -> Iterator[tuple[str, str]]:
    """Yield the arguments that a client can have completed."""
    for each in toolset.resources:
        for variable in re.findall(r"\{([^}]*)\}", each.uri_template):
            yield each.uri_template, variable
    for prompt in toolset.prompts:
        yield from ((prompt.name, argument.name) for argument in prompt.arguments)


async def browse_resources(gateway: Gateway, who: Principal) -> str:
    """All pages of the list of resources."""
    found: list[str] = []
    cursor: str | None = None
    for _ in range(PAGE):
        page = await gateway.browse_resources(cursor, who)
        if isinstance(page, Result):
            return page.text
        found += [f"{uri} {title}" for _, uri, title in page.entries]
        cursor = page.following
        if cursor is None:
            break
    return "\n".join(found)


def gets_of(routes: Iterable[BaseRoute], under: str = "") -> Iterator[str]:
    """The paths of all routes that answer GET; those that take one form alone write."""
    for each in routes:
        if isinstance(each, Route) and (each.methods is None or "GET" in each.methods):
            yield f"{under}{each.path}"
        elif isinstance(each, Mount) and each.path != "/static":
            yield from gets_of(each.routes, f"{under}{each.path}")


def yield_addresses(path: str, here: Planted) -> Iterator[str]:
    """A path with each item in it, or else with all that pages take as a query."""
    ids = [*here.known.values(), *here.secret.values(), here.space]
    where = f"space={here.space}"
    if "{" in path:
        plain = re.sub(r"\{number[^}]*\}", "1", path)
        for one in ids:
            filled = re.sub(r"\{[^}]*\}", one, plain)
            yield from (f"{filled}?{where}", f"{filled}?{where}&known1=2000-01-01")
        return
    yield from (path, f"{path}?{where}", f"{path}?{where}&known1=2000-01-01")
    yield from (f"{path}?{where}&q={words}" for words in ("crown", "kelp+mirrors", "Zyxoph"))
    yield from (f"{path}?{where}&what={what}" for what in ("conflicts", "duplicates", "unclear"))
    yield from (f"{path}?{where}&about={one}&hops=2" for one in ids)


async def test_no_page_of_the_inspector_reveals_others_secrets() -> None:
    here = await plant_secrets()
    app = inspector_app(here.driver.gateway, Unlocked(principal=here.readers_of("Solo")["keeper"]))
    revealing, paths = set[str](), list(gets_of(app.routes))
    pages = {
        who: Reader(inspector_app(here.driver.gateway, Unlocked(principal=who)))
        for who in here.readers_of("Contributor").values()
    }
    for path in paths:
        for address in yield_addresses(path, here):

            async def look(who: Principal, address: str = address) -> str:
                return (await pages[who].get(address)).text

            if await reveals_to_informed(here, "Contributor", look):
                revealing.add(path)

    require_proof(paths, revealing)


async def test_no_route_of_the_server_reveals_others_secrets() -> None:
    here = await plant_secrets()
    gateway = Gateway(here.canon, EVERY)

    apps = {
        who: http_app(gateway, who, server_options=ServerOptions())
        for who in here.readers_of("Canonicality").values()
    }
    answered: list[bool] = []
    whole: Any = next(iter(apps.values()))
    paths = list(gets_of(whole._pages.routes))
    for path in paths:
        for address in yield_addresses(path, here):

            async def look(who: Principal, address: str = address) -> str:
                answer = await Reader(apps[who]).get(address, host="127.0.0.1:8000")
                answered.append(answer.status == 200)
                return answer.text

            await reveals_to_informed(here, "Canonicality", look)

    assert any(answered)
    require_proof(paths, ())


async def test_a_leak_would_be_found() -> None:
    here = await plant_secrets()
    everything = Principal(agent_id="k", agent_type="Keeper", authorities=None)
    canon = here.make_gateway(next(each for each in EVERY if each.name == "canon"))

    async def careless(_: Principal) -> str:
        return (await canon.call("find", {"text": "crown", "space": here.space}, everything)).text

    with pytest.raises(AssertionError):
        await reveals_to_informed(here, "Reader", careless)
    with pytest.raises(AssertionError):
        require_proof(["a new read"], ())
