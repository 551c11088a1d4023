"""Parties and identifiers: names in lists, companies and persons, numbers with check digits."""

import pytest

from canonry.domain.extraction.identifiers import ibans_in, mails_in, phones_in, tax_ids_in
from canonry.domain.extraction.parties import parties_in, party_type


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Acme Corp, John Smith", ("Acme Corp", "John Smith")),
        ("Acme, Inc. and Jane Q. Smith", ("Acme, Inc", "Jane Q. Smith")),
        ("M\xfcller & Co KG und Anna Schmidt", ("M\xfcller & Co KG", "Anna Schmidt")),
        ('Foo LLC ("Client"), Bar GmbH (the Supplier)', ("Foo LLC", "Bar GmbH")),
        ("Ana L\xf3pez y Luis Ruiz; Eva", ("Ana L\xf3pez", "Luis Ruiz", "Eva")),
        ("", ()),
    ],
)
def test_a_list_of_parties_is_taken_apart(text: str, names: tuple[str, ...]) -> None:
    assert parties_in(text) == names


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Acme Corp", "company"),
        ("Acme, Inc.", "company"),
        ("Muster GmbH", "company"),
        ("Servicios Ib\xe9ricos S.L.", "company"),
        ("Target", "company"),
        ("7-Eleven", "company"),
        ("Property Management LLC", "company"),
        ("SaaS Provider", "company"),
        ("John Smith", "person"),
        ("Dr. Anna von der Heide", "person"),
        ("Juan P\xe9rez Garc\xeda", "person"),
        ("Jane Q. Smith", "person"),
    ],
)
def test_a_name_is_a_company_or_a_person(name: str, kind: str) -> None:
    assert party_type(name) == kind


def test_only_account_numbers_whose_check_digits_hold_are_taken() -> None:
    text = "IBAN: DE89 3704 0044 0532 0130 00, GB82WEST12345698765432, DE00370400440532013000"

    assert ibans_in(text) == ("DE89370400440532013000", "GB82WEST12345698765432")


def test_tax_numbers_mail_and_telephones_are_found() -> None:
    assert tax_ids_in("USt-IdNr. DE123456789, EIN: 12-3456789") == ("DE123456789", "12-3456789")
    assert mails_in("Ada@Example.org, ada@example.org; x@y") == ("ada@example.org",)
    assert phones_in("+1-555-0100 or +49 30 123456, not 555-0100") == (
        "+1-555-0100",
        "+49 30 123456",
    )
