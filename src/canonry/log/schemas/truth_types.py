"""The sixteen built-in entity types, and the reading of type names."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from canonry.log.schemas.schemas import BUILT_IN, EntitySchema, FieldSpec, FieldType, IdentityRule
from canonry.values.ids import SchemaId
from canonry.values.json_values import folded

PRIORITY = "highest_priority"
ARRAY = "merge_array"


def text(
    name: str,
    *aliases: str,
    required: bool = False,
    policy: str = "last_write",
    choices: str = "",
    pattern: str = "",
) -> FieldSpec:
    """Return a field with a text."""
    return FieldSpec(
        name=name,
        aliases=aliases,
        required=required,
        policy=policy,
        choices=tuple(choices.split()),
        pattern=pattern,
    )


def texts(names: str) -> tuple[FieldSpec, ...]:
    """Return plain text fields."""
    return tuple(FieldSpec(name=name) for name in names.split())


def number(name: str, *aliases: str, required: bool = False) -> FieldSpec:
    """Return a field with a number."""
    return FieldSpec(name=name, type=FieldType.NUMBER, aliases=aliases, required=required)


def date(name: str, *aliases: str, required: bool = False, event: str | None = None) -> FieldSpec:
    """Return a field with a date, at which `event` happens."""
    return FieldSpec(
        name=name, type=FieldType.DATE, aliases=aliases, required=required, event_type=event
    )


def array(
    name: str, *aliases: str, required: bool = False, policy: str = "last_write"
) -> FieldSpec:
    """Return a field with a list; a single value becomes a list of one."""
    return FieldSpec(
        name=name, type=FieldType.ARRAY, aliases=aliases, required=required, policy=policy
    )


def mapping(name: str, *aliases: str) -> FieldSpec:
    """Return a field with an object."""
    return FieldSpec(name=name, type=FieldType.OBJECT, aliases=aliases)


def key(fields: str, *, optional: str = "", apart: str = "") -> IdentityRule:
    """Return an identity rule."""
    return IdentityRule(
        fields=tuple(fields.split()),
        optional=tuple(optional.split()),
        told_apart_by=tuple(apart.split()),
    )


def built_in(
    entity_type: str,
    label: str,
    *,
    fields: tuple[FieldSpec, ...],
    identity: tuple[IdentityRule, ...],
    names: tuple[str, ...],
    also: str = "",
    version: str = "1.0",
    order: tuple[tuple[str, str], ...] = (),
) -> EntitySchema:
    """Return a built-in schema."""
    return EntitySchema(
        id=SchemaId(f"built-in:{entity_type}"),
        space=BUILT_IN,
        entity_type=entity_type,
        version=version,
        label=label,
        fields=fields,
        identity=identity,
        names=tuple(tuple(group.split()) for group in names),
        type_aliases=tuple(also.split()),
        order=order,
    )


_IMPORT: Final = (date("import_date"), text("import_source_file"))

NOTE: Final = built_in(
    "note",
    "Note",
    also="journal memo nota notiz",
    fields=(
        text("title", "subject", "name"),
        text("content", "body", "text", required=True, policy=PRIORITY),
        array("tags", policy=ARRAY),
        text("source"),
        date("created_date", "date_created", "date", event="NoteCreated"),
        date("updated_date", "date_updated"),
        *texts("summary notes"),
        *_IMPORT,
    ),
    identity=(key("title", optional="created_date"),),
    names=("title", "summary", "source created_date"),
)

TASK: Final = built_in(
    "task",
    "Task",
    also="todo action_item aufgabe tarea",
    fields=(
        text("title", "name", "summary", required=True),
        text("status", required=True),
        text("description", policy=PRIORITY),
        text("notes", policy=PRIORITY),
        text("project_id", "project"),
        text("external_id", "task_id"),
        date("due_date", "date_due", "deadline", event="TaskDue"),
        date("completed_date", "date_completed", event="TaskCompleted"),
        date("start_date", event="TaskStart"),
        date("created_date", "date_created"),
        date("updated_date", "date_updated"),
        date("created_at"),
        date("updated_at"),
        array("tags", policy=ARRAY),
        *texts("priority assignee task_type due_context"),
        *_IMPORT,
    ),
    identity=(
        key("external_id"),
        key("project_id title", optional="due_date"),
        key("title", optional="due_date"),
    ),
    names=("title",),
)


_SEVERAL: Final = (
    array("emails", "email_addresses", policy=ARRAY),
    array("phones", "phone_numbers", policy=ARRAY),
    array("aliases", "also_known_as", policy=ARRAY),
)
"""Fields of which an entity can have several values; each value is a key like a single one."""

_PERSON_KEYS: Final = (
    key("email&emails"),
    key("phone&phones"),
    key("external_id"),
    key("contact_id"),
)

PERSON: Final = built_in(
    "person",
    "Person",
    also="individual contact_person",
    version="1.1",
    fields=(
        text("name", "full_name", required=True, policy=PRIORITY),
        text("first_name", "given_name"),
        text("last_name", "family_name", "surname"),
        text("email", "email_address", policy=PRIORITY),
        text("phone", "phone_number", "telephone", policy=PRIORITY),
        text("organization", "company", "employer"),
        text("role", "job_title"),
        text("department"),
        date("birthday", "birth_date", "date_of_birth"),
        text("external_id", policy=PRIORITY),
        *_SEVERAL,
        *texts("address country website notes"),
        *_IMPORT,
    ),
    identity=(*_PERSON_KEYS[:3], key("name&aliases"), key("first_name last_name")),
    names=("name", "first_name last_name", "email", "phone", "external_id"),
)

COMPANY: Final = built_in(
    "company",
    "Company",
    also="business",
    version="1.1",
    fields=(
        text("name", "company_name", required=True, policy=PRIORITY),
        text("legal_name", policy=PRIORITY),
        text("website", "domain", "url", policy=PRIORITY),
        text("email", "email_address", policy=PRIORITY),
        text("phone", "phone_number", "telephone"),
        text("tax_id", "vat_id", "vat_number", "tax_number"),
        text("external_id"),
        *_SEVERAL,
        *texts("address country industry type description notes"),
        *_IMPORT,
    ),
    identity=(key("tax_id"), key("external_id"), key("website"), key("name&legal_name&aliases")),
    names=("name", "legal_name", "website", "tax_id", "external_id"),
)

CONTACT: Final = built_in(
    "contact",
    "Contact",
    also="lead",
    version="1.2",
    fields=(
        text("name", "full_name", policy=PRIORITY),
        text("email", "email_address", policy=PRIORITY),
        text("phone", "phone_number", "telephone", policy=PRIORITY),
        text("organization", "company", "employer"),
        text("role"),
        text("department"),
        date("birthday", "birth_date", "date_of_birth"),
        text("title", "job_title", policy=PRIORITY),
        text("linkedin_url", "linkedin", policy=PRIORITY),
        date("connected_on", event="ContactConnected"),
        text("contact_id"),
        text("external_id", policy=PRIORITY),
        date("first_contact_date", event="FirstContact"),
        date("last_contact_date", event="LastContact"),
        date("created_date"),
        date("updated_date"),
        *texts("data_source source_owner type contact_type category platform"),
        *_SEVERAL,
        *texts("address country website notes"),
    ),
    identity=(*_PERSON_KEYS, key("name&aliases")),
    names=("name", "email", "phone", "external_id", "contact_id"),
)

PLURALS: Final = {"email": "emails", "phone": "phones", "name": "aliases"}
"""The fields that hold all values if a list is given for a single one."""


INVOICE: Final = built_in(
    "invoice",
    "Invoice",
    also="bill factura rechnung facture",
    fields=(
        text("invoice_number", "number", "invoice_no", "invoice_id", required=True),
        date("invoice_date", "date_issued", "issue_date", required=True, event="InvoiceIssued"),
        number("amount_due", "total_amount", "total", "amount_total", required=True),
        text("currency", required=True),
        date("date_due", "due_date", event="InvoiceDue"),
        date("date_paid", "paid_date", event="InvoicePaid"),
        text("vendor_name", "vendor", "seller", "supplier", "supplier_name"),
        text("customer_name", "customer", "client_name", "bill_to"),
        number("amount"),
        number("tax_amount"),
        text("tax_rate"),
        number("subtotal"),
        array("items", "line_items"),
        number("tax_year"),
        text("payment_terms", "terms"),
        text("purchase_order", "po_number"),
        *texts("iban tax_id email phone"),
        *texts("status description notes"),
        *_IMPORT,
    ),
    identity=(key("invoice_number", apart="vendor_name"),),
    names=("invoice_number", "vendor_name invoice_date"),
)

TRANSACTION: Final = built_in(
    "transaction",
    "Transaction",
    also="transactions txn expense payment transaccion",
    fields=(
        number("amount"),
        number("amount_original"),
        text("currency"),
        text("currency_original", "original_currency"),
        date("date", "transaction_date", "date_transacted", event="TransactionDate"),
        date("posting_date", "date_posted", event="TransactionPosted"),
        date("value_date"),
        number("balance"),
        text("merchant_name", "counterparty", "merchant", "payee"),
        text("account_id", "account"),
        text("transaction_id", "tx_hash", "transaction_number"),
        *texts("status category bank_provider description notes"),
        number("occurrence"),
        *_IMPORT,
    ),
    identity=(
        key("transaction_id", apart="account_id"),
        key(
            "date|posting_date amount|amount_original",
            optional="merchant_name|description account_id occurrence",
            apart="currency description balance",
        ),
    ),
    names=("merchant_name date amount", "transaction_id", "description date amount", "date amount"),
)

RECEIPT: Final = built_in(
    "receipt",
    "Receipt",
    also="proof_of_purchase recibo comprobante quittung",
    fields=(
        text("merchant_name", "vendor_name", "store", "store_name", required=True),
        number("amount_total", "total", "total_amount", required=True),
        text("currency", required=True),
        date("date_purchased", "purchase_date", "date", required=True, event="ReceiptIssued"),
        text("receipt_number", "number", "receipt_no", "receipt_id"),
        text("payment_method"),
        array("items", "line_items"),
        number("tax_amount", "tax"),
        number("subtotal"),
        text("merchant"),
        number("amount"),
        date("transaction_date", event="TransactionDate"),
        date("posting_date"),
        *texts("description notes category account status transaction_id"),
        number("occurrence"),
        *_IMPORT,
    ),
    identity=(
        key("receipt_number", apart="merchant_name|merchant"),
        key(
            "merchant_name|merchant date_purchased|transaction_date amount_total|amount",
            optional="occurrence",
        ),
    ),
    names=("merchant_name date_purchased", "merchant transaction_date", "receipt_number"),
)

CONTRACT: Final = built_in(
    "contract",
    "Contract",
    also="agreement legal_document contrato vertrag",
    fields=(
        text("name", "title"),
        text("contract_number", "number", "contract_no", "contract_id"),
        array("parties", policy=ARRAY),
        date("effective_date", "date_effective", "start_date", event="ContractEffective"),
        date("expiration_date", "date_expiry", "expiry_date", "end_date", event="ContractExpires"),
        date("signed_date", "date_signed", "signature_date", event="ContractSigned"),
        array("companies", policy=ARRAY),
        array("files", policy=ARRAY),
        text("type", "contract_type"),
        number("amount", "value", "total_value"),
        *texts("status currency notes"),
        *_IMPORT,
    ),
    identity=(key("contract_number"), key("name parties")),
    names=("name", "contract_number"),
)


FEATURE_UNIT: Final = built_in(
    "feature_unit",
    "Feature unit",
    fields=(
        text("id", "feature_unit_id", required=True, pattern="feature_unit"),
        text("description", required=True),
        text(
            "status",
            required=True,
            choices="planning in_progress completed deployed deferred cancelled",
        ),
        array("dependencies"),
        text("risk_level", choices="low medium high"),
        date("created_at", required=True, event="FeatureUnitCreated"),
        date("updated_at", required=True),
        *texts("title notes"),
    ),
    identity=(key("id"),),
    names=("id title", "id"),
    order=(("created_at", "updated_at"),),
)

RELEASE: Final = built_in(
    "release",
    "Release",
    fields=(
        text("id", "release_id", required=True, pattern="release"),
        text("version", required=True),
        array("feature_units", required=True),
        text(
            "status",
            required=True,
            choices="planning in_progress ready_for_deployment deployed cancelled",
        ),
        array("acceptance_criteria"),
        date("target_ship_date", event="ReleaseTargeted"),
        date("created_at", required=True, event="ReleaseCreated"),
        date("updated_at", required=True),
        *texts("name description notes"),
    ),
    identity=(key("id"), key("version")),
    names=("name", "id", "version"),
    order=(("created_at", "updated_at"),),
)

AGENT_DECISION: Final = built_in(
    "agent_decision",
    "Agent decision",
    fields=(
        text("decision", required=True, pattern="ten_characters"),
        text("rationale", required=True, pattern="ten_characters"),
        mapping("context"),
        text("decision_type", choices="technical architectural process strategic"),
        date("timestamp", required=True, event="DecisionMade"),
        text("agent_id"),
    ),
    identity=(key("decision timestamp"),),
    names=("decision",),
)

AGENT_SESSION: Final = built_in(
    "agent_session",
    "Agent session",
    fields=(
        text("session_id", "id", required=True),
        array("actions", required=True),
        array("checkpoints"),
        array("outcomes"),
        number("duration"),
        date("started_at", required=True, event="SessionStarted"),
        date("ended_at", event="SessionEnded"),
        text("agent_id"),
    ),
    identity=(key("session_id"),),
    names=("session_id",),
    order=(("started_at", "ended_at"),),
)

VALIDATION_RESULT: Final = built_in(
    "validation_result",
    "Validation result",
    fields=(
        text(
            "validation_type",
            required=True,
            choices="lint test security compliance acceptance_criteria custom",
        ),
        text("status", required=True, choices="passed failed warning skipped"),
        mapping("details"),
        text("target"),
        date("timestamp", required=True, event="ValidationRun"),
        text("notes"),
    ),
    identity=(key("validation_type timestamp", optional="target"),),
    names=("validation_type target timestamp", "validation_type"),
)

CODEBASE_ENTITY: Final = built_in(
    "codebase_entity",
    "Codebase entity",
    fields=(
        text(
            "codebase_entity_type",
            "kind",
            required=True,
            choices="subsystem component module package service api database integration",
        ),
        text("name", required=True, pattern="two_characters"),
        array("relationships"),
        *texts("description path notes"),
    ),
    identity=(key("name codebase_entity_type", optional="path"), key("name", optional="path")),
    names=("name",),
)

ARCHITECTURAL_DECISION: Final = built_in(
    "architectural_decision",
    "Architectural decision",
    also="adr",
    fields=(
        text("decision", "title", required=True),
        text("rationale", required=True),
        text("impact"),
        array("alternatives"),
        text("status", choices="proposed accepted deprecated superseded"),
        date("timestamp", "date", required=True, event="DecisionMade"),
        text("notes"),
    ),
    identity=(key("decision timestamp"),),
    names=("decision",),
)

TRUTH_TYPES: Final[Mapping[str, EntitySchema]] = {
    schema.entity_type: schema
    for schema in (
        INVOICE,
        TRANSACTION,
        RECEIPT,
        CONTRACT,
        NOTE,
        PERSON,
        COMPANY,
        CONTACT,
        TASK,
        FEATURE_UNIT,
        RELEASE,
        AGENT_DECISION,
        AGENT_SESSION,
        VALIDATION_RESULT,
        CODEBASE_ENTITY,
        ARCHITECTURAL_DECISION,
    )
}
_ALIASES: Final = {
    alias: schema.entity_type for schema in TRUTH_TYPES.values() for alias in schema.type_aliases
}
_ALIKE: Final = frozenset({"person", "contact"})
_KNOWN: Final = {**{name: name for name in TRUTH_TYPES}, **_ALIASES}
_PLURALS: Final = (("ies", "y"), ("es", ""), ("s", ""))
_BETWEEN: Final = re.compile(r"[\s\-]+")


@lru_cache(maxsize=1024)
def type_named(name: str) -> str:
    """Return the type that a name means: `Bill` and `Invoices` are invoices.

    An unknown name is a type itself, in the singular or plural as given.
    """
    plain = _BETWEEN.sub("_", folded(name))
    singulars = (
        plain.removesuffix(ending) + instead
        for ending, instead in _PLURALS
        if plain.endswith(ending)
    )
    known = (_KNOWN[each] for each in (plain, *singulars) if each in _KNOWN)
    return next(known, plain)


def types_alike(entity_type: str) -> frozenset[str]:
    """Return the types of the same kind of item: two entities of them may be one."""
    return _ALIKE if entity_type in _ALIKE else _alone(entity_type)


@lru_cache(maxsize=1024)
def _alone(entity_type: str) -> frozenset[str]:
    return frozenset((entity_type,))
