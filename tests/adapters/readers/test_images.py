"""Images: recognised where the extra is installed, and refused with advice where it is not."""

import io
from importlib import import_module
from importlib.util import find_spec

import pytest

from canonry.canon.ports.files import FileHint, FileType
from canonry.documents.parsers.images import times_of
from canonry.documents.readers import LocalReader
from canonry.values.errors import InvalidInput
from tests.adapters.readers.paper import a_pdf, with_picture

pytestmark = pytest.mark.anyio

WIDTH, HEIGHT, SCALE = 640, 120, 5
# The capitals of a font of five by seven dots, row by row, as bits.
DOTS = {
    "T": (31, 4, 4, 4, 4, 4, 4),
    "O": (14, 17, 17, 17, 17, 17, 14),
    "A": (14, 17, 17, 31, 17, 17, 17),
    "L": (16, 16, 16, 16, 16, 16, 31),
    "4": (2, 6, 10, 18, 31, 2, 2),
    "2": (14, 17, 1, 2, 4, 8, 31),
    " ": (0, 0, 0, 0, 0, 0, 0),
}


def rows_of(text: str) -> list[bytearray]:
    """The rows of grey pixels of a picture with this text in large letters."""
    rows = [bytearray(b"\xff" * WIDTH) for _ in range(HEIGHT)]
    for place, letter in enumerate(text):
        for down, bits in enumerate(DOTS[letter]):
            for right in range(5):
                if bits >> (4 - right) & 1:
                    left = 40 + (place * 6 + right) * SCALE
                    for y in range(30 + down * SCALE, 30 + (down + 1) * SCALE):
                        rows[y][left : left + SCALE] = bytes(SCALE)
    return rows


def a_picture(text: str) -> bytes:
    """A PNG with this text."""
    import struct  # noqa: PLC0415 - of this one picture
    import zlib  # noqa: PLC0415 - as above

    def chunk(name: bytes, data: bytes) -> bytes:
        sealed = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + sealed

    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 0, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows_of(text)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


@pytest.mark.skipif(find_spec("rapidocr") is None, reason="the extra `ocr` is not installed")
async def test_text_of_an_image_is_recognised_without_a_network() -> None:
    reading = await LocalReader().examine_file(a_picture("TOTAL 42"), FileHint(name="bill.png"))

    assert reading.whole_text.replace(" ", "") == "TOTAL42"
    assert "may have errors" in reading.notes[0]


@pytest.mark.skipif(find_spec("rapidocr") is None, reason="the extra `ocr` is not installed")
async def test_text_of_scanned_pages_is_recognised_in_page_order() -> None:
    scan = with_picture(a_pdf("", "Second"), b"".join(rows_of("TOTAL 42")), WIDTH)
    reading = await LocalReader().examine_file(scan, FileHint(name="bill.pdf"))

    assert [(part.page, part.text.replace(" ", "").strip()) for part in reading.parts] == [
        (1, "TOTAL42"),
        (2, "Second"),
    ]
    assert "may have errors" in reading.notes[0]


@pytest.mark.skipif(find_spec("rapidocr") is None, reason="the extra `ocr` is not installed")
@pytest.mark.parametrize("kind", [FileType.GIF, FileType.BMP, FileType.HEIC])
async def test_images_of_other_kinds_are_recognised_too(kind: FileType) -> None:
    pictures = import_module("PIL.Image")
    import_module("pillow_heif").register_heif_opener()
    written = io.BytesIO()
    form = "HEIF" if kind is FileType.HEIC else kind.name
    pictures.open(io.BytesIO(a_picture("TOTAL 42"))).save(written, format=form)

    reading = await LocalReader().examine_file(written.getvalue(), FileHint())

    assert reading.kind is kind
    assert reading.whole_text.replace(" ", "") == "TOTAL42"


@pytest.mark.skipif(find_spec("PIL") is None, reason="the extra `ocr` is not installed")
async def test_a_photograph_has_its_capture_time() -> None:
    pictures = import_module("PIL.Image")
    written = io.BytesIO()
    tags = pictures.Exif()
    tags[0x0132] = "2025:01:01 00:00:00"
    tags.get_ifd(0x8769).update({0x9003: "2024:05:13 09:30:00", 0x9011: "+02:00"})
    pictures.open(io.BytesIO(a_picture("TOTAL 42"))).save(written, format="JPEG", exif=tags)

    taken = list(times_of(pictures.open(written)))

    assert taken == ["2024:05:13 09:30:00+02:00", "2025:01:01 00:00:00"]


@pytest.mark.skipif(find_spec("rapidocr") is not None, reason="the extra `ocr` is installed")
async def test_without_the_extra_an_image_is_refused_with_advice() -> None:
    with pytest.raises(InvalidInput) as refused:
        await LocalReader().examine_file(a_picture("TOTAL 42"), FileHint(name="bill.png"))

    assert refused.value.code == "document.no-recogniser"
    assert "`ocr`" in refused.value.message
