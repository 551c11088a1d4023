"""Parties: the names in a list of them, and whether a name is a company's or a person's."""

import re
from typing import Final

_COMPANY: Final = re.compile(
    r"(?:^|[\s,])(?:inc|llc|llp|ltd|limited|corp|corporation|co|company|plc|gmbh|ag|kg|ohg|ug|se"
    r"|e\.\s?v|mbh|s\.?\s?a|s\.?\s?l|s\.?\s?r\.?\s?l|s\.?a\.?s|sarl|b\.?v|n\.?v|oy|ab|a\.?s|aps|pty"
    r"|pvt|s\.?p\.?a|kft|sp\.\s?z\s?o\.\s?o|d\.o\.o|group|holdings?|bank|university|institute"
    r"|foundation|association|stiftung|verein|services|solutions|systems|partners|consulting"
    r"|management|provider|agency|studio|labs|technologies|software)\.?(?:$|[\s,)])",
    re.IGNORECASE,
)
_PERSON: Final = re.compile(
    r"(?:(?:mr|mrs|ms|dr|prof|herr|frau|sr|sra|don|do\xf1a)\.?\s+)?"
    r"[^\W\d_][\w'\u2019.-]*(?:\s+(?:van|von|der|den|de|del|la|da|dos|di|le|bin|al|y)){0,3}"
    r"(?:\s+[^\W\d_][\w'\u2019.-]*){1,3}",
    re.IGNORECASE,
)
_APART: Final = re.compile(
    r"\s?(?:;|\s(?:and|und|y|et|&)\s(?!co\b)|\n|\s\|\s"
    r"|,(?!\s?(?:inc|llc|ltd|l\.?p|corp|co|s\.?a|gmbh|jr|sr)\b))\s?",
    re.IGNORECASE,
)
_ROLE: Final = re.compile(
    r"(?<![(\u201c\"])[(\u201c\"]++(?:the\s|hereinafter|der\s|die\s|el\s|la\s)?[^)\"\u201d]{0,60}+[)\"\u201d]++"
)
_NAME_MAX: Final = 120


def party_type(name: str) -> str:
    """`company` or `person`; a single word is a company's, as persons are named in full."""
    if _COMPANY.search(name) or any(char.isdigit() for char in name):
        return "company"
    words = name.split()
    capital = all(word[:1].isupper() for word in words if len(word) > 3)  # noqa: PLR2004
    if len(words) > 1 and capital and _PERSON.fullmatch(name.strip()):
        return "person"
    return "company"


def parties_in(text: str) -> tuple[str, ...]:
    """The names in a list of parties, in order, without the roles in brackets behind them."""
    lines = (" ".join(line.split()) for line in _ROLE.sub(" ", text).split("\n"))
    bare = "\n".join(line for line in lines if line)
    names = (" ".join(name.split()).strip(" .,:-*") for name in _APART.split(bare))
    return tuple(dict.fromkeys(name for name in names if 1 < len(name) <= _NAME_MAX))


def is_company(name: str) -> bool:
    """Whether a name says of itself that it is a company's."""
    return bool(_COMPANY.search(name))
