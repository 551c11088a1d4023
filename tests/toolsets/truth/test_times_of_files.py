"""Files that state their own time: an older version brought later does not win."""

import base64
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from pypdf import PdfWriter

from tests.adapters.readers.office import a_letter, a_workbook, an_archive, with_part
from tests.adapters.readers.paper import a_pdf
from tests.toolsets.truth.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio

LINES = ("Invoice INV-81", "Vendor: Alder Ltd", "Invoice date: 2020-05-13")
NEWER, OLDER = "2024-06-01T10:00:00Z", "2023-06-01T10:00:00Z"
DCTERMS = 'xmlns:t="http://purl.org/dc/terms/" xmlns:d="http://purl.org/dc/elements/1.1/"'
CORE = f"<p {DCTERMS}><t:created>2019-01-01T00:00:00Z</t:created><t:modified>%s</t:modified></p>"
META = f"<p {DCTERMS}><d:date>%s</d:date></p>"

Made = Callable[[str, str], tuple[str, bytes]]


def of_lines(due: str) -> tuple[str, ...]:
    return (*LINES, f"Amount due: EUR {due}")


def a_docx(due: str, made: str) -> tuple[str, bytes]:
    return "a.docx", with_part(a_letter(*of_lines(due)), "docProps/core.xml", CORE % made)


def an_xlsx(due: str, made: str) -> tuple[str, bytes]:
    rows = [line.partition(": ")[::2] for line in of_lines(due)]
    return "a.xlsx", with_part(a_workbook({"S": rows}), "docProps/core.xml", CORE % made)


def an_odt(due: str, made: str) -> tuple[str, bytes]:
    lines = "".join(f"<t:p>{line}</t:p>" for line in of_lines(due))
    content = f'<o:body xmlns:o="o" xmlns:t="t">{lines}</o:body>'
    kind = "application/vnd.oasis.opendocument.text"
    # An office program writes seconds in fractions and no zone.
    meta = META % made.replace("Z", ".123456789")
    return "a.odt", an_archive({"mimetype": kind, "content.xml": content, "meta.xml": meta})


def a_pdf_file(due: str, made: str) -> tuple[str, bytes]:
    writer = PdfWriter(clone_from=io.BytesIO(a_pdf("\n".join(of_lines(due)))))
    digits = "".join(filter(str.isdigit, made))
    writer.add_metadata({"/CreationDate": "D:20190101000000Z", "/ModDate": f"D:{digits}+00'00'"})
    written = io.BytesIO()
    writer.write(written)
    return "a.pdf", written.getvalue()


def an_rtf(due: str, made: str) -> tuple[str, bytes]:
    year, month, day = made[:10].split("-")
    time = rf"{{\info{{\revtim\yr{year}\mo{int(month)}\dy{int(day)}\hr10\min0}}}}"
    text = "".join(rf"{line}\par " for line in of_lines(due))
    return "a.rtf", rf"{{\rtf1\ansi{time} {text}}}".encode()


def a_page(due: str, made: str) -> tuple[str, bytes]:
    head = f'<meta property="article:modified_time" content="{made}">'
    body = "".join(f"<p>{line}</p>" for line in of_lines(due))
    return "a.html", f"<html><head>{head}</head><body>{body}</body></html>".encode()


def a_note(due: str, made: str) -> tuple[str, bytes]:
    head = f"---\ndate: 2019-01-01\nupdated: {made[:10]}\n---\n"
    return "a.md", (head + "\n\n".join(of_lines(due))).encode()


def of_json(**record: Any) -> Made:
    def written(due: str, made: str) -> tuple[str, bytes]:
        said = json.dumps({"invoice_number": "INV-81", "vendor_name": "Alder Ltd", **record})
        return "invoices.json", said.replace("DUE", due).replace("MADE", made).encode()

    return written


def an_export(due: str, made: str) -> tuple[str, bytes]:
    record = {"invoice_number": "INV-81", "vendor_name": "Alder Ltd", "amount_due": due}
    return "a.json", json.dumps({"exported_at": made, "invoices": [record]}).encode()


def a_table(due: str, made: str) -> tuple[str, bytes]:
    head = "Invoice number,Vendor name,Amount due,Last Modified"
    return "invoices.csv", f"{head}\nINV-81,Alder Ltd,{due},{made}\n".encode()


def a_mail(due: str, made: str) -> tuple[str, bytes]:
    day, month, year = made[8:10], {"06": "Jun"}[made[5:7]], made[:4]
    head = f"From: a@x.example\nTo: b@x.example\nDate: {day} {month} {year} 10:00:00 +0000\n"
    text = "\n".join(of_lines(due))
    return "a.eml", f"{head}Message-ID: <{made}@x>\nSubject: Invoice\n\n{text}\n".encode()


FILES: list[Made] = [
    *(a_docx, an_xlsx, an_odt, a_pdf_file, an_rtf, a_page, a_note, an_export, a_table),
    *(a_mail, of_json(amount_due="DUE", updatedAt="MADE")),
]


