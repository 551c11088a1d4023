"""Cells of a CSV file that a spreadsheet takes for text: a quote before what it would calculate.

A text that begins like a formula would be run by whoever opens the file. Reading takes the quote
away again, so that a file that was written says exactly what was stored.
"""

import re
from typing import Final

_QUOTE: Final = "'"
_CALCULATED: Final = re.compile(r"[\s']*[=+\-@\uff1d\uff0b\uff0d\uff20]|[ ']*[\t\r\n]")


def sheltered(text: str) -> str:
    """The cell for a text."""
    return _QUOTE + text if _CALCULATED.match(text) else text


def unsheltered(cell: str) -> str:
    """The text of a cell; the inverse of `sheltered`."""
    return cell[1:] if cell.startswith(_QUOTE) and _CALCULATED.match(cell, 1) else cell
