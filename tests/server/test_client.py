"""The typed client: its methods are the tools as they are published, and it reads every answer."""

import inspect
import shlex
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any, Final, get_args, get_type_hints

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from canonry.assistant import CANON
from canonry.client import (
    AsyncCanonry,
    CallError,
    Canonry,
    Claimed,
    ClaimedRank,
    NewClaim,
    OnItem,
    OnProposal,
    SoughtKind,
    Unsettled,
)
from canonry.gateway.principal import Principal
from canonry.server.http import http_app
from canonry.server.options import HttpLimits, ServerOptions
from tests.docs.markdown import ROOT, blocks_of
from tests.server.http_thread import serve_app
from tests.toolsets.canon.kit import make_driver

KEEPER: Final = Principal(agent_id="keeper", agent_type="Keeper", authorities=None)
TOOLS: Final = {tool.name: tool for tool in CANON.tools}
SCHEMAS: Final[dict[str, Any]] = {name: tool.input_schema for name, tool in TOOLS.items()}
LOCAL: Final = "http://127.0.0.1:8000"
PAGE: Final = [*blocks_of(ROOT / "docs" / "how-to" / "rest.md")]
ODD: Final = {
    "busy": Response("later", 503, {"Retry-After": "7"}),
    "proxy": Response("<html>Bad gateway</html>", 502),
    "rows": JSONResponse([1, 2]),
}
"""Answers of other programs than ours, or of tools that reply with a list."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    app = http_app(make_driver().gateway, KEEPER, server_options=ServerOptions())
    with serve_app(app, HttpLimits()) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def canon(url: str) -> Iterator[Canonry]:
    with Canonry(url) as client:
        yield client


def parameters_of(method: Any) -> dict[str, bool]:
    """The names that a method takes, each with whether it needs it; `**more` by its members."""
    found: dict[str, bool] = {}
    for name, each in inspect.signature(method).parameters.items():
        if each.kind is inspect.Parameter.VAR_KEYWORD:
            (members,) = get_args(each.annotation)
            found |= dict.fromkeys(get_type_hints(members), False)
        elif name != "self":
            found[name.rstrip("_")] = each.default is inspect.Parameter.empty
    return found


@pytest.mark.parametrize("name", TOOLS)
def test_a_method_takes_the_arguments_of_its_tool(name: str) -> None:
    taken = parameters_of(getattr(Canonry, name))
    keyed = taken.pop("key", None)

    assert taken.keys() == SCHEMAS[name]["properties"].keys()
    assert [each for each, needed in taken.items() if needed] == SCHEMAS[name].get("required", [])
    assert (keyed is None) is TOOLS[name].read_only


def test_the_literals_of_its_types_match_the_schemas() -> None:
    claim = SCHEMAS["propose"]["properties"]["claims"]["items"]
    decided = {*get_args(OnProposal), *get_args(OnItem)}

    assert NewClaim.__annotations__.keys() == claim["properties"].keys()
    assert {*NewClaim.__required_keys__} == {*claim["required"]}
    assert [*get_args(Claimed)] == claim["properties"]["kind"]["enum"]
    assert {*get_args(SoughtKind)} == {*SCHEMAS["find"]["properties"]["kinds"]["items"]["enum"]}
    assert {*get_args(Unsettled)} == {*SCHEMAS["review"]["properties"]["what"]["enum"]}
    assert {*get_args(ClaimedRank)} == {*SCHEMAS["propose"]["properties"]["authority"]["enum"]}
    assert decided == {*SCHEMAS["decide"]["properties"]["verdict"]["enum"]}


def test_a_canon_is_used_through_the_verbs(canon: Canonry) -> None:
    home = canon.open("Saltmere", "A harbour town")["name"]
    reply = canon.tell("The lighthouse is mine, says Hilde.", title="Letter", space=home)
    hilde: NewClaim = {"kind": "entity", "name": "Hilde", "type": "character"}
    owns: NewClaim = {"kind": "fact", "says": "Hilde owns the lighthouse.", "for": ["gm"]}
    judged = canon.propose([hilde, owns], evidence=["Letter"], space=home)
    found = canon.find("who owns the lighthouse", kinds=["fact"], space=home)
    why = canon.why(found["found"][0]["id"], space=home)
    after = canon.timeline("Hilde", from_="1990-01-01", space=home)
    brief = canon.context("Hilde", question="What does she own?", tokens=200, space=home)
    new = canon.changes(space=home)
    undone = canon.decide("undo", space=home)

    assert reply["document"]
    assert (judged["accepted"], judged["of"]) == (2, 2)
    assert "Letter" in str(why)
    assert "timeline" in after
    assert "lighthouse" in brief["brief"]
    assert new["changes"]
    assert undone["verdict"] == "undo"
    assert canon.review(space=home, limit=5)["total"] == 0
    assert len(canon.spaces(limit=10)["spaces"]) >= 1
    assert {each["name"] for each in canon.tools()["tools"]} == TOOLS.keys()


def test_a_repeated_write_with_its_key_is_made_once(canon: Canonry) -> None:
    home = canon.open("Twice", key="open-twice")
    again = canon.open("Twice", key="open-twice")
    with pytest.raises(CallError) as reused:
        canon.open("Thrice", key="open-twice")

    assert home["id"] == again["id"]
    assert reused.value.status == 409


def test_an_error_gives_advice_and_whether_to_retry(canon: Canonry) -> None:
    with pytest.raises(CallError) as unknown:
        canon.get("Nobody")
    with pytest.raises(CallError) as unheard:
        canon.call("tel", {"text": "Hi"})
    with pytest.raises(CallError) as wrong:
        canon.call("find", {"limit": "many"})

    assert (unknown.value.status, unknown.value.retry) == (404, None)
    assert "Nobody" in unknown.value.hint
    assert "did you mean tell?" in unheard.value.hint
    assert wrong.value.details["path"] == "/limit"
    assert str(wrong.value).startswith(wrong.value.code)


@pytest.mark.anyio
async def test_the_async_methods_return_the_same_replies(url: str) -> None:
    async with AsyncCanonry(f"{url}/", agent={"agent_id": "keeper/aide"}) as client:
        opened = await client.open("Saltholm")
        await client.tell("The well is deep.", title="Note", space="Saltholm")
        found = await client.find("well", space="Saltholm")
        with pytest.raises(CallError, match="Nobody"):
            await client.get("Nobody")

    assert opened["name"] == "Saltholm"
    assert found["found"]


def test_an_unauthorized_agent_is_refused(url: str) -> None:
    with Canonry(url, agent={"agent_type": "Reader"}) as client, pytest.raises(CallError) as no:
        client.open("Home")

    assert (no.value.status, no.value.code) == (403, "identity.type-bound")


def test_answers_of_other_programs_are_errors_too() -> None:
    routes = [Route(f"/api/v1/tools/{name}", each, methods=["POST"]) for name, each in ODD.items()]
    with (
        serve_app(Starlette(routes=routes), HttpLimits()) as port,
        Canonry(local_address(port)) as client,
    ):
        rows = client.call("rows", {})
        with pytest.raises(CallError) as busy:
            client.call("busy", {})
        with pytest.raises(CallError) as proxy:
            client.call("proxy", {})
    with Canonry(local_address(port)) as client, pytest.raises(CallError) as gone:
        client.call("rows", {})

    assert rows == {"items": [1, 2]}
    assert (busy.value.code, busy.value.retry) == ("http.503", 7)
    assert (proxy.value.status, proxy.value.retry) == (502, None)
    assert (gone.value.code, gone.value.status) == ("connection.lost", 0)
    assert "canonry serve --http" in gone.value.hint


def local_address(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def run_curl(command: str, url: str) -> httpx2.Response:
    """The answer to a command of `curl`."""
    options = ArgumentParser()
    options.add_argument("url")
    options.add_argument("-H", action="append")
    options.add_argument("-d")
    _, *words = shlex.split(command.replace("\\\n", ""))
    asked = options.parse_args(words)
    headers = dict(each.split(": ", 1) for each in asked.H)
    return httpx2.post(asked.url.replace(LOCAL, url), content=asked.d, headers=headers)


def test_examples_of_the_page_work(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    commands = [each.text for each in PAGE if each.text.startswith("curl ")]
    scripts = [each.text for each in PAGE if each.language == "python"]
    made = [run_curl(each, url) for each in commands]
    for each in scripts:
        exec(compile(each.replace(LOCAL, url), "rest.md", "exec"), {})

    assert [each.status_code for each in made] == [200, 200]
    assert made[1].json()["accepted"] == 1
    assert scripts
    assert capsys.readouterr().out == ""
