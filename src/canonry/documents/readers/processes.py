"""Runs a parser in a process of its own, so that a hostile file costs neither server nor others."""

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from typing import Any

from canonry.values.errors import Unavailable


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
