"""Commands for people: find, show, explain, tell, propose and decide."""

import asyncio
import re
import sys
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from mimetypes import guess_type
from pathlib import Path
from typing import Any, Final, NoReturn

import click
from typing_extensions import override

from canonry.app.serving import gateway_for
from canonry.app.settings import Settings
from canonry.app.stores import Store, open_kept_store, open_store, open_store_to_read
from canonry.assistant import CANON
from canonry.cli.options import IN_FILE, STORE_FIELDS, SettingsCommand, settings_from, store_options
from canonry.cli.terminal import Styled, print_styled
from canonry.gateway.principal import Principal
from canonry.gateway.replies import Result
from canonry.gateway.tool import Schema, Tool, Toolset
from canonry.language.texts.visible import escape_hidden, escape_line
from canonry.values.data_files import read_toml
from canonry.values.errors import CanonryError
from canonry.values.ids import SpaceId
from canonry.values.json_values import decode_json

TOOLS: Final[Mapping[str, Tool]] = {tool.name: tool for tool in CANON.tools}


def _raise_error(error: CanonryError, **_: object) -> NoReturn:
    """Raise the error itself; the entry point reports it."""
    raise error


_PLAIN: Final[Toolset] = replace(CANON, dialect=_raise_error)


async def call_tool(settings: Settings, tool: Tool, arguments: Mapping[str, Any]) -> Result:
    """Call the tool and return its reply; a tool that only reads opens the store read-only.

    A tool that adds to a store makes a missing one.

    Raises:
        CanonryError: from the tool or from opening the store.
    """
    plain = replace(settings, contract_only=False, read_only=False, tools=None, rate_limit=None)
    store: Store
    if tool.read_only:
        store = await open_store_to_read(plain)
    elif tool.destructive:
        store = await open_kept_store(plain, existing=True)
    else:
        store = await open_store(replace(plain, memory=False))
    async with store:
        return await ask_store(store, plain, tool, arguments)


async def ask_store(
    store: Store, settings: Settings, tool: Tool, arguments: Mapping[str, Any]
) -> Result:
    """Call the tool on an open store.

    Raises:
        CanonryError: from the tool.
    """
    gateway = gateway_for(settings, store.canon, (_PLAIN,))
    gateway.audit.write_to(_drop_line)
    return await gateway.call(tool.name, arguments, operator_principal(settings, "command-line"))


def operator_principal(settings: Settings, name: str) -> Principal:
    """Return the principal of the person at this machine, who may read everything."""
    return Principal(
        agent_id=name,
        user=settings.user.lower() if settings.user else None,
        world=None if settings.world is None else SpaceId(settings.world.lower()),
        authorities=None,
        local=True,
    )


def _drop_line(line: bytes) -> None:
    """Drop a line of the server's log: a person reads the reply instead."""


_TITLES: Final = ("name", "says", "claim", "field", "value", "when", "proposal", "id")
"""Members for the heading of a row; the first that it has is used."""
_SHORT_MEMBERS: Final = ("how", "verdict", "status", "kind", "type")
"""Members shown beside the heading."""
_LAST: Final = ("id",)
_COLOURS: Final = {
    "accepted": "green",
    "new": "green",
    "rejected": "red",
    "retconned": "red",
    "needs review": "yellow",
    "waits": "yellow",
}
_STEP: Final = "  "


def print_reply(reply: Mapping[str, Any]) -> None:
    """Print a reply: the sentence that begins it, its rows, then its hint and cursor."""
    last = {name: reply[name] for name in ("hint", "next") if name in reply}
    body = {name: value for name, value in reply.items() if name not in last}
    if "note" in body and "kind" not in body:
        print_styled(escape_line(body.pop("note")))
    if "kind" in body:
        _print_row(body, "")
    else:
        for name, value in body.items():
            if _is_rows(value):
                for row in value:
                    _print_row(row, "")
            else:
                _print_member(name, value, "")
    if "hint" in last:
        print_styled(("dim", escape_line(last["hint"])))
    if "next" in last:
        print_styled(("dim", f"for more, add --cursor {escape_line(last['next'])}"))


