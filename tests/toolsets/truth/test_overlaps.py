"""Overlaps: statements that share lines do not double them, and equal lines stay two."""

import base64
from typing import Any

import pytest

from tests.toolsets.truth.kit import Desk, a_desk

pytestmark = pytest.mark.anyio

HEAD = "Date,Payee,Amount,Balance\n"
LINES = (
    "2024-01-29,Alder,-5.00,100.00\n",
    "2024-01-30,Coffee,-3.00,97.00\n",
    "2024-01-30,Coffee,-3.00,94.00\n",
    "2024-01-31,Birch,-4.00,90.00\n",
    "2024-02-01,Cedar,-6.00,84.00\n",
)
CAMT_LINE = (
    '<Ntry><Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>BOOK</Sts>'
    "<BookgDt><Dt>{day}</Dt></BookgDt><AcctSvcrRef>{ref}</AcctSvcrRef><NtryDtls><TxDtls>"
    "<RltdPties><Cdtr><Nm>{name}</Nm></Cdtr></RltdPties></TxDtls></NtryDtls></Ntry>"
)


def camt(*lines: tuple[str, str, str, str]) -> str:
    names = ("day", "name", "amount", "ref")
    entries = "".join(CAMT_LINE.format(**dict(zip(names, each, strict=True))) for each in lines)
    return (
        '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt><Stmt>'
        f"<Acct><Id><IBAN>DE89370400440532013000</IBAN></Id></Acct>{entries}"
        "</Stmt></BkToCstmrStmt></Document>"
    )


async def ingest(desk: Desk, text: str, name: str = "statement.csv") -> dict[str, Any]:
    desk.wait()
    return await desk.call(
        "ingest",
        user_id=desk.user,
        file_content=base64.b64encode(text.encode()).decode(),
        mime_type="application/octet-stream",
        original_filename=name,
    )


async def total(desk: Desk) -> int:
    listed = await desk.call("retrieve_entities", entity_type="transaction")
    return int(listed["total"])


async def test_overlapping_statements_do_not_double_and_equal_lines_stay_two() -> None:
    desk = a_desk()
    await ingest(desk, HEAD + "".join(LINES[:4]))
    assert await total(desk) == 4

    await ingest(desk, HEAD + "".join(LINES[2:]))  # begins with the second of two equal lines

    assert await total(desk) == 5


@pytest.mark.parametrize("order", [LINES, LINES[::-1]])
async def test_the_same_lines_in_another_order_or_separator_do_not_double(
    order: tuple[str, ...],
) -> None:
    desk = a_desk()
    await ingest(desk, HEAD + "".join(LINES))
    other = (HEAD + "".join(order)).replace(",", ";")
    await ingest(desk, other, "again.csv")

    assert await total(desk) == 5


async def test_overlapping_statements_of_a_bank_are_told_apart_by_its_references() -> None:
    first = ("2024-01-30", "Coffee", "3.00", "R1")
    second = ("2024-01-30", "Coffee", "3.00", "R2")
    third = ("2024-01-31", "Birch", "4.00", "R3")
    desk = a_desk()
    await ingest(desk, camt(first, second), "a.xml")
    await ingest(desk, camt(second, third), "b.xml")

    assert await total(desk) == 3


OFX = (
    "OFXHEADER:100\nDATA:OFXSGML\n\n<OFX><STMTRS><CURDEF>EUR<BANKACCTFROM><ACCTID>77001"
    "</BANKACCTFROM><STMTTRN><DTPOSTED>{day}<TRNAMT>-{amount}<FITID>R1<NAME>{name}</STMTTRN>"
    "</STMTRS></OFX>"
)
MT940 = ":20:S\n:25:77001\n:60F:C240101EUR0,00\n:61:{day}D{amount}NTRFNONREF//R1\n:86:{name}\n"
TABLE = "Date,Payee,Amount,Transaction ID\n{day},{name},-{amount},R1\n"


@pytest.mark.parametrize(
    ("file", "days", "amounts"),
    [
        (OFX, ("20240305", "20240405"), ("100.00", "8.00")),
        (MT940, ("240305", "240405"), ("100,00", "8,00")),
        (TABLE, ("2024-03-05", "2024-04-05"), ("100.00", "8.00")),
        (OFX, ("20240305", "20240405"), ("100.00", "100.00")),
    ],
)
async def test_a_reference_that_comes_again_is_another_payment(
    file: str, days: tuple[str, str], amounts: tuple[str, str]
) -> None:
    first, second = (
        file.format(day=day, amount=amount, name=name)
        for day, amount, name in zip(days, amounts, ("HOTEL", "CAFE"), strict=True)
    )
    desk = a_desk()
    await ingest(desk, first, "march")
    told = await ingest(desk, second, "april")
    again = await ingest(desk, first.replace("HOTEL", "HOTEL ROMA"), "march, again")
    listed = await desk.call("retrieve_entities", entity_type="transaction")
    found = sorted(each["snapshot"]["amount"] for each in listed["entities"])

    assert found == sorted(-float(each.replace(",", ".")) for each in amounts)
    assert [each["reason"] for each in told["possible_duplicates"]] == ["same_key_other_details"]
    assert again["entities"][0]["created"] is False, "the same payment downloaded again stays one"


async def test_a_reference_of_three_camt_statements_is_three_payments() -> None:
    desk = a_desk()
    for month in ("03", "04", "05"):
        await ingest(desk, camt((f"2024-{month}-01", "Landlord", "500.00", "RENT")), f"{month}.xml")
    await ingest(desk, camt(("2024-04-01", "Landlord", "500.00", "RENT")), "april, again.xml")

    assert await total(desk) == 3
