"""Parties and identifiers: names in lists, companies and persons, numbers with check digits."""

import pytest

from canonry.documents.extraction.kinds import ibans_in, mails_in, phones_in, tax_ids_in
from canonry.records.notation.labels import companions_of, named_in, parties_in, party_type

NDA = (
    "by and between Harbor Analytics, Inc., a Delaware corporation with its principal place of "
    'business at 200 Dock Street ("Harbor"), and Bright Pine Ltd, a company registered in England '
    'and Wales ("Bright Pine")'
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Acme Corp, John Smith", ("Acme Corp", "John Smith")),
        ("Acme, Inc. and Jane Q. Smith", ("Acme, Inc.", "Jane Q. Smith")),
        ("M\xfcller & Co KG und Anna Schmidt", ("M\xfcller & Co KG", "Anna Schmidt")),
        ('Foo LLC ("Client"), Bar GmbH (the Supplier)', ("Foo LLC", "Bar GmbH")),
        ("Ana L\xf3pez y Luis Ruiz; Eva", ("Ana L\xf3pez", "Luis Ruiz", "Eva")),
        ("", ()),
    ],
)
def test_a_list_of_parties_is_split(text: str, names: tuple[str, ...]) -> None:
    assert parties_in(text) == names


@pytest.mark.parametrize(
    ("text", "language", "names"),
    [
        (NDA, "en", ("Harbor Analytics, Inc.", "Bright Pine Ltd")),
        (
            "der Falkenberg Software GmbH, M\xfchlweg 14, 12345 Elmstadt, und Frau Eva \xd6zdemir",
            "de",
            ("Falkenberg Software GmbH", "Eva \xd6zdemir"),
        ),
        (
            "Claraval Software S.L., con domicilio en Claraval, y Nuria Castillo, mayor de edad",
            "es",
            ("Claraval Software S.L.", "Nuria Castillo"),
        ),
        (
            "Waterbedrijf Oosterdal N.V. en Femke de Wit",
            "nl",
            ("Waterbedrijf Oosterdal N.V.", "Femke de Wit"),
        ),
        ("the parties and their heirs", "en", ()),
    ],
)
def test_the_parties_of_a_sentence_are_names_and_no_phrases(
    text: str, language: str, names: tuple[str, ...]
) -> None:
    assert named_in(text, language) == names


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
        ("Frau Vogel", "person"),
        ("Carpintaria Pacheco Lda.", "company"),
        ("Restaurant Sonne", "company"),
        ("Praxis Dr. Weber", "company"),
        ("Stadtwerke Linz", "company"),
        ("Caf\xe9 Central", "company"),
        ("The Old Mill", "company"),
        ("Autohaus K\xf6nig", "company"),
        ("Physio am Park", "company"),
        ("City of London", "company"),
        ("Zahnarzt Dr. Klein", "company"),
        ("Volksschule Imst", "company"),
        ("Gemeinde Zirl", "company"),
        ("Kino Rex", "company"),
        ("M\xf6belhaus Lutz", "company"),
        ("Metzgerei Ott", "company"),
        ("Supermercado Sol", "company"),
        ("Comune Milano", "company"),
        ("Berg Brothers", "company"),
        ("Lena Neuhaus", "person"),
        ("Charlotte Church", "person"),
        ("John Stuart Mill", "person"),
        ("Mar\xeda del Carmen", "person"),
        ("Mai An", "person"),
        ("El Hadji Diouf", "person"),
        ("Klaus Markt", "person"),
        ("Anna van der Berg", "person"),
        ("Im Yoona", "person"),
        ("Otto Bauer", "person"),
        ("Brandon Flowers", "person"),
    ],
)
def test_a_name_is_a_company_or_a_person(name: str, kind: str) -> None:
    assert party_type(name) == kind


def test_only_account_numbers_with_valid_check_digits_are_taken() -> None:
    text = "IBAN: DE89 3704 0044 0532 0130 00, GB82WEST12345698765432, DE00370400440532013000"

    assert ibans_in(text) == ("DE89370400440532013000", "GB82WEST12345698765432")


def test_tax_numbers_mail_addresses_and_telephones_are_found() -> None:
    assert tax_ids_in("USt-IdNr. DE136695976, EIN: 12-3456789") == ("DE136695976", "12-3456789")
    assert mails_in("Ada@Example.org, ada@example.org; x@y") == ("ada@example.org",)
    assert phones_in("+1-555-0100 or +49 30 123456, not 555-0100") == (
        "+1-555-0100",
        "+49 30 123456",
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [("Anna Schmidt", "person"), ("Frau Meinert", "person"), ("Globex Ltd", "company")],
)
def test_a_private_customer_is_a_person_and_no_company(name: str, kind: str) -> None:
    (named,) = companions_of("invoice", {"customer_name": name})

    assert named == ("customer_name", kind, name)
