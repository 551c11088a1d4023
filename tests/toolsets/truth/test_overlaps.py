"""Overlaps: statements that share lines do not double them, and equal lines stay two."""

import base64
from typing import Any

import pytest

from tests.toolsets.truth.kit import ToolDriver, make_driver

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


def camt_text(*lines: tuple[str, str, str, str]) -> str:
    names = ("day", "name", "amount", "ref")
    entries = "".join(CAMT_LINE.format(**dict(zip(names, each, strict=True))) for each in lines)
    return (
        '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt><Stmt>'
        f"<Acct><Id><IBAN>DE89370400440532013000</IBAN></Id></Acct>{entries}"
        "</Stmt></BkToCstmrStmt></Document>"
    )


async def ingest_statement(
    driver: ToolDriver, text: str, name: str = "statement.csv"
) -> dict[str, Any]:
    driver.wait()
    return await driver.call(
        "ingest",
        user_id=driver.user,
        file_content=base64.b64encode(text.encode()).decode(),
        mime_type="application/octet-stream",
        original_filename=name,
    )


async def total_payments(driver: ToolDriver) -> int:
    listed = await driver.call("retrieve_entities", entity_type="transaction")
    return int(listed["total"])


async def test_overlapping_statements_do_not_double_and_equal_lines_stay_two() -> None:
    driver = make_driver()
    await ingest_statement(driver, HEAD + "".join(LINES[:4]))
    assert await total_payments(driver) == 4

    await ingest_statement(
        driver, HEAD + "".join(LINES[2:])
    )  # begins with the second of two equal lines

    assert await total_payments(driver) == 5


@pytest.mark.parametrize("order", [LINES, LINES[::-1]])
async def test_reordered_or_reformatted_lines_do_not_double(
    order: tuple[str, ...],
) -> None:
    driver = make_driver()
    await ingest_statement(driver, HEAD + "".join(LINES))
    other = (HEAD + "".join(order)).replace(",", ";")
    await ingest_statement(driver, other, "again.csv")

    assert await total_payments(driver) == 5


async def test_overlapping_bank_statements_are_matched_by_references() -> None:
    first = ("2024-01-30", "Coffee", "3.00", "R1")
    second = ("2024-01-30", "Coffee", "3.00", "R2")
    third = ("2024-01-31", "Birch", "4.00", "R3")
    driver = make_driver()
    await ingest_statement(driver, camt_text(first, second), "a.xml")
    await ingest_statement(driver, camt_text(second, third), "b.xml")

    assert await total_payments(driver) == 3


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
async def test_a_reused_reference_is_another_payment(
    file: str, days: tuple[str, str], amounts: tuple[str, str]
) -> None:
    first, second = (
        file.format(day=day, amount=amount, name=name)
        for day, amount, name in zip(days, amounts, ("HOTEL", "CAFE"), strict=True)
    )
    driver = make_driver()
    await ingest_statement(driver, first, "march")
    reply = await ingest_statement(driver, second, "april")
    again = await ingest_statement(driver, first.replace("HOTEL", "HOTEL ROMA"), "march, again")
    listed = await driver.call("retrieve_entities", entity_type="transaction")
    found = sorted(each["snapshot"]["amount"] for each in listed["entities"])

    assert found == sorted(-float(each.replace(",", ".")) for each in amounts)
    assert [each["reason"] for each in reply["possible_duplicates"]] == ["same_key_other_details"]
    assert again["entities"][0]["created"] is False, "the same payment downloaded again stays one"


async def test_a_reference_in_three_camt_statements_is_three_payments() -> None:
    driver = make_driver()
    for month in ("03", "04", "05"):
        await ingest_statement(
            driver, camt_text((f"2024-{month}-01", "Landlord", "500.00", "RENT")), f"{month}.xml"
        )
    await ingest_statement(
        driver, camt_text(("2024-04-01", "Landlord", "500.00", "RENT")), "april, again.xml"
    )

    assert await total_payments(driver) == 3
