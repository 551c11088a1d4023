"""Generated arguments: what the schema takes is answered, what it refuses is named."""

import asyncio
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings

from canonry.catalog.toolset import CATALOG
from canonry.gateway.tool import Tool
from canonry.gateway.validation import close_schema, repair_value
from canonry.values.ids import is_uuid
from tests.toolsets.catalog.kit import (
    LAB,
    CatalogDriver,
    hostile_names,
    make_filled_driver,
    make_uuid,
)
from tests.toolsets.narrative.hostile import arguments_for

KNOWN = {"projectId": LAB, "entityId": make_uuid(1)}


def has_no_surrogates(value: Any) -> bool:
    """Return whether a value can be written as JSON, the form in which arguments come in."""
    try:
        repr(value).encode()
        str(value).encode()
    except UnicodeEncodeError:
        return False
    return "\\ud800" not in repr(value)


def numbers_fit(value: Any) -> bool:
    """Return whether JSON readers agree on all numbers."""
    if isinstance(value, dict):
        return all(map(numbers_fit, value.values()))
    if isinstance(value, list):
        return all(map(numbers_fit, value))
    return not isinstance(value, int | float) or -(2**53) <= value <= 2**53


async def compare_answers(driver: CatalogDriver, tool: Tool, arguments: dict[str, Any]) -> None:
    validator = jsonschema_rs.validator_for(
        close_schema(tool.input_schema), formats={"uuid": is_uuid}, validate_formats=True
    )
    outcome = await driver.outcome(tool.name, arguments)
    code = None if outcome.error is None else outcome.body["error"]["code"]

    meant = repair_value(arguments, tool.input_schema)
    if has_no_surrogates(arguments) and numbers_fit(meant) and validator.is_valid(meant):
        assert code in {None, "PROJECT_NOT_FOUND", "ENTITY_NOT_FOUND"}, (arguments, outcome.text)
    else:
        assert code == "VALIDATION_ERROR", (arguments, outcome.text)
    assert outcome.text == (await driver.outcome(tool.name, arguments)).text


@pytest.mark.parametrize("tool", CATALOG.tools, ids=lambda tool: tool.name)
def test_the_validator_and_the_schema_agree(tool: Tool) -> None:
    with asyncio.Runner() as runner:
        driver = runner.run(make_filled_driver(hostile_names()))

        @settings(
            max_examples=80,
            database=None,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )
        @given(arguments=arguments_for(tool.input_schema, KNOWN))
        def holds(arguments: dict[str, Any]) -> None:
            runner.run(compare_answers(driver, tool, arguments))

        holds()