async def ingest_file(driver: ToolDriver, file: tuple[str, bytes]) -> dict[str, Any]:
    """Ingest a file, a minute after the one before, and return the invoice."""
    name, data = file
    driver.wait()
    content = base64.b64encode(data).decode()
    media = "application/octet-stream"
    arguments = {"file_content": content, "mime_type": media, "original_filename": name}
    await driver.call("ingest", user_id=driver.user, **arguments)
    found = await driver.call("retrieve_entities", entity_type="invoice")
    (invoice,) = found["entities"]
    return dict(invoice["snapshot"])


@pytest.mark.parametrize("of", FILES, ids=lambda made: made.__name__)
async def test_an_older_file_imported_later_does_not_win(of: Made) -> None:
    driver = make_driver()
    assert (await ingest_file(driver, of("520.00", NEWER)))["amount_due"] == 520
    assert (await ingest_file(driver, of("480.00", OLDER)))["amount_due"] == 520
    assert (await ingest_file(driver, of("480.00", OLDER)))["amount_due"] == 520
    # A newer one that was brought first does not keep an even newer one out.
    assert (await ingest_file(driver, of("610.00", "2024-06-02T10:00:00Z")))["amount_due"] == 610


@pytest.mark.parametrize("of", [a_docx, a_pdf_file, a_page, a_note, a_table])
async def test_a_file_of_the_future_counts_as_of_its_import(of: Made) -> None:
    driver = make_driver()
    assert (await ingest_file(driver, of("1.00", "2999-06-01T10:00:00Z")))["amount_due"] == 1
    text = "\n".join(of_lines("520.00")).encode()
    assert (await ingest_file(driver, ("a.txt", text)))["amount_due"] == 520


async def test_a_time_before_the_files_stated_day_is_not_its_time() -> None:
    """A letter from a template has the time of the template."""
    driver = make_driver()
    await ingest_file(driver, ("a.txt", "\n".join(of_lines("520.00")).encode()))
    assert (await ingest_file(driver, a_docx("610.00", "2013-01-01T00:00:00Z")))[
        "amount_due"
    ] == 610


async def test_a_default_time_of_libraries_is_not_a_files_time() -> None:
    driver = make_driver()
    await ingest_file(driver, a_docx("520.00", NEWER))
    assert (await ingest_file(driver, a_docx("610.00", "2013-12-23T23:15:00Z")))[
        "amount_due"
    ] == 610


async def test_broken_properties_leave_the_file_readable() -> None:
    driver = make_driver()
    broken = with_part(a_letter(*of_lines("520.00")), "docProps/core.xml", "<p><broken")
    assert (await ingest_file(driver, ("a.docx", broken)))["amount_due"] == 520


OFX = (
    "<OFX><SIGNONMSGSRSV1><SONRS><DTSERVER>{made}</SONRS></SIGNONMSGSRSV1><STMTRS><CURDEF>EUR"
    "<BANKACCTFROM><ACCTID>7</BANKACCTFROM><BANKTRANLIST><STMTTRN><DTPOSTED>20230501<TRNAMT>-5.00"
    "<FITID>A1<NAME>Bakery<MEMO>{memo}</STMTTRN></BANKTRANLIST></STMTRS></OFX>"
)
CAMT = (
    "<Document xmlns='urn:iso:std:iso:20022:tech:xsd:camt.053.001.02'>"
    "<BkToCstmrStmt><GrpHdr><CreDtTm>{made}</CreDtTm></GrpHdr><Stmt><Acct><Id><IBAN>"
    "DE02120300000000202051</IBAN></Id></Acct><Ntry><Amt Ccy='EUR'>5.00</Amt><CdtDbtInd>DBIT"
    "</CdtDbtInd><Sts>BOOK</Sts><BookgDt><Dt>2023-05-01</Dt></BookgDt><AcctSvcrRef>A1</AcctSvcrRef>"
    "<NtryDtls><TxDtls><RmtInf><Ustrd>{memo}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry></Stmt>"
    "</BkToCstmrStmt></Document>"
)
MT942 = (
    ":20:X\n:25:DE02120300000000202051\n:34F:EUR0,\n:13D:{made}\n"
    ":61:230501D5,00NTRFNONREF//A1\n:86:{memo}\n-\n"
)


@pytest.mark.parametrize(
    ("name", "text", "newer", "older"),
    [
        ("a.ofx", OFX, "20240601120000[-5:EST]", "20230601"),
        ("a.xml", CAMT, "2024-06-01T12:00:00+02:00", "2023-06-01T12:00:00"),
        ("a.sta", MT942, "2406011200+0100", "2306011200+0100"),
    ],
)
async def test_an_older_bank_statement_does_not_change_payments(
    name: str, text: str, newer: str, older: str
) -> None:
    driver = make_driver()
    for made, memo in ((newer, "Bread and rolls"), (older, "Bread")):
        driver.wait()
        content = base64.b64encode(text.format(made=made, memo=memo).encode()).decode()
        arguments = {"file_content": content, "original_filename": name}
        await driver.call(
            "ingest", user_id=driver.user, mime_type="application/octet-stream", **arguments
        )
    found = await driver.call("retrieve_entities", entity_type="transaction")
    (payment,) = (each["snapshot"] for each in found["entities"])
    assert (payment["description"], payment["currency"]) == ("Bread and rolls", "EUR")
