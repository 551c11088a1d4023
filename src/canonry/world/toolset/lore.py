"""Lore tools: what is true of the world beyond what can be seen in it."""

import re
import unicodedata
from collections.abc import Mapping
from operator import itemgetter
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import BOOLEAN, COUNT, TEXT, Field, Shape, obj
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.log.schemas.portrait_fields import NAMES
from canonry.log.schemas.world_types import LoreType
from canonry.values.time import render_instant
from canonry.world.toolset.arguments import FOUND_MAX, clamped, name_of, number_of
from canonry.world.toolset.contract import LORE_READERS, contract_tool, with_shapes
from canonry.world.toolset.extensions import ANYTHING, KEY, POSITIVE, Request, builders_tool, word
from canonry.world.usecases.bound_world import BoundWorld, bound_world
from canonry.world.usecases.get_canonical_fact import CanonicalFact, get_canonical_fact
from canonry.world.usecases.record_lore import NewLore, record_lore
from canonry.world.usecases.search_lore import FoundLore, search_lore

_TEXT_MAX: Final = 512
_SNIPPET_MAX: Final = 200
_K: Final = 5
_HIDDEN: Final = frozenset({"embeddings", "hidden"})
_MARKUP: Final = re.compile(r"<[^<>]*>|[*_`#|]+")
_ANY_FACT: Final = obj({}, {"factId": Field({})})
"""A fact without an id, or with one that is no text, is one that there is not: null."""
_SPACE: Final = re.compile(r"\s+")


async def _get_fact(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    name = name_of(arguments, "factId")
    found = None if name is None else await get_canonical_fact(canon, world, name)
    return None if found is None else _fact(found)


async def _get_version(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    version = int(arguments["version"])
    found = await get_canonical_fact(canon, world, arguments["factId"], version)
    return None if found is None else _fact(found)


async def _search(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    asked = number_of(arguments, "k")
    world = await bound_world(canon, caller)
    limit = clamped(_K if asked is None else asked, 1, FOUND_MAX)
    found = await search_lore(canon, world, arguments["query"][: canon.policy.limits.query], limit)
    return [_hit(each) for each in found]


async def _record(canon: Canon, caller: Caller, world: BoundWorld, new: NewLore) -> tuple[str, int]:
    return new.key, await record_lore(canon, caller, world, new)


def _fact(found: CanonicalFact) -> dict[str, Any]:
    cuts: list[dict[str, Any]] = []
    fields = {name: value for name, value in found.fields.items() if name not in _HIDDEN}
    archived = found.said.fields.get("properties.archived")
    shown = {
        "id": found.said.id,
        "type": found.entity.properties["lore_type"],
        "factId": found.entity.properties["key"],
        "version": found.version,
        "createdUtc": render_instant(found.first.recorded_at),
        "updatedUtc": render_instant(found.said.recorded_at) if found.version > 1 else None,
        "archivedUtc": render_instant(found.said.recorded_at) if archived else None,
        "fields": _cut(fields, "fields", cuts),
        "embeddingsOmitted": True if len(fields) < len(found.fields) else None,
        "fieldTruncations": cuts or None,
    }
    return {name: value for name, value in shown.items() if value is not None}


def _cut(value: Any, path: str, cuts: list[dict[str, Any]]) -> Any:
    """The value with long texts cut, and told of in `cuts`."""
    match value:
        case str() if len(value) > _TEXT_MAX:
            cuts.append({"path": path, "originalLength": len(value)})
            return value[:_TEXT_MAX]
        case Mapping():
            return {name: _cut(part, f"{path}.{name}", cuts) for name, part in value.items()}
        case list() | tuple():
            return [_cut(part, f"{path}[{i}]", cuts) for i, part in enumerate(value)]
        case _:
            return value


def _hit(each: FoundLore) -> dict[str, Any]:
    own = each.entity.properties
    return {
        "factId": own["key"],
        "type": own["lore_type"],
        "score": round(each.found.score, 6),
        "snippet": _snippet(own.get("fields", {}), each.found.terms),
        "version": int(own["version"]),
        "why": {"words": list(each.found.terms), "meaning": each.found.why.meaning > 0},
    }


def _snippet(fields: Mapping[str, Any], terms: tuple[str, ...]) -> str:
    """The text that says most of what was asked for, from where it begins to say it."""
    shown = {name: value for name, value in fields.items() if name not in _HIDDEN}
    prose = {name: value for name, value in shown.items() if name not in NAMES}  # a name says least
    texts = [text for value in prose.values() for text in _in(value)] or _in(shown)
    plain = [_plain(text) for text in texts]
    best = max(
        plain, key=lambda text: (sum(t in text.casefold() for t in terms), len(text)), default=""
    )
    if len(best) <= _SNIPPET_MAX:
        return best
    places = [at for term in terms if (at := best.casefold().find(term)) >= 0]
    start = min(max(0, min(places, default=0) - 40), len(best) - _SNIPPET_MAX)
    return best[start : start + _SNIPPET_MAX].strip()


def _in(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case Mapping():
            shown = (part for name, part in value.items() if name not in _HIDDEN)
            return [text for part in shown for text in _in(part)]
        case list() | tuple():
            return [text for part in value for text in _in(part)]
        case _:
            return [str(value)]


def _plain(text: str) -> str:
    """The text without markup and control characters, on one line."""
    bare = "".join(
        " " if unicodedata.category(character).startswith("C") else character
        for character in _MARKUP.sub(" ", text)
    )
    return _SPACE.sub(" ", bare).strip()


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool("get-canonical-fact", _get_fact, accepts=_ANY_FACT),
    contract_tool("search-lore", _search),
    Tool(
        name="get-fact-version",
        title="Get fact version",
        description="Read an older version of a fact of lore, also of an archived one.",
        input_schema=obj({"factId": KEY, "version": POSITIVE}),
        output_schema=with_shapes({"anyOf": [{"$ref": "#/$defs/fact"}, {"type": "null"}]}),
        roles=LORE_READERS,
        run=_get_version,
        read_only=True,
        idempotent=True,
        extension=True,
    ),
    builders_tool(
        "record-lore",
        "Write a fact of lore, or its next version; earlier ones stay readable.",
        Request(
            NewLore,
            {
                "factId": KEY.of("key"),
                "type": word(LoreType).of("lore_type"),
                "fields": ANYTHING,
            },
            {"expectedVersion": COUNT.of("expected"), "archived": BOOLEAN},
        ),
        _record,
        Shape(factId=TEXT.of(itemgetter(0)), version=COUNT.of(itemgetter(1))),
    ),
)
