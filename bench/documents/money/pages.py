"""Pages: small PDFs with text at places, in any letters, as programs for invoices make them."""

import io
from collections.abc import Sequence
from typing import TypeAlias

from pypdf import PdfWriter
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    NameObject,
    NumberObject,
)

Placed: TypeAlias = tuple[float, float, str]
"""The start of a text from the lower left corner in points, and the text."""

SIZE = 10
_NARROW = {"i": 0.222, "l": 0.222, "j": 0.222, " ": 0.278, ".": 0.278, ",": 0.278, ":": 0.278}


def width(text: str) -> float:
    """Return the width of a text, nearly as in Helvetica."""
    return sum(_NARROW.get(char, 0.556) for char in text) * SIZE


def a_pdf(pages: Sequence[Sequence[Placed]], attached: tuple[str, bytes] | None = None) -> bytes:
    """A PDF with these texts, each where it is placed; letters beyond ASCII by a map of its own."""
    letters = sorted({c for page in pages for *_, text in page for c in text if ord(c) > 126})
    codes = {char: 128 + place for place, char in enumerate(letters)}
    writer = PdfWriter()
    for page in pages:
        blank = writer.add_blank_page(width=595, height=842)
        fonts = DictionaryObject({NameObject("/F1"): _font(writer, codes)})
        blank[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        stream.set_data(b"\n".join(_shown(each, codes) for each in page))
        blank[NameObject("/Contents")] = writer._add_object(stream)  # noqa: SLF001
    if attached is not None:
        writer.add_attachment(*attached)
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


def _font(writer: PdfWriter, codes: dict[str, int]) -> DictionaryObject:
    pairs = {**{chr(code): code for code in range(32, 127)}, **codes}
    lines = "\n".join(f"<{code:02X}> <{ord(char):04X}>" for char, code in pairs.items())
    mapped = DecodedStreamObject()
    mapped.set_data(
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n"
        b"1 begincodespacerange <00> <FF> endcodespacerange\n"
        + f"{len(pairs)} beginbfchar\n{lines}\nendbfchar\n".encode()
        + b"endcmap end end"
    )
    widths = [NumberObject(int(width(chr(code)) * 1000 / SIZE)) for code in range(32, 256)]
    return DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
            NameObject("/FirstChar"): NumberObject(32),
            NameObject("/LastChar"): NumberObject(255),
            NameObject("/Widths"): ArrayObject(widths),
            NameObject("/ToUnicode"): writer._add_object(mapped),  # noqa: SLF001
        }
    )


def _shown(placed: Placed, codes: dict[str, int]) -> bytes:
    x, y, text = placed
    coded = bytes(codes.get(char, ord(char)) for char in text)
    for sign in (b"\\", b"(", b")"):
        coded = coded.replace(sign, b"\\" + sign)
    return f"BT /F1 {SIZE} Tf 1 0 0 1 {x:.1f} {y:.1f} Tm (".encode() + coded + b") Tj ET"
