"""PDFs and other files that are read in a process of their own."""

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from canonry.canon.ports.files import DocumentLimits
from canonry.language.texts.sentences import Box, Part
from canonry.values.errors import CanonryError, InvalidInput, Unavailable


async def parsed(
    arguments: Sequence[str], data: bytes, seconds: float, *, noun: str
) -> Mapping[str, Any]:
    """What the Python program behind `arguments` says of `data`, as JSON on its standard output.

    A program that dies, out of memory or of what it met, says `{"fault": "damaged"}`.

    Raises:
        Unavailable: `document.too-slow` or `document.no-reader`.
    """
    try:
        # -P: the working folder must not hide modules that a parser imports.
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", *arguments), stdin=PIPE, stdout=PIPE, stderr=DEVNULL
        )
    except OSError as error:
        message = f"no process could be started to read the {noun}; try again"
        raise Unavailable("document.no-reader", message) from error
    return await _said(process, data, seconds, noun)


async def _said(process: Process, data: bytes, seconds: float, noun: str) -> Mapping[str, Any]:
    try:
        async with asyncio.timeout(seconds):
            written, _ = await process.communicate(data)
    except TimeoutError as error:
        message = (
            f"reading the {noun} took longer than {seconds:g} s; split it, and bring its pieces"
        )
        raise Unavailable("document.too-slow", message, seconds=seconds) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        return {"fault": "damaged"}
    said: Mapping[str, Any] = json.loads(written)
    return said


_PAGES: Final = "canonry.documents.parsers.pages"
_PICTURES: Final = "canonry.documents.parsers.pictures"
PICTURE_SECONDS: Final = 10.0
BOXES_MAX: Final = 100
_FAULTS: Final = {
    "encrypted": "the PDF is encrypted; take the password off it, and bring it again",
    "damaged": "the PDF is damaged or none at all; open it in a viewer and save it anew",
}


LAID_OUT_MAX: Final = 50
"""So many pages of a file are read as they are laid out, which takes longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfPages:
    """The pages that hold text, their layout, and the invoice for programs within the PDF.

    `pictures` are the numbers of pages that hold pictures and no text.
    """

    parts: Sequence[Part]
    layout: str
    invoice: bytes | None
    pictures: Sequence[int]


async def read_pdf(data: bytes, limits: DocumentLimits, *, laid_out: bool = False) -> PdfPages:
    """The pages of a PDF, each under the outline's title; their layout where that is asked for.

    Raises:
        InvalidInput: `document.damaged`, `document.encrypted` or `document.too-large`.
        Unavailable: `document.too-slow`, or `document.no-reader`: no process could be started.
    """
    pages = LAID_OUT_MAX if laid_out else 0
    bounds = (limits.pages, limits.characters, int(limits.seconds) + 1, pages)
    arguments = ("-m", _PAGES, *map(str, bounds))
    said = await parsed(arguments, data, limits.seconds, noun="PDF")
    if "fault" in said:
        raise _fault(str(said["fault"]), limits)
    return PdfPages(
        parts=[
            Part(text=text, page=number, section=section, boxes=_boxes(edges))
            for number, section, text, edges in said["pages"]
            if text.strip()
        ],
        layout="\n".join(said["layout"]),
        invoice=b64decode(said["invoice"]) if said["invoice"] else None,
        pictures=said["pictures"],
    )


def _boxes(edges: Sequence[float]) -> tuple[Box, ...]:
    """A box for each four numbers."""
    return tuple(Box(*each) for each in zip(*[iter(edges)] * 4, strict=True))


async def picture_pdf(
    data: bytes, page: int, boxes: Sequence[Box], limits: DocumentLimits
) -> bytes:
    """A page of a PDF as PNG, with boxes marked.

    Raises:
        InvalidInput: `document.damaged`, `document.encrypted` or `document.no-page`.
        Unavailable: `document.too-slow` or `document.no-reader`.
    """
    seconds = min(PICTURE_SECONDS, limits.file_seconds)
    marked = json.dumps([list(box) for box in boxes[:BOXES_MAX]])
    arguments = ("-m", _PICTURES, str(page), str(int(seconds) + 1), marked)
    said = await parsed(arguments, data, seconds, noun="PDF")
    if "png" in said:
        return b64decode(said["png"])
    raise _fault(str(said["fault"]), limits)


def _fault(fault: str, limits: DocumentLimits) -> CanonryError:
    if fault == "page":
        return InvalidInput("document.no-page", "the PDF has no such page", path="/page")
    if fault in _FAULTS:
        return InvalidInput(f"document.{fault}", _FAULTS[fault])
    limit = limits.pages if fault == "pages" else limits.characters
    message = f"the PDF has more than {limit} {fault}; split it, and bring its pieces"
    return InvalidInput("document.too-large", message, unit=fault, limit=limit)
