"""One verdict splits off the records of an entity that are about somebody else."""

import pytest

from tests.toolsets.canon.kit import Desk, a_desk

pytestmark = pytest.mark.anyio

CARD = "BEGIN:VCARD\nVERSION:3.0\nFN:Jo Berg\nEMAIL:jo@berg.example\nORG:{}\nEND:VCARD\n"


async def two_cards() -> Desk:
    desk = a_desk()
    for name in ("Acme", "Alder"):
        card = CARD.format(name)
        await desk.call("tell", text=card, title=f"{name}.vcf", space="account")
    return desk


async def companies(desk: Desk) -> set[str]:
    found = await desk.call("find", type="contact", space="account")
    got = [await desk.call("get", of=row["id"], space="account") for row in found["found"]]
    return {each["fields"]["organization"] for each in got}


async def test_a_document_is_split_off_by_its_title() -> None:
    desk = await two_cards()
    one = await companies(desk)
    said = await desk.call("decide", verdict="split", of=["Jo Berg", "Alder.vcf"], space="account")

    assert one == {"Alder"}
    assert await companies(desk) == {"Acme", "Alder"}
    assert (said["name"], said["settled"]) == ("Jo Berg", 1)


async def test_only_records_of_the_account_can_be_split() -> None:
    desk = a_desk()
    await desk.saltmere()

    await desk.refused("decide", verdict="split", of=["Ilsa", "Alder.vcf"], space="Saltmere")
