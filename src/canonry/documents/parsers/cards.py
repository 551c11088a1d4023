"""Parser of contact cards: each card becomes a record, and each of its values is kept or noted."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from quopri import decodestring
from typing import Any, Final

from canonry.documents.parsers.findings import NAMES, Fault, Findings, add_with_text, keep_rest
from canonry.values.file_texts import unused_texts, utc_text_of

_FIELDS: Final[dict[str, str]] = NAMES["cards"]
_FRAME: Final = frozenset(NAMES["parameters"]["frame"].split())
_SILENT: Final = frozenset(NAMES["parameters"]["silent"].split())
_USED: Final = frozenset({"VERSION", "PRODID", "REV", "N", "BEGIN", "END", "X-ABLABEL"})
_CARD: Final = re.compile(
    r"^BEGIN:VCARD[ \t]*\n(.*?)(?:^(END:VCARD)[ \t]*(?:\n|\Z)|(?=^BEGIN:VCARD)|\Z)",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_SOFT: Final = re.compile(r"(?im)^([^:\n]*quoted-printable[^:\n]*:(?:[^\n]*=\n)+)")
"""Lines of quoted-printable text that end with a soft line break."""

_FOLD: Final = re.compile(r"\n[ \t]")
_LINE: Final = re.compile(
    r'(?:([\w-]+)\.)?([A-Za-z][\w-]*)((?:;(?:"[^"]*"|[^":;])*)*):(.*)', re.DOTALL
)
_PART: Final = re.compile(r"((?:\\.?|[^\\;])*)(?:;|\Z)", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_LABEL: Final = re.compile(r"_\$!<([^<>]{0,100})>!\$_")
_LINK: Final = re.compile(r"^(?:tel|mailto):", re.IGNORECASE)
_EXTENSION: Final = re.compile(r";ext=", re.IGNORECASE)
_COMMAS: Final = re.compile(r"(?<!\\),")


@dataclass(frozen=True, slots=True, kw_only=True)
class _CardLine:
    """A property of a card; `omitted` is the year that stands for none."""

    group: str
    name: str
    value: str
    omitted: str = ""
    kinds: tuple[str, ...] = ()
    params: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def value_parts(self) -> list[str]:
        """The parts of a structured value, without blanks at their ends."""
        parts = [" ".join(_unescape_text(each).split()) for each in _PART.findall(self.value)]
        return [" ".join(each.split(",")) if self.name == "N" else each for each in parts[:-1]]

    @property
    def display_text(self) -> str:
        """The value as people write it."""
        match self.name:
            case "ADR":
                text = ", ".join(part for part in self.value_parts if part)
            case "TEL" | "EMAIL":
                text = _EXTENSION.sub(" ext. ", _LINK.sub("", _unescape_text(self.value).strip()))
            case "BDAY" if self.omitted and self.value.startswith(self.omitted):
                # Some programs write a birthday without a year with a placeholder year.
                text = f"--{self.value[len(self.omitted) :].lstrip('-')}"
            case _:
                text = _unescape_text(self.value)
        return text.strip()


def read_vcf(data: bytes, found: Findings) -> None:
    """Read a file of cards."""
    cards = _CARD.findall(data.decode("utf-8-sig").replace("\r\n", "\n"))
    broken = 0
    for number, (text, end) in enumerate(cards, 1):
        if not end:
            broken += 1
            found.add_note(f"Card {number} is broken and was skipped.")
        elif fields := _card_fields(list(_card_lines(text, number, found)), found):
            add_with_text(found, "vcard", fields)
    if broken == len(cards):
        raise Fault("damaged")


def _card_lines(text: str, number: int, found: Findings) -> Iterator[_CardLine]:
    """Yield the properties of a card; a line that is none is noted."""
    joined = _SOFT.sub(lambda soft: soft[1].replace("=\n", ""), text)
    for line in _FOLD.sub("", joined).split("\n"):
        match = _LINE.fullmatch(line)
        if match is None:
            if line.strip():
                found.add_note(f"A line of card {number} could not be read.")
            continue
        group, name, written, value = match.groups("")
        given = [each.replace('"', "").partition("=") for each in written.split(";")[1:]]
        params = {key.upper(): value for key, _, value in given if value}
        kinds = tuple(value or key for key, _, value in given if not value or key.upper() == "TYPE")
        if "QUOTED-PRINTABLE" in written.upper():
            charset = params.get("CHARSET", "utf-8")
            with suppress(LookupError):  # a charset that nobody knows
                value = decodestring(value.encode()).decode(charset, "replace")
        omitted = params.get("X-APPLE-OMIT-YEAR", "")
        others = {key: parameter for key, parameter in params.items() if key not in _FRAME}
        yield _CardLine(
            group=group, name=name.upper(), value=value, omitted=omitted, kinds=kinds, params=others
        )


def _card_fields(lines: list[_CardLine], found: Findings) -> dict[str, Any]:
    """Return the fields of a card; a value without a field is kept under its own name or label."""
    fields: dict[str, Any] = {}
    labels = {
        line.group: _LABEL.sub(r"\1", line.display_text)
        for line in lines
        if line.name == "X-ABLABEL"
    }
    for line in lines:
        if line.name in {"PHOTO", "LOGO", "SOUND", "KEY"}:
            found.add_note("Pictures, sounds and keys of cards were not read.")
        elif line.name not in _USED and line.display_text.strip(";"):
            label = labels.get(line.group, "").replace(" ", "_") if line.group else ""
            taken = label.lower() in _FIELDS.values()
            _add_line(fields, line, f"other_{label}" if taken else label or line.name)
            name = _FIELDS.get(line.name, line.name)
            kinds = [label, *(kind for each in line.kinds for kind in each.split(","))]
            for kind in filter(None, kinds):
                if kind.upper() not in _SILENT and (line.name in _FIELDS or kind != label):
                    keep_rest(fields, f"{name}_{kind}", line.display_text)
            for key, parameter in line.params.items():
                keep_rest(fields, f"{name}_{key}", parameter)
    called = next((line.value_parts for line in lines if line.name == "N"), [])
    for _, part in unused_texts((("n", each) for each in called), [fields.get("name")]):
        keep_rest(fields, "part_of_name", part)
    if "name" not in fields and any(called):
        family, given, middle, *_ = (*called, "", "")
        fields["name"] = " ".join(filter(None, (given, middle, family)))
    revised = next((line.display_text for line in lines if line.name == "REV"), "")
    if seen_at := utc_text_of(revised):
        fields["seen_at"] = seen_at
    return fields


def _add_line(fields: dict[str, Any], line: _CardLine, key: str) -> None:
    """Add a line to its field; a second value, or one without a field, is kept under `key`."""
    name = _FIELDS.get(line.name)
    if name == "organization" and not fields.keys() & {"organization", "department"}:
        # The units of the company follow, from the largest to the smallest.
        company, *units = line.value_parts
        department = ", ".join(filter(None, units))
        fields |= {"organization": company} if company else {}
        fields |= {"department": department} if department else {}
    elif name in {"email", "phone", "aliases"}:
        several = _COMMAS.split(line.value) if name == "aliases" else [line.display_text]
        values = (_unescape_text(each).strip() for each in several)
        fields[name] = list(dict.fromkeys((*fields.get(name, ()), *filter(None, values))))
    elif name is None:
        keep_rest(fields, key, line.display_text)
    elif fields.setdefault(name, line.display_text) != line.display_text:
        keep_rest(fields, f"other_{name}", line.display_text)


def _unescape_text(text: str) -> str:
    return _ESCAPED.sub(lambda escaped: "\n" if escaped[1] in "nN" else escaped[1], text)
