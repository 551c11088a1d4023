"""Movements on an account, drawn by a seed: what a bank would have booked in a month or so."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """One line of a statement, with the balance after it."""

    booked: date
    value: date
    made: date
    amount: Decimal
    party: str
    purpose: str
    balance: Decimal
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An account and what happened on it, oldest first."""

    iban: str
    currency: str
    opening: Decimal
    movements: Sequence[Movement]
    country: str


_IBANS = {
    "DE": "DE89370400440532013000",
    "AT": "AT611904300234573201",
    "CH": "CH9300762011623852957",
    "FR": "FR1420041010050500013M02606",
    "ES": "ES9121000418450200051332",
    "IT": "IT60X0542811101000000123456",
    "NL": "NL91ABNA0417164300",
    "PL": "PL61109010140000071219812874",
    "PT": "PT50000201231234567890154",
    "GB": "GB29NWBK60161331926819",
    "US": "000123456789",
}
_CURRENCIES = {"CH": "CHF", "PL": "PLN", "GB": "GBP", "US": "USD"}
_SHOPS = {
    "DE": (("Bäckerei Grün", "Kartenzahlung"), ("Stadtwerke Höxter GmbH", "Abschlag Strom")),
    "AT": (("Drogerie Pröll", "Bezahlung Karte"), ("Wasserwerk Ötztal", "Rechnung 2024-17")),
    "CH": (("Bergbahnen Älpli AG", "Kauf vom Samstag"), ("Gemeinde Küsnacht", "Steuern Rate 2")),
    "FR": (("Boulangerie Lefèvre", "Carte 4512"), ("Éditions du Chêne", "Abonnement")),
    "ES": (("Panadería Núñez", "Compra tarjeta"), ("Aguas de Logroño SA", "Recibo agua")),
    "IT": (("Forno Città Vecchia", "Pagamento carta"), ("Acque Venete SpA", "Bolletta acqua")),
    "NL": (("Bakkerij Smeets", "Pinbetaling"), ("Waterbedrijf Noord BV", "Factuur water")),
    "PL": (("Piekarnia Łąkowa", "Płatność kartą"), ("Wodociągi Śląskie", "Faktura za wodę")),
    "PT": (("Padaria São João", "Compra cartão"), ("Águas do Norte SA", "Fatura água")),
    "GB": (("Greenfield Bakery", "Card purchase"), ("Severn Utilities Ltd", "Water bill")),
    "US": (("Maple Street Diner", "Card purchase"), ("Lakeside Power Co", "Electric bill")),
}
_EMPLOYERS = {
    "DE": ("Maschinenbau Vogt GmbH", "Gehalt"),
    "AT": ("Seilbahn Tirol GmbH", "Bezug"),
    "CH": ("Uhrwerk Biel AG", "Lohn"),
    "FR": ("Ateliers Moreau SARL", "Salaire"),
    "ES": ("Talleres Ibarra SL", "Nómina"),
    "IT": ("Officine Bruni Srl", "Stipendio"),
    "NL": ("Scheepswerf de Wit BV", "Salaris"),
    "PL": ("Zakłady Wiśniewski", "Wynagrodzenie"),
    "PT": ("Cerâmica do Vouga Lda", "Ordenado"),
    "GB": ("Harbour Engineering Ltd", "Salary"),
    "US": ("Prairie Software Inc", "Payroll"),
}


def an_account(country: str, seed: int, *, count: int = 9, late: bool = True) -> Account:
    """An account with `count` movements; two of them are alike, and one is large.

    Not `late`: all on the first twelve days of a month, so that their dates say nothing of order.
    """
    lot = random.Random(f"{country}-{seed}")  # noqa: S311 - a document, not a secret
    day = date(2024, lot.randint(2, 9), lot.randint(2, 4) if not late else lot.randint(8, 16))
    opening = balance = Decimal(lot.randint(90_000, 500_000)) / 100
    movements: list[Movement] = []
    for number in range(count):
        shop, purpose = _SHOPS[country][lot.randint(0, 1)]
        amount = -Decimal(lot.randint(199, 18_000)) / 100
        if number == count // 2:
            shop, purpose = _EMPLOYERS[country]
            amount = Decimal(lot.randint(180_000, 420_000)) / 100
        if number == count - 2:  # two coffees of one day
            before = movements[-1]
            day, shop, purpose, amount = before.booked, before.party, before.purpose, before.amount
        elif number:
            day += timedelta(days=lot.randint(0, 3) if late else lot.randint(0, 1))
        balance += amount
        movements.append(
            Movement(
                booked=day,
                value=day + timedelta(days=lot.randint(0, 2)),
                made=day - timedelta(days=lot.randint(0, 1)),
                amount=amount,
                party=shop,
                purpose=f"{purpose} {4100 + number // 2}" if number < count - 3 else purpose,
                balance=balance,
                number=number + 1,
            )
        )
    return Account(
        iban=_IBANS[country],
        currency=_CURRENCIES.get(country, "EUR"),
        opening=opening,
        movements=movements,
        country=country,
    )
