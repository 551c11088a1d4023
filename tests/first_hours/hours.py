"""Play a first hour: the calls of a model that knows only the list of tools, and what is expected.

Each step of a script in this folder has these members:

- `call` and `with`: the tool and its arguments;
- `wants`: a sentence that says what a person would believe afterwards, where it is not plain;
- `has`: words that the reply must hold, `a|b` for either of them, and `lacks`: words that it must
  not hold, in any case of letters; `order`: words that follow each other in the reply;
- `error`: `no` (default), `may` or `must`: whether the reply may be an error;
- `most`: the largest length of the reply in characters, 4,000 by default;
- `keep`: names for values of the reply, by their path, which later steps write as `<name>`;
- `known`: what is wrong with the reply today, in one sentence.

The servers believe that it is Monday, 30 November 2026.
`python -m tests.first_hours.hours FOLDER [NAME ...]` writes transcripts for a reader.
"""

import asyncio
import json
import os
import re
import signal
import sys
import tempfile
import tomllib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.meta.tree import ROOT
from tests.replies import parse_result
from tests.server.lamp_process import lamp_environment

HERE: Final = Path(__file__).parent
WIRES: Final = {
    "game_master": "stdio",
    "assistant": "http",
    "dev_team": "http",
    "novelist": "stdio",
}
"""The transport from each script to its server."""
NOON: Final = "2026-11-30T12:00:00+00:00"
LONGEST: Final = 4_000
PATIENCE: Final = 60.0
_ADDRESS: Final = re.compile(rb"http://[^\s;\"]+")
_NAMES: Final = frozenset(
    {"call", "with", "wants", "has", "lacks", "order", "error", "most", "keep", "known"}
)


@dataclass(frozen=True)
class Step:
    """A call with its reply, and what the reply misses."""

    number: int
    script: Mapping[str, Any]
    arguments: Mapping[str, Any]
    reply: str
    problems: Sequence[str]

    @property
    def description(self) -> str:
        """The step as a failure shows it."""
        asked = json.dumps(self.arguments, ensure_ascii=False)
        lines = [f"step {self.number}: {self.script['call']} {asked}", f"  reply: {self.reply}"]
        return "\n".join([*lines, *(f"  problem: {problem}" for problem in self.problems)])


def steps_of(name: str) -> list[dict[str, Any]]:
    """The steps of the script `name`; a member with an unknown name is refused."""
    steps: list[dict[str, Any]] = tomllib.loads((HERE / f"{name}.toml").read_text("utf-8"))["step"]
    for number, step in enumerate(steps, 1):
        assert step.keys() <= _NAMES, f"{name}, step {number}: {step.keys() - _NAMES}"
        assert step.get("error", "no") in {"no", "may", "must"}, f"{name}, step {number}"
    return steps


@asynccontextmanager
async def client_over(wire: str, folder: Path) -> AsyncIterator[Client]:
    """A client of `canonry serve --data FOLDER` over `stdio` or `http`."""
    serving = ["-m", "tests.first_hours.serve_on_day", NOON, "serve", "--data", str(folder)]
    settings = {"CANONRY_RECALL_EMBEDDER": "none", "CANONRY_DURABILITY": "normal"}
    if wire == "stdio":
        server = StdioServerParameters(
            command=sys.executable, args=serving, cwd=ROOT, env={**lamp_environment(), **settings}
        )
        with open(os.devnull, "w", encoding="utf-8") as log:  # noqa: PTH123 - never blocks
            async with Client(stdio_client(server, errlog=log)) as client:
                yield client
        return
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *serving, "--http", "127.0.0.1:0", "--agent-type", "Solo"),
        cwd=ROOT,
        env={**lamp_environment(), **settings},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            address = await _read_address(process)
        async with Client(address) as client:
            yield client
    finally:
        process.send_signal(signal.SIGTERM)
        await process.communicate()


async def _read_address(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    heard = b""
    while line := await process.stdout.readline():
        heard += line
        if found := _ADDRESS.search(heard):
            return found[0].decode().removesuffix("/mcp") + "/mcp"
    raise AssertionError(heard.decode())


async def play_script(name: str, folder: Path) -> list[Step]:
    """Play the script `name` at a new store in `folder`."""
    kept: dict[str, str] = {}
    steps = []
    async with client_over(WIRES[name], folder) as client:
        for number, script in enumerate(steps_of(name), 1):
            arguments = fill_arguments(script["with"], kept)
            result = await client.call_tool(script["call"], arguments)
            reply = parse_result(result)
            for key, path in script.get("keep", {}).items():
                kept[key] = _value_at(reply, path)
            text = json.dumps(reply, ensure_ascii=False, separators=(",", ":"))
            problems = find_problems(script, text, error="error" in reply)
            steps.append(Step(number, script, arguments, text, problems))
    return steps


def fill_arguments(value: Any, kept: Mapping[str, str]) -> Any:
    """The arguments with kept values in them."""
    match value:
        case str():
            for name, known in kept.items():
                value = value.replace(f"<{name}>", known)
            return value
        case list():
            return [fill_arguments(item, kept) for item in value]
        case dict():
            return {key: fill_arguments(item, kept) for key, item in value.items()}
        case _:
            return value


def _value_at(reply: Any, path: str) -> str:
    """The value at a path such as `verdicts.0.id`, or nothing where the reply has none."""
    for part in path.split("."):
        try:
            reply = reply[int(part)] if isinstance(reply, list) else reply[part]
        except (IndexError, KeyError):
            return ""
    return str(reply)


def find_problems(script: Mapping[str, Any], text: str, *, error: bool) -> list[str]:
    """In what the reply differs from what is expected."""
    problems = []
    expected = script.get("error", "no")
    if error and expected == "no":
        problems.append("it is an error")
    if not error and expected == "must":
        problems.append("it is no error")
    if len(text) > script.get("most", LONGEST):
        problems.append(f"it has {len(text)} characters")
    has, lacks, order = (script.get(member, ()) for member in ("has", "lacks", "order"))
    problems += [f"it lacks {words!r}" for words in has if not holds_words(text, words)]
    problems += [f"it has {words!r}" for words in lacks if holds_words(text, words)]
    places = [text.casefold().find(words.casefold()) for words in order]
    if places != sorted(places):
        problems.append(f"the order is not {order}")
    return problems


def holds_words(text: str, words: str) -> bool:
    return any(word.casefold() in text.casefold() for word in words.split("|"))


def write_transcript(name: str, tools: Sequence[Any], steps: Sequence[Step]) -> str:
    """The list of tools, and each call with its whole reply, for a reader who sees no more."""
    parts = [f"# {name}", "## Tools"]
    parts += [f"**{tool.name}**: {tool.description}\n\n{schema_text(tool)}" for tool in tools]
    for step in steps:
        asked = json.dumps(step.arguments, ensure_ascii=False)
        parts.append(f"## {step.number}. {step.script['call']}\n\n`{asked}`\n\n> {step.reply}")
    return "\n\n".join(parts) + "\n"


def schema_text(tool: Any) -> str:
    return f"`{json.dumps(tool.input_schema, ensure_ascii=False)}`"


async def write_names(folder: Path, names: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as empty:
        async with client_over("stdio", Path(empty)) as client:
            tools = (await client.list_tools()).tools
    for name in names:
        with tempfile.TemporaryDirectory() as store:
            steps = await play_script(name, Path(store))
        text = write_transcript(name, tools, steps)
        (folder / f"{name}.md").write_text(text, "utf-8")


if __name__ == "__main__":
    asyncio.run(write_names(Path(sys.argv[1]), sys.argv[2:] or list(WIRES)))
