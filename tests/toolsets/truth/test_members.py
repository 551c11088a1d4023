"""Files within files: each is a source of its own, and what brought it refers to what it says."""

import base64
from typing import Any

import pytest

from tests.adapters.readers.office import an_archive
from tests.toolsets.truth.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio

INVOICE = "INVOICE\n\nInvoice number: INV-7\nInvoice date: 2024-05-03\nAmount due: 12.50 EUR\n"
MAIL = f"""\
From: Acme <bills@acme.example>
To: ann@example.org
Subject: Your bill
Date: Fri, 03 May 2024 10:00:00 +0200
Message-ID: <1@acme.example>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=cut

--cut
Content-Type: text/plain

See attached.
--cut
Content-Type: text/plain
Content-Disposition: attachment; filename="bill.txt"

{INVOICE}
--cut
Content-Type: application/octet-stream
Content-Disposition: attachment; filename="setup.exe"
Content-Transfer-Encoding: base64

TVqQAAMAAAAEAAAA
--cut--
"""


def a_file(driver: ToolDriver, data: bytes, mime_type: str, name: str) -> dict[str, Any]:
    return {
        "user_id": driver.user,
        "file_content": base64.b64encode(data).decode(),
        "mime_type": mime_type,
        "original_filename": name,
    }


async def test_an_attachment_is_a_source_referred_to_by_its_message() -> None:
    driver = make_driver()
    done = await driver.call("ingest", **a_file(driver, MAIL.encode(), "message/rfc822", "m.eml"))

    bill, program = done["members"]
    (invoice,) = bill["entities"][:1]
    message = next(e for e in done["entities"] if e["entity_type"] == "message")
    edges = await driver.call("list_relationships", entity_id=message["entity_id"])
    assert (bill["name"], program["name"]) == ("bill.txt", "setup.exe")
    assert bill["source_id"] != done["source_id"]
    assert program == {
        "name": "setup.exe",
        "entities": [],
        "problem": "document.unsupported",
    }
    assert invoice in {edge["target_entity_id"] for edge in edges["relationships"]}


async def test_a_repeated_message_adds_no_second_attachment() -> None:
    driver = make_driver()
    given = a_file(driver, MAIL.encode(), "message/rfc822", "m.eml")
    first = await driver.call("ingest", **given)
    alone = await driver.call(
        "ingest", **a_file(driver, INVOICE.encode(), "text/plain", "bill.txt")
    )

    again = await driver.call("ingest", **given)

    assert again["deduplicated"]
    assert "members" not in again
    assert {e["entity_id"] for e in alone.get("entities", [])} <= set(
        first["members"][0]["entities"]
    )


@pytest.mark.parametrize(("archives", "total"), [(1, 1), (3, 1), (4, 0)])
async def test_files_in_archives_are_sources_three_archives_deep(archives: int, total: int) -> None:
    driver = make_driver()
    data = b"name,email\nAda Lovelace,ada@example.org\nEve,eve@example.org\n"
    for depth in range(archives):
        data = an_archive({f"{depth}.zip" if depth else "people.csv": data})

    done = await driver.call("ingest", **a_file(driver, data, "application/zip", "papers.zip"))

    found = await driver.call("get_entity_by_identifier", identifier="ada@example.org")
    assert found["total"] == total
    assert [each["entity_type"] for each in done["entities"]] == ["note"]


async def test_a_reply_explains_the_classification_of_a_document() -> None:
    driver = make_driver()

    done = await driver.call("ingest", **a_file(driver, INVOICE.encode(), "text/plain", "bill.txt"))

    assert done["entities"][0]["entity_type"] == "invoice"
    assert done["entities"][0]["explain"]
