"""Headers of tables and names in records: which type's fields they are, in several languages."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from math import fsum
from typing import Final

from canonry.log.schemas.schemas import EntitySchema
from canonry.records.notation.labels import plain
from canonry.records.notation.numbers import currency_in

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