def _print_row(row: Mapping[str, Any], lead: str) -> None:
    title = next((name for name in _TITLES if name in row), "")
    parts: list[Styled] = [lead, ("bold", _plain_text(row.get(title, "-")))]
    short_names = [name for name in _SHORT_MEMBERS if name in row and name != title]
    if row.get("kind") == "entity" and "type" in row:
        short_names.remove("kind")  # the type is more specific
    for name in short_names:
        word = _plain_text(row[name])
        parts += ["  ", (_COLOURS.get(word, "dim"), word)]
    if tags := row.get("tags"):
        parts.append(f"  [{_plain_text(tags)}]")
    print_styled(*parts)
    printed = {title, "tags", "kind", *short_names, *_LAST}
    if title == "name" and (wording := row.get("says")):
        _print_text(wording, lead + _STEP)
        printed.add("says")
    for name, value in row.items():
        if name not in printed:
            _print_member(name, value, lead + _STEP)
    for name in _LAST:
        if name in row and name != title:
            print_styled(lead + _STEP, ("dim", _plain_text(row[name])))


def _print_member(name: str, value: Any, lead: str) -> None:
    label: Styled = ("cyan", escape_line(name.replace("_", " ")))
    if _is_rows(value):
        print_styled(lead, label)
        for row in value:
            _print_row(row, lead + _STEP)
    elif isinstance(value, Mapping):
        print_styled(lead, label)
        for inner, each in value.items():
            _print_member(inner, each, lead + _STEP)
    elif isinstance(value, str) and "\n" in value:
        print_styled(lead, label)
        _print_text(value, lead + _STEP)
    else:
        print_styled(lead, label, f"  {_plain_text(value)}")


def _print_text(text: str, lead: str) -> None:
    """Print stored text, each line after a non-empty `lead`, so that none looks like our own."""
    for line in text.split("\n"):
        print_styled(lead, escape_hidden(line))


def _is_rows(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and bool(value)
        and all(isinstance(each, Mapping) for each in value)
    )


def _plain_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_plain_text, value)) or "none"
    return escape_line(str(value))


# `canonry find|show|why|timeline|changes|context|tell|propose|proposals|decide` each call one tool
# of the toolset canon. The schema of the tool defines the options of its command.

_PATH: Final = re.compile(r"(?<!\S)/([a-z_]{1,20})(?:/\d{1,5})?\b", re.ASCII)
_EXAMPLE: Final = ' For example: "'
"""The beginning of a sentence with an argument of the tool, which no command line takes."""


_ROWS: Final = read_toml(__package__, "people.toml")


def _tool_command(name: str) -> click.Command:
    """Return the command of a tool, as its row in `people.toml` says."""
    row = _ROWS[name]
    asked, positional = TOOLS[row["tool"]], row["placed"].split()
    properties: Mapping[str, Schema] = asked.input_schema["properties"]
    needed = frozenset(asked.input_schema.get("required", ()))
    params: list[click.Parameter] = [
        _tool_argument(each, properties[each], required=each in needed, last=each == positional[-1])
        for each in positional
    ]
    called = {str(each.name): str(each.metavar) for each in params}
    params += [_tool_option(key, schema) for key, schema in properties.items() if key not in called]
    called = {key: called.get(key, _option_name(key)) for key in properties}
    epilog = "\n".join(
        ("\b", "Examples:", *(f"  canonry {name} {e}".rstrip() for e in row["examples"]))
    )

    @click.command(name, cls=SettingsCommand, params=params, help=row["about"], epilog=epilog)
    @click.option("--json", "as_json", is_flag=True, help="Print the reply as JSON.")
    @store_options
    def run(*, as_json: bool, **given: Any) -> None:
        settings = settings_from({key: given.pop(key) for key in STORE_FIELDS})
        try:
            arguments = _tool_arguments(asked, given)
            result = asyncio.run(call_tool(settings, asked, arguments))
        except CanonryError as error:
            # Replace paths to arguments of the tool by the options of the command.
            plain, _, _ = error.message.partition(_EXAMPLE)
            message = _PATH.sub(lambda found: called.get(found[1], found[0]), plain)
            raise type(error)(error.code, message, **error.details) from error
        if as_json:
            click.echo(result.text)
        else:
            print_reply(result.body)
        if result.body.get("accepted", 0) < result.body.get("of", 0):
            raise click.exceptions.Exit(1)

    return run


