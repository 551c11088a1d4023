"""Bills: their heads, parties, dates and totals."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from hashlib import sha256
from math import fsum
from typing import Any, Final

from canonry.canon.ports.files import Record
from canonry.documents.extraction.context import DocumentContext, tidy
from canonry.documents.extraction.kinds import heads_a_document
from canonry.log.schemas.schemas import EntitySchema
from canonry.records.domain.interpretations import Found
from canonry.records.notation.labels import LabelledLine, plain
from canonry.records.notation.numbers import currency_in
from canonry.records.notation.parties import is_company
from canonry.values.calendar_dates import dates_in

EXACT: Final = "invoice"
"""The kind of a record that is an invoice, field by field."""

_CENT: Final = Decimal("0.011")
_GROSS: Final = {"invoice": ("amount", "amount_due"), "receipt": ("amount_total",)}


def of_exact(records: Sequence[Record]) -> Iterator[Found]:
    """The invoices of an exchanged file."""
    for record in records:
        if record.kind == EXACT:
            yield Found(entity_type="invoice", fields=record.fields, reasons=("exchanged",))


def mismatches(found: Found) -> Iterator[str]:
    """What in the sums of a bill does not add up, by the names of its fields."""
    if found.entity_type not in _GROSS:
        return
    said = found.fields
    grosses = {name: _sum(said.get(name)) for name in _GROSS[found.entity_type]}
    totals = [total for total in grosses.values() if total is not None]
    net, tax = _sum(said.get("subtotal")), _sum(said.get("tax_amount"))
    if net is not None and tax is not None and totals and not _any(net + tax, totals):
        yield f"subtotal and tax_amount do not make the {next(iter(grosses))}"
    lines = _of_lines(said)
    sums = [each for each in (net, *totals) if each is not None]
    if lines is not None and sums and not _any(lines, sums):
        yield "the amounts of the items do not make the subtotal or the total"


def _of_lines(said: Mapping[str, Any]) -> Decimal | None:
    """The sum of the items, where each has an amount."""
    items = said.get("items")
    if not isinstance(items, list) or not items:
        return None
    amounts = [_sum(each.get("amount")) if isinstance(each, dict) else None for each in items]
    known = [each for each in amounts if each is not None]
    return sum(known, Decimal()) if len(known) == len(amounts) else None


def _any(total: Decimal, others: Sequence[Decimal]) -> bool:
    return any(abs(total - other) < _CENT for other in others)


def _sum(value: Any) -> Decimal | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return Decimal(str(value)) if number else None


_HEAD: Final = 5
_NAME_MAX: Final = 60
_ADDRESS: Final = 3
"""So many lines below a name one is looked for that may be of its address."""


def sender_in(lines: Sequence[LabelledLine], taken: object) -> str | None:
    """Whose letterhead a document bears: a company's name, or a name above an address.

    `taken` is the name of who gets it.
    """
    first = [line for line in lines[:_HEAD] if not line.value and line.text != taken]
    for line in first:
        if is_company(line.text):
            whole = is_company(line.text.split(",")[-1])
            return str(tidy(line.text if whole else line.text.split(",")[0]))
    if first and first[0] is lines[0] and _above_address(lines):
        return str(tidy(first[0].text))
    return None


def _above_address(lines: Sequence[LabelledLine]) -> bool:
    """Whether the first line is a name, and an address stands right below it."""
    name = lines[0]
    if name.notion or len(name.text) > _NAME_MAX or any(char.isdigit() for char in name.text):
        return False
    below = [line for line in lines[1 : 1 + _ADDRESS] if not line.notion]
    numbered = [line for line in below if _has_both(line.text)]
    return not heads_a_document(name.text) and len(numbered) > 1


def _has_both(text: str) -> bool:
    return any(map(str.isdigit, text)) and any(map(str.isalpha, text))


def only_date_in(lines: Sequence[LabelledLine], context: DocumentContext) -> str | None:
    """The day of a document that names but one."""
    seen = [each for line in lines for each in dates_in(line.text, context.order, context.dated)]
    days = {each.value[:10] if each.value else None for each in seen}
    return days.pop() if len(days) == 1 else None


_SYNONYMS: Final[Mapping[str, Mapping[str, str]]] = {
    "contact": {
        "name": "full_name display_name nombre nom kontakt contact_name nombre_completo",
        "email": "e_mail email_address mail correo e_mail_address correo_electronico courriel",
        "phone": "telephone tel phone_number mobile mobil telefon telefono movil telefonnummer "
        "telephone_number cell mobile_phone",
        "organization": "company organisation firma empresa employer company_name unternehmen "
        "societe",
        "title": "job_title position puesto cargo berufsbezeichnung",
        "role": "rolle rol funktion",
        "address": "adresse direccion anschrift street_address",
        "country": "land pais pays",
        "website": "url homepage web webseite sitio_web",
        "notes": "note notizen notas remarks comment",
        "category": "kategorie categoria group",
    },
    "person": {
        "name": "full_name nombre_completo",
        "first_name": "firstname given_name vorname nombre prenom forename",
        "last_name": "lastname surname family_name nachname apellido apellidos",
        "email": "e_mail email_address mail correo correo_electronico",
        "phone": "telephone tel phone_number mobile telefon telefono movil",
        "organization": "company organisation firma empresa employer",
        "role": "job_title position title rolle puesto",
        "address": "adresse direccion anschrift",
        "country": "land pais",
    },
    "company": {
        "name": "company company_name firma empresa unternehmen organization organisation",
        "legal_name": "registered_name razon_social",
        "website": "url homepage web domain webseite",
        "industry": "branche sector industria",
        "address": "adresse direccion anschrift",
        "country": "land pais",
        "phone": "telephone tel phone_number telefon telefono",
        "email": "e_mail email_address mail",
    },
    "transaction": {
        "date": "transaction_date date_transacted booking_date datum fecha fecha_operacion "
        "buchungsdatum date_operation",
        "posting_date": "date_posted posted value_date buchungstag valuta wertstellung "
        "fecha_valor date_valeur",
        "amount": "amount_usd amount_eur amount_gbp amount_chf betrag importe monto montant value "
        "umsatz betrag_eur",
        "amount_original": "original_amount amount_in_original_currency",
        "currency": "waehrung wahrung moneda divisa devise currency_code",
        "merchant_name": "merchant payee counterparty description beguenstigter "
        "begunstigter begunstigter_zahlungspflichtiger auftraggeber_empfanger empfanger concepto "
        "beneficiario comercio libelle buchungstext verwendungszweck",
        "account_id": "account iban konto kontonummer cuenta account_number compte",
        "category": "kategorie categoria categorie",
        "bank_provider": "bank banco institut",
        "status": "estado",
    },
    "invoice": {
        "invoice_number": "invoice_no invoice_id number rechnungsnummer rechnungs_nr "
        "numero_de_factura factura no bill_number",
        "invoice_date": "date_issued issue_date date rechnungsdatum fecha datum",
        "date_due": "due_date due faellig_am fallig_am zahlbar_bis vencimiento",
        "amount_due": "amount total total_amount amount_total betrag importe total_due balance_due",
        "vendor_name": "vendor supplier seller lieferant proveedor",
        "customer_name": "customer client kunde cliente buyer",
        "tax_amount": "tax vat mwst iva",
        "currency": "waehrung wahrung moneda",
    },
    "receipt": {
        "receipt_number": "receipt_no receipt_id bon_nr belegnummer",
        "merchant_name": "merchant store shop vendor haendler handler tienda comercio",
        "date_purchased": "date purchase_date kaufdatum fecha datum",
        "amount_total": "total total_amount amount betrag importe",
        "payment_method": "paid_with zahlungsart metodo_de_pago",
        "tax_amount": "tax vat mwst iva",
    },
    "contract": {
        "contract_number": "contract_no contract_id agreement_number vertragsnummer",
        "name": "contract_name title agreement_name",
        "effective_date": "date_effective start_date begin vertragsbeginn fecha_inicio",
        "expiration_date": "date_expiry end_date expiry_date vertragsende fecha_fin expires",
        "signed_date": "date_signed unterzeichnet",
        "type": "contract_type vertragsart",
    },
    "task": {
        "title": "task task_name todo aufgabe tarea summary name",
        "due_date": "due date_due deadline faellig fallig_am vencimiento",
        "assignee": "owner assigned_to verantwortlich responsable",
        "status": "state estado done",
        "priority": "prioritaet prioritat prioridad",
        "project_id": "project projekt proyecto",
        "completed_date": "completed completed_at finished",
    },
    "note": {
        "title": "subject titel titulo",
        "content": "body text note inhalt contenido",
        "created_date": "date date_created created datum fecha",
        "tags": "labels keywords etiquetas",
    },
}
_COMMON: Final = """
    schema_version name title type status notes description category date tags source summary
    created_date updated_date created_at updated_at timestamp currency address country id
    import_date import_source_file details amount
