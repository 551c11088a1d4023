"""Labels: the lines of a document that say what a value is, in several languages.

A label stands for a notion, such as `due` for *Due Date*, *Zahlbar bis* and *Vencimiento*; what a
notion means for a field depends on the type of the document.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.domain.extraction.numbers import without_currency

_WORDS: Final = {
    "en": """
        number: number|no|nr|ref|reference|reference number|document number|document no
        invoice_number: invoice number|invoice no|invoice nr|invoice #|invoice id|inv no|bill number
            |invoice|bill
        receipt_number: receipt number|receipt no|receipt #|receipt id|receipt
        contract_number: contract number|contract no|agreement number|agreement no|contract id
            |contract|agreement
        date: date|issued|dated
        issued: invoice date|issue date|date issued|date of issue|bill date|receipt date
            |purchase date|date of purchase|transaction date|meeting date|date of invoice
            |income date|billing date|date billed|billed on|sale date|date of sale
        due: due date|due|date due|payment due|payable by|pay by|due by|due on
        effective: effective date|start date|commencement date|effective|effective from|begins
        expiration: expiration date|expiry date|end date|termination date|expires|valid until
            |expiration|expiry
        signed: signed date|date signed|signature date|signed|signed on|date of signature
        vendor: vendor|seller|supplier|from|bill from|sold by|issued by|vendor name|provider
            |service provider|remit to
        customer: customer|client|bill to|billed to|buyer|sold to|invoice to|customer name|ship to
            |client name
        merchant: merchant|store|shop|merchant name|store name|retailer
        parties: parties|between|party|contracting parties
        amount_due: amount due|balance due|total due|amount payable|please pay|total amount due
        total: total|grand total|total amount|amount total|total price|invoice total|total paid
            |amount paid
        amount: amount|price|sum|contract value|total value|contract amount|fee
        subtotal: subtotal|sub total|net amount|net total|total net|net
        tax: tax|vat|sales tax|tax amount|vat amount|gst
        tax_rate: tax rate|vat rate
        currency: currency
        items: items|line items|articles|products|services|positions
        payment_method: payment method|paid by|paid with|payment type|method of payment|payment
        payment_terms: payment terms|terms|terms of payment|payment conditions
        purchase_order: purchase order|purchase order number|purchase order no|po number|po no|po #
        title: title|subject|topic
        name: name|contract name|agreement name
        type: type|contract type|agreement type
        status: status
        description: description|for|services rendered|regarding|re
        notes: notes|note|remarks|comments
        attendees: attendees|participants|present|attending
        agenda: agenda
        actions: action items|actions|todos|to do|next steps|tasks|follow ups
        next_meeting: next meeting|next session|next call|next review|next appointment
            |follow up meeting|next sync|next standup|date of next meeting
        points: key points|discussion|decisions|key discussion points|summary
        tags: tags|keywords|categories
        updated: updated|last updated|last modified|modified
        author: author|written by|by
    """,
    "de": """
        number: nummer|belegnummer|aktenzeichen
        invoice_number: rechnungsnummer|rechnungs nr|rechnung nr|rechnungsnr|re nr|rechnung
        receipt_number: quittungsnummer|bon nr|beleg nr|bonnummer|quittung nr|quittung
            |bon|beleg
        contract_number: vertragsnummer|vertrags nr|vertragsnr|vertrag nr|vertrag
        date: datum
        issued: rechnungsdatum|ausstellungsdatum|belegdatum|kaufdatum|datum der rechnung
        due: fallig am|zahlbar bis|falligkeitsdatum|falligkeit|fallig|zahlungsziel
        effective: vertragsbeginn|beginn|gultig ab|laufzeit ab|inkrafttreten
        expiration: vertragsende|ende|gultig bis|laufzeit bis|ablaufdatum
        signed: unterzeichnet am|unterschrieben am|datum der unterschrift|unterzeichnet
        vendor: lieferant|verkaufer|rechnungssteller|anbieter|auftragnehmer|absender
        customer: kunde|kaufer|rechnungsempfanger|auftraggeber|rechnung an|empfanger
        merchant: handler|geschaft|markt|filiale
        parties: vertragsparteien|parteien|zwischen
        amount_due: zu zahlen|zahlbetrag|zu zahlender betrag|offener betrag|rechnungsbetrag
        total: gesamt|gesamtbetrag|summe|gesamtsumme|bruttobetrag|endbetrag|brutto
        amount: betrag|preis|vertragswert|honorar
        subtotal: zwischensumme|nettobetrag|netto|summe netto|nettosumme
        tax: mwst|umsatzsteuer|ust|mehrwertsteuer|steuer|mwst betrag
        tax_rate: steuersatz|mwst satz
        currency: wahrung
        items: positionen|artikel|leistungen
        payment_method: zahlungsart|zahlungsmethode|zahlungsweise|bezahlt mit
        payment_terms: zahlungsbedingungen|zahlungskonditionen
        purchase_order: bestellnummer|bestell nr|bestellung
        title: titel|betreff|thema
        name: vertragsname|bezeichnung
        type: vertragsart|art
        description: beschreibung|leistung
        notes: notizen|bemerkungen|anmerkungen|hinweise
        attendees: teilnehmer|anwesend|teilnehmende|anwesende
        agenda: tagesordnung
        actions: aufgaben|massnahmen|nachste schritte
        next_meeting: nachstes treffen|nachste sitzung|nachste besprechung|nachster termin
            |folgetermin|nachstes meeting
        points: ergebnisse|beschlusse|besprechung
        tags: schlagworte|stichworter
        updated: geandert|aktualisiert
        author: autor|verfasser
    """,
    "es": """
        number: numero|n|num
        invoice_number: numero de factura|factura n|factura no|factura num|n de factura
            |no de factura|num factura|factura numero|factura
        receipt_number: numero de recibo|recibo n|recibo no|n de recibo|ticket n|recibo|ticket
        contract_number: numero de contrato|contrato n|contrato no|n de contrato|contrato
        date: fecha
        issued: fecha de emision|fecha de factura|fecha factura|fecha de compra|fecha de la factura
        due: fecha de vencimiento|vencimiento|vence|pagar antes de|fecha limite
        effective: fecha de inicio|inicio|vigente desde|entrada en vigor
        expiration: fecha de fin|fecha de terminacion|vigente hasta|fin|fecha de expiracion
        signed: fecha de firma|firmado|firmado el
        vendor: proveedor|vendedor|emisor|de
        customer: cliente|comprador|facturar a|facturado a|destinatario
        merchant: comercio|tienda|establecimiento
        parties: partes|entre
        amount_due: total a pagar|importe a pagar|saldo pendiente|a pagar
        total: importe total|total factura|total con iva
        amount: importe|monto|cantidad|valor del contrato|honorarios
        subtotal: base imponible|subtotal sin iva
        tax: iva|impuesto|impuestos|cuota iva
        tax_rate: tipo de iva|tasa de iva
        currency: moneda|divisa
        items: articulos|conceptos|productos|servicios
        payment_method: metodo de pago|forma de pago|pagado con
        payment_terms: condiciones de pago
        purchase_order: numero de pedido|pedido
        title: titulo|asunto|tema
        name: nombre del contrato|nombre
        type: tipo|tipo de contrato
        status: estado
        description: descripcion|concepto
        notes: notas|observaciones
        attendees: asistentes|participantes
        agenda: orden del dia
        actions: tareas|acciones|proximos pasos
        next_meeting: proxima reunion|proxima sesion|siguiente reunion
        points: acuerdos|puntos clave
        tags: etiquetas
        updated: actualizado
        author: autora
    """,
    "fr": """
        invoice_number: numero de facture|facture n|facture no|n de facture|facture
        receipt_number: numero de recu|recu n
        contract_number: numero de contrat|contrat n
        issued: date de facture|date d emission|date de facturation|date d achat
        due: date d echeance|echeance|a payer avant
        effective: date d effet|date de debut
        expiration: date de fin|date d expiration
        signed: date de signature|signe le
        vendor: fournisseur|vendeur
        customer: acheteur|facture a
        merchant: magasin|commercant
        parties: les parties|entre les soussignes
        amount_due: net a payer|montant du|total a payer
        total: total ttc|montant total|montant ttc
        amount: montant
        subtotal: sous total|total ht|montant ht
        tax: tva|montant tva
        currency: devise
        payment_method: mode de paiement|moyen de paiement
        payment_terms: conditions de paiement
        next_meeting: prochaine reunion|prochaine seance
        attendees: presents
        title: titre|objet
    """,
}


def _table() -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for language, block in _WORDS.items():
        notion = ""
        for line in block.strip().splitlines():
            head, colon, tail = line.strip().partition(": ")
            words = tail if colon else line.strip()
            notion = head if colon else notion
            for word in words.split("|"):
                if word.strip():
                    found.setdefault(word.strip(), (notion, language))
    return found


NOTIONS: Final = _table()
"""A label as `plain` writes it to its notion and the language that it is of."""

_MARKUP: Final = re.compile(r"^\s*(?:[-*+\u2022]\s+|#{1,6}\s+|>\s?|\|\s*)*")
_EMPHASIS: Final = re.compile(r"(\*\*|__|`|\*|_)(?=\S)(?![*_`])(.{1,300}?)(?<=\S)\1(?![\w*_`])")
_PAIR: Final = re.compile(
    r"([^:\uff1a|\t]{1,60}?)\s*(?:[:\uff1a](?!//)|\t|\s\|\s|\s{3,}|\.{4,})\s*(.*)",
    re.DOTALL,
)
_NOT_PLAIN: Final = re.compile(r"[^a-z0-9#]+")
_RATE: Final = re.compile(r"[(\[]?\d{1,2}(?:[.,]\d+)?\s?%[)\]]?")
_LISTED: Final = re.compile(r"\s*(?:[-*+\u2022]|\d{1,2}[.)])\s")
_ORDINAL: Final = re.compile(r"^\d{1,2}[.)]\s+")
_LINE_MAX: Final = 2_000
"""What stands farther right in a line is no label and no value of one."""

_LABEL_WORDS: Final = 4
_BLOCK_MAX: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledLine:
    """One line of a document: `label` and `value` where it says so, `notion` where that is known.

    `block` holds the lines that follow a label which has no value of its own; `currency` is what
    the label says that its value is in.
    """

    text: str
    label: str = ""
    value: str = ""
    notion: str = ""
    language: str = ""
    block: tuple[str, ...] = ()
    listed: bool = False
    currency: str = ""


def plain(label: str) -> str:
    """A label without accents, marks and case, as the vocabulary has it."""
    spread = unicodedata.normalize("NFKD", label.lower().replace("\xdf", "ss"))
    bare = "".join(char for char in spread if not unicodedata.combining(char))
    return _NOT_PLAIN.sub(" ", bare.replace("\xba", "").replace("#", " # ")).strip()


def lines_of(text: str) -> Sequence[LabelledLine]:
    """The lines that say something, read as labels and values where they are such."""
    raw = [line[:_LINE_MAX] for line in text.split("\n") if line.strip()]
    return [_line(line, _Following(raw, place)) for place, line in enumerate(raw)]


@dataclass(frozen=True, slots=True)
class _Following:
    """The lines behind one; looked at only where it is a label without a value."""

    lines: Sequence[str]
    place: int

    def block(self) -> tuple[str, ...]:
        """Those that belong to the label."""
        return tuple(_block(self.lines[self.place + 1 : self.place + 1 + _BLOCK_MAX]))


def _line(raw: str, following: _Following) -> LabelledLine:
    listed = bool(_LISTED.match(raw))
    text = _EMPHASIS.sub(r"\2", _MARKUP.sub("", raw)).strip().strip("|").strip()
    cells = [cell.strip() for cell in text.split("|") if cell.strip()]
    if len(cells) > 2:  # noqa: PLR2004 - a row of a table, not a label and its value
        return LabelledLine(text=text, listed=listed)
    found = _PAIR.fullmatch(" | ".join(cells) if len(cells) > 1 else text)
    if found is not None and len(found[1].split()) <= _LABEL_WORDS + 2:
        label, value = _ORDINAL.sub("", found[1].strip()), _unquoted(found[2].strip())
        notion, language, currency = _meaning(label)
        block = () if value else following.block()
        return LabelledLine(
            text=text,
            label=label,
            value=value,
            notion=notion,
            language=language,
            block=block,
            listed=listed,
            currency=currency,
        )
    return _unmarked(text, following, listed=listed)


def _meaning(label: str) -> tuple[str, str, str]:
    """The notion of a label, its language, and the currency that it ends in."""
    written = plain(_RATE.sub("", label))
    if written in NOTIONS:
        return *NOTIONS[written], ""
    bare, currency = without_currency(written)
    return (*NOTIONS[bare], currency) if currency and bare in NOTIONS else ("", "", "")


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] == '"' and value.count('"') == 2  # noqa: PLR2004
    return value[1:-1] if quoted else value


def _unmarked(text: str, following: _Following, *, listed: bool) -> LabelledLine:
    """A line that begins with a known label and goes on with a value, or is a label alone."""
    words = text.split()
    alone = NOTIONS.get(plain(text))
    if alone is not None and len(words) <= _LABEL_WORDS and alone[0] in _HEADS:
        return LabelledLine(
            text=text,
            label=text,
            notion=alone[0],
            language=alone[1],
            block=following.block(),
            listed=listed,
        )
    for count in range(min(_LABEL_WORDS, len(words) - 1), 0, -1):
        label, value = " ".join(words[:count]), " ".join(words[count:])
        notion, language = NOTIONS.get(plain(label), ("", ""))
        if notion in _VALUED and _begins_as_value(value):
            return LabelledLine(
                text=text, label=label, value=value, notion=notion, language=language, listed=listed
            )
    return LabelledLine(text=text, listed=listed)


_HEADS: Final = frozenset(
    {"customer", "vendor", "attendees", "agenda", "actions", "points", "items", "parties"}
)
"""Notions whose label may stand alone on a line, above what it names."""

_VALUED: Final = frozenset(
    {
        *("invoice_number", "receipt_number", "contract_number", "date", "issued", "due", "signed"),
        *("effective", "expiration", "amount_due", "total", "amount", "subtotal", "tax"),
    }
)
"""Notions whose value may follow without a mark between, as it begins with no ordinary word."""


def _begins_as_value(text: str) -> bool:
    first = text.split(maxsplit=1)[0]
    return (
        any(char.isdigit() for char in first)
        or not first[0].isalnum()
        or (first.isupper() and any(char.isdigit() for char in text))
    )


def _block(following: Sequence[str]) -> Iterator[str]:
    """The lines under a label, up to the next one."""
    for raw in following:
        text = _EMPHASIS.sub(r"\2", raw).strip()
        listed = _LISTED.match(text)
        pair = None if listed else _PAIR.fullmatch(text)
        if raw.lstrip().startswith("#") or (pair is not None and pair[1]):
            return
        if not listed and plain(text) in NOTIONS:
            return
        yield text
