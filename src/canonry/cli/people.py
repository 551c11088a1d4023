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
from canonry.app.setting_table import Settings
from canonry.app.stores import Store, open_kept_store, open_store, open_store_to_look
from canonry.assistant import CANON
from canonry.cli.options import IN_FILE, STORE_FIELDS, SettingsCommand, settings_from, store_options
from canonry.cli.screen import Styled, tell
from canonry.gateway.principal import Principal
from canonry.gateway.replies import Result
from canonry.gateway.tool import Schema, Tool, Toolset
from canonry.language.texts.visible import visible, visible_line
from canonry.values.data_files import read_toml
from canonry.values.errors import CanonryError
from canonry.values.ids import SpaceId
from canonry.values.json_values import decode_json

TOOLS: Final[Mapping[str, Tool]] = {tool.name: tool for tool in CANON.tools}


def _raised(error: CanonryError, **_: object) -> NoReturn:
    """Raise the error itself; the entry point reports it."""
    raise error


_PLAIN: Final[Toolset] = replace(CANON, dialect=_raised)


async def ask(settings: Settings, tool: Tool, arguments: Mapping[str, Any]) -> Result:
    """Call the tool and return its reply; a tool that only reads opens the store read-only.

    A tool that adds to a store makes a missing one.

    Raises:
        CanonryError: from the tool or from opening the store.
    """
    plain = replace(settings, contract_only=False, read_only=False, tools=None, rate_limit=None)
    store: Store
    if tool.read_only:
        store = await open_store_to_look(plain)
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
    gateway.audit.write_to(_unheard)
    return await gateway.call(tool.name, arguments, the_operator(settings, "command-line"))


def the_operator(settings: Settings, name: str) -> Principal:
    """Return the principal of the person at this machine, who may read everything."""
    return Principal(
        agent_id=name,
        user=settings.user.lower() if settings.user else None,
        world=None if settings.world is None else SpaceId(settings.world.lower()),
        authorities=None,
        local=True,
    )


def _unheard(line: bytes) -> None:
    """Drop a line of the server's log: a person reads the reply instead."""


_TITLES: Final = ("name", "says", "claim", "field", "value", "when", "proposal", "id")
"""Members for the heading of a row; the first that it has is used."""
_BESIDE: Final = ("how", "verdict", "status", "kind", "type")
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


def tell_reply(reply: Mapping[str, Any]) -> None:
    """Print a reply: the sentence that begins it, its rows, then its hint and cursor."""
    last = {name: reply[name] for name in ("hint", "next") if name in reply}
    body = {name: value for name, value in reply.items() if name not in last}
    if "note" in body and "kind" not in body:
        tell(visible_line(body.pop("note")))
    if "kind" in body:
        _tell_row(body, "")
    else:
        for name, value in body.items():
            if _is_rows(value):
                for row in value:
                    _tell_row(row, "")
            else:
                _tell_member(name, value, "")
    if "hint" in last:
        tell(("dim", visible_line(last["hint"])))
    if "next" in last:
        tell(("dim", f"for more, add --cursor {visible_line(last['next'])}"))


def _tell_row(row: Mapping[str, Any], lead: str) -> None:
    title = next((name for name in _TITLES if name in row), "")
    parts: list[Styled] = [lead, ("bold", _plain(row.get(title, "-")))]
    beside = [name for name in _BESIDE if name in row and name != title]
    if row.get("kind") == "entity" and "type" in row:
        beside.remove("kind")  # the type is more specific
    for name in beside:
        word = _plain(row[name])
        parts += ["  ", (_COLOURS.get(word, "dim"), word)]
    if tags := row.get("tags"):
        parts.append(f"  [{_plain(tags)}]")
    tell(*parts)
    told = {title, "tags", "kind", *beside, *_LAST}
    if title == "name" and (says := row.get("says")):
        _tell_text(says, lead + _STEP)
        told.add("says")
    for name, value in row.items():
        if name not in told:
            _tell_member(name, value, lead + _STEP)
    for name in _LAST:
        if name in row and name != title:
            tell(lead + _STEP, ("dim", _plain(row[name])))


def _tell_member(name: str, value: Any, lead: str) -> None:
    label: Styled = ("cyan", visible_line(name.replace("_", " ")))
    if _is_rows(value):
        tell(lead, label)
        for row in value:
            _tell_row(row, lead + _STEP)
    elif isinstance(value, Mapping):
        tell(lead, label)
        for inner, each in value.items():
            _tell_member(inner, each, lead + _STEP)
    elif isinstance(value, str) and "\n" in value:
        tell(lead, label)
        _tell_text(value, lead + _STEP)
    else:
        tell(lead, label, f"  {_plain(value)}")