class _Object(click.ParamType[list[Any]]):
    """JSON objects for one argument: as a text, from @FILE, or from standard input as -.

    Other texts stay as they are: the tool reads a fact from them, or a turn from "by: text".
    """

    name = "json"

    @override
    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[Any]:
        text = value.strip()
        if text == "-":
            text = sys.stdin.read().strip()
        elif text.startswith("@"):
            text = Path(text[1:]).read_text("utf-8", "replace").strip()
        if text.startswith(("{", "[")):
            try:
                data = decode_json(text.encode())
            except (ValueError, RecursionError) as error:
                message = f"{escape_line(text[:80])} is not JSON: {error}"
                raise click.BadParameter(message, ctx, param) from error
            return data if isinstance(data, list) else [data]
        return [text]


def _tool_argument(name: str, schema: Schema, *, required: bool, last: bool) -> click.Argument:
    metavars = {"text": "WORDS", "since": "WHEN", "of": "NAME", "about": "NAME"}
    listed = schema.get("type") == "array"
    return click.Argument(
        [name],
        type=_parameter_type(schema.get("items", schema) if listed else schema),
        required=required,
        nargs=-1 if last else 1,
        metavar=metavars.get(name, name.upper()),
    )


def _option_name(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _tool_option(name: str, schema: Schema) -> click.Option:
    flag = schema.get("type") == "boolean"
    listed = schema.get("type") == "array"
    inner = (
        IN_FILE
        if name == "file"
        else _parameter_type(schema.get("items", schema) if listed else schema)
    )
    return click.Option(
        [_option_name(name), name],
        type=None if flag else inner,
        is_flag=flag,
        multiple=listed,
        help=_FILE_HELP if name == "file" else schema.get("description"),
    )


_FILE_HELP: Final = "File of this machine to record; its type is that of its name."


def _parameter_type(schema: Schema) -> click.ParamType[Any]:
    if schema.get("type") == "object":
        return _Object()
    if "enum" in schema:
        return click.Choice(schema["enum"])
    return click.INT if schema.get("type") == "integer" else click.STRING


def _tool_arguments(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given parameters as arguments of the tool, without those left out."""
    properties = tool.input_schema["properties"]
    found: dict[str, Any] = {}
    for name, value in given.items():
        if value is None or value is False or value == ():
            continue
        words = isinstance(value, tuple)
        is_text = properties[name].get("type") == "string"
        found[name] = " ".join(value) if words and is_text else list(value) if words else value
        if properties[name].get("items", {}).get("type") == "object":
            found[name] = [each for given_list in value for each in given_list]
    if found.get("text") == "-":
        found["text"] = sys.stdin.read()
    return found if "file" not in found else _with_file(found, found["file"])


def _with_file(given: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Return the arguments with the content of the file, and its name and type unless given."""
    mime_type = guess_type(file.name)[0] or "application/octet-stream"
    data = b64encode(file.read_bytes()).decode()
    return {"title": file.name, "mime_type": mime_type, **given, "file": data}


find, show, why, timeline = map(_tool_command, ("find", "show", "why", "timeline"))
changes, context, tell_words = map(_tool_command, ("changes", "context", "tell"))
propose, proposals, decide = map(_tool_command, ("propose", "proposals", "decide"))
