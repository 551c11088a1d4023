"""Images: recognised where the extra is installed, and refused with advice where it is not."""

from importlib.util import find_spec

import pytest

from canonry.adapters.readers import LocalReader
from canonry.domain.errors import InvalidInput
from canonry.domain.truth.files import FileHint

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


def a_picture(text: str) -> bytes:
    """A PNG with this text in large letters."""
    import struct  # noqa: PLC0415 - of this one picture
    import zlib  # noqa: PLC0415 - as above

    rows = [bytearray(b"\xff" * WIDTH) for _ in range(HEIGHT)]
    for place, letter in enumerate(text):
        for down, bits in enumerate(DOTS[letter]):
            for right in range(5):
                if bits >> (4 - right) & 1:
                    left = 40 + (place * 6 + right) * SCALE
                    for y in range(30 + down * SCALE, 30 + (down + 1) * SCALE):
                        rows[y][left : left + SCALE] = bytes(SCALE)

    def chunk(name: bytes, data: bytes) -> bytes:
        sealed = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + sealed

    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 0, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


@pytest.mark.skipif(find_spec("rapidocr") is None, reason="the extra `ocr` is not installed")
async def test_the_text_of_an_image_is_recognised_without_a_network() -> None:
    reading = await LocalReader().examine(a_picture("TOTAL 42"), FileHint(name="bill.png"))

    assert reading.text.replace(" ", "") == "TOTAL42"
    assert "misread" in reading.notes[0]


@pytest.mark.skipif(find_spec("rapidocr") is not None, reason="the extra `ocr` is installed")
async def test_without_the_extra_an_image_is_refused_with_advice() -> None:
    with pytest.raises(InvalidInput) as refused:
        await LocalReader().examine(a_picture("TOTAL 42"), FileHint(name="bill.png"))

    assert refused.value.code == "document.no-recogniser"
    assert "`ocr`" in refused.value.message
