"""Companions: which fields of a record name another entity, and of which type that is."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from canonry.records.notation.labels import plain
from canonry.records.notation.parties import party_type

COMPANIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "invoice": {"vendor_name": "company", "customer_name": "party"},
    "receipt": {"merchant_name": "company"},
    "transaction": {"merchant_name": "company"},
    "contract": {"parties": "party", "companies": "company"},
    "task": {"assignee": "person"},
    "contact": {"organization": "company"},
    "person": {"organization": "company"},
}
"""Entity type -> field -> the type of whom it names; a party is a company or a person."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PAYMENTS: Final = _words(
    """
    payment payments rent salary wages wage pay payroll transfer transfers withdrawal deposit fee
    fees interest refund reimbursement cashback charge charges atm cash dividend tax taxes
    mortgage loan instalment installment standing order direct debit credit card balance
    adjustment overdraft pension allowance top up topup bank account savings checking service
    monthly annual weekly quarterly incoming outgoing internal wire online mobile
    miete gehalt lohn zahlung uberweisung gutschrift lastschrift dauerauftrag gebuhr gebuhren
    zinsen auszahlung einzahlung abhebung bargeld bargeldauszahlung erstattung steuer umbuchung
    kontofuhrung abschluss rate kredit sparen rente kindergeld
    alquiler nomina transferencia pago pagos comision comisiones retirada retiro efectivo ingreso
    devolucion intereses hipoteca prestamo recibo cajero impuesto impuestos
    loyer salaire virement retrait especes frais interets remboursement prelevement cotisation
    """
)
"""Words for what a payment is, in the languages of the labels: they name nobody."""

_CONNECTING: Final = _words(
    """
    for of to from the in at and my own on fur von an der die das und de del la el en y du des le
    january february march april may june july august september october november december
    januar februar marz mai juni juli oktober dezember enero febrero marzo abril mayo junio julio
    agosto septiembre octubre noviembre diciembre
    """
)
"""Words that may stand beside them and name nobody either."""

_NAMES_MAX: Final = 50


def companions_of(entity_type: str, fields: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(field, type, name) of everybody whom the fields of a record name."""
    for field, kind in COMPANIONS.get(entity_type, {}).items():
        value = fields.get(field)
        names = value if isinstance(value, list | tuple) else (value,)
        for name in names[:_NAMES_MAX]:
            if not isinstance(name, str) or not name.strip() or "@" in name:
                continue
            if entity_type != "transaction" or not names_a_payment(name):
                yield field, party_type(name) if kind == "party" else kind, name.strip()


def names_a_payment(name: str) -> bool:
    """Whether a name only says what kind of payment it is, as banks write `Rent Payment 05/24`.

    One word that may be somebody's name is enough to make it a name.
    """
    words = [word for word in plain(name).split() if not word.isdigit()]
    kinds = [word for word in words if word in _PAYMENTS]
    return bool(kinds) and all(word in _PAYMENTS or word in _CONNECTING for word in words)
