"""`canonry find|show|why|timeline|changes|proposals|decide`: each a tool of canon, for a person.

What a command takes follows from the tool's own schema, so that both say the same.
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Any, Final

import click

from canonry.cli.options import STORE_FIELDS, settings_from, store_options
from canonry.cli.people.asking import TOOLS, ask
from canonry.cli.people.telling import tell_reply
from canonry.gateway.tool import Schema, Tool
from canonry.values.errors import CanonryError

_PATH: Final = re.compile(r"(?<!\S)/([a-z_]{1,20})(?:/\d{1,5})?\b", re.ASCII)


def _command(name: str, tool: str, placed: str, about: str, *examples: str) -> click.Command:
    """The command for a tool; `placed` are arguments given by place, the last in several words."""
    asked, places = TOOLS[tool], placed.split()
    properties: Mapping[str, Schema] = asked.input_schema["properties"]
    needed = frozenset(asked.input_schema.get("required", ()))
    params: list[click.Parameter] = [
        _argument(each, properties[each], required=each in needed, last=each == places[-1])
        for each in places
    ]
    called = {str(each.name): str(each.metavar) for each in params}
    params += [_option(key, schema) for key, schema in properties.items() if key not in called]
    called = {key: called.get(key, _option_name(key)) for key in properties}
    epilog = "\n".join(("\b", "Examples:", *(f"  canonry {name} {e}".rstrip() for e in examples)))

    @click.command(name, params=params, help=about, epilog=epilog)
    @click.option("--json", "as_json", is_flag=True, help="Print the reply as JSON.")
    @store_options
    def run(*, as_json: bool, **given: Any) -> None:
        settings = settings_from({key: given.pop(key) for key in STORE_FIELDS})
        try:
            result = asyncio.run(ask(settings, asked, _arguments(asked, given)))
        except CanonryError as error:
            message = _in_words_of_the_command(error.message, called)
            raise type(error)(error.code, message, **error.details) from error
        if as_json:
            click.echo(result.text)
        else:
            tell_reply(result.body)

    return run


def _in_words_of_the_command(message: str, called: Mapping[str, str]) -> str:
    """The message with options and arguments where a tool's error has paths to its own."""
    return _PATH.sub(lambda found: called.get(found[1], found[0]), message)


def _argument(name: str, schema: Schema, *, required: bool, last: bool) -> click.Argument:
    said = {"text": "WORDS", "since": "WHEN", "of": "NAME", "about": "NAME"}
    return click.Argument(
        [name],
        type=_type(schema),
        required=required,
        nargs=-1 if last else 1,
        metavar=said.get(name, name.upper()),
    )


def _option_name(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _option(name: str, schema: Schema) -> click.Option:
    flag = schema.get("type") == "boolean"
    listed = schema.get("type") == "array"
    return click.Option(
        [_option_name(name), name],
        type=None if flag else _type(schema.get("items", schema) if listed else schema),
        is_flag=flag,
        multiple=listed,
        help=schema.get("description"),
    )


def _type(schema: Schema) -> click.ParamType[Any]:
    if "enum" in schema:
        return click.Choice(schema["enum"])
    return click.INT if schema.get("type") == "integer" else click.STRING


def _arguments(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given, as the tool takes it; nothing for what was left out."""
    properties = tool.input_schema["properties"]
    found: dict[str, Any] = {}
    for name, value in given.items():
        if value is None or value is False or value == ():
            continue
        words = isinstance(value, tuple)
        is_text = properties[name].get("type") == "string"
        found[name] = " ".join(value) if words and is_text else list(value) if words else value
    return found


find = _command(
    "find",
    "find",
    "text",
    "Look by words and meaning; without WORDS, list. Tells what holds now.",
    "lantern thief",
    "--kinds fact --about Ilsa",
    "--type character --space Saltmere --json",
)
show = _command(
    "show",
    "get",
    "of",
    "Show one thing by its name, the beginning of its name, or its id.",
    "Ilsa Vane",
    "Ils --at 2024-05-01",
    "Ilsa --as-known-at 2026-01-31 --full",
)
why = _command(
    "why",
    "why",
    "of",
    "Tell why something is so: on which words, by which rule, by whom and when.",
    "01890a5d-ac96-774b-bcce-b302099a8057",
    "Odo Brand --json",
)
timeline = _command(
    "timeline",
    "timeline",
    "about",
    "Tell what happened, of everything or of what NAME names, in order.",
    "",
    "Ilsa --from 2024-05-01",
)
changes = _command(
    "changes",
    "changes",
    "since",
    "Tell what was written since an instant, a date or a cursor; else what is newest.",
    "",
    "2026-01-31",
)
proposals = _command(
    "proposals",
    "review",
    "what",
    "List what waits for a decision; WHAT is pending, review, conflicts, duplicates or unclear.",
    "",
    "duplicates --about Mara",
)
decide = _command(
    "decide",
    "decide",
    "verdict of",
    (
        "Decide what waits, or take something back. VERDICT: judge (let the rules decide), accept, "
        "reject or waive a proposal; merge two into the first, separate them; retcon what never "
        "was so; end a relation; read an unclear field of a document."
    ),
    "judge 01890a5d-ac96-774b-bcce-b302099a8057",
    "accept 01890a5d-ac96-774b-bcce-b302099a8057 --reason 'the book says so'",
    "merge Mara 'Mara Voss'",
    "read 7d0f3b1e --field invoice_date --other day_first --space account",
)
