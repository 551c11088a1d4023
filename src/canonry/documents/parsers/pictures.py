"""The process that draws one page of a PDF: bytes in, JSON with a PNG out; it may be killed.

It imports of Canonry only what it is bounded by, so that it starts quickly.
"""

import json
import struct
import sys
import zlib
from base64 import b64encode
from collections.abc import Iterator
from math import ceil, sqrt
from typing import Any, Final

from pypdfium2 import PdfDocument, PdfiumError, raw  # type: ignore[import-untyped]

from canonry.documents.parsers.findings import answer

_POINTS_MAX: Final = 4_000_000
_SCALE: Final = 2.0
"""Points of the picture for one of the page, where the page is not too large for that."""

_CHANNELS: Final = 3
_YELLOW: Final = (bytes(range(256)), bytes(n * 90 // 100 for n in range(256)),
                  bytes(n * 38 // 100 for n in range(256)))  # fmt: skip
"""What a pen makes of red, green and blue: dark letters stay dark."""


def main() -> None:
    """Take the page, the seconds and the boxes as JSON from the arguments, the PDF from input."""
    page, seconds, boxes = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
    answer(lambda data: _draw(data, page, boxes), seconds=seconds)


def _draw(data: bytes, number: int, boxes: list[list[float]]) -> dict[str, Any]:
    try:
        document = PdfDocument(data)
    except PdfiumError as error:
        return {"fault": "encrypted" if error.err_code == raw.FPDF_ERR_PASSWORD else "damaged"}
    if number > len(document):
        return {"fault": "page"}
    page = document[number - 1]
    width, height = page.get_size()
    scale = min(_SCALE, sqrt(_POINTS_MAX / max(1.0, width * height)))
    seen = page.render(scale=scale, rev_byteorder=True, prefer_bgrx=False)
    line = seen.width * _CHANNELS
    rows = [
        bytearray(bytes(seen.buffer[start : start + line]))
        for start in range(0, seen.stride * seen.height, seen.stride)
    ]
    for left, top, right, bottom in boxes:
        begin, end = (max(0, min(seen.width, ceil(x * scale))) for x in (left, right))
        for row in rows[max(0, int(top * scale)) : max(0, ceil(bottom * scale))]:
            for channel, table in enumerate(_YELLOW):
                stretch = slice(begin * _CHANNELS + channel, end * _CHANNELS, _CHANNELS)
                row[stretch] = row[stretch].translate(table)
    return {"png": b64encode(b"".join(_png(seen.width, seen.height, rows))).decode()}


def _png(width: int, height: int, rows: list[bytearray]) -> Iterator[bytes]:
    yield b"\x89PNG\r\n\x1a\n"
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    lines = zlib.compress(b"".join(b"\0" + row for row in rows), 6)
    for name, data in ((b"IHDR", head), (b"IDAT", lines), (b"IEND", b"")):
        check = zlib.crc32(name + data)
        yield struct.pack(">I", len(data)) + name + data + struct.pack(">I", check)


if __name__ == "__main__":
    main()
