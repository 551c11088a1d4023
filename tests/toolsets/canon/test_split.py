"""One verdict splits off the records of an entity that are about somebody else."""

import pytest

from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio

CARD = "BEGIN:VCARD\nVERSION:3.0\nFN:Jo Berg\nEMAIL:jo@berg.example\nORG:{}\nEND:VCARD\n"


async def two_cards() -> ToolDriver:
    driver = make_driver()
    for name in ("Acme", "Alder"):
        card = CARD.format(name)
        await driver.call("tell", text=card, title=f"{name}.vcf", space="account")
    return driver


async def list_companies(driver: ToolDriver) -> set[str]:
    found = await driver.call("find", type="contact", space="account")
    got = [await driver.call("get", of=row["id"], space="account") for row in found["found"]]
    return {each["fields"]["organization"] for each in got}


async def test_a_document_is_split_off_by_its_title() -> None:
    driver = await two_cards()
    one = await list_companies(driver)
    said = await driver.call(
        "decide", verdict="split", of=["Jo Berg", "Alder.vcf"], space="account"
    )

    assert one == {"Alder"}
    assert await list_companies(driver) == {"Acme", "Alder"}
    assert (said["name"], said["settled"]) == ("Jo Berg", 1)


async def test_only_account_records_can_be_split() -> None:
    driver = make_driver()
    await driver.saltmere()

    await driver.refused("decide", verdict="split", of=["Ilsa", "Alder.vcf"], space="Saltmere")
