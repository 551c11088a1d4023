"""Tools of the toolset, made from their entries in `tools.toml`."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from canonry.assistant.aliases import understood
from canonry.assistant.desk import PAGE_MAX
from canonry.assistant.first_sentences import FIRST_SENTENCES
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.limits import Limits
from canonry.gateway.replies import BOOLEAN, COUNT, OBJECT, TEXT, Field, array, enum, obj
from canonry.gateway.tool import Arguments, Noted, Reply, Run, Schema, Tool
from canonry.values.data_files import read_toml

_ENTRIES: Final[Mapping[str, Any]] = read_toml(__package__, "tools.toml")
_VALUES: Final[Mapping[str, Field]] = {
    "boolean": BOOLEAN,
    "count": COUNT,
    "object": OBJECT,
    "objects": array(OBJECT),
    "text": TEXT,
    "texts": array(TEXT),
}
"""Kinds of values in replies."""


def canon_tool(
    name: str,
    run: Run,
    roles: frozenset[str],
    *,
    limits: Limits | None = None,
    **choices: Iterable[str],
) -> Tool:
    """Make a tool from its entry; `choices` are the values of arguments that are enumerations."""
    entry = _ENTRIES[name]
    return Tool(
        name=name,
        title=entry["title"],
        description=entry["description"],
        input_schema=_arguments(entry, choices),
        output_schema=_reply(entry),
        roles=roles,
        run=_worded(name, run, paged="limit" in entry.get("shared", ())),
        read_only=entry["read_only"],
        destructive=entry.get("destructive", False),
        asks=entry.get("asks", False),
        limits=limits,
        mend=understood,
    )


def _worded(name: str, run: Run, *, paged: bool) -> Run:
    """Return the same tool, whose reply begins with a sentence and says if `limit` was changed."""
    sentence = FIRST_SENTENCES.get(name)
    if sentence is None and not paged:
        return run

    async def read(canon: Canon, caller: Caller, arguments: Arguments) -> Reply | Noted:
        found = await run(canon, caller, arguments)
        reply: Reply = found.reply if isinstance(found, Noted) else found
        if sentence is not None:
            note = reply.get("note") or sentence(arguments, reply)
            reply = {"note": note, **{n: each for n, each in reply.items() if n != "note"}}
        asked = arguments.get("limit", PAGE_MAX)
        if paged and not 1 <= asked <= PAGE_MAX:
            said = f"/limit is {asked}; a page has 1 to {PAGE_MAX} rows."
            reply = {**reply, "hint": " ".join(filter(None, (said, reply.get("hint"))))}
        return replace(found, reply=reply) if isinstance(found, Noted) else reply

    return read


def _arguments(entry: Mapping[str, Any], choices: Mapping[str, Iterable[str]]) -> Schema:
    """Return a short schema of arguments; the gateway forbids other members itself."""
    own: Mapping[str, Schema] = entry.get("arguments", {})
    properties = {name: _argument(name, schema, choices) for name, schema in own.items()}
    properties |= {name: _ENTRIES["shared"][name] for name in entry.get("shared", ())}
    required = {"required": entry["required"]} if "required" in entry else {}
    return {"type": "object", "properties": properties, **required}


def _argument(name: str, schema: Schema, choices: Mapping[str, Iterable[str]]) -> Schema:
    """Return the schema of an argument, with its choices and the members of its items."""
    items = schema.get("items")
    if isinstance(items, str):
        return {**schema, "items": _arguments(_ENTRIES[items], choices)}
    if name not in choices:
        return schema
    one = enum(*choices[name]).schema
    return {**one, **schema} if items is None else {**schema, "items": one}


def _reply(entry: Mapping[str, Any]) -> Schema:
    if entry.keys().isdisjoint({"returns", "may_return"}):
        return OBJECT.schema
    always, sometimes = (
        {name: _VALUES[kind] for name, kind in entry.get(part, {}).items()}
        for part in ("returns", "may_return")
    )
    return obj(always, {**sometimes, "next": TEXT, "hint": TEXT})
