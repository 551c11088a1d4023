"""Images: their text, recognised on this machine by the extra `ocr`, without any network."""

import io
from importlib import import_module
from typing import Any, Final

from canonry.adapters.parsers.findings import Fault, Findings

_PIXELS_MAX: Final = 60_000_000
_SURE: Final = 0.5
"""Lines that were recognised with less confidence say nothing."""


def parse(kind: str, data: bytes, found: Findings) -> None:
    """Read the lines of an image from top to bottom, and those of one height from left to right."""
    del kind
    try:
        pictures: Any = import_module("PIL.Image")
        recogniser: Any = import_module("rapidocr").RapidOCR
    except ImportError as error:
        raise Fault("no-recogniser") from error
    with pictures.open(io.BytesIO(data)) as image:
        if image.width * image.height > _PIXELS_MAX:
            raise Fault("bomb")
    seen = recogniser()(data)
    if seen.txts is None:
        return
    lines = [
        (box, text)
        for box, text, score in zip(seen.boxes, seen.txts, seen.scores, strict=True)
        if score >= _SURE
    ]
    found.text("\n".join(_rows(lines)), page=1)
    found.note("the text was recognised in an image and may be misread")


def _rows(lines: list[tuple[Any, str]]) -> list[str]:
    """The lines, those of one height joined, as they stand in one row of the page."""
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
