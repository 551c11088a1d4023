"""Tools of the toolset, made from their entries in `tools.toml`."""

import re
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any, Final

from canonry.assistant.aliases import normalise_arguments
from canonry.assistant.call_context import PAGE_MAX
from canonry.assistant.first_sentences import FIRST_SENTENCES
from canonry.assistant.wording import in_plain_words, is_plain
from canonry.canon.queries.names import names_suggested
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.limits import Limits
from canonry.gateway.replies import BOOLEAN, COUNT, OBJECT, TEXT, Field, array, enum, object_schema
from canonry.gateway.tool import Arguments, Noted, Reply, Run, Schema, Tool
from canonry.values.data_files import read_toml
from canonry.values.errors import CanonryError
from canonry.values.json_values import encode_json

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
        input_schema=_arguments_schema(entry, choices),
        output_schema=_reply_schema(entry),
        roles=roles,
        run=_with_sentence(name, _reworded(name, run), paged="limit" in entry.get("shared", ())),
        read_only=entry["read_only"],
        destructive=entry.get("destructive", False),
        asks=entry.get("asks", False),
        limits=limits,
        mend=normalise_arguments,
    )


_CLAIMED: Final = re.compile(r"/claims/(\d+)/(?:from|to|of|about|who|where)(?:/\d+)?")
_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
_CALL_MAX: Final = 1_000
"""The most characters of the corrected calls in an error."""


def _reworded(tool: str, run: Run) -> Run:
    """Return the same tool in the words of the space; errors about names have a call that works."""

    async def called(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
        try:
            reply = await run(canon, caller, arguments)
        except CanonryError as error:
            shown = error
            if error.code in {"name.ambiguous", "name.unknown", "space.ambiguous"}:
                shown = _with_call(error, tool, deepcopy(dict(arguments)))
            if await is_plain(canon, caller):
                shown = type(error)(error.code, in_plain_words(shown.message), **shown.details)
            raise shown from error
        return in_plain_words(reply) if await is_plain(canon, caller) else reply

    return called


def _with_call(error: CanonryError, tool: str, call: dict[str, Any]) -> CanonryError:
    """Add a corrected call for each of the candidates, or one with a claim that adds the entity.

    Names that the same claim uses elsewhere are no candidates.
    """
    details, message = dict(error.details), error.message
    path, near = details["path"], details.pop("candidates", ())
    *steps, last = [int(each) if each.isdecimal() else each for each in path.split("/")[1:]]
    part: Any = call
    for step in steps:
        part = part[step]
    claimed = _CLAIMED.fullmatch(path) if error.code == "name.unknown" else None
    if claimed:
        used = encode_json(call["claims"][int(claimed[1])]).decode()
        near = [each for each in near if f'"{each}"' not in used]
        guess = names_suggested(str(part[last]), near)
        new = {"kind": "entity", "name": part[last], "type": "person"}
        message = f"{message.partition(' Did you mean')[0]}{guess} If it is new, add it in the same"
        message += f" call: {encode_json(new).decode()}, with its own type."
        call["claims"] = call["claims"] if near else [new, *call["claims"]]
    calls = [call] if claimed else []
    if near:
        ids = ((found := _ID.search(one)) and found[0] for one in near)
        details["candidates"], calls = near, []
        for one, i in zip(near, ids, strict=True):
            part[last] = i or one
            calls.append(deepcopy(call))
    made = [{"tool": tool, "arguments": each} for each in calls]
    more = {"calls": made} if len(made) > 1 else {"call": made[0]} if made else {}
    sure = tool != "decide" or error.code != "name.unknown"
    more = more if sure and len(encode_json(more)) <= _CALL_MAX else {}
    return type(error)(error.code, message, **details, **more)


def _with_sentence(name: str, run: Run, *, paged: bool) -> Run:
    """Return the same tool, whose reply begins with a sentence and says if `limit` was changed."""
    sentence = FIRST_SENTENCES.get(name)
    if sentence is None and not paged:
        return run

    async def run_worded(canon: Canon, caller: Caller, arguments: Arguments) -> Reply | Noted:
        found = await run(canon, caller, arguments)
        reply: Reply = found.reply if isinstance(found, Noted) else found
        if sentence is not None:
            note = reply.get("note") or sentence(arguments, reply)
            reply = {"note": note, **{n: each for n, each in reply.items() if n != "note"}}
        asked = arguments.get("limit", PAGE_MAX)
        if paged and not 1 <= asked <= PAGE_MAX:
            limit_note = f"/limit is {asked}; a page has 1 to {PAGE_MAX} rows."
            reply = {**reply, "hint": " ".join(filter(None, (limit_note, reply.get("hint"))))}
        return replace(found, reply=reply) if isinstance(found, Noted) else reply

    return run_worded


def _arguments_schema(entry: Mapping[str, Any], choices: Mapping[str, Iterable[str]]) -> Schema:
    """Return a short schema of arguments; the gateway forbids other members itself."""
    own: Mapping[str, Schema] = entry.get("arguments", {})
    properties = {name: _argument_schema(name, schema, choices) for name, schema in own.items()}
    properties |= {name: _ENTRIES["shared"][name] for name in entry.get("shared", ())}
    required = {"required": entry["required"]} if "required" in entry else {}
    return {"type": "object", "properties": properties, **required}


def _argument_schema(name: str, schema: Schema, choices: Mapping[str, Iterable[str]]) -> Schema:
    """Return the schema of an argument, with its choices and the members of its items."""
    items = schema.get("items")
    if isinstance(items, str):
        return {**schema, "items": _arguments_schema(_ENTRIES[items], choices)}
    if name not in choices:
        return schema
    one = enum(*choices[name]).schema
    return {**one, **schema} if items is None else {**schema, "items": one}


def _reply_schema(entry: Mapping[str, Any]) -> Schema:
    if entry.keys().isdisjoint({"returns", "may_return"}):
        return OBJECT.schema
    always, sometimes = (
        {name: _VALUES[kind] for name, kind in entry.get(part, {}).items()}
        for part in ("returns", "may_return")
    )
    return object_schema(always, {**sometimes, "next": TEXT, "hint": TEXT})
