"""Types: named by whoever brings records, or by their columns, and never by the name of a file."""

import base64

import pytest

from tests.toolsets.truth.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio

ROWS = b"lawyer,court\nBrown,Bonn\nGreen,Kiel\n"


async def list_types(driver: ToolDriver) -> set[str]:
    listed = await driver.call("list_entity_types")
    return {each["entity_type"] for each in listed["entity_types"] if each["entity_count"]}


async def test_a_file_names_no_type_and_its_importer_may() -> None:
    driver = make_driver()
    said = {
        "user_id": driver.user,
        "file_content": base64.b64encode(ROWS).decode(),
        "mime_type": "text/csv",
        "original_filename": "Anna Schmidt divorce.csv",
    }
    await driver.call("ingest", **said)
    (by_columns,) = await list_types(driver)
    assert by_columns.startswith("record_")

    named = {"provider": "rules", "entity_type": "court case"}
    done = await driver.call("ingest", **said, interpretation_config=named)
    assert done["interpretation"]["entities_created"] == 2
    assert await list_types(driver) == {by_columns, "court_case"}


@pytest.mark.parametrize("name", ["", " ", 5, "x" * 201])
async def test_an_invalid_type_name_is_refused_with_its_path(name: object) -> None:
    driver = make_driver()
    error = await driver.refused(
        "ingest",
        "VALIDATION_ERROR",
        user_id=driver.user,
        file_content=base64.b64encode(ROWS).decode(),
        mime_type="text/csv",
        interpretation_config={"provider": "rules", "entity_type": name},
    )
    assert "entity_type" in str(error)


async def test_a_plural_or_invisible_variant_is_the_type_itself() -> None:
    driver = make_driver()
    for kind in ("invoice", "Invoices", "in\u00advoice", "bills"):
        await driver.ingest({"entity_type": kind, "invoice_number": "A-1", "vendor_name": "Zed"})
    assert await list_types(driver) == {"invoice", "company"}
    unseen = {"entity_type": "company", "name": "Z\u200bed"}
    await driver.ingest(unseen)
    listed = await driver.call("retrieve_entities", user_id=driver.user, entity_type="companies")
    assert listed["total"] == 1
