"""Text that a store can keep: no NUL and no lone surrogate, shown safely where it has any."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_SHOWN: Final = 80


def is_clean(text: str) -> bool:
    """Whether `text` can be written as UTF-8 and holds no NUL."""
    if "\x00" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def shown(text: str) -> str:
    """A caller's text as an error may repeat it: short, printable and always encodable."""
    cut = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    if cut.isprintable():
        return cut
    return cut.encode("unicode_escape").decode("ascii")


def pointer(*steps: str | int) -> str:
    """The JSON pointer (RFC 6901) of a spot in the arguments."""
    return "".join(f"/{shown(str(step)).replace('~', '~0').replace('/', '~1')}" for step in steps)


def meant(name: str, known: Iterable[str]) -> str:
    """A question whether somebody meant the nearest of the names that there are; "" if none is."""
    near = get_close_matches(name[:_SHOWN].casefold(), known, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""
