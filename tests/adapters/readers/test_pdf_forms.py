"""Filled forms, comments and attached files of PDFs are read, and front matter is YAML."""

import io
from typing import Any

import pytest
from pypdf import PdfWriter
from pypdf.annotations import FreeText, Text
from pypdf.generic import ArrayObject, DictionaryObject, FloatObject, NameObject, TextStringObject

from canonry.canon.ports.files import FileHint, Reading
from canonry.documents.extraction.rules import interpret_reading
from canonry.documents.readers import LocalReader
from canonry.log.schemas.truth_types import TRUTH_TYPES
from canonry.records.domain.interpretations import FoundEntity
from tests.adapters.readers.paper import a_pdf, with_file

pytestmark = pytest.mark.anyio

LABELS = "Invoice\nInvoice number:\nVendor:\nDate:\nTotal:\nPaid:"


def a_field(writer: PdfWriter, line: int, **named: Any) -> Any:
    """A field of a form beside a line of the page."""
    top = 730 - 14 * line
    edges = ArrayObject(FloatObject(edge) for edge in (200, top - 12, 400, top))
    field = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Annot"),
            NameObject("/Subtype"): NameObject("/Widget"),
            NameObject("/Rect"): edges,
            **{NameObject(f"/{name}"): value for name, value in named.items()},
        }
    )
    return writer._add_object(field)


def a_form(*values: str, ticked: bool) -> bytes:
    """A form with these values, one a line from the second on, and a box at the end."""
    writer = PdfWriter(clone_from=io.BytesIO(a_pdf(LABELS)))
    fields = [
        a_field(
            writer,
            line,
            FT=NameObject("/Tx"),
            T=TextStringObject(f"f{line}"),
            V=TextStringObject(value),
        )
        for line, value in enumerate(values, 1)
    ]
    state = NameObject("/Yes" if ticked else "/Off")
    shown = DictionaryObject({NameObject("/N"): DictionaryObject({state: DictionaryObject()})})
    named = {"FT": NameObject("/Btn"), "T": TextStringObject("box"), "V": state}
    fields.append(a_field(writer, len(values) + 1, **named, AS=state, AP=shown))
    writer.pages[0][NameObject("/Annots")] = ArrayObject(fields)
    form = DictionaryObject({NameObject("/Fields"): ArrayObject(fields)})
    writer.root_object[NameObject("/AcroForm")] = form
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


async def examine_file(data: bytes, name: str) -> Reading:
    return await LocalReader().examine_file(data, FileHint(name=name))


async def first_of(data: bytes, name: str) -> FoundEntity:
    entities = interpret_reading(
        await examine_file(data, name), tuple(TRUTH_TYPES.values())
    ).entities
    return entities[0]


@pytest.mark.parametrize("ticked", [True, False])
async def test_values_of_a_form_are_read(ticked: bool) -> None:
    form = a_form("INV-95", "Alder Ltd", "2024-05-13", "520.00 EUR", ticked=ticked)
    found = await first_of(form, "form.pdf")

    assert found.entity_type == "invoice"
    assert found.fields["invoice_number"] == "INV-95"
    assert found.fields["vendor_name"] == "Alder Ltd"
    assert found.fields["invoice_date"] == "2024-05-13"
    assert found.fields["amount_due"] == 520
    assert found.fields.get("paid") == ("yes" if ticked else None)


async def test_comments_of_a_page_are_searchable() -> None:
    writer = PdfWriter(clone_from=io.BytesIO(a_pdf("Invoice")))
    writer.add_annotation(0, Text(rect=(300, 700, 320, 720), text="PAID by transfer"))
    writer.add_annotation(0, FreeText(rect=(300, 600, 500, 650), text="Thank you"))
    written = io.BytesIO()
    writer.write(written)

    text = (await examine_file(written.getvalue(), "paid.pdf")).whole_text
    assert "PAID by transfer" in text
    assert "Thank you" in text


async def test_a_file_embedded_in_a_pdf_is_a_member() -> None:
    (member,) = (
        await examine_file(with_file(a_pdf("Hours"), "hours.csv", b"a,b"), "h.pdf")
    ).members
    assert (member.hint.name, member.data) == ("hours.csv", b"a,b")
