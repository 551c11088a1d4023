"""Notes that stay notes, letters, leases, tickets and address books in several languages."""

import pytest

from tests.domain.extraction.papers import from_objects, from_rows, from_text


@pytest.mark.parametrize(
    "text",
    [
        "Things for Thursday\n\nInvoice idea: number them by client\nTotal amount of chairs: 12\n",
        "Ideas\n\n- Invoice number: later\n- ask Tom\n- Contract number: 7 is lucky\n- bread\n",
        "Lista\n\nRecibo del gas: mirar si ha llegado\nTotal, que no me olvide de llamar\n",
        "Notatki\n\nUmowa z bankiem: sprawdzić\nFaktura za internet już zapłacona\n",
        "Contract\n\nI should read mine again, it is in the blue folder.\n",
    ],
)
def test_a_note_that_mentions_an_invoice_or_contract_stays_a_note(text: str) -> None:
    (note,) = from_text(text)

    assert note.entity_type == "note"
    assert note.fields["title"] == text.split("\n", maxsplit=1)[0]
    assert note.fields["content"] == text.strip()


def test_the_parties_of_an_agreement_are_only_names() -> None:
    text = (
        "# MUTUAL NON-DISCLOSURE AGREEMENT\n\nThis Agreement is entered into as of March 14, 2025 "
        '(the "Effective Date") by and between Harbor Analytics, Inc., a Delaware corporation '
        '("Harbor"), and Bright Pine Ltd, a company registered in England ("Bright Pine").\n\n'
        "It expires on March 14, 2028.\n"
    )

    (contract,) = from_text(text)

    assert contract.entity_type == "contract"
    assert contract.fields["parties"] == ["Harbor Analytics, Inc.", "Bright Pine Ltd"]
    assert contract.fields["companies"] == ["Harbor Analytics, Inc.", "Bright Pine Ltd"]
    assert contract.fields["effective_date"] == "2025-03-14"
    assert contract.fields["expiration_date"] == "2028-03-14"


@pytest.mark.parametrize(
    ("text", "parties", "start", "amount"),
    [
        (
            (
                "Mietvertrag\n\nVermieter: Lindner GmbH & Co. KG\nMieterin: Eva Özdemir\n"
                "Mietbeginn: 01.10.2025\nKaltmiete: 980,00 €\n"
            ),
            ["Lindner GmbH & Co. KG", "Eva Özdemir"],
            "2025-10-01",
            980.0,
        ),
        (
            (
                "Umowa najmu\n\nWynajmujący: Marek Lis\nNajemca: Ewa Górska\n"
                "Początek najmu: 1 czerwca 2025 r.\nCzynsz: 2 450,00 zł\n"
            ),
            ["Marek Lis", "Ewa Górska"],
            "2025-06-01",
            2450.0,
        ),
        (
            (
                "Contratto di locazione\n\nLocatore: Immobiliare del Parco S.r.l.\n"
                "Conduttore: Paolo Gallo\nDecorrenza: 3 giugno 2025\nCanone mensile: 900,73 €\n"
            ),
            ["Immobiliare del Parco S.r.l.", "Paolo Gallo"],
            "2025-06-03",
            900.73,
        ),
    ],
)
def test_a_lease_is_a_contract_between_the_labelled_parties(
    text: str, parties: list[str], start: str, amount: float
) -> None:
    (contract,) = from_text(text)

    assert contract.entity_type == "contract"
    assert contract.fields["parties"] == parties
    assert contract.fields["effective_date"] == start
    assert contract.fields["amount"] == amount


def test_a_ticket_is_an_event_and_no_receipt() -> None:
    (event,) = from_text(
        "Su billete\n\nLocalizador: HM-780\nViajero: Nuria Castillo\nOrigen: Madrid\n"
        "Fecha de viaje: 12 de octubre de 2025\n"
    )

    assert event.entity_type == "event"
    assert event.fields["booking_reference"] == "HM-780"
    assert event.fields["start_date"] == "2025-10-12"


@pytest.mark.parametrize(
    ("text", "title", "written"),
    [
        (
            (
                "Ashford Borough Council\nCivic Centre\n\n6 February 2025\n\nDear Ms Whitfield\n\n"
                "Residents' parking permit\n\nThank you for renewing your permit.\n"
            ),
            "Residents' parking permit",
            "2025-02-06",
        ),
        (
            (
                "Krankenkasse\n\nElmstadt, 22.05.2025\n\nIhr Zuschuss zur Zahnreinigung\n\n"
                "Sehr geehrter Herr Meinert,\n\nwir übernehmen die Kosten.\n"
            ),
            "Ihr Zuschuss zur Zahnreinigung",
            "2025-05-22",
        ),
        (
            (
                "Clairval, le 4 février 2025\n\nObjet : Votre carte\n\nMadame Rousset,\n\n"
                "votre carte est prête.\n"
            ),
            "Votre carte",
            "2025-02-04",
        ),
    ],
)
def test_a_letter_has_a_subject_and_a_date(text: str, title: str, written: str) -> None:
    (note, *_) = from_text(text)

    assert note.entity_type == "note"
    assert note.fields["title"] == title
    assert note.fields["created_date"] == written


def test_a_letter_without_a_clear_subject_has_no_title() -> None:
    (note,) = from_text("Town Hall, Room 12\n\nDear Ms Whitfield,\n\nThank you for your letter.\n")

    assert "title" not in note.fields


def test_contacts_are_read_by_the_meaning_of_columns() -> None:
    (found,) = from_rows(
        ("Notes:", None, None, None, None, None, None),
        ("First Name", "Last Name", "URL", "Email Address", "Company", "Position", "Connected On"),
        (
            "Nadia",
            "Rahman",
            "https://www.linkedin.com/in/n",
            "n@x.org",
            "Acme",
            "CTO",
            "03 May 2024",
        ),
    )

    assert found.entity_type == "contact"
    assert found.fields == {
        "name": "Nadia Rahman",
        "linkedin_url": "https://www.linkedin.com/in/n",
        "email": "n@x.org",
        "organization": "Acme",
        "title": "CTO",
        "connected_on": "2024-05-03",
    }


def test_further_addresses_of_a_contact_are_kept() -> None:
    header = ("First Name", "Last Name", "E-mail 1 - Label", "E-mail 1 - Value", "E-mail 2 - Value")
    (found,) = from_rows(
        (*header, "Phone 1 - Value", "Birthday"),
        (
            "Ada",
            "Lovelace",
            "* Work",
            "a@x.org ::: b@x.org",
            "c@x.org",
            "+44 20 7946 0018",
            "5/6/90",
        ),
    )

    assert found.fields["email"] == "a@x.org"
    assert found.fields["emails"] == ["b@x.org", "c@x.org"]
    assert found.fields["phone"] == "+44 20 7946 0018"
    assert found.unread["birthday"].value == "5/6/90"


@pytest.mark.parametrize(
    "columns", [("First Name", "Last Name", "A", "B", "C", "D"), ("Name",) * 7]
)
def test_a_table_without_contact_details_is_no_address_book(
    columns: tuple[str, ...],
) -> None:
    (found,) = from_rows(columns, tuple(f"value {n}" for n in range(len(columns))))

    assert found.reasons != ("columns of an address book",)


def test_an_amount_and_a_day_alone_make_no_invoice() -> None:
    loan = {"name": "Car loan", "amount": 5000, "currency": "EUR", "due_date": "2025-01-01"}

    (found,) = from_objects(loan)

    assert found.entity_type.startswith("record_")
