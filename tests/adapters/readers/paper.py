"""Paper: small PDFs as a test wants them, with lines of text on pages, an outline, a password."""

import io
from collections.abc import Mapping

from pypdf import PdfWriter
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    NameObject,
    NumberObject,
)


def a_pdf(
    *pages: str,
    outline: Mapping[str, int] | None = None,
    password: str | None = None,
    turn: int = 0,
) -> bytes:
    """A PDF with this text on its pages, and titles that lead to pages counted from 1.

    An empty password is one that every reader knows. Pages are shown turned by `turn` degrees.
    """
    writer = PdfWriter()
    for text in pages:
        page = writer.add_blank_page(width=612, height=792)
        page.rotate(turn)
        stream = DecodedStreamObject()
        stream.set_data(draw_text(text))
        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
            }
        )
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        page[NameObject("/Contents")] = writer._add_object(stream)
    for title, number in (outline or {}).items():
        writer.add_outline_item(title=title, page_number=number - 1)
    if password is not None:
        writer.encrypt(password, owner_password="owner", algorithm="AES-256")
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


def draw_text(text: str) -> bytes:
    lines = [f"({line}) Tj 0 -14 Td".replace("\\", "\\\\") for line in text.splitlines() if line]
    return f"BT /F1 12 Tf 72 720 Td {' '.join(lines)} ET".encode("latin-1")


def with_file(pdf: bytes, name: str, data: bytes) -> bytes:
    """The PDF with a file within it."""
    writer = PdfWriter(clone_from=io.BytesIO(pdf))
    writer.add_attachment(name, data)
    return write_pdf(writer)


def with_picture(pdf: bytes, pixels: bytes = b"\x80", width: int = 1) -> bytes:
    """The PDF with a grey picture on its first page, a byte a pixel, as broad as the print."""
    writer = PdfWriter(clone_from=io.BytesIO(pdf))
    picture = DecodedStreamObject()
    picture.set_data(pixels)
    sides = {"Width": width, "Height": len(pixels) // width}
    size = {NameObject(f"/{name}"): NumberObject(side) for name, side in sides.items()}
    picture.update(
        {
            NameObject("/Type"): NameObject("/XObject"),
            NameObject("/Subtype"): NameObject("/Image"),
            NameObject("/ColorSpace"): NameObject("/DeviceGray"),
            NameObject("/BitsPerComponent"): NumberObject(8),
            **size,
        }
    )
    resources = writer.pages[0][NameObject("/Resources")].get_object()
    assert isinstance(resources, DictionaryObject)
    held = DictionaryObject({NameObject("/P1"): writer._add_object(picture)})
    resources[NameObject("/XObject")] = held
    drawn = DecodedStreamObject()
    high = 512 * sides["Height"] // width
    drawn.set_data(f"q 512 0 0 {high} 50 50 cm /P1 Do Q".encode())
    page = writer.pages[0]
    contents = ArrayObject([page.raw_get("/Contents"), writer._add_object(drawn)])
    page[NameObject("/Contents")] = contents
    return write_pdf(writer)


def write_pdf(writer: PdfWriter) -> bytes:
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()
