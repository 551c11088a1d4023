"""Every route of the server and of the inspector, for everybody who may not read what is there."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import httpx2
import pytest
from starlette.routing import BaseRoute, Mount, Route

from canonry.app.compose import compose_memory
from canonry.assistant import CANON
from canonry.cli.serve import inspector_front
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.inspector.app import inspector_app
from canonry.inspector.sign_in import TokenSignIn
from canonry.server.http import http_app
from canonry.server.identity import BearerVerifier
from canonry.server.options import ServerOptions
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.values.ids import SpaceId
from canonry.world.toolset import WORLD
from canonry.world.web.api import READERS
from tests.server.lamp_process import ENVELOPE, MODERN
from tests.server.test_truth_users import OPTIONS, a_token
from tests.server.test_worlds import ACCEPT, run_app
from tests.toolsets.world.kit import Isle, an_isle, brought_in
from tests.toolsets.world.proposals.adversarial import GO, make_envelope
from tests.toolsets.world.proposals.kit import the_isle

pytestmark = pytest.mark.anyio
HERE: Final = "here"
ELSEWHERE: Final = SpaceId("1f8fad5b-d9cb-469f-a165-70867728950e")
STRANGERS: Final[dict[str, dict[str, Any] | None]] = {
    "nobody": None,
    "no agent type": {"agent_type": None, "spaces": ["*"]},
    "no spaces": {"spaces": None},
    "wrong role": {"agent_type": "Stranger", "spaces": ["*"]},
    "other space": {"spaces": [ELSEWHERE]},
    "other world": {"spaces": ["*"], "world": ELSEWHERE},
    "at home": {"spaces": [HERE]},
}
"""The claims of whoever asks; without a role, they have the one that each route needs."""
SECRETS: Final = ("The Isle", "A low room.")
PUBLIC: Final = {"/healthz", "/readyz", "/static", "/enter", "/sign-in", "/files/{key:path}"}
"""They tell nothing of any space, or ask for a key of their own."""
LISTS: Final = {"/api/v1/tools", "/api/v1/openapi.json"}
"""They tell which tools a caller has: a wrong role has none."""
OF_NO_SPACE: Final = {"/metrics", "/", "/health"} | LISTS
"""Routes about the process, or with a list of what the reader may see."""
BODIES: Final[dict[str, dict[str, Any]]] = {
    "/api/npc/dialogue": {
        "playerId": "ann",
        "npcId": "cook",
        "inputText": "Hi",
        "correlationId": "c",
    },
    "/api/v1/tools/{name}": {"locationId": "inn"},
    "/api/proposals": {"playerId": "ann", "actionEnvelope": make_envelope(GO)},
}
WITHOUT_MORE: Final = {
    ("GET", "/api/proposals/{id}"),
    ("GET", "/page/{id}/{number}"),
    ("GET", "/catalog"),
    ("POST", "/decide"),
    ("POST", "/leave"),
    ("POST", "/propose"),
    ("POST", "/language"),
}
"""They want an id or a key that this reader has not got."""


@dataclass(frozen=True)
class RouteCase:
    """One route: how it is asked, with something that is there."""

    method: str
    path: str

    @property
    def is_protocol(self) -> bool:
        """Return whether the route speaks the protocol."""
        return self.path.startswith("/mcp")

    @property
    def is_page(self) -> bool:
        """Return whether the route is a page of the inspector."""
        return not (self.is_protocol or self.path == "/metrics" or self.path.startswith("/api"))

    @property
    def role(self) -> str:
        """A role that may use it."""
        return "Keeper" if self.is_page or self.path == "/mcp/canon" else "Narrative"

    def fill_path(self, known: str) -> str:
        """The path, about the item `known`."""
        parts = self.path.split("/")
        values = {
            "number": "1",
            "name": self.tool,
            "id": "ambience" if "prompts" in parts else known,
        }
        return "/".join(values.get(each[1:-1], each) if "{" in each else each for each in parts)

    @property
    def tool(self) -> str:
        """The tool that is called where the route speaks the protocol."""
        return "find" if self.path == "/mcp/canon" else "get-location-context"

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers that the protocol requires."""
        if not self.is_protocol:
            return {}
        version = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call"}
        return {**ACCEPT, **version, "mcp-name": self.tool}

    def make_body(self, world: str) -> dict[str, Any] | None:
        """Return the body of a request about this world."""
        if self.is_protocol:
            given = {"space": world} if self.tool == "find" else {"locationId": "inn"}
            params = {"name": self.tool, "arguments": given, "_meta": ENVELOPE}
            return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return BODIES.get(self.path)


def list_routes(routes: Iterable[BaseRoute], before: str = "") -> Iterator[RouteCase]:
    for route in routes:
        if isinstance(route, Mount) and route.routes:
            yield from list_routes(route.routes, before + route.path)
        elif isinstance(route, Mount) and route.path:
            yield RouteCase("GET", before + route.path)
        elif isinstance(route, Route):
            for method in sorted(set(route.methods or {"POST"}) - {"HEAD"}):
                yield RouteCase(method, before + route.path)


