"""Plain text: bytes become characters by their byte order mark, a named charset, or as UTF-8."""

import codecs
from typing import Final

from canonry.domain.errors import InvalidInput

_MARKS: Final = (
    # The mark of UTF-32 begins with that of UTF-16, so it is looked for first.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NOTATIONS: Final = frozenset(
    {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}
)
"""What Python decodes like a charset and no file is written in; some take very long."""


def decoded(data: bytes, charset: str | None) -> str:
    """The text with line feeds as line ends.

    Raises:
        InvalidInput: `document.encoding` or `document.not-text`.
    """
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    if marked is None and charset is None and b"\0" in data:
        raise _not_text()  # before its bytes are called bad UTF-8
    encoding = marked or charset or "utf-8"
    try:
        text = data.decode(known(encoding))
    except LookupError as error:
        message = f"there is no charset {encoding}; name one such as utf-8 or windows-1252"
        raise InvalidInput("document.encoding", message) from error
    except UnicodeError as error:
        at = error.start if isinstance(error, UnicodeDecodeError) else 0
        message = (
            f"the text is not {encoding} at byte {at}; save it as UTF-8, or name its charset "
            "where that can be said"
        )
        raise InvalidInput("document.encoding", message, encoding=encoding, byte=at) from error
    if "\0" in text:
        raise _not_text()
    return text.replace("\r\n", "\n").replace("\r", "\n")


def known(charset: str) -> str:
    """The charset, if it says how a text becomes bytes.

    Raises:
        LookupError: there is none of that name, or it is a notation of Python's or of host names.
    """
    if codecs.lookup(charset).name.replace("_", "-") in _NOTATIONS:
        raise LookupError(charset)
    return charset


def _not_text() -> InvalidInput:
    message = "the document holds NUL, so it is no text; say which kind of file it is"
    return InvalidInput("document.not-text", message)
