"""PDF: read by a process of its own, so that a hostile file costs neither the server nor others."""

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from canonry.domain.errors import CanonryError, InvalidInput, Unavailable
from canonry.domain.excerpts import Part
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
    try:
        # -P: the script's own folder must not hide modules that the parser imports.
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", str(_SCRIPT), *map(str, bounds)),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
        )
    except OSError as error:
        message = "no process could be started to read the PDF; try again"
        raise Unavailable("document.no-reader", message) from error
    said = await _said(process, data, limits.seconds)
    if "fault" in said:
        raise _fault(str(said["fault"]), limits)
    return [
        Part(text=text, page=number, section=section)
        for number, section, text in said["pages"]
        if text.strip()
    ]


async def _said(process: Process, data: bytes, seconds: float) -> Mapping[str, Any]:
    try:
        async with asyncio.timeout(seconds):
            written, _ = await process.communicate(data)
    except TimeoutError as error:
        message = f"reading the PDF took longer than {seconds:g} s; split it, and ingest its pieces"
        raise Unavailable("document.too-slow", message, seconds=seconds) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:  # out of memory, or the parser met what it cannot survive
        return {"fault": "damaged"}
    said: Mapping[str, Any] = json.loads(written)
    return said


def _fault(fault: str, limits: DocumentLimits) -> CanonryError:
    if fault in _FAULTS:
        return InvalidInput(f"document.{fault}", _FAULTS[fault])
    limit = limits.pages if fault == "pages" else limits.characters
    message = f"the PDF has more than {limit} {fault}; split it, and ingest its pieces"
    return InvalidInput("document.too-large", message, unit=fault, limit=limit)
