"""The client's own model: asked where client and revision offer it, and refused in words else."""

import base64
import json
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, MCPError

from canonry.app.compose import compose_memory
from canonry.app.packages import load_toolsets
from canonry.app.settings import Settings
from canonry.app.store_files import apply_file_settings
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.records.usecases.files import filing_of
from canonry.server.binding import bind_gateway
from canonry.server.options import ServerOptions
from tests.replies import parse_result

pytestmark = pytest.mark.anyio

USER = "00000000-0000-0000-0000-000000000000"
NUMBER = {"name": "invoice_number", "value": "A-77", "quote": "bill A-77"}
ANSWER = {"entities": [{"entity_type": "invoice", "fields": [NUMBER]}]}


async def ingest_bill(client: Client, **more: Any) -> Any:
    arguments = {
        "user_id": USER,
        "file_content": base64.b64encode(b"Words of a bill A-77.").decode(),
        "mime_type": "text/plain",
        "interpretation_config": {"provider": "client"},
        **more,
    }
    result = await client.call_tool("ingest", arguments)
    return parse_result(result)


def a_server() -> Any:
    canon = compose_memory()
    apply_file_settings(filing_of(canon), Settings())
    gateway = Gateway(canon, load_toolsets(["truth"]))
    return bind_gateway(gateway, lambda: Principal(agent_id="a-1"), ServerOptions())


def make_answers(text: str, asked: list[types.CreateMessageRequestParams]) -> Any:
    async def sample(context: Any, params: types.CreateMessageRequestParams) -> Any:
        del context
        asked.append(params)
        content = types.TextContent(type="text", text=text)
        return types.CreateMessageResult(role="assistant", content=content, model="own-model")

    return sample


@pytest.mark.parametrize("fence", ["{}", "```json\n{}\n```"])
async def test_the_clients_model_interprets_if_offered(fence: str) -> None:
    asked: list[types.CreateMessageRequestParams] = []
    answer = fence.replace("{}", json.dumps(ANSWER))
    async with Client(
        a_server(), mode="legacy", sampling_callback=make_answers(answer, asked)
    ) as client:
        parse_result = await ingest_bill(client)

    assert parse_result["interpretation"]["entities_created"] == 1
    assert parse_result["entities"][0]["entity_type"] == "invoice"
    assert "Words of a bill A-77." in str(asked[0].messages[0].content)
    assert asked[0].system_prompt is not None
    assert "schema" in asked[0].system_prompt


@pytest.mark.parametrize("text", ["Sorry, no.", "[]", '{"entities": 5}'])
async def test_an_unexpected_answer_leaves_the_source(text: str) -> None:
    async with Client(
        a_server(), mode="legacy", sampling_callback=make_answers(text, [])
    ) as client:
        parse_result = await ingest_bill(client)

    assert parse_result["error"]["code"] == "ANALYSIS_FAILED"
    assert parse_result["error"]["details"]["source_id"]


async def test_a_client_that_refuses_leaves_the_source() -> None:
    async def refuse(context: Any, params: Any) -> Any:
        del context, params
        raise MCPError(-1, "private words")

    async with Client(a_server(), mode="legacy", sampling_callback=refuse) as client:
        parse_result = await ingest_bill(client)

    assert parse_result["error"]["code"] == "ANALYSIS_FAILED"
    assert "private" not in json.dumps(parse_result)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_without_a_model_gets_an_explanation(mode: str) -> None:
    async with Client(a_server(), mode=mode) as client:
        parse_result = await ingest_bill(client)

    assert parse_result["error"]["code"] == "ANALYSIS_FAILED"
    assert parse_result["error"]["details"]["cause"] == "interpretation.no-client-model"


async def test_a_later_revision_asks_by_ending_the_call_and_is_called_again() -> None:
    asked: list[types.CreateMessageRequestParams] = []
    sampling = make_answers(json.dumps(ANSWER), asked)
    async with Client(a_server(), mode="auto", sampling_callback=sampling) as client:
        assert client.protocol_version >= "2026-07-28"
        parse_result = await ingest_bill(client)
        again = await ingest_bill(client)

    assert len(asked) == 1
    assert "Words of a bill A-77." in str(asked[0].messages[0].content)
    assert parse_result["deduplicated"] is False, "the call that asked has kept nothing"
    assert parse_result["interpretation"]["entities_created"] == 1
    noted = "The client's model own-model interpreted the file."
    assert {"code": "interpretation.noted", "message": noted, "path": ""} in parse_result[
        "warnings"
    ]
    assert again["deduplicated"] is True


async def test_an_answer_to_another_question_is_ignored() -> None:
    arguments = {
        "user_id": USER,
        "file_content": base64.b64encode(b"Words of a bill A-77.").decode(),
        "mime_type": "text/plain",
        "interpretation_config": {"provider": "client"},
    }
    content = types.TextContent(type="text", text="Sorry, no.")
    answer = types.CreateMessageResult(role="assistant", content=content, model="own-model")
    sampling = make_answers("", [])
    async with Client(a_server(), mode="auto", sampling_callback=sampling) as client:

        async def call(answers: dict[str, types.InputResponse]) -> Any:
            return await client.session.call_tool(
                "ingest", arguments, input_responses=answers, allow_input_required=True
            )

        first = await call({"model-of-another": answer})
        assert isinstance(first, types.InputRequiredResult)
        (name,) = first.input_requests or {}
        assert await call({}) == first, "the same question has the same name"
        refused = await call({name: answer})

    assert parse_result(refused)["error"]["code"] == "ANALYSIS_FAILED"
    assert parse_result(refused)["error"]["details"]["source_id"]
