"""Other names of arguments, claims in few words, and values as models write them."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from canonry.gateway.limits import suggest_name
from canonry.gateway.tool import Schema
from canonry.gateway.validation import repair_value
from canonry.values.data_files import read_toml
from canonry.values.json_values import fold_text

_ALIASES: Final = read_toml(__package__, "aliases.toml")
_NAMES: Final[Mapping[str, str]] = _ALIASES["arguments"]
_CLAIMS, _TOOLS = (read_toml(__package__, f"{name}.toml") for name in ("claims", "tools"))
_MEMBER: Final[Mapping[str, Schema]] = _TOOLS["claim"]["arguments"]
_CLAIM: Final[Schema] = {"properties": _MEMBER}
_MEMBERS: Final[Mapping[str, Mapping[str, str]]] = _CLAIMS["members"]
_SIGNS: Final[Mapping[str, str]] = _CLAIMS["signs"]
"""The member that only claims of a kind have -> the kind, in this order."""
_EVERYTHING: Final = frozenset(_ALIASES["everything"].split())
_EVERY: Final = "*"
"""Stands for a choice of everything, which is left out."""
BOOLEANS: Final[Mapping[str, bool]] = _ALIASES["booleans"]
_PERCENT: Final = 100
_PLAIN: Final = frozenset({"name", "type", "says", "tags", "fields", "for"})


def normalise_arguments(arguments: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Return the arguments under the names and with the values that the schema has.

    Names and values without an entry stay as they are, and are refused later.
    """
    named = _rename_arguments(repair_value(arguments, schema, listed=True), schema)
    given = {name: each for name, each in named.items() if each not in ([], _EVERY)}
    return dict(repair_value(given, schema, listed=True))


def _rename_arguments(arguments: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    known = schema.get("properties", {})
    named = _rename_members(arguments, known)
    return {name: _fit_value(each, known.get(name, {})) for name, each in named.items()}


def _rename_members(given: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
    own = frozenset(known)
    taken = own & given.keys()
    named: dict[str, Any] = {}
    for name, value in given.items():
        form = name if name in own else fold_text(name).replace(" ", "_").replace("-", "_")
        others = (each for each in (form, *_NAMES.get(form, "").split()) if each in own)
        free = name if name in own else next((each for each in others if each not in taken), name)
        taken |= {free}
        named[free] = value
    return named


def _fit_value(value: Any, schema: Any) -> Any:
    """Return a value with the members, choices and claims that the schema has for it."""
    match schema:
        case {"enum": choices} if isinstance(value, str):
            form = fold_text(value)
            forms = (form, _ALIASES["values"].get(form, ""), form.removesuffix("s"))
            every = _EVERY if form in _EVERYTHING else value
            return next((each for each in forms if each in choices), every)
        case {"maximum": 1} if isinstance(value, str):
            value = _ALIASES["confidence"].get(fold_text(value), value)
        case {"minimum": least, "maximum": most} if isinstance(value, int | float):
            value = value / _PERCENT if most == 1 and 1 < value <= _PERCENT else value
            return min(max(value, least), most) if isinstance(value, int) else value
        case {"type": "boolean"} if isinstance(value, str):
            value = BOOLEANS.get(fold_text(value), value)
        case {"type": "string"} if isinstance(value, bool):
            value = str(value).lower()
        case {"type": "string"} if _are_texts(value):
            value = "\n".join(value)
        case {"items": inner}:
            return _fit_list(value, inner)
        case {"properties": {"kind": _}}:
            return _fit_claim({"says": value} if isinstance(value, str) else value, schema)
        case {"properties": _}:
            value = _read_turn(value) if isinstance(value, str) else value
            return _rename_arguments(value, schema) if isinstance(value, Mapping) else value
        case _:
            pass
    return value


def _fit_list(value: Any, schema: Any) -> Any:
    """Return a list whose items fit; texts of choices may be one text with commas."""
    some = _split_texts(value) if "enum" in schema else value
    some = some if isinstance(some, list) else [some]
    made = [_fit_value(each, schema) for each in some]
    if _EVERY in made:
        return _EVERY
    return made if isinstance(value, list) or made != some else value


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(each, str) for each in values)


def _split_texts(value: Any) -> Any:
    """Return the parts of texts with commas; anything else as it is."""
    some = value if isinstance(value, list) else [value]
    parted = _are_texts(some) and "," in "".join(some)
    return [each.strip() for each in ",".join(some).split(",")] if parted else value


def _read_turn(text: str) -> dict[str, str]:
    """Return a turn that is written as `Speaker: words`."""
    by, colon, spoken = text.partition(":")
    return {"by": by.strip(), "text": spoken.strip()} if colon else {"by": "user", "text": text}


def _fit_claim(claim: Any, schema: Schema) -> Any:
    """Return a claim under the names of its kind, which its members show if it names none."""
    if not isinstance(claim, Mapping):
        return claim
    rest = dict(claim)
    given_kind = _fit_value(rest.pop("kind", None), schema["properties"]["kind"])
    if "kind" not in claim and str(rest.get("type")).casefold() in _MEMBERS:
        given_kind = rest.pop("type").casefold()
    named = _rename_members(rest, schema["properties"])
    shown = next((each for sign, each in _SIGNS.items() if sign in named), None)
    kind = given_kind if "kind" in claim or given_kind in _MEMBERS else shown
    if kind not in _MEMBERS:
        return claim
    made = claim_by_kind({"kind": kind, **rest})
    if kind != "entity":
        return made
    own = {
        name for name in made if name not in schema["properties"] and not suggest_name(name, _PLAIN)
    }
    more = {name: made.pop(name) for name in own}
    fields = made.get("fields", {})
    return {**made, "fields": {**more, **fields}} if more and isinstance(fields, dict) else made


def claim_by_kind(claim: Mapping[str, Any]) -> dict[str, Any]:
    """Return a claim of a known kind under the names of its kind, one value for a list as a list.

    A name that no claim of this kind has stays, and is refused later.
    """
    rest = {name: value for name, value in claim.items() if name != "kind"}
    known = (*_MEMBERS[claim["kind"]], "kind", "evidence", "confidence")
    named = _rename_members(rest, known)
    named = {name: _fit_value(each, _MEMBER.get(name, {})) for name, each in named.items()}
    others = [name for name in named if name not in known]
    if claim["kind"] == "correction" and len(others) == 1 and "value" not in named:
        named |= {"field": others[0], "value": named.pop(others[0])}
    named |= {name: _split_texts(named[name]) for name in {"tags", "untags"} & named.keys()}
    return {"kind": claim["kind"], **repair_value(named, _CLAIM, listed=True)}
