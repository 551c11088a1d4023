"""Persons, companies and contacts."""

from typing import Final

from canonry.log.schemas.truth_types.kit import (
    ARRAY,
    PRIORITY,
    array,
    built_in,
    date,
    key,
    text,
    texts,
)

_IMPORT: Final = (date("import_date"), text("import_source_file"))
_SEVERAL: Final = (
    array("emails", "email_addresses", policy=ARRAY),
    array("phones", "phone_numbers", policy=ARRAY),
    array("aliases", "also_known_as", policy=ARRAY),
)
"""What somebody has several of: each is a key like the one that stands alone."""

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
"""The fields that hold all of what was given as a list where one value is asked for."""
