"""Letters, contracts, minutes, notes, mail, tickets and address books of eight countries.

`layouts` lays phrases of `books/<language>.toml` out, with the wordings that a seed chooses;
`written` holds documents that were written by hand. The name of a case decides its half.
"""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256

from bench.documents.case import Case
from bench.documents.letters.address_books import address_books
from bench.documents.letters.layouts import laid_out
from bench.documents.letters.written import written


def cases() -> Iterator[Case]:
    """All of them."""
    for case in (*laid_out(), *address_books(), *written()):
        yield replace(case, kept=is_kept(case.name))


def is_kept(name: str) -> bool:
    """Return whether the case is kept from everybody who works on the rules."""
    return sha256(name.encode()).digest()[0] % 2 == 1
