"""Identifiers that can be told by their form: IBANs, tax numbers, addresses of mail, telephones."""

import re
from typing import Final

_IBAN: Final = re.compile(r"\b[A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{4}){2,7}(?:[ ]?[A-Z0-9]{1,3})?\b")
_TAX: Final = re.compile(
    r"\b(?:ATU\d{8}|BE ?[01]\d{9}|DE ?\d{9}|ES ?[A-Z0-9]\d{7}[A-Z0-9]|FR ?[A-Z0-9]{2} ?\d{9}"
    r"|GB ?\d{9}|IT ?\d{11}|NL ?\d{9}B\d{2}|PL ?\d{10}|PT ?\d{9}|CHE-?\d{3}\.?\d{3}\.?\d{3})\b"
)
_EIN: Final = re.compile(r"\b(?:EIN|Tax ID|TIN)\b[^\d\n]{0,12}(\d{2}-\d{7})\b", re.IGNORECASE)
_MAIL: Final = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,6}")
_PHONE: Final = re.compile(r"(?<![\w+])(\+\d{1,3}[ .()/\d-]{6,20}\d)(?!\w)")
_REMAINDER: Final = 97


def ibans_in(text: str) -> tuple[str, ...]:
    """The international account numbers whose check digits hold, without blanks."""
    found = (match[0].replace(" ", "") for match in _IBAN.finditer(text))
    return tuple(dict.fromkeys(each for each in found if _checks(each)))


def tax_ids_in(text: str) -> tuple[str, ...]:
    """Tax numbers of companies, as European states and the United States write them."""
    found = [match[0].replace(" ", "") for match in _TAX.finditer(text)]
    found += [match[1] for match in _EIN.finditer(text)]
    return tuple(dict.fromkeys(found))


def mails_in(text: str) -> tuple[str, ...]:
    """Addresses of electronic mail, in lower case."""
    return tuple(dict.fromkeys(match[0].lower() for match in _MAIL.finditer(text)))


def phones_in(text: str) -> tuple[str, ...]:
    """Telephone numbers with their country's code."""
    return tuple(dict.fromkeys(match[1].strip() for match in _PHONE.finditer(text)))


def _checks(iban: str) -> bool:
    turned = iban[4:] + iban[:4]
    digits = "".join(str(int(char, 36)) for char in turned)
    return len(iban) >= 15 and int(digits) % _REMAINDER == 1  # noqa: PLR2004 - the shortest
