"""Contact cards as they become canon: what can be read in one way is a value, all else is asked."""

import base64
from typing import Any

import pytest

from tests.toolsets.truth.kit import make_driver

pytestmark = pytest.mark.anyio


async def kept(*lines: str) -> dict[str, Any]:
    card = "\r\n".join(("BEGIN:VCARD", "VERSION:3.0", "FN:Ada Byron", *lines, "END:VCARD", ""))
    driver = make_driver()
    content = base64.b64encode(card.encode()).decode()
    reply = await driver.call(
        "ingest", user_id=driver.user, file_content=content, mime_type="text/vcard"
    )
    (entity,) = reply["entities"]
    snapshot = await driver.call("get_entity_snapshot", entity_id=entity["entity_id"])
    return dict(snapshot["snapshot"])


async def test_the_units_of_a_company_are_departments_of_its_people() -> None:
    fields = await kept("ORG:Acme GmbH;Engineering;Tools")
    assert fields["organization"] == "Acme GmbH"
    assert fields["department"] == "Engineering, Tools"


@pytest.mark.parametrize("written", ["1815-12-10", "18151210"])
async def test_a_complete_birthday_is_a_day(written: str) -> None:
    assert (await kept(f"BDAY:{written}"))["birthday"] == "1815-12-10"


@pytest.mark.parametrize(
    "line", ["BDAY:--1210", "BDAY:10/12/15", "BDAY;X-APPLE-OMIT-YEAR=1604:1604-12-10"]
)
async def test_a_partial_or_ambiguous_birthday_is_no_value(line: str) -> None:
    assert "birthday" not in await kept(line)
