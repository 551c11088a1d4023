"""Pages of a PDF are drawn as pictures of a bounded size, with boxes marked as by a pen."""

import struct
import zlib

import pytest

from canonry.canon.ports.files import DocumentLimits, FileHint
from canonry.documents.readers.reader import LocalReader
from canonry.language.texts.sentences import Box
from canonry.values.errors import InvalidInput, Unavailable
from tests.adapters.readers.paper import a_pdf

pytestmark = pytest.mark.anyio
PDF = FileHint(mime_type="application/pdf")


def read_points(png: bytes) -> tuple[int, int, list[bytes]]:
    """Width, height and rows of an RGB picture without filters."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    at = png.index(b"IDAT")
    (length,) = struct.unpack(">I", png[at - 4 : at])
    data = zlib.decompress(png[at + 4 : at + 4 + length])
    line = width * 3 + 1
    return width, height, [data[n * line + 1 : (n + 1) * line] for n in range(height)]


async def test_a_page_is_drawn_with_a_marked_box() -> None:
    pdf = a_pdf("Total 1.250 EUR")
    plain = read_points(await LocalReader().render_page(pdf, PDF, 1, ()))
    marked = read_points(await LocalReader().render_page(pdf, PDF, 1, [Box(72, 60, 200, 80)]))

    assert plain[:2] == marked[:2] == (1224, 1584)
    changed = {n for n, (one, other) in enumerate(zip(plain[2], marked[2], strict=True))
               if one != other}  # fmt: skip
    assert changed == set(range(120, 160))
    assert plain[2][125][300:303] == b"\xff\xff\xff"
    red, green, blue = marked[2][125][450:453]
    assert red == 255 > green > blue
    dark = [row for row in plain[2][120:160] if b"\0\0\0" in row]
    assert dark, "the letters are there"
    assert any(b"\0\0\0" in row for row in marked[2][120:160]), "and stay dark under the pen"


async def test_a_box_outside_the_page_marks_nothing() -> None:
    wild = [Box(-500, -500, -1, -1), Box(1e5, 1e5, 2e5, 2e5), Box(50, 50, 10, 10)]
    plain, marked = [
        await LocalReader().render_page(a_pdf("So"), PDF, 1, boxes) for boxes in ((), wild)
    ]
    assert plain == marked


@pytest.mark.parametrize(
    ("data", "page", "code"),
    [
        (a_pdf("one"), 2, "document.no-page"),
        (a_pdf("one"), 0, "document.no-page"),
        (b"no paper at all, but some text", 1, "document.no-page"),
        (b"%PDF-1.7 torn", 1, "document.damaged"),
        (a_pdf("one", password="secret"), 1, "document.encrypted"),
    ],
)
async def test_an_undrawable_file_is_refused(data: bytes, page: int, code: str) -> None:
    with pytest.raises(InvalidInput) as error:
        await LocalReader().render_page(data, FileHint(), page, ())
    assert error.value.code == code


async def test_a_page_that_takes_too_long_is_abandoned() -> None:
    limits = DocumentLimits(file_seconds=0.001)
    with pytest.raises(Unavailable) as error:
        await LocalReader(limits).render_page(a_pdf("one"), PDF, 1, ())
    assert error.value.code == "document.too-slow"
