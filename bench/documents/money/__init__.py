"""Bank statements, invoices and receipts of ten countries."""

from collections.abc import Iterator

from bench.documents.case import Case
from bench.documents.money.bills import bills
from bench.documents.money.formats import formats
from bench.documents.money.statements import statements
from bench.documents.money.written import written


def cases() -> Iterator[Case]:
    """All of them."""
    yield from statements()
    yield from formats()
    yield from bills()
    yield from written()
