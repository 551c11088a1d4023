"""Papers beside bills of ten countries, and receipts of tills that label nothing.

`layouts` writes down what is true and lays it out in the words of `books.toml`, which were written
before anybody ran the reader on them. The name of a case decides its half.
"""

from collections.abc import Iterator

from bench.documents.case import Case
from bench.documents.papers.layouts import laid_out


def cases() -> Iterator[Case]:
    """All of them: twelve of each country."""
    yield from laid_out()
