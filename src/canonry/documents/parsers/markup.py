"""Parser of HTML: visible text by blocks, and tables, without scripts and styles."""

import re
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Final

from typing_extensions import override

from canonry.documents.parsers.findings import NAMES, STRUCK, Findings

_SILENT: Final = frozenset({"script", "style", "template", "noscript", "svg", "object", "iframe"})
_STRUCK_TAGS: Final = frozenset({"del", "s", "strike"})
_STRUCK_OUT: Final = re.compile(r"text-decoration[^;]*line-through", re.IGNORECASE)
_BLOCKS: Final = frozenset(NAMES["html"]["blocks"].split())
_VOID: Final = frozenset({"br", "hr", "img", "input", "wbr", "col", "meta", "link", "area"})
_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_CHANGED: Final = frozenset(NAMES["html"]["changed"].split())
"""The names of the time of a page in its head."""

_GAPS: Final = re.compile(r"\s+")
_CHARSET: Final = re.compile(
    rb"""<meta[^>]{0,200}charset\s*=\s*["']?([\w-]{2,40})""", re.IGNORECASE
)
_TABLES_WITHIN: Final = 32  # deeper nesting is layout; bounds recursion


def read_html(data: bytes, found: Findings) -> None:
    """Read a page."""
    named = _CHARSET.search(data[:4096])
    read_page(_decode_page(data, named[1].decode() if named else "utf-8"), found)


def read_page(page: str, found: Findings) -> None:
    """Find the text and the tables of an HTML page."""
    reader = _PageReader(found)
    reader.feed(page)
    reader.close()
    reader.finish_page()


def _decode_page(data: bytes, charset: str) -> str:
    for mark, name in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16")):
        if data.startswith(mark):
            return data.decode(name)
    try:
        return data.decode(charset)
    except LookupError:
        return data.decode("utf-8")


def _is_change_time(given: Mapping[str, str]) -> bool:
    """Return whether these attributes of a head's value say that it is the time of the page."""
    names = (given.get(name, "") for name in ("property", "name", "itemprop", "http-equiv"))
    return not _CHANGED.isdisjoint(map(str.lower, names))


class _PageReader(HTMLParser):
    """Collects text by blocks. Table cells become part of the text and of a table."""

    def __init__(self, found: Findings) -> None:
        super().__init__(convert_charrefs=True)
        self._found = found
        self._silent = 0
        self._struck: list[str] = []
        self._line: list[str] = []
        self._lines: list[str] = []
        self._section: str | None = None
        self._rows: list[list[list[str]]] = []
        self._cell: list[str] | None = None

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        struck = self._struck or tag in _STRUCK_TAGS or _STRUCK_OUT.search(given.get("style", ""))
        self._struck += [tag] if struck and tag not in _VOID else []
        self._found.note_time(
            given.get("content") if tag == "meta" and _is_change_time(given) else None
        )
        self.handle_data(f" {given.get('alt', '')} " if tag == "img" else "")
        if tag in _SILENT:
            self._silent += 1
        elif tag == "table":
            self._end_line()
            if len(self._rows) < _TABLES_WITHIN:
                self._rows.append([])
        elif tag == "tr":
            self._end_row()
            if self._rows:
                self._rows[-1].append([])
        elif tag in {"td", "th"}:
            self._end_cell()
            self._cell = []
        elif tag in _HEADINGS:
            self._end_section()
        elif tag in _BLOCKS and self._cell is None:
            self._end_line()
            if tag == "li":
                self._line.append("- ")

    @override
    def handle_endtag(self, tag: str) -> None:
        if tag in self._struck:
            while self._struck.pop() != tag:
                pass  # elements within it that have no end
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag in {"td", "th"}:
            self._end_cell()
        elif tag == "tr":
            self._end_row()
        elif tag == "table":
            self._end_row()
            if self._rows:
                self._found.add_table([row for row in self._rows.pop() if row])
        elif tag in _HEADINGS:
            self._section = _GAPS.sub(" ", "".join(self._line)).strip() or None
            self._end_line()
        elif tag in _BLOCKS and self._cell is None:
            self._end_line()

    @override
    def handle_data(self, data: str) -> None:
        if self._struck and data.strip():
            self._found.add_note(STRUCK)
        if self._silent or self._struck:
            return
        if self._cell is None:
            self._line.append(data)
        else:
            self._cell.append(data)

    @override
    def handle_comment(self, data: str) -> None:
        if data.strip() and not data.startswith("["):  # conditions of mail programs
            self._found.add_note("Comments in the source of the page were not read.")

    def finish_page(self) -> None:
        """Close all open elements."""
        self._end_row()
        while self._rows:
            self._found.add_table([row for row in self._rows.pop() if row])
        self._end_section()

    def _end_cell(self) -> None:
        if self._cell is not None and self._rows:
            if not self._rows[-1]:
                self._rows[-1].append([])
            self._rows[-1][-1].append(_GAPS.sub(" ", "".join(self._cell)).strip())
        self._cell = None

    def _end_row(self) -> None:
        self._end_cell()
        if self._rows and self._rows[-1] and self._rows[-1][-1]:
            self._line.append(" | ".join(self._rows[-1][-1]))
        self._end_line()

    def _end_line(self) -> None:
        line = _GAPS.sub(" ", "".join(self._line)).strip()
        self._line.clear()
        if line and line != "-":
            self._lines.append(line)

    def _end_section(self) -> None:
        self._end_line()
        self._found.add_text("\n".join(self._lines), section=self._section)
        self._lines.clear()
