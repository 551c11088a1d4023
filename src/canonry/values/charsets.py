"""Charsets: text is decoded by its byte order mark, a named charset, or as UTF-8.

For other text the charset is guessed by the letters of known languages.
"""

import codecs
import re
from itertools import pairwise
from typing import Final

from canonry.values.errors import InvalidInput
from canonry.values.languages import known_languages

MARKS: Final = (
    # The mark of UTF-32 begins with that of UTF-16 and must be tried first.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NOTATIONS: Final = frozenset(
    {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}
)
"""Python codecs that are no charsets of files; some are very slow."""


def decode_text(data: bytes, charset: str | None) -> str:
    """Decode text, with line feeds as line ends.

    Raises:
        InvalidInput: `document.encoding` or `document.not-text`.
    """
    marked = next((name for mark, name in MARKS if data.startswith(mark)), None)
    if marked is None and charset is None and b"\0" in data:
        raise _not_text_error()  # a clearer error than bad UTF-8
    encoding = marked or charset or "utf-8"
    try:
        text = data.decode(check_charset(encoding))
    except LookupError as error:
        message = f"The charset {encoding} is unknown. Name one such as utf-8 or windows-1252."
        raise InvalidInput("document.encoding", message) from error
    except UnicodeError as error:
        at = error.start if isinstance(error, UnicodeDecodeError) else 0
        message = (
            f"The text is not {encoding} at byte {at}. Save it as UTF-8, or name its charset in "
            "the media type."
        )
        raise InvalidInput("document.encoding", message, encoding=encoding, byte=at) from error
    if "\0" in text:
        raise _not_text_error()
    return text.replace("\r\n", "\n").replace("\r", "\n")


_CHARSETS: Final = ("cp1252", "cp1250", "iso8859_2", "mac_roman", "cp850")
"""Charsets of known languages before UTF-8, the most common ones first."""

_MARKS_OF_TEXT: Final = frozenset(
    "\xa0\xa7\xa9\xab\xae\xb0\xb2\xb3\xb4\xb5\xb7\xb9\xbb\xbd\xbf\xa1\xa3\xaa\xba\xd7\xad"
    "\u20ac\u2013\u2014\u2018\u2019\u201a\u201c\u201d\u201e\u2022\u2026\u2122\u2039\u203a\u0153\u0152"
)
_WITHIN_WORDS: Final = re.compile(
    r"(?<=[^\W\d_])[\xb9\xa3\xbf\xa1]|(?<=[^\W\d_])(?<!\bm)(?<!\b[ck]m)[\xb2\xb3]"
    r"|[\xa3\xb9\xb2\xb3](?=[^\W\d_])|(?<=[^\W\d_])[\xb0\xab\u203a](?=[^\W\d_])"
)
"""Marks within words, which show that the charset is wrong."""

_SAMPLED_BYTES: Final = 200_000  # a charset shows early; each one is tried on all of this


def decode_guessed(data: bytes, charset: str | None) -> tuple[str, tuple[str, ...]]:
    """Decode text, with a note if its charset was guessed.

    Raises:
        InvalidInput: those of `decode_text`; a guess needs a charset in which every letter fits.
    """
    try:
        return decode_text(data, charset), ()
    except InvalidInput as error:
        if charset is not None or error.code != "document.encoding":
            raise
        found = _charset_of(data)
        if found is None:
            raise
    note = f"The text names no charset and was read as {codecs.lookup(found).name}"
    return decode_text(data, found), (f"{note}. If letters are wrong, send it as UTF-8.",)


def _charset_of(data: bytes) -> str | None:
    """Return the first charset in which all letters belong to one language."""
    for charset in _CHARSETS:
        try:
            text = data[:_SAMPLED_BYTES].decode(charset)
        except UnicodeDecodeError:
            continue
        # A capital behind a small letter is another letter in another charset.
        mixed = any(a.islower() and b.isupper() for a, b in pairwise(text) if b > "\x7f")
        strange = {char for char in text.lower() if char > "\x7f"} - _MARKS_OF_TEXT
        if (
            not mixed
            and _WITHIN_WORDS.search(text) is None
            and any(strange <= each.letters for each in known_languages().values())
        ):
            return charset
    return None


def check_charset(charset: str) -> str:
    """Return the charset, or refuse codecs that are no charsets of files.

    Raises:
        LookupError: the name is unknown, or is another codec of Python.
    """
    if codecs.lookup(charset).name.replace("_", "-") in _NOTATIONS:
        raise LookupError(charset)
    return charset


def _not_text_error() -> InvalidInput:
    message = "The document is not text, because it has NUL bytes. Name its kind of file."
    return InvalidInput("document.not-text", message)
