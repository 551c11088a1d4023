"""The tools as a REST API: the same callers and limits as over MCP, and errors as problems."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import httpx2
import jsonschema_rs
import pytest
from starlette.testclient import TestClient

from canonry import __version__
from canonry.app.packages import TOOLSETS, load_toolsets
from canonry.gateway.audit import Audit
from canonry.gateway.call import GatewaySettings
from canonry.gateway.limits import Limits, PublishedRate
from canonry.gateway.offers import Catalogue, build_catalogue
from canonry.gateway.principal import Principal
from canonry.server.binding import tool_entry
from canonry.server.http import http_app
from canonry.server.openapi import openapi_of
from canonry.server.options import ServerOptions
from canonry.server.rest import PROBLEM_TYPE
from tests.gateway.sample import GUEST, KEEPER, LAMP, LAMPS, SECRET, TRUSTED, a_gateway
from tests.server.lamp_server import MEBIBYTE, TOKEN_OPTIONS
from tests.server.test_http import a_token
from tests.server.test_origins import SITE

ONE_LAMP: Final = json.dumps({"lamp_id": LAMP}).encode()
LINES: Final[list[bytes]] = []
SMALL: Final = ServerOptions(body_bytes=MEBIBYTE)
RATED: Final = replace(LAMPS, rates=(PublishedRate(calls=2),))
ONE_A_MINUTE: Final = GatewaySettings(limits=Limits(per_minute=1))


def serve_lamps(principal: Principal = KEEPER, **settings: Any) -> TestClient:
    """A client of the lamps, in this process."""
    options = settings.pop("options", SMALL)
    app: Any = http_app(a_gateway(**settings), principal, server_options=options)
    return TestClient(app, base_url="http://127.0.0.1:8000", client=("127.0.0.1", 40_000))


@pytest.fixture(scope="module")
def lamps() -> Iterator[TestClient]:
    audit = Audit()
    audit.write_to(LINES.append)
    with serve_lamps(audit=audit) as client:
        yield client


@pytest.fixture(scope="module")
def guarded() -> Iterator[TestClient]:
    with serve_lamps(Principal(), options=replace(SMALL, bearer=TOKEN_OPTIONS)) as client:
        yield client


def call_tool(client: TestClient, name: str, arguments: Any = None, **headers: str) -> Any:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return client.post(f"/api/v1/tools/{name}", json=arguments or {}, headers=named)


def problem_in(answer: httpx2.Response, status: int) -> dict[str, Any]:
    """The problem in an answer, which has every member that the RFC wants."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == PROBLEM_TYPE
    reply: dict[str, Any] = answer.json()
    assert reply["status"] == status
    assert {"type", "title", "detail"} <= reply.keys()
    return reply


def test_a_tool_is_called_by_name_and_audited(lamps: TestClient) -> None:
    answer = call_tool(lamps, "light", {"lamp_id": LAMP})

    assert answer.json() == {"lamp_id": LAMP, "level": 50, "by": "keeper-001"}
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert json.loads(LINES[-1])["name"] == "light"
    assert 'tool="light"' in lamps.get("/metrics").text


def test_no_body_means_no_arguments(lamps: TestClient) -> None:
    assert lamps.post("/api/v1/tools/count").json() == {"counted": 3}


@pytest.mark.parametrize(
    ("name", "arguments", "status", "code"),
    [
        ("light", {"lamp_id": LAMP, "level": -5}, 400, "input.invalid"),
        ("light", {"lamp_id": LAMP, "note": "x" * 999_999}, 200, ""),
        ("refuse", {}, 409, "lamp.broken"),
        ("fail", {}, 500, "internal"),
        ("lihgt", {"lamp_id": LAMP}, 404, "tool.unknown"),
    ],
)
def test_the_class_of_an_error_determines_the_status(
    lamps: TestClient, name: str, arguments: Any, status: int, code: str
) -> None:
    answer = call_tool(lamps, name, arguments)
    if status == 200:
        assert answer.status_code == 200
        return
    reply = problem_in(answer, status)
    assert reply["code"] == code
    assert reply["type"].startswith("https://canonry.dev/docs/reference/messages/#")
    assert reply["retryable"] is False
    assert SECRET not in answer.text


def test_a_problem_has_the_error_details_and_the_nearest_name(lamps: TestClient) -> None:
    refused = problem_in(call_tool(lamps, "light", {"lamp_id": LAMP, "level": -5}), 400)
    conflict = problem_in(call_tool(lamps, "refuse"), 409)
    unknown = problem_in(call_tool(lamps, "lihgt"), 404)
    broken = problem_in(call_tool(lamps, "fail"), 500)

    assert refused["details"]["path"] == "/level"
    assert conflict["details"]["conflicts"] == [LAMP]
    assert conflict["detail"] == "this lamp is broken; take another"
    assert "did you mean light?" in unknown["detail"]
    assert broken["details"]["incident"] in broken["detail"]


