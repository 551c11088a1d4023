"""Parser of images: text recognition on this machine by the extra `ocr`, without network."""

import io
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any, Final

from pypdfium2 import PdfDocument  # type: ignore[import-untyped]

from canonry.documents.parsers.findings import Fault, Findings

_PIXELS_MAX: Final = 60_000_000  # against pictures that unpack to gigabytes
_PAGES_MAX: Final = 20  # reading text in a picture takes seconds per page
_SCALE: Final = 200 / 72
"""Pages are drawn with 200 dots per inch, which is enough for print of common size."""

_DETAIL: Final = 0x8769
_TIMES: Final = ((0x9003, 0x9011), (0x9004, 0x9012), (0x0132, 0x9010))
"""The EXIF tags of the times of taking, digitizing and changing a picture, with their zones."""

_SURE: Final = 0.5  # the least confidence of a recognised line


def read_image(data: bytes, found: Findings, *, scan: bool = False) -> None:
    """Read an image, or with `scan` the pages of a PDF without text.

    Lines are read from top to bottom and from left to right.
    """
    try:
        pictures: Any = import_module("PIL.Image")
        recogniser: Any = import_module("rapidocr").RapidOCR
    except ImportError as error:
        raise Fault("no-recogniser") from error
    with suppress(ImportError):
        import_module("pillow_heif").register_heif_opener()
    upright: Any = import_module("PIL.ImageOps").exif_transpose
    recognise, read = recogniser(), False
    shown = _scanned_pages(data) if scan else [(1, pictures.open(io.BytesIO(data)))]
    for page, image in shown:
        if image.width * image.height > _PIXELS_MAX:
            raise Fault("bomb")
        found.note_time(*times_of(image))
        seen = recognise(upright(image).convert("RGB"))
        if seen.txts is not None:
            lines = zip(seen.boxes, seen.txts, seen.scores, strict=True)
            sure = [(box, text) for box, text, score in lines if score >= _SURE]
            found.add_text("\n".join(_join_rows(sure)), page=page)
            read = True
    if read:
        found.add_note("The text was recognised in an image and may have errors.")


read_scan: Final = partial(read_image, scan=True)


def _scanned_pages(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield pictures of the pages without text, among the first `_PAGES_MAX`."""
    document = PdfDocument(data)
    for number in range(min(len(document), _PAGES_MAX)):
        page = document[number]
        if not page.get_textpage().get_text_range().strip():
            width, height = page.get_size()
            scale = min(_SCALE, (_PIXELS_MAX / (width * height)) ** 0.5)
            yield number + 1, page.render(scale=scale).to_pil()
        page.close()


def times_of(image: Any) -> Iterator[str]:
    """Yield the times of a picture in its EXIF data with their zones, the best first."""
    tags = image.getexif()
    detail = tags.get_ifd(_DETAIL)
    for time, zone in _TIMES:
        if at := detail.get(time) or tags.get(time):
            yield f"{at}{detail.get(zone, '')}"


def _join_rows(lines: list[tuple[Any, str]]) -> list[str]:
    """Join recognised lines of one height into rows."""
    rows: list[list[tuple[Any, str]]] = []
    for box, text in sorted(lines, key=lambda line: float(line[0][:, 1].mean())):
        top, height = float(box[:, 1].mean()), float(box[:, 1].max() - box[:, 1].min())
        if rows and abs(float(rows[-1][0][0][:, 1].mean()) - top) < height / 2:
            rows[-1].append((box, text))
        else:
            rows.append([(box, text)])
    return [
        "  ".join(text for _, text in sorted(row, key=lambda line: float(line[0][0][0])))
        for row in rows
    ]
