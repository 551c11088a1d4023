"""Reading texts: which bytes are which characters, and where Markdown has its sections."""

import codecs
import sys
from contextlib import suppress
from types import FrameType

import pytest

from canonry.canon.ports.files import DocumentLimits, FileHint
from canonry.documents.readers import LocalReader
from canonry.documents.readers.reader import MARKERS_MAX, TITLE_MAX, sections
from canonry.language.texts.sentences import DocumentType, Part
from canonry.values.charsets import decode_guessed
from canonry.values.errors import InvalidInput
from canonry.values.file_texts import utc_text_of

pytestmark = pytest.mark.anyio

PLAIN, MARKDOWN = DocumentType.PLAIN, DocumentType.MARKDOWN
WORD = "caf\u00e9 \u9f8d"


async def text_of(data: bytes, charset: str | None = None) -> str:
    (part,) = await LocalReader().read_parts(data, PLAIN, charset=charset)
    return part.text


async def sections_of(text: str) -> list[tuple[str | None, str]]:
    parts = await LocalReader().read_parts(text.encode(), MARKDOWN)
    return [(part.section, part.text) for part in parts]


async def reading_error(
    data: bytes, charset: str | None = None, limits: DocumentLimits | None = None
) -> str:
    with pytest.raises(InvalidInput) as refused:
        await LocalReader(limits).read_parts(data, PLAIN, charset=charset)
    return refused.value.code


@pytest.mark.parametrize(
    "data",
    [
        WORD.encode(),
        codecs.BOM_UTF8 + WORD.encode(),
        codecs.BOM_UTF16_LE + WORD.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + WORD.encode("utf-16-be"),
        codecs.BOM_UTF32_LE + WORD.encode("utf-32-le"),
        codecs.BOM_UTF32_BE + WORD.encode("utf-32-be"),
    ],
)
async def test_the_byte_order_mark_decides_the_encoding_and_utf_8_is_the_default(
    data: bytes,
) -> None:
    assert await text_of(data) == WORD


async def test_a_named_charset_is_used() -> None:
    assert await text_of(b"caf\xe9", "windows-1252") == "caf\u00e9"
    assert await text_of("\u9f8d".encode("shift_jis"), "shift_jis") == "\u9f8d"


async def test_the_mark_outranks_the_charset() -> None:
    assert await text_of(codecs.BOM_UTF8 + WORD.encode(), "windows-1252") == WORD


@pytest.mark.parametrize("charset", ["idna", "PunyCode", "unicode_escape", "undefined"])
async def test_a_transfer_notation_is_no_charset(charset: str) -> None:
    assert await reading_error(b"xn--caf-dma " * 10, charset) == "document.encoding"
    hint = FileHint(mime_type=f"text/plain; charset={charset}", name="note.txt")
    with pytest.raises(InvalidInput) as caught:
        await LocalReader().examine_file(b"xn--caf-dma " * 10, hint)
    assert caught.value.code == "document.encoding"


@pytest.mark.parametrize("charset", [None, "ascii", "no-such-charset", "zlib", "rot13"])
async def test_an_encoding_is_never_guessed(charset: str | None) -> None:
    assert await reading_error(b"caf\xe9", charset) == "document.encoding"


async def test_a_truncated_character_is_refused() -> None:
    assert await reading_error(codecs.BOM_UTF16_LE + b"\x00\xd8a\x00") == "document.encoding"
    assert await reading_error(codecs.BOM_UTF16_LE + b"a") == "document.encoding"


async def test_nul_is_no_text() -> None:
    assert await reading_error(b"a\0b") == "document.not-text"
    assert await reading_error(b"\x89PNG\r\n\0\0") == "document.not-text"
    assert await reading_error(b"a\0b", "utf-8") == "document.not-text"


async def test_an_empty_document_is_refused() -> None:
    assert await reading_error(b"") == "document.empty"
    assert await reading_error(b" \n") == "document.empty"
    assert await reading_error(codecs.BOM_UTF8) == "document.empty"


async def test_a_document_that_is_too_long_is_refused() -> None:
    assert await reading_error(b"x" * 11, limits=DocumentLimits(bytes=10)) == "document.too-large"
    assert (
        await reading_error(b"x" * 11, limits=DocumentLimits(characters=10)) == "document.too-large"
    )


async def test_all_line_ends_become_line_feeds() -> None:
    assert await text_of(b"a\r\nb\rc\n") == "a\nb\nc\n"


async def test_markdown_is_split_at_headings() -> None:
    text = "Before.\n\n# Rules\n\nAll.\n\n## Fire\n\nBurns.\n\nIce\n---\n\nCools.\n\n# End\n\nBye."

    assert await sections_of(text) == [
        (None, "Before."),
        ("Rules", "# Rules\n\nAll."),
        ("Rules > Fire", "## Fire\n\nBurns."),
        ("Rules > Ice", "Ice\n---\n\nCools."),
        ("End", "# End\n\nBye."),
    ]