"""
_WEAK: Final = frozenset(_COMMON.split())
"""Fields that many types have, so that they tell little."""

_NEEDED: Final = {
    "invoice": frozenset({"invoice_number", "vendor_name", "customer_name", "tax_amount"})
}
"""Of which one has to be there: what has an amount and a day when it is due may be a loan."""

_WEAK_WEIGHT: Final = 0.4
_NAMED_BONUS: Final = 0.2
_COVERED: Final = 0.5
_ENOUGH: Final = 1.8
_LAYOUT: Final = 8
SIDES: Final[Mapping[str, int]] = {
    **dict.fromkeys(("debit", "soll", "cargo", "withdrawal", "paid_out", "money_out"), -1),
    **dict.fromkeys(("credit", "haben", "abono", "deposit", "paid_in", "money_in"), 1),
}
"""Names of columns that hold what went out or came in, each without a sign of its own."""

_CURRENCY: Final = re.compile(r"(?:^|_)(usd|eur|gbp|chf|cad|aud|jpy|mxn)(?:_|$)")


_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """What the names of a table or of records mean: a type, and a field of it for each name."""

    entity_type: str
    fields: Mapping[str, str]
    reason: str


@lru_cache(maxsize=4_096)
def snake(name: str) -> str:
    """A name as fields are written; empty where nothing of it is left."""
    spread = _HUMP.sub(" ", name)
    return plain(spread.replace("_", " ")).replace("#", "number").replace(" ", "_")


def mapped(
    names: Sequence[str], schemas: Sequence[EntitySchema], file_name: str = ""
) -> Mapped | None:
    """The type that covers the names best, None where no type covers half of them well."""
    best: tuple[float, float, Mapped] | None = None
    stem = _stem(file_name)
    for schema in schemas:
        fields = fields_of(names, schema)
        # The sum of these must not depend on the order in which a table has its columns.
        weight = fsum(_WEAK_WEIGHT if target in _WEAK else 1.0 for target in fields.values())
        sides = [name for name in names if snake(name) in SIDES and name not in fields]
        if sides and schema.field("amount") is not None:
            weight += 1
            fields_covered = len(fields) + len(sides)
        else:
            fields_covered = len(fields)
        # A name that maps by its own word says more than one that needs a synonym.
        exact = 0.01 * sum(1 for name, target in fields.items() if snake(name) == target)
        covered = fields_covered / max(1, sum(1 for name in names if snake(name)))
        named = stem in {schema.entity_type, *schema.type_aliases}
        required = sum(
            0.5
            for spec in schema.fields
            if spec.required and spec.name not in fields.values() and spec.name != "schema_version"
        )
        score = covered * weight + exact + (_NAMED_BONUS * weight if named else 0) - required
        needed = _NEEDED.get(schema.entity_type)
        if needed is not None and not named and needed.isdisjoint(fields.values()):
            continue
        if covered < _COVERED or weight < (_WEAK_WEIGHT if named else _ENOUGH):
            continue
        found = Mapped(
            entity_type=schema.entity_type,
            fields=fields,
            reason=f"fields:{len(fields)}/{len(names)}" + ("+file" if named else ""),
        )
        if best is None or (score, covered) > best[:2]:
            best = (score, covered, found)
    return None if best is None else best[2]


def fields_of(names: Sequence[str], schema: EntitySchema) -> dict[str, str]:
    """Each name to the field of the schema that it means; a field is meant by one name only."""
    known = {spec.name: spec.name for spec in schema.fields}
    for spec in schema.fields:
        for alias in spec.aliases:
            known.setdefault(alias, spec.name)
    for meant, words in _SYNONYMS.get(schema.entity_type, {}).items():
        for word in words.split():
            if meant in known:
                known.setdefault(word, meant)
    found: dict[str, str] = {}
    written = {name: snake(name) for name in names}
    # Exact names first: a synonym must not take the place of the field itself.
    for exact in (True, False):
        for name, plain_name in written.items():
            target = known.get(plain_name)
            if target is None or name in found or target in found.values():
                continue
            if (target == plain_name) is exact:
                found[name] = target
    return found


def currency_named(name: str) -> str | None:
    """The currency that a header such as `amount_usd` or `Betrag (EUR)` names."""
    match = _CURRENCY.search(snake(name))
    return match[1].upper() if match else currency_in(name)


def type_of_layout(names: Sequence[str]) -> str:
    """A type of its own for all that has these columns, and for nothing else.

    A file's name would be a better word for it, and may be somebody's name; a type outlives the
    file. The same columns are the same type, so that the next file of the kind goes on with it.
    """
    columns = "\n".join(sorted({snake(name) for name in names}))
    return f"record_{sha256(columns.encode()).hexdigest()[:_LAYOUT]}"


def type_of_list(key: str) -> str:
    """The type of what stands in a list or sheet of this name; empty where it says nothing."""
    return _stem(key)


def _stem(file_name: str) -> str:
    """The word for one of what a file's name says it holds."""
    base = file_name.replace("\\", "/").rpartition("/")[2].rpartition(".")
    words = [word for word in snake(base[0] or base[2]).split("_") if not word.isdigit()]
    while words and words[0] in {"sample", "my", "test", "export", "exported", "all", "list"}:
        words.pop(0)
    while words and words[-1] in {"export", "list", "data", "copy", "final", "records"}:
        words.pop()
    stem = "_".join(words[:3])[:40].strip("_")
    if stem.endswith("ies"):
        return stem[:-3] + "y"
    return stem[:-1] if stem.endswith("s") and not stem.endswith(("ss", "us")) else stem
