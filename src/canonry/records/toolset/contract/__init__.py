"""The published contract: names, schemas, limits and errors of every tool."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, Final

from canonry.gateway.limits import Limits
from canonry.gateway.offers import ContractFile
from canonry.gateway.replies import Field, Read, Shape, published_shape
from canonry.gateway.tool import ANYONE, PublishedArguments, Run, Schema, Tool
from canonry.values.data_files import read_toml

CONTRACT: Final = ContractFile(__name__, "truth.json")
published = CONTRACT.read_contract
entries = CONTRACT.tool_entries
_NUMBERS: Final = Limits(any_number=True)
_FILES: Final = Limits(characters=80_000_000, seconds=120.0, any_number=True)
"""A file of 52,428,800 bytes has 69,905,068 characters in base64; line ends may be among them."""


_SHAPES: Final[dict[str, Field]] = {}
"""The shapes that have been made of definitions of the contract, by name."""


_SOURCES: Final = read_toml(__name__, "sources.toml")
SHOWN_MAX: Final = 100
"""The most records, warnings and duplicates in a reply."""


def shape_of(name: str, /, **sources: Read | Field) -> Shape:
    """Return the shape of a definition of the contract; other shapes then know it by its name."""
    made = shape_in(name, published()["$defs"][name], **sources)
    _SHAPES[name] = made
    return made


def reply_of(tool: str, /, **sources: Read | Field) -> Shape:
    """Return the shape of the reply of a tool."""
    return shape_in(tool, entries()[tool]["output"], **sources)


def shape_in(name: str, schema: Schema, /, **sources: Read | Field) -> Shape:
    """Return the shape of a schema; its sources are those of `name` in `sources.toml`, and more."""
    written = {field: _field_source(words) for field, words in _SOURCES.get(name, {}).items()}
    return published_shape(schema, _SHAPES, **written, **sources)


def _field_source(written: str) -> str | Read | None:
    match written.split():
        case ["given"]:
            return None
        case [path, "if", "filled"]:
            filled = attrgetter(path)
            return lambda item: filled(item) or None
        case ["first", "of", path]:
            several = attrgetter(path)
            return lambda item: several(item)[:SHOWN_MAX]
        case _:
            return written


def truth_tool(name: str, run: Run) -> Tool:
    """Make a tool from its entry in the contract file and its implementation."""
    entry = entries()[name]
    return Tool(
        name=name,
        title=entry["title"],
        description=entry["description"],
        input_schema=entry["input"],
        output_schema=resolve_references(entry["output"]),
        roles=ANYONE,
        run=run,
        read_only=entry["read_only"],
        destructive=entry["destructive"],
        idempotent=entry["idempotent"],
        extension=entry["extension"],
        times=tuple(entry.get("times", ())),
        aliases=tuple(entry.get("aliases", ())),
        per_minute=entry.get("per_minute"),
        consistency=entry["consistency"],
        deterministic=entry["deterministic"],
        limits=_FILES if "file_content" in entry["input"]["properties"] else _NUMBERS,
        published=PublishedArguments(
            schema=published_input(entry), given=entry.get("contract_given", {})
        ),
    )


def published_input(entry: Mapping[str, Any]) -> Schema:
    """Return the input schema of the contract itself, without Canonry's additions."""
    ours = dict.fromkeys(entry.get("additive_input", ()))
    without = _apply_patch(entry["input"], {"properties": ours})
    return dict(_apply_patch(without, entry.get("contract_input", {})))


def _apply_patch(value: Any, patch: Any) -> Any:
    """Apply a JSON merge patch (RFC 7396), in which null removes a member."""
    if not isinstance(patch, dict):
        return patch
    old = value if isinstance(value, dict) else {}
    new = {name: _apply_patch(old.get(name), each) for name, each in patch.items()}
    return {name: each for name, each in {**old, **new}.items() if patch.get(name, "") is not None}


def resolve_references(schema: Any) -> Any:
    """Replace every reference in a schema by its target."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            return resolve_references(published()["$defs"][schema["$ref"].removeprefix("#/$defs/")])
        return {key: resolve_references(value) for key, value in schema.items()}
    return [resolve_references(value) for value in schema] if isinstance(schema, list) else schema
