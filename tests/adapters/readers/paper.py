"""Paper: small PDFs as a test wants them, with lines of text on pages, an outline, a password."""

import io
from collections.abc import Mapping

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject


def a_pdf(
    *pages: str, outline: Mapping[str, int] | None = None, password: str | None = None
) -> bytes:
    """A PDF with this text on its pages, and titles that lead to pages counted from 1.

    An empty password is one that every reader knows.
    """
    writer = PdfWriter()
    for text in pages:
        page = writer.add_blank_page(width=612, height=792)
        stream = DecodedStreamObject()
        stream.set_data(_shown(text))
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


def _shown(text: str) -> bytes:
    lines = [f"({line}) Tj 0 -14 Td".replace("\\", "\\\\") for line in text.splitlines() if line]
    return f"BT /F1 12 Tf 72 720 Td {' '.join(lines)} ET".encode("latin-1")
