"""Rows of a catalog as they come in: every field is checked, and each fault names its spot."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

from canonry.log.schemas import catalog_tables
from canonry.readmodels.catalog import format_instant, item_id
from canonry.values.errors import InvalidInput
from canonry.values.ids import is_uuid
from canonry.values.moments import parse_instant

IDS_MAX: Final = 1_000  # each id is looked up before a row is written
_NAMED: Final = 60
RUNNING_SCHEMES: Final = frozenset(
    ("javascript", "data", "vbscript", "livescript", "mocha", "blob", "filesystem", "view-source")
)
"""URL schemes that a browser runs or unpacks instead of opening."""

UniqueValue: TypeAlias = tuple[str, str, str]
"""Unique value of a row: a slug or address in a project and kind, or a relation's ends."""

_IGNORED: Final = re.compile(r"^[\x00-\x20]+|[\t\r\n]")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowProblem:
    """A problem of one field of one row; rows count from 0."""

    array: str
    row: int
    field: str
    code: str
    reason: str

    def __str__(self) -> str:
        spot = f".{self.field}" if self.field else ""
        return f"{self.array}[{self.row}]{spot}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogRow:
    """A row whose fields are right by themselves; what it did not give has its default."""

    table: catalog_tables.CatalogTable
    number: int
    values: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The id that a contract shows."""
        return str(self.values["id"])

    @property
    def project(self) -> str:
        """The project that it lies in, or is."""
        return str(self.values.get("projectId", self.id))

    @property
    def kind(self) -> str:
        """The kind of item that it is."""
        return self.table.kind or str(self.values["entityType"])

    @property
    def handle(self) -> str:
        """The slug or address that is its own."""
        return str(self.values[self.table.unique]) if self.table.unique else ""

    @property
    def unique_value(self) -> UniqueValue | None:
        """Unique value of the row in its table, if it has one."""
        if self.table is catalog_tables.RELATION_ROWS:
            return triple_of(self.values)
        if self.table is catalog_tables.PROJECTS:
            return ("", "", self.handle)
        return (self.project, self.kind, self.handle) if self.table.unique else None

    def make_problem(self, field: str, code: str, reason: str) -> RowProblem:
        """Return a problem of one of its fields."""
        return RowProblem(
            array=self.table.array, row=self.number, field=field, code=code, reason=reason
        )


def triple_of(values: Mapping[str, Any]) -> UniqueValue:
    """Return the type and ends of a relation's row, the ends as ids."""
    project = values["projectId"]
    return (
        item_id(project, values["fromEntityType"], values["fromEntityId"]),
        values["relationType"],
        item_id(project, values["toEntityType"], values["toEntityId"]),
    )


def read_row(
    table: catalog_tables.CatalogTable, number: int, raw: object
) -> tuple[CatalogRow | None, list[RowProblem]]:
    """Return the row, or all its problems."""

    def make_problem(field: str, code: str, reason: str) -> RowProblem:
        return RowProblem(array=table.array, row=number, field=field, code=code, reason=reason)

    if not isinstance(raw, Mapping):
        return None, [make_problem("", "row.malformed", "A row must be an object.")]
    problems = [
        make_problem(str(name)[:_NAMED], "field.unknown", "The table has no such field.")
        for name in raw
        if name not in table.names
    ]
    values: dict[str, Any] = {}
    for column in table.columns:
        value = raw.get(column.name)
        if value is None and not column.required:
            values[column.name] = column.default
            continue
        try:
            values[column.name] = _read_value(column, value)
        except InvalidInput as error:
            problems.append(make_problem(column.name, error.code, error.message))
    if (
        not problems
        and (joint := catalog_tables.RELATIONS.get(values.get("relationType", ""))) is not None
    ):
        ends = {"fromEntityType": joint.source, "toEntityType": joint.target}
        for field, kind in ends.items():
            if values[field] != kind:
                reason = f"{values['relationType']} leads from {joint.source} to {joint.target}."
                problems.append(make_problem(field, "relation.kinds", reason))
    if problems:
        return None, problems
    return CatalogRow(table=table, number=number, values=values), []


def _read_value(column: catalog_tables.Column, value: Any) -> Any:
    if value is None:
        raise InvalidInput("field.missing", "This field is required.")
    return _READERS[column.form](column, value)


def _read_text(column: catalog_tables.Column, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInput("field.type", "Give a text.")
    if not value and not column.empty:
        raise InvalidInput("field.empty", "The text is empty. Write something.")
    if len(value) > column.longest:
        message = f"The text has {len(value)} characters; the limit is {column.longest}."
        raise InvalidInput("field.long", message)
    try:
        clean = b"\0" not in value.encode()
    except UnicodeEncodeError:
        clean = False
    if not clean:
        raise InvalidInput("field.text", "The text must not contain a NUL or a lone surrogate.")
    return value


def _read_address(column: catalog_tables.Column, value: Any) -> str:
    """Read an address; refuse schemes that a browser would run."""
    text = _read_text(column, value)
    scheme, colon, _ = _IGNORED.sub("", text).partition(":")  # as browsers read it
    if colon and scheme.lower() in RUNNING_SCHEMES:
        reason = f"Give an address like https://example.org; {scheme.lower()}: is not allowed."
        raise InvalidInput("field.address", reason)
    return text


def _read_option(column: catalog_tables.Column, value: Any) -> str:
    if value not in column.options:
        raise InvalidInput("field.word", f"Give one of {', '.join(column.options)}.")
    return str(value)


def _read_uuid(_: catalog_tables.Column, value: Any) -> str:
    if not isinstance(value, str) or not is_uuid(value):
        raise InvalidInput("field.uuid", "Give a hyphenated UUID.")
    return _reuse_equal(value, value.lower())


def _read_uuids(column: catalog_tables.Column, value: Any) -> tuple[str, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > IDS_MAX:
        raise InvalidInput("field.type", f"Give a list of at most {IDS_MAX} UUIDs.")
    return tuple(_read_uuid(column, each) for each in value)


def _read_instant(_: catalog_tables.Column, value: Any) -> str:
    if not isinstance(value, str) or len(value) > catalog_tables.NAME_MAX:
        raise InvalidInput("field.type", "Give a date-time, such as 2026-01-31T12:00:00Z.")
    return _reuse_equal(value, _canonical_instant(value))


@lru_cache(maxsize=4096)
def _canonical_instant(text: str) -> str:
    """Cached, because rows of one export share their instants."""
    return format_instant(parse_instant(text))


def _reuse_equal(given: str, wanted: str) -> str:
    """Reuse an equal text to save memory; a file holds millions of them."""
    return given if given == wanted else wanted


def _read_count(_: catalog_tables.Column, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 2**53:
        raise InvalidInput("field.count", "Give a whole number from 0 to 2^53.")
    return value


_READERS: Final[Mapping[catalog_tables.Form, Callable[[catalog_tables.Column, Any], Any]]] = {
    catalog_tables.Form.TEXT: _read_text,
    catalog_tables.Form.ADDRESS: _read_address,
    catalog_tables.Form.WORD: _read_option,
    catalog_tables.Form.UUID: _read_uuid,
    catalog_tables.Form.UUIDS: _read_uuids,
    catalog_tables.Form.INSTANT: _read_instant,
    catalog_tables.Form.COUNT: _read_count,
}