@pytest.mark.parametrize(
    ("content", "kind", "status", "code"),
    [
        (b'{"lamp_id": 1}', "text/plain", 415, "body.media-type"),
        (b"lamp_id=1", "application/x-www-form-urlencoded", 415, "body.media-type"),
        (b"{", "application/json", 400, "body.not-json"),
        (b"[" * 100_000, "application/json", 400, "body.not-json"),
        (b"\xff\xfe\xff", "application/json", 400, "body.not-json"),
        (b"null", "application/json", 400, "input.invalid"),
        (b"[1]", "application/json; charset=utf-8", 400, "input.invalid"),
        (b'{"lamp_id": "\\ud800"}', "application/json", 400, "limits.text"),
        (b'{"lamp_id": NaN}', "application/json", 400, "limits.number"),
        (b'{"id": null, "method": "initialize"}', "application/json", 400, "input.missing"),
        (b"[" + b" " * MEBIBYTE, "application/json", 413, None),
    ],
)
def test_a_hostile_body_is_a_problem(
    lamps: TestClient, content: bytes, kind: str, status: int, code: str | None
) -> None:
    headers = {"Content-Type": kind}
    answer = lamps.post("/api/v1/tools/light", content=content, headers=headers)
    assert problem_in(answer, status).get("code") == code


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/api/v1/tools/light", {}, 405),
        ("GET", "/api/v1/nothing", {}, 404),
        ("POST", "/api/v1/tools/light", {"Origin": "https://evil.example"}, 403),
        ("POST", "/api/v1/tools/light", {"Host": "evil.example"}, 421),
    ],
)
def test_a_refusal_by_middleware_is_a_problem_too(
    lamps: TestClient, method: str, path: str, headers: Mapping[str, str], status: int
) -> None:
    answer = lamps.request(method, path, headers=headers)
    assert problem_in(answer, status)["type"] == "about:blank"
    assert status != 405 or answer.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        (None, 401),
        ({"key": "another secret that is long enough, too, for HS256"}, 401),
        ({"aud": "https://elsewhere.example"}, 401),
        ({"exp": 1}, 401),
        ({"agent_type": None}, 403),
        ({"agent_type": "Visitor"}, 403),
        ({}, 200),
    ],
)
def test_a_token_identifies_the_caller_here_too(
    guarded: TestClient, claims: dict[str, Any] | None, status: int
) -> None:
    headers = {} if claims is None else {"Authorization": f"Bearer {a_token(**claims)}"}
    answer = call_tool(guarded, "light", {"lamp_id": LAMP}, **headers)
    if status == 200:
        assert answer.json()["by"] == "agent-5"
        return
    reply = problem_in(answer, status)
    if status == 401:
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert reply["detail"]
    else:
        assert reply["code"] in {"identity.missing", "authority.denied"}


def test_beyond_its_rate_a_caller_gets_retry_after() -> None:
    published = GatewaySettings(published_rates=True)
    with serve_lamps(settings=ONE_A_MINUTE) as own, served_rated(published) as contract:
        assert call_tool(own, "count").status_code == 200
        late = call_tool(own, "count")
        reply = problem_in(late, 429)
        statuses = [call_tool(contract, "count").status_code for _ in range(3)]
        again = call_tool(contract, "count")

    assert (reply["code"], reply["retryable"]) == ("limits.rate", True)
    assert int(late.headers["Retry-After"]) >= 1
    assert statuses == [200, 200, 429]
    assert problem_in(again, 429)["detail"]
    assert int(again.headers["Retry-After"]) >= 1


def served_rated(settings: GatewaySettings) -> TestClient:
    """A client of lamps whose contract publishes a rate."""
    app: Any = http_app(a_gateway(RATED, settings=settings), KEEPER, server_options=SMALL)
    return TestClient(app, base_url="http://127.0.0.1:8000")


def test_a_repeated_key_has_no_second_effect(lamps: TestClient) -> None:
    room = "1f8fad5b-d9cb-469f-a165-70867728950e"
    first = call_tool(lamps, "found", {"lamp_id": room}, idempotency_key="once")
    again = call_tool(lamps, "found", {"lamp_id": room}, idempotency_key='"once"')
    other = call_tool(lamps, "found", {"lamp_id": room}, idempotency_key="twice")
    long = call_tool(lamps, "found", {"lamp_id": room}, idempotency_key="x" * 201)

    assert first.json() == again.json()
    assert other.json()["position"] > first.json()["position"]
    assert problem_in(long, 400)["code"] == "idempotency-key.malformed"


