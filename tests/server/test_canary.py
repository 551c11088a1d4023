"""Nothing that a caller says appears in logs, metrics or the texts of errors, whatever he calls."""

import copy
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import pytest

from canonry.gateway.replies import Result
from canonry.gateway.tool import Tool
from canonry.narrative.toolset import NARRATIVE
from canonry.readmodels.ports.state import State
from canonry.values.errors import BrokenInvariant
from tests.server.lamp_process import Wire, lamp_process
from tests.toolsets.narrative.filled_world import a_furnished_world, a_role_for, fitting_arguments
from tests.toolsets.narrative.kit import World, a_principal

CANARY = "Jane Roe of 12 Elm Street"
SPOILT: tuple[Any, ...] = (
    CANARY,
    f"{CANARY}\x00",
    f"{CANARY}\ud800",
    CANARY * 1000,
    [CANARY],
    {CANARY: CANARY},
    f"source:{CANARY}",
)
EVERY_TOOL = pytest.mark.parametrize("tool", NARRATIVE.tools, ids=lambda tool: tool.name)

pytestmark = pytest.mark.anyio


def free_texts(schema: Mapping[str, Any], value: Any) -> Any:
    """The same value, with the canary in every text that may say anything."""
    match value:
        case dict():
            inner = schema.get("properties", {})
            return {key: free_texts(inner.get(key, {}), one) for key, one in value.items()}
        case list():
            return [free_texts(schema.get("items", {}), one) for one in value]
        case "Something" if "enum" not in schema:
            return CANARY
        case _:
            return value


def spoil_arguments(arguments: Mapping[str, Any], tool: Tool) -> Iterator[dict[str, Any]]:
    """The arguments, each time with one property that says the canary where it should not."""
    for name in tool.input_schema["properties"]:
        for value in SPOILT:
            yield {**copy.deepcopy(dict(arguments)), name: value}
    yield {**arguments, "remark": CANARY}


def names_nobody(outcome: Result) -> bool:
    """Return whether an error repeats no words of its caller; a path may hold an unused name."""
    assert outcome.error is not None
    data = dict(outcome.error.data)
    path = str(data.pop("path", ""))
    data.pop("problems", None)
    said = outcome.error.message.replace(path, "") if path else outcome.error.message
    return CANARY not in said + json.dumps(data)


@contextmanager
def the_log_of(world: World) -> Iterator[list[bytes]]:
    """Every line that the gateway logs; metrics join them in the end."""
    lines: list[bytes] = []
    world.gateway.audit.write_to(lines.append)
    yield lines
    lines.append(world.gateway.audit.metrics.render_metrics().encode())


@EVERY_TOOL
async def test_a_text_stays_between_caller_and_canon(tool: Tool) -> None:
    world, known = await a_furnished_world()
    fitting = free_texts(tool.input_schema, fitting_arguments(tool, known))
    role = a_role_for(tool)
    with the_log_of(world) as lines:
        await world.outcome(tool.name, fitting, agent=role)
        for arguments in spoil_arguments(fitting, tool):
            outcome = await world.outcome(tool.name, arguments, agent=role)
            assert outcome.error is None or names_nobody(outcome), outcome.text
        for stranger in (CANARY, None):
            refused = await world.gateway.call(tool.name, fitting, a_principal(stranger))
            assert refused.error is not None
    assert len(lines) > len(SPOILT)
    assert CANARY.encode() not in b"".join(lines)


class BrokenState:
    """A view that fails with words that it should not say."""

    def __init__(self, failure: Exception) -> None:
        self._failure = failure

    def __getattr__(self, name: str) -> Any:
        raise self._failure


@pytest.mark.parametrize("failure", [BrokenInvariant("view.broken", CANARY), ValueError(CANARY)])
async def test_failures_do_not_reveal_the_text(failure: Exception) -> None:
    world, known = await a_furnished_world()
    world.gateway.canon = replace(world.canon, state=cast(State, BrokenState(failure)))
    principal = a_principal("Narrator")
    with the_log_of(world) as lines:
        entity = {"entity_id": known["entity_id"]}
        outcome = await world.gateway.call("neo4j_get_entity", entity, principal)
        uri = f"canonry://entity/{known['entity_id']}"
        _, read = await world.gateway.read_resource(uri, principal)
    assert outcome.error is not None
    assert CANARY not in outcome.text + read.text
    assert outcome.error.data["incident"].encode() in b"".join(lines)
    assert CANARY.encode() not in b"".join(lines)


async def test_unknown_names_are_not_logged() -> None:
    world, _ = await a_furnished_world()
    with the_log_of(world) as lines:
        principal = a_principal("Narrator")
        await world.gateway.call(CANARY, {CANARY: CANARY}, principal, {CANARY: CANARY})
        await world.gateway.read_resource(f"canonry://entity/{CANARY}", principal)
        await world.gateway.read_resource(CANARY, principal)
        await world.gateway.get_prompt(CANARY, {CANARY: CANARY}, principal)
        await world.gateway.get_prompt("work_as_narrator", {"scene_id": CANARY}, principal)
    assert CANARY.encode() not in b"".join(lines)


def test_a_process_logs_nothing_of_unreadable_messages() -> None:
    with lamp_process("stdio") as process:
        wire = Wire(process)
        wire.greet_server()
        for line in (
            f"{CANARY}",
            f'{{"jsonrpc":"2.0","id":"{CANARY}","method":"{CANARY}","params":{{}}}}',
            f'{{"jsonrpc":"2.0","method":"{CANARY}","params":{{"{CANARY}":1}}}}',
            f'{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":["{CANARY}"]}}}}',
            f'{{"jsonrpc":"2.0","id":8,"result":"{CANARY}"}}',
            f'{{"jsonrpc":"2.0","method":"notifications/progress","params":"{CANARY}"}}',
        ):
            wire.send_line(line.encode())
        wire.send_request("tools/call", {"name": CANARY, "arguments": {"note": CANARY}})
        wire.send_request("resources/read", {"uri": f"lamp://{CANARY}"})
        wire.hang_up()
        wire.receive_rest()
    assert CANARY.encode() not in b"".join(wire.errors)
