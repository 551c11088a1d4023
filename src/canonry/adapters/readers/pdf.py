"""PDF: read by a process of its own, so that a hostile file costs neither the server nor others."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from canonry.adapters.readers.processes import parsed
from canonry.domain.errors import CanonryError, InvalidInput
from canonry.domain.texts.excerpts import Part
from canonry.ports.document_reader import DocumentLimits

_SCRIPT: Final = Path(__file__).with_name("pdf_process.py")
_FAULTS: Final = {
    "encrypted": "the PDF is encrypted; take the password off it, and ingest it again",
    "damaged": "the PDF is damaged or none at all; open it in a viewer and save it anew",
}


async def read_pdf(data: bytes, limits: DocumentLimits) -> Sequence[Part]:
    """The pages of a PDF that hold text, each under the outline's title for it.

    Raises:
        InvalidInput: `document.damaged`, `document.encrypted` or `document.too-large`.
        Unavailable: `document.too-slow`, or `document.no-reader`: no process could be started.
    """
    bounds = (limits.pages, limits.characters, int(limits.seconds) + 1)
    arguments = (str(_SCRIPT), *map(str, bounds))
    said = await parsed(arguments, data, limits.seconds, noun="PDF")
    if "fault" in said:
        raise _fault(str(said["fault"]), limits)
    return [
        Part(text=text, page=number, section=section)
        for number, section, text in said["pages"]
        if text.strip()
    ]


def _fault(fault: str, limits: DocumentLimits) -> CanonryError:
    if fault in _FAULTS:
        return InvalidInput(f"document.{fault}", _FAULTS[fault])
    limit = limits.pages if fault == "pages" else limits.characters
    message = f"the PDF has more than {limit} {fault}; split it, and ingest its pieces"
    return InvalidInput("document.too-large", message, unit=fault, limit=limit)