def test_a_header_narrows_the_identity_like_meta() -> None:
    agent = json.dumps({"agent_id": "keeper-9", "agent_type": "Keeper"})
    with serve_lamps(TRUSTED) as client:
        named = call_tool(client, "light", {"lamp_id": LAMP}, canonry_agent=agent)
        nobody = call_tool(client, "light", {"lamp_id": LAMP})
        malformed = call_tool(client, "light", {"lamp_id": LAMP}, canonry_agent="{")

    assert named.json()["by"] == "keeper-9"
    assert problem_in(nobody, 403)["code"] == "identity.missing"
    assert problem_in(malformed, 403)["code"] == "identity.malformed"


def test_a_caller_lists_the_tools_of_its_role(lamps: TestClient) -> None:
    with serve_lamps(GUEST) as client:
        seen = client.get("/api/v1/tools").json()["tools"]
        document = client.get("/api/v1/openapi.json").json()
    own = lamps.get("/api/v1/tools").json()["tools"]

    assert {each["name"] for each in own} - {each["name"] for each in seen} == {"light", "found"}
    assert own[0]["inputSchema"] == dict(LAMPS.tools[0].input_schema)
    assert "/api/v1/tools/light" not in document["paths"]


def test_a_page_of_an_allowed_origin_may_call() -> None:
    with serve_lamps(options=ServerOptions(allowed_origins=(SITE,))) as client:
        answer = call_tool(client, "count", origin=SITE)

    assert answer.json() == {"counted": 3}
    assert answer.headers["access-control-allow-origin"] == SITE


@pytest.mark.anyio
@pytest.mark.parametrize(("body", "calls"), [(b'{"lamp_id":', 0), (ONE_LAMP, 1)])
async def test_a_call_is_made_completely_or_not_if_its_client_disconnects(
    body: bytes, calls: int
) -> None:
    lines: list[bytes] = []
    audit = Audit()
    audit.write_to(lines.append)
    app = http_app(a_gateway(audit=audit), KEEPER, server_options=SMALL)
    begun = {"type": "http.request", "body": body, "more_body": not calls}
    messages = iter((begun, {"type": "http.disconnect"}))
    sent: list[Any] = []

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1:8000"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/api/v1/tools/found", "headers": headers}
    await app({**scope, "query_string": b"", "client": ("127.0.0.1", 1)}, receive, send)

    assert [json.loads(each)["outcome"] for each in lines] == ["ok"] * calls
    assert len(sent) == 2 * calls


def whole_catalogue() -> Catalogue:
    """Every tool of every toolset; those of two toolsets never share a name."""
    return build_catalogue(load_toolsets(TOOLSETS), Limits())


def yield_references(value: Any) -> Iterator[str]:
    """Every reference in a document."""
    if isinstance(value, Mapping):
        if isinstance(target := value.get("$ref"), str):
            yield target
        for inner in value.values():
            yield from yield_references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from yield_references(inner)


def test_the_document_describes_every_tool_with_valid_schemas() -> None:
    offers = whole_catalogue().tools
    entries = [(each, tool_entry(each.item, each.toolset)) for each in offers.values()]
    document = json.loads(json.dumps(openapi_of(entries, bearer=True)))
    operations = [each["post"] for each in document["paths"].values() if "post" in each]
    schemas = document["components"]["schemas"]

    assert document["openapi"] == "3.1.0"
    assert document["info"]["version"] == __version__
    assert sorted(each["operationId"] for each in operations) == sorted(offers)
    for target in yield_references(document):
        found = document
        for step in target.removeprefix("#/").split("/"):
            found = found[step]
    for schema in schemas.values():
        jsonschema_rs.meta.validate({**schema, "components": document["components"]})
    for name, offer in offers.items():
        headers = [
            each["$ref"]
            for each in document["paths"][f"/api/v1/tools/{name}"]["post"]["parameters"]
        ]
        assert any("Idempotency" in each for each in headers) is not offer.read_only


def test_schemas_of_the_document_accept_the_arguments_of_a_tool() -> None:
    offer = whole_catalogue().tools["propose-action"]
    document = openapi_of([(offer, tool_entry(offer.item, offer.toolset))], bearer=False)
    arguments = {**document["components"]["schemas"]["propose-action.arguments"]}
    schema = {**arguments, "components": document["components"]}
    sent = {"playerId": "ann", "actionEnvelope": {"no": "envelope"}}

    as_listed = jsonschema_rs.validator_for(dict(offer.item.input_schema)).is_valid(sent)
    assert jsonschema_rs.validator_for(schema).is_valid(sent) is as_listed
    assert "security" not in document
