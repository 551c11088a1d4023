"""Words: how a text is cut into terms for keyword recall, the same in every backend."""

import re
import unicodedata
from typing import Final

from canonry.values.normal_forms import plain_signs

_WORD: Final = re.compile(r"\w+", re.UNICODE)


def terms_of(text: str) -> tuple[str, ...]:
    """The words of `text` in order: letters and digits, with signs, case and accents folded."""
    plain = plain_signs(text).casefold()
    if not plain.isascii():  # otherwise there are no accents to fold, which is the common case
        decomposed = unicodedata.normalize("NFKD", plain)
        plain = "".join(c for c in decomposed if not unicodedata.combining(c))
        plain = plain.casefold()  # a sign such as the service mark decomposes into capitals
    return tuple(_WORD.findall(plain.replace("_", " ")))
