"""Receipts of tills: a shop at the top, prices, and a sum that its own arithmetic proves."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from canonry.documents.extraction.kinds import heads_a_document
from canonry.documents.extraction.prose import only_date_in
from canonry.documents.extraction.writings import DocumentContext, context_of
from canonry.records.domain.interpretations import Found
from canonry.records.notation.labels import LabelledLine, plain
from canonry.records.notation.numbers import number_in
from canonry.values.languages import notion_of

_ROWS_MAX: Final = 300
_SHOP_MAX: Final = 60
_SUMS: Final = frozenset({"total", "amount_due"})
_PRICE: Final = re.compile(r"\d[.,]\d\d(?!\d)")
_CLASS: Final = re.compile(r"[A-Z]{1,2}|\*")
"""The mark of a tax rate behind a price."""

_NO_NAME: Final = re.compile(r"\d|[,:;?]$")
_CLOCK: Final = re.compile(r"(?<![\d:.,])(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?(?![\d:.,])")


class _Price(NamedTuple):
    """A line that ends with an amount of money, in cents."""

    label: str
    text: str
    cents: int
    notion: str


def till_of(lines: Sequence[LabelledLine]) -> Found | None:
    """Return the receipt in a text; None unless prices or a payment prove the sum.

    A list of expenses has a sum too, but neither a payment nor a time of the day.
    """
    context = context_of(list(lines))
    shop = next((each.text.strip() for each in lines if not heads_a_document(each.text)), "")
    prices = [each for line in lines[:_ROWS_MAX] if (each := _priced(line.text, context))]
    named = shop and len(shop) <= _SHOP_MAX and not _NO_NAME.search(shop)
    timed = named and any(_CLOCK.search(line.text) for line in lines)
    # The last sum is the one that was paid, with a tip.
    for place, price in reversed([*enumerate(prices if timed else ())]):
        goods = [each for each in prices[:place] if not each.notion]
        taxes = sum(each.cents for each in prices[:place] if each.notion == "tax")
        adds_up = goods and price.cents - sum(each.cents for each in goods) in {0, taxes}
        later = [each.cents for each in prices[place + 1 :]]
        given = (first - change for first, change in pairwise(later))
        if price.notion in _SUMS and (adds_up or price.cents in {*later[:1], *given}):
            fields = {
                "merchant_name": shop,
                "date_purchased": only_date_in(lines, context),
                "amount_total": price.cents / 100,
                "currency": context.currency_of(price.text),
                "items": [{"description": e.label, "amount": e.cents / 100} for e in goods]
                if adds_up
                else None,
            }
            told = {name: each for name, each in fields.items() if each}
            return Found(entity_type="receipt", fields=told, reasons=("the sum is proved",))
    return None


def _priced(text: str, context: DocumentContext) -> _Price | None:
    """Read a line that ends with an amount; a mark of its tax may follow."""
    words = text.split()
    while len(words) > 1 and _CLASS.fullmatch(words[-1]):
        words.pop()
    for count in (1, 2):
        label, tail = " ".join(words[:-count]), " ".join(words[-count:])
        seen = number_in(tail, context.mark, context.group, whole=True)
        if label and seen is not None and seen.value is not None and _PRICE.search(tail):
            notion = notion_of(plain(label))[0]
            return _Price(label, text, round(float(seen.value) * 100), notion)
    return None