async def test_a_heading_without_text_joins_the_next_section() -> None:
    assert await sections_of("# Rules\n## Fire\nBurns.") == [
        ("Rules > Fire", "# Rules\n\n## Fire\nBurns.")
    ]
    assert await sections_of("Text.\n# End") == [(None, "Text."), ("End", "# End")]


async def test_text_that_only_looks_like_a_heading_is_none() -> None:
    text = "# Code\n```\n# a comment\n```\n> # quoted\n\n#hashtag\n\n    # indented"

    assert await sections_of(text) == [("Code", text)]


async def test_the_title_of_a_section_has_no_markup() -> None:
    ((section, _),) = await sections_of("# The **`fire`** [rule](http://x.test) of snake_case #\nX")

    assert section == "The fire rule of snake_case"


async def test_a_preamble_is_no_heading() -> None:
    assert await sections_of("---\ntitle: Rules\n---\n# Fire\nBurns.") == [
        (None, "title: Rules"),
        ("Fire", "# Fire\nBurns."),
    ]


async def test_a_long_flat_document_is_read_quickly() -> None:
    parts = await LocalReader().read_parts(b"# A\nb *c* [d](e)\n\n" * 20_000, MARKDOWN)

    assert len(parts) == 20_000
    assert parts[-1] == Part(text="# A\nb *c* [d](e)", section="A")


@pytest.mark.parametrize(
    "line", ["- a", "> a\n- b", "1. a", "a", "# a", "<a", "[a]: b", "[a]:", "***", "- a\n", "```"]
)
def test_a_hostile_document_takes_a_bounded_number_of_steps(line: str) -> None:
    """Counted in calls and not in seconds, which depend on the machine."""
    text = f"{line}\n" * (1_000_000 // (len(line) + 1))
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        sections(text)
    finally:
        sys.setprofile(None)

    assert calls < 3_000_000


@pytest.mark.parametrize("title", ["[" * 1_000_000, "[](" * 300_000, "`*" * 400_000])
async def test_a_hostile_title_is_read_once_and_cut(title: str) -> None:
    ((section, _), (below, _)) = await sections_of(f"# {title} x\nA.\n## b\nB.")

    assert len(section or "") <= TITLE_MAX
    assert (below or "").endswith("b")


async def test_a_document_of_very_many_items_is_cut_at_its_plain_headings() -> None:
    items = "- item\n" * (MARKERS_MAX + 1)
    text = f"# Rules #\n{items}\n```\n# a comment\n```\n#hashtag\n## **Fire**\nBurns.\n#\nEnd."

    found = [(section, len(reported) > 1_000) for section, reported in await sections_of(text)]

    assert found == [("Rules", True), ("Rules > Fire", False), (None, False)]


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2024-05-13T09:30:00+02:00", "2024-05-13T07:30:00Z"),
        ("2024-05-13T09:30:00.123456789", "2024-05-13T09:30:00.123456Z"),
        ("2024-05-13", "2024-05-13T00:00:00Z"),
        ("2024-05-13 09:30:00 -0700", "2024-05-13T16:30:00Z"),
        ("D:20240513093000-05'30'", "2024-05-13T15:00:00Z"),
        ("D:20240513093000Z00'00'", "2024-05-13T09:30:00Z"),
        ("2024:05:13 09:30:00+02:00", "2024-05-13T07:30:00Z"),
        ("20240513093000.000[-5:EST]", "2024-05-13T14:30:00Z"),
        ("20240513093000[5.5:IST]", "2024-05-13T04:00:00Z"),
        ("202405130930+0100", "2024-05-13T08:30:00Z"),
        ("2024", None),
        ("2024-13-01", None),
        ("2024-05-13 9", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("1980-01-01T00:00:00Z", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_times_in_formats_are_read_completely_or_not_at_all(
    written: str, moment: str | None
) -> None:
    assert utc_text_of(written) == moment


@pytest.mark.parametrize(
    ("text", "charset"),
    [
        ("Rechnung \xfcber 45,00 EUR f\xfcr M\xfcller", "cp1252"),
        ("Pr\xedli\u0161 \u017elu\u0165ou\u010dk\xfd k\u016f\u0148", "cp1250"),
        ("Za\u017c\xf3\u0142\u0107 g\u0119\u015bl\u0105 ja\u017a\u0144", "iso8859_2"),
        ("Caf\xe9 cr\xe8me \xe0 emporter", "cp850"),
        ("\xc6rlig talt, S\xf8ren f\xe5r 40 kr", "cp1252"),
        ("Prix: 20 \u20ac l'unit\xe9", "iso8859_15"),
        ("Ra\u010dun \u0161t. 5, pla\u010dilo", "cp1250"),
        ("\u0421\u0447\u0451\u0442 4500 \u0440\u0443\u0431.", "koi8_r"),
    ],
)
def test_a_text_without_a_charset_is_read_in_its_own_or_not_at_all(text: str, charset: str) -> None:
    found = text
    with suppress(InvalidInput):
        found, _ = decode_guessed(text.encode(charset), None)
    assert found == text