def _tell_text(text: str, lead: str) -> None:
    """Print stored text, each line after a non-empty `lead`, so that none looks like our own."""
    for line in text.split("\n"):
        tell(lead, visible(line))


def _is_rows(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and bool(value)
        and all(isinstance(each, Mapping) for each in value)
    )


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_plain, value)) or "none"
    return visible_line(str(value))


# `canonry find|show|why|timeline|changes|context|tell|propose|proposals|decide` each call one tool
# of the toolset canon. The schema of the tool defines the options of its command.

_PATH: Final = re.compile(r"(?<!\S)/([a-z_]{1,20})(?:/\d{1,5})?\b", re.ASCII)
_EXAMPLE: Final = ' For example: "'
"""The beginning of a sentence with an argument of the tool, which no command line takes."""


_ROWS: Final = read_toml(__package__, "people.toml")


def _command(name: str) -> click.Command:
    """Return the command of a tool, as its row in `people.toml` says."""
    row = _ROWS[name]
    asked, places = TOOLS[row["tool"]], row["placed"].split()
    properties: Mapping[str, Schema] = asked.input_schema["properties"]
    needed = frozenset(asked.input_schema.get("required", ()))
    params: list[click.Parameter] = [
        _argument(each, properties[each], required=each in needed, last=each == places[-1])
        for each in places
    ]
    called = {str(each.name): str(each.metavar) for each in params}
    params += [_option(key, schema) for key, schema in properties.items() if key not in called]
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
            arguments = _arguments(asked, given)
            result = asyncio.run(ask(settings, asked, arguments))
        except CanonryError as error:
            # Replace paths to arguments of the tool by the options of the command.
            plain, _, _ = error.message.partition(_EXAMPLE)
            message = _PATH.sub(lambda found: called.get(found[1], found[0]), plain)
            raise type(error)(error.code, message, **error.details) from error
        if as_json:
            click.echo(result.text)
        else:
            tell_reply(result.body)
        if result.body.get("accepted", 0) < result.body.get("of", 0):
            raise click.exceptions.Exit(1)

    return run


class _Object(click.ParamType[list[Any]]):
    """JSON objects for one argument: as a text, from @FILE, or from standard input as -.

    Without JSON, "by: text" is a turn, and any other text is a fact to claim.
    """

    name = "json"

    def __init__(self, members: Mapping[str, Schema]) -> None:
        """Take the members that the schema of the argument names."""
        self._members = members

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
                message = f"{visible_line(text[:80])} is not JSON: {error}"
                raise click.BadParameter(message, ctx, param) from error
            return data if isinstance(data, list) else [data]
        if "says" in self._members and text:
            return [{"kind": "fact", "says": text}]
        by, _, words = text.partition(":")
        if "by" in self._members and by.strip() and words.strip():
            return [{"by": by.strip(), "text": words.strip()}]
        form = "'NAME: WORDS' or " if "by" in self._members else ""
        message = f"'{visible_line(text[:80])}' is not {form}a JSON object."
        raise click.BadParameter(message, ctx, param)


def _argument(name: str, schema: Schema, *, required: bool, last: bool) -> click.Argument:
    said = {"text": "WORDS", "since": "WHEN", "of": "NAME", "about": "NAME"}
    listed = schema.get("type") == "array"
    return click.Argument(
        [name],
        type=_type(schema.get("items", schema) if listed else schema),
        required=required,
        nargs=-1 if last else 1,
        metavar=said.get(name, name.upper()),
    )


def _option_name(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _option(name: str, schema: Schema) -> click.Option:
    flag = schema.get("type") == "boolean"
    listed = schema.get("type") == "array"
    inner = IN_FILE if name == "file" else _type(schema.get("items", schema) if listed else schema)
    return click.Option(
        [_option_name(name), name],
        type=None if flag else inner,
        is_flag=flag,
        multiple=listed,
        help=_FILE_HELP if name == "file" else schema.get("description"),
    )


_FILE_HELP: Final = "File of this machine to record; its type is that of its name."


def _type(schema: Schema) -> click.ParamType[Any]:
    if schema.get("type") == "object":
        return _Object(schema.get("properties", {}))
    if "enum" in schema:
        return click.Choice(schema["enum"])
    return click.INT if schema.get("type") == "integer" else click.STRING


def _arguments(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
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


find = _command("find")
show = _command("show")
why = _command("why")
timeline = _command("timeline")
changes = _command("changes")
context = _command("context")
tell_words = _command("tell")
propose = _command("propose")
proposals = _command("proposals")
decide = _command("decide")
