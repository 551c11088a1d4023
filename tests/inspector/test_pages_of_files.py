"""Pages of a PDF are shown as they look, with what was read out of them marked."""

import re
from base64 import b64encode
from html import unescape

import pytest

from canonry.gateway.call import Gateway
from canonry.records.toolset import TRUTH
from tests.adapters.readers.paper import a_pdf
from tests.inspector.kit import Reader, a_reader, principal_of
from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio
INVOICE = "Invoice\n\nInvoice Number: R-7\nInvoice Date: 2025-01-15\nTotal: 1,250.00 EUR\n"


async def an_invoice() -> tuple[Reader, ToolDriver, str]:
    driver = make_driver("Solo")
    given = {
        "file_content": b64encode(a_pdf(INVOICE)).decode(),
        "mime_type": "application/pdf",
        "original_filename": "invoice.pdf",
    }
    result = await Gateway(driver.canon, [TRUTH]).call("ingest", given, principal_of(driver))
    assert result.error is None, result.text
    return a_reader(driver), driver, str(result.body["source_id"])


async def test_the_page_image_has_a_box_for_each_value() -> None:
    reader, _, source = await an_invoice()

    page = await reader.read_page(f"/thing/{source}")

    (address,) = re.findall(r'<img class="page" id="page-1" src="([^"]+)"', page)
    boxes = re.findall(r"box=([\d.,]+)", unescape(address))
    assert len(boxes) >= 3
    assert all(len(each.split(",")) == 4 for each in boxes)
    assert re.search(r"<mark>R-7</mark> <span[^>]*><a href=\"#page-1\">page 1</a>", page)
    drawn = await reader.ask("GET", unescape(address), b"", {}, raw=True)
    assert (drawn.status, drawn.first_header("content-type")) == (200, "image/png")
    assert drawn.text.startswith("\x89PNG")


@pytest.mark.parametrize("number", ["0", "2", "99999", "x", "1.5", "-1", "\u0661"])
async def test_a_missing_page_is_refused(number: str) -> None:
    reader, _, source = await an_invoice()
    assert (await reader.get(f"/page/{source}/{number}")).status in {400, 404}


@pytest.mark.parametrize("box", ["", "1,2,3", "a,b,c,d", "nan,1,2,3", "1e9,0,0,0", "1," * 40])
async def test_an_invalid_box_is_left_out(box: str) -> None:
    reader, _, source = await an_invoice()
    plain = await reader.ask("GET", f"/page/{source}/1", b"", {}, raw=True)
    drawn = await reader.ask("GET", f"/page/{source}/1?box={box}", b"", {}, raw=True)
    assert (drawn.status, drawn.text) == (200, plain.text)


async def test_other_users_do_not_see_the_page() -> None:
    _, driver, source = await an_invoice()
    stranger = a_reader(make_driver("Solo", driver, user="11111111-1111-4111-8111-111111111111"))
    assert (await stranger.get(f"/page/{source}/1")).status in {400, 404}


async def test_a_source_without_file_has_no_page() -> None:
    reader, driver, _ = await an_invoice()
    await driver.call("tell", records=[{"type": "person", "name": "Ann"}], space="account")
    rows = (await driver.call("find", space="account", kinds=["document"]))["found"]
    (reported,) = [row["id"] for row in rows if row["type"] == "records"]
    answer = await reader.get(f"/page/{reported}/1")
    assert (answer.status, "no file" in answer.text) == (404, True)
