"""Languages as data: every file is well-formed, and a text says in which one it is written."""

import pytest

from canonry.records.notation.labels import plain_label
from canonry.values.languages import CODES, detect_language, known_languages, meaning_of


@pytest.mark.parametrize("code", CODES)
def test_every_label_is_in_the_plain_letters_of_lookup(code: str) -> None:
    crooked = [word for word in known_languages()[code].labels if plain_label(word) != word]

    assert not crooked


@pytest.mark.parametrize("code", CODES)
def test_every_language_has_words_for_common_document_terms(code: str) -> None:
    notions = set(known_languages()[code].labels.values())

    assert {"date", "parties", "attendees", "actions", "invoice_number", "total", "due"} <= notions


def test_a_word_of_two_languages_takes_the_documents_meaning() -> None:
    assert meaning_of("note", "en") == ("notes", "en")
    assert meaning_of("fin", "fr") == ("expiration", "fr")
    assert meaning_of("vertragsende", "fr") == ("expiration", "de")
    assert meaning_of("weather") == ("", "")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "Please note that the gas will be off on Monday for the whole of the day."),
        ("de", "Wir bitten Sie, den Betrag bis zum Ende des Monats auf das Konto zu zahlen."),
        (
            "es",
            "Le informamos de que el contrato se renueva por un año con las mismas condiciones.",
        ),
        ("fr", "Nous vous informons que votre contrat est reconduit pour une durée d'un an."),
        ("it", "La informiamo che il contratto è stato rinnovato per un anno con le condizioni."),
        ("nl", "Wij laten u weten dat het contract met een jaar is verlengd voor uw woning."),
        ("pl", "Informujemy, że umowa została przedłużona o rok i jest ważna do końca roku."),
        ("pt", "Informamos que o contrato foi renovado por um ano e não tem de fazer mais nada."),
        ("sv", "Vi vill meddela att det inte går att få ut din post om vi inte har ditt namn."),
        ("", "1234 5678"),
    ],
)
def test_the_language_of_a_text_is_detected(code: str, text: str) -> None:
    assert detect_language(text) == code
