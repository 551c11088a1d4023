"""Nothing that a user says appears in logs, metrics or the texts of errors, whatever is called."""

import copy
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from canonry.gateway.replies import Result
from canonry.gateway.tool import Tool
from canonry.records.toolset import TRUTH
from tests.toolsets.truth.filled_account import make_furnished_driver
from tests.toolsets.truth.kit import ToolDriver

CANARY = "Jane Roe of 12 Elm Street"
SPOILT: tuple[Any, ...] = (
    CANARY,
    f"{CANARY}\x00",
    f"{CANARY}\ud800",
    CANARY * 1000,
    [CANARY],
    {CANARY: CANARY},
    [{"entity_type": CANARY, CANARY: CANARY}],
    [{"entity_type": "", CANARY: CANARY}],
    [{"entity_type": "invoice", "invoice_number": CANARY, "amount_due": CANARY}],
)
EVERY_TOOL = pytest.mark.parametrize("tool", TRUTH.tools, ids=lambda tool: tool.name)

pytestmark = pytest.mark.anyio


@contextmanager
def the_log_of(driver: ToolDriver) -> Iterator[list[bytes]]:
    """Every line that the gateway logs; metrics join them in the end."""
    lines: list[bytes] = []
    driver.gateway.audit.write_to(lines.append)
    yield lines
    lines.append(driver.gateway.audit.metrics.render_metrics().encode())


def names_nobody(outcome: Result) -> bool:
    """Return whether an error repeats no words of its caller; a path may hold an unused name."""
    error = copy.deepcopy(outcome.body["error"])
    path = str(error["details"].pop("path", ""))
    error["details"].pop("problems", None)
    said = error.pop("message")
    return CANARY not in (said.replace(path, "") if path else said) + json.dumps(error)


def spoil_arguments(arguments: Mapping[str, Any], tool: Tool) -> Iterator[dict[str, Any]]:
    """The arguments, each time with one property that says the canary where it should not."""
    for name in tool.input_schema["properties"]:
        for value in SPOILT:
            yield {**copy.deepcopy(dict(arguments)), name: value}
    yield {**arguments, "remark": CANARY}


@EVERY_TOOL
async def test_a_text_stays_between_user_and_canon(tool: Tool) -> None:
    driver, fitting = await make_furnished_driver()
    with the_log_of(driver) as lines:
        for arguments in spoil_arguments(fitting[tool.name], tool):
            outcome = await driver.outcome(tool.name, arguments)
            assert outcome.error is None or names_nobody(outcome), outcome.text
    assert lines
    assert CANARY.encode() not in b"".join(lines)
