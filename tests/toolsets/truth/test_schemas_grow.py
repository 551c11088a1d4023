"""Schemas that grow: what an account added to a built-in one stays under a later one."""

from dataclasses import replace

import pytest

from canonry.log.schemas.truth_types import TRUTH_TYPES
from tests.toolsets.truth.kit import make_driver

pytestmark = pytest.mark.anyio


async def test_an_extended_older_schema_keeps_keys_and_fields_in_a_later_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = make_driver()
    with monkeypatch.context() as before:
        before.setitem(TRUTH_TYPES, "person", replace(TRUTH_TYPES["person"], version="1.0"))
        ann = await driver.entity("person", name="Ann Lee", email="ann@lee.test")
        fields = {"shoe": {"type": "string"}}
        done = await driver.call(
            "register_entity_schema", user_id=driver.user, entity_type="person", fields=fields
        )
        assert done["schema_version"] == TRUTH_TYPES["person"].version[:-1] + "1"
        assert await driver.entity("person", email="ann@lee.test", shoe="39") == ann
    assert await driver.entity("person", email="ANN@lee.test", role="cook") == ann
    shown = await driver.snapshot(ann)
    assert (shown["shoe"], shown["role"], shown["name"]) == ("39", "cook", "Ann Lee")
