"""The parsers of text formats in this process; the reader gives them one of their own."""

from collections.abc import Callable
from typing import Any

import pytest

from canonry.documents.parsers.banks import read_mt940, read_ofx, read_qif, read_xml
from canonry.documents.parsers.calendars import read_ics
from canonry.documents.parsers.cards import read_vcf
from canonry.documents.parsers.findings import Bounds, Findings
from tests.adapters.readers.test_bank_formats import OFX as GROUPS
from tests.adapters.readers.test_bank_formats import (
    PARTIES,
    camt_entry,
    camt_party,
    camt_text,
    mt940_text,
)
from tests.adapters.readers.test_exchange_formats import OFX, QIF
from tests.adapters.readers.test_files import CALENDAR, CARD

Parser = Callable[[bytes, Findings], None]

LINES = mt940_text(
    ":61:2401150115RC5,00NMSCREF//BANK",
    ":86:166?00TRANSFER?20for the roof?32Alder Ltd?31DE02120300000000202051",
    ":61:2401160116D7,50NMSCNONREF",
    ":86:/NAME/Birch/REMI/rent/",
    ":61:nothing of the format",
)
BATCH = camt_text(
    camt_entry("9.00", "DBIT", camt_party("A", "4.00", "DBIT"), camt_party("B", "5.00", "DBIT"))
)


def parse_values(parser: Parser, text: str | bytes) -> dict[str, Any]:
    """Everything that a parser finds in a file."""
    found = Findings(Bounds(characters=1_000_000, cells=100_000, inflated=1_000_000))
    parser(text.encode() if isinstance(text, str) else text, found)
    return found.to_json()


@pytest.mark.parametrize(
    ("parser", "text", "words"),
    [
        (read_mt940, LINES, ["-5", "-7.5", "Alder Ltd", "Birch", "1 lines of the statement"]),
        (read_ofx, OFX, ["-1.25, 'USD', 'Alder & Sons'", "'2024-01-29', '2024-01-31'"]),
        (read_ofx, GROUPS.format("<ORIGCURRENCY><CURSYM>USD</ORIGCURRENCY>"), ["-46.1", "USD"]),
        (read_qif, QIF, ["'1/30/24', '-1,250.00', 'Alder', 'Boards'"]),
        (read_xml, BATCH, ["-4.0, 'EUR'", "-5.0, 'EUR'"]),
        (read_xml, camt_text(camt_entry("9.00", "CRDT", PARTIES)), ["Power Ltd", "9"]),
        (read_vcf, CARD, ["Ada Lovelace", "al@example.org", "a long line"]),
        (read_ics, CALENDAR, ["Kick-off", "'2025-01-05T09:00:00Z'", "'due_date': '2025-01-10'"]),
    ],
)
def test_a_parser_reads_a_file_in_this_process(
    parser: Parser, text: str | bytes, words: list[str]
) -> None:
    found = str(parse_values(parser, text))

    assert [word for word in words if word not in found] == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ORG:Acme\\", ["Acme"]),
        ("ADR:;;Street 1;Paris\\", ["Street 1, Paris"]),
        ("REV:0001-01-01T00:00:00+05:00", []),
        ("NOTE;ENCODING=QUOTED-PRINTABLE;CHARSET=none-such:a=41", ["a=41"]),
        ("TEL;VALUE=uri:tel:+1-555-0100;ext=5", ["+1-555-0100 ext. 5"]),
        ("item1.X-DAY:2020-01-01\nitem1.X-ABLABEL:email\nEMAIL:a@b.example", ["2020-01-01", "a@b"]),
    ],
)
def test_an_odd_line_stops_no_card_and_loses_no_value(line: str, words: list[str]) -> None:
    card = "BEGIN:VCARD\nVERSION:3.0\nFN:{}\n{}\nEND:VCARD\n"
    found = parse_values(read_vcf, card.format("Ada", line) + card.format("Bo", "TEL:1"))
    (_, ada), (_, bo) = found["records"]

    assert (ada["name"], bo["name"]) == ("Ada", "Bo")
    assert [word for word in words if word not in str(ada)] == []
    assert not {"email"} & ada.get("rest", {}).keys()


def test_a_backslash_after_a_long_value_takes_no_time() -> None:
    line = "ORG:" + "a" * 300_000 + "\\"
    found = parse_values(read_vcf, f"BEGIN:VCARD\nVERSION:3.0\nFN:Ada\n{line}\nEND:VCARD\n")

    assert len(found["records"][0][1]["organization"]) == 300_001
