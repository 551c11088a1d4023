"""Types: named by whoever brings records, or by their columns, and never by the name of a file."""

import base64

import pytest

from tests.toolsets.truth.kit import Desk, a_desk

pytestmark = pytest.mark.anyio

ROWS = b"lawyer,court\nBrown,Bonn\nGreen,Kiel\n"


async def types(desk: Desk) -> set[str]:
    listed = await desk.call("list_entity_types")
    return {each["entity_type"] for each in listed["entity_types"] if each["entity_count"]}


async def test_r12_a_file_names_no_type_and_whoever_brings_it_may() -> None:
    desk = a_desk()
    said = {
        "user_id": desk.user,
        "file_content": base64.b64encode(ROWS).decode(),
        "mime_type": "text/csv",
        "original_filename": "Anna Schmidt divorce.csv",
    }
    await desk.call("ingest", **said)
    (by_columns,) = await types(desk)
    assert by_columns.startswith("record_")

    named = {"provider": "rules", "entity_type": "court case"}
    done = await desk.call("ingest", **said, interpretation_config=named)
    assert done["interpretation"]["entities_created"] == 2
    assert await types(desk) == {by_columns, "court_case"}


@pytest.mark.parametrize("name", ["", " ", 5, "x" * 201])
async def test_a_type_that_is_no_word_is_refused_with_its_path(name: object) -> None:
    desk = a_desk()
    error = await desk.refused(
        "ingest",
        "VALIDATION_ERROR",
        user_id=desk.user,
        file_content=base64.b64encode(ROWS).decode(),
        mime_type="text/csv",
        interpretation_config={"provider": "rules", "entity_type": name},
    )
    assert "entity_type" in str(error)


async def test_t28_the_plural_and_the_invisible_are_the_type_itself() -> None:
    desk = a_desk()
    for kind in ("invoice", "Invoices", "in\u00advoice", "bills"):
        await desk.ingest({"entity_type": kind, "invoice_number": "A-1", "vendor_name": "Zed"})
    assert await types(desk) == {"invoice", "company"}
    unseen = {"entity_type": "company", "name": "Z\u200bed"}
    await desk.ingest(unseen)
    listed = await desk.call("retrieve_entities", user_id=desk.user, entity_type="companies")
    assert listed["total"] == 1