@dataclass
class Town:
    """A server with a world and the inspector, and what nobody else may read of it."""

    isle: Isle
    app: Any
    verifier: BearerVerifier

    def list_routes(self) -> list[RouteCase]:
        """Every route, those of the protocol and of the pages included."""
        protocol = [RouteCase("POST", path) for path in self.app._by_path if not _is_public(path)]
        driver = TokenSignIn(verify=self.verify_store)
        pages = inspector_app(self.isle.gateway, driver).routes
        return [*protocol, *list_routes(self.app._pages.routes), *list_routes(pages)]

    async def verify_store(self, token: str) -> tuple[Principal, float] | None:
        return await self.verifier.bearer_of(token, 0)


async def a_town() -> Town:
    canon = compose_memory(clock=HandClock(), identities=CountingIdentities())
    gateway = Gateway(canon, (CANON, WORLD))
    world = SpaceId((await brought_in(canon, an_isle())).world_id)
    isle = Isle(canon=canon, gateway=gateway, world=world)
    options = ServerOptions(bearer=OPTIONS)
    app = http_app(gateway, Principal(), server_options=options, front=inspector_front)
    return Town(isle, app, BearerVerifier(OPTIONS))


def _is_public(path: str) -> bool:
    return path in PUBLIC or path.startswith("/.well-known/")


async def request_route(
    town: Town, route: RouteCase, claims: dict[str, Any] | None, *, world: str = ""
) -> httpx2.Response:
    """The answer to somebody with these claims, signed in where pages want a session."""
    transport = httpx2.ASGITransport(app=town.app, client=("192.0.2.7", 40_000))
    async with httpx2.AsyncClient(transport=transport, base_url="https://127.0.0.1") as http:
        headers = {}
        if claims is not None:
            said = {name: [world] if each == [HERE] else each for name, each in claims.items()}
            token = a_token(sub="stranger", **{"agent_type": route.role, **said})
            if route.path == "/sign-in":
                return await http.post("/sign-in", data={"token": token})
            headers = {"authorization": f"Bearer {token}"}
            await http.post("/sign-in", data={"token": token})
        about = {"space": world, "q": "low room", "about": town.isle.id("inn")}
        return await http.request(
            route.method,
            route.fill_path(town.isle.id("inn")),
            headers=headers | route.headers,
            params=about if route.is_page else {},
            json=route.make_body(world),
        )


async def answer_strangers(name: str) -> list[tuple[RouteCase, httpx2.Response]]:
    """Return the answers of each route that is not public to a stranger."""
    town = await a_town()
    async with run_app(town.app):
        return [
            (route, await request_route(town, route, STRANGERS[name], world=str(town.isle.world)))
            for route in town.list_routes()
            if not _is_public(route.path)
        ]


def is_refused(route: RouteCase, answer: httpx2.Response, status: int) -> bool:
    """Return whether the answer is a refusal, by its status or by the error of a tool."""
    if route.is_protocol:
        return answer.status_code == 200 and answer.json()["result"].get("isError") is True
    return answer.status_code == status


async def test_no_route_is_readable_without_a_token() -> None:
    for route, answer in await answer_strangers("nobody"):
        assert answer.status_code == 401, route


@pytest.mark.parametrize("name", ["no agent type", "no spaces"])
async def test_an_incomplete_token_is_answered_by_no_route(name: str) -> None:
    lacks = f"This token names {name.replace('agent type', 'agent_type')}"
    for route, answer in await answer_strangers(name):
        assert is_refused(route, answer, 401 if route.is_page else 403), route
        assert route.is_page or lacks in answer.text, route


async def test_a_page_with_an_incomplete_token_shows_sign_in_and_reason() -> None:
    town = await a_town()
    route = RouteCase("POST", "/sign-in")
    answer = await request_route(town, route, STRANGERS["no spaces"])
    assert answer.status_code == 403
    assert "This token names no spaces" in answer.text
    assert "set-cookie" not in answer.headers


async def test_a_wrong_role_is_answered_only_by_process_metrics() -> None:
    for route, answer in await answer_strangers("wrong role"):
        if route.path not in {"/metrics", *LISTS}:
            assert is_refused(route, answer, 403), route


@pytest.mark.parametrize("name", ["other space", "other world"])
async def test_a_caller_of_another_space_reads_nothing_of_this_one(name: str) -> None:
    for route, answer in await answer_strangers(name):
        if route.role == "Keeper" and name == "other world":  # that narrows tools of a world alone
            continue
        for secret in SECRETS:
            assert secret not in answer.text, (route, secret)
        if route.path not in OF_NO_SPACE:
            assert answer.status_code >= 400 or "isError" in answer.text, route


async def test_a_caller_with_role_and_space_reads_every_route() -> None:
    """Else the tests above would prove nothing."""
    seen = ""
    for route, answer in await answer_strangers("at home"):
        if (route.method, route.path) not in WITHOUT_MORE:
            assert answer.status_code == 200, (route, answer.text)
            assert "isError" not in answer.text, route
        seen += answer.text
    assert all(secret in seen for secret in SECRETS)


async def test_sums_and_templates_are_for_roles_that_see_proposals() -> None:
    listed = next(tool for tool in WORLD.tools if tool.name == "list-proposals")
    assert listed.roles | {"Telemetry"} == READERS
    isle = await the_isle()
    for role in sorted(WORLD.agent_types):
        app = http_app(
            isle.gateway, Principal(agent_type=role, agent_id="x"), server_options=ServerOptions()
        )
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            for path in ("/api/prompts", "/api/prompts/ambience", "/api/telemetry/ai-usage"):
                status = (await http.get(path)).status_code
                assert status == (200 if role in READERS else 403), (role, path)
