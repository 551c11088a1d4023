"""Reading PDFs: pages and outlines, and that whatever is wrong with a file is told or survived."""

import asyncio
from pathlib import Path

import pytest

from canonry.canon.ports.files import DocumentLimits
from canonry.documents.readers import LocalReader
from canonry.language.texts.sentences import DocumentType
from canonry.values.errors import CanonryError, InvalidInput, Unavailable
from tests.adapters.readers.paper import a_pdf

pytestmark = pytest.mark.anyio

DOCUMENTS = Path(__file__).parents[4] / "shared" / "data" / "documents"

Pages = list[tuple[int | None, str | None, str]]


async def pages_of(data: bytes, limits: DocumentLimits | None = None) -> Pages:
    parts = await LocalReader(limits).read_parts(data, DocumentType.PDF)
    return [(part.page, part.section, part.text.strip()) for part in parts]


async def reading_error(data: bytes, limits: DocumentLimits | None = None) -> CanonryError:
    with pytest.raises(CanonryError) as refused:
        await pages_of(data, limits)
    return refused.value


async def test_each_page_is_a_numbered_part_and_empty_pages_are_left_out() -> None:
    assert await pages_of(a_pdf("Fire burns.", "", "Ice cools.\nIt melts.")) == [
        (1, None, "Fire burns."),
        (3, None, "Ice cools.\nIt melts."),
    ]


async def test_the_outline_names_the_sections() -> None:
    data = a_pdf("Before", "Burns", "Still", "Cools", outline={"Fire": 2, "Ice": 4})

    assert [(page, section) for page, section, _ in await pages_of(data)] == [
        (1, None),
        (2, "Fire"),
        (3, "Fire"),
        (4, "Ice"),
    ]


async def test_a_required_password_is_reported() -> None:
    refused = await reading_error(a_pdf("Secret", password="sesame"))

    assert isinstance(refused, InvalidInput)
    assert refused.code == "document.encrypted"


async def test_a_file_that_opens_without_typing_a_password_is_read() -> None:
    assert await pages_of(a_pdf("Not to be printed", password="")) == [
        (1, None, "Not to be printed")
    ]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        b"\x00" * 1_000,
        b"%PDF-1.7\n%%EOF",
        a_pdf("Cut off")[:300],
        b"%PDF-1.4\n" + b"[" * 200_000,
    ],
    ids=["empty", "text", "nul", "hollow", "cut off", "nested"],
)
async def test_a_damaged_file_is_reported(data: bytes) -> None:
    refused = await reading_error(data)

    assert isinstance(refused, InvalidInput)
    assert refused.code == "document.damaged"


async def test_pages_without_text_are_reported() -> None:
    assert (await reading_error(a_pdf("", ""))).code == "document.empty"


async def test_too_many_pages_or_characters_are_reported() -> None:
    data = a_pdf("One", "Two", "Three")
    pages = await reading_error(data, DocumentLimits(pages=2))
    characters = await reading_error(data, DocumentLimits(characters=5))

    assert (pages.code, pages.details) == ("document.too-large", {"unit": "pages", "limit": 2})
    assert (characters.code, characters.details["unit"]) == ("document.too-large", "characters")


async def test_reading_that_takes_too_long_is_stopped() -> None:
    refused = await reading_error(a_pdf("Slow"), DocumentLimits(seconds=0.0))

    assert isinstance(refused, Unavailable)
    assert refused.code == "document.too-slow"


async def test_a_cancelled_caller_stops_the_reading_and_the_next_is_served() -> None:
    reader = LocalReader()
    data = a_pdf("Words")
    leaving = [asyncio.create_task(reader.read_parts(data, DocumentType.PDF)) for _ in range(4)]
    await asyncio.sleep(0)
    for each in leaving:
        each.cancel()
    await asyncio.gather(*leaving, return_exceptions=True)

    (part,) = await reader.read_parts(data, DocumentType.PDF)
    assert part.text.strip() == "Words"


@pytest.mark.skipif(not DOCUMENTS.is_dir(), reason="the shared data folder is absent")
@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("contract", "Parties: Acme Corp, John Smith"),
        ("invoice", "Description: Consulting Services - Q1 2024"),
        ("note", "- Q1 focus: customer acquisition"),
        ("receipt", "Receipt Number: RCP-2024-12-18-001"),
    ],
)
async def test_real_documents_are_read_line_by_line(name: str, line: str) -> None:
    ((page, section, text),) = await pages_of((DOCUMENTS / f"sample_{name}.pdf").read_bytes())

    assert (page, section) == (1, None)
    assert line in text.splitlines()
