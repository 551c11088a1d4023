"""`canonry demo`: play a small world through real servers."""

import asyncio
import json
import os
import shlex
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from importlib.resources import files
from pathlib import Path
from typing import Any, TextIO

import click
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import TextContent

from canonry.app.packages import is_installed, require_package
from canonry.cli.connect.command import launch_command
from canonry.cli.options import command_from
from canonry.cli.serve import inspect_folder
from canonry.cli.terminal import print_styled, whole_file
from canonry.values.errors import BrokenInvariant, Unavailable

START_SECONDS = 60.0  # a server that does not start ends the demo


class Troupe:
    """Connected clients by role; each has its own server."""

    def __init__(self, clients: Mapping[str, Client]) -> None:
        """Take connected clients."""
        self._clients = clients

    async def call_tool(self, role: str, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its reply; an error is returned under `error`."""
        try:
            result = await self._clients[role].call_tool(tool, arguments)
        except MCPError as error:
            return {"error": {"code": error.code, "message": error.message}}
        content = result.content[0]
        reply: dict[str, Any] = json.loads(content.text) if isinstance(content, TextContent) else {}
        return reply

    async def require_call(self, role: str, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its reply; an error is a defect of the demonstration.

        Raises:
            BrokenInvariant: `demo.refused`, with the message of the server.
        """
        reply = await self.call_tool(role, tool, **arguments)
        if "error" in reply:
            message = f"The call of {tool} by {role} failed: {reply['error'].get('message')}"
            raise BrokenInvariant("demo.refused", message)
        return reply


@asynccontextmanager
async def start_troupe(data: Path, roles: Sequence[str]) -> AsyncIterator[Troupe]:
    """Start a server for every role; all servers end with the block.

    Raises:
        Unavailable: `demo.no-server`, a server did not start.
    """
    settings = _write_settings(data)
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    ready: dict[str, asyncio.Future[Client]] = {role: loop.create_future() for role in roles}
    path = data / "servers.log"
    path.unlink(missing_ok=True)
    with path.open("x", encoding="utf-8") as log:
        hosts = [
            asyncio.create_task(
                _run_client(_server_parameters(role, data, settings), ready[role], over, log)
            )
            for role in roles
        ]
        try:
            async with asyncio.timeout(START_SECONDS):
                clients = {role: await future for role, future in ready.items()}
            yield Troupe(clients)
        except TimeoutError as error:
            message = f"A server did not start within {START_SECONDS:g} s. Run the demo again."
            raise Unavailable("demo.no-server", message) from error
        finally:
            over.set()
            await asyncio.gather(*hosts, return_exceptions=True)


def _server_parameters(role: str, data: Path, settings: Path) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=[
            *("-m", "canonry.cli", "serve", "--toolsets", "narrative"),
            *("--config", str(settings)),
            *("--data", str(data)),
            *("--agent-type", role),
            *("--agent-id", f"{role.lower()}-1"),
        ],
        env={key: os.environ[key] for key in ("PYTHONPATH",) if key in os.environ},
    )


def _write_settings(data: Path) -> Path:
    """Write settings with all authorities for the Narrator; the user's are not read."""
    data.mkdir(parents=True, exist_ok=True)
    path = data / "demo.toml"
    with whole_file(path) as out:
        out.write('authorities = ["source", "gm", "player", "system"]\n')
    return path


async def _run_client(
    server: StdioServerParameters, ready: "asyncio.Future[Client]", over: asyncio.Event, log: TextIO
) -> None:
    """Run one client and its server, which must begin and end in the same task."""
    try:
        async with Client(stdio_client(server, errlog=log)) as client:
            ready.set_result(client)
            await over.wait()
    except Exception as error:
        if ready.done():
            raise
        failure = Unavailable("demo.no-server", "A server of the demo did not start.")
        failure.__cause__ = error
        ready.set_exception(failure)


_WIDTH = 76
_SPEAKERS = {"gm": "the game master", "user": "a player", "entity": "a character"}


class DemoPrinter:
    """Prints the play, and counts accepted and refused proposals."""

    def __init__(self) -> None:
        """Start with zero counts."""
        self.accepted = 0
        self.refused = 0
        self._names: dict[str, str] = {}

    def name_item(self, item_id: str, name: str) -> None:
        """Print `name` instead of `item_id` from now on."""
        self._names[item_id] = f'"{name}"'

    def print_heading(self, text: str) -> None:
        """Print the heading of a step."""
        click.echo()
        print_styled(("bold", text))

    def print_note(self, text: str) -> None:
        """Print a line about a step."""
        click.echo(f"  {text}")

    def print_turn(self, who: str, text: str) -> None:
        """Print a turn of the scene."""
        print_styled(f"  {who}: ", ("italic", text))

    def print_denied(self, what: str, reply: Mapping[str, Any]) -> None:
        """Print a refused call with its error."""
        error = reply.get("error", {})
        self.refused += 1
        self._print_outcome("refused", "red", what)
        click.echo(f"           {error.get('code')} {error.get('message')}")

    def print_verdict(self, what: str, proposal: Mapping[str, Any]) -> None:
        """Print the verdict on a proposal, its rule and its reason."""
        decision = proposal.get("decision") or {}
        rule = decision.get("rule", "undecided")
        if proposal["status"] == "accepted":
            self.accepted += 1
            self.name_item(proposal["canonical_id"], what)
            self._print_outcome("canon", "green", what)
        else:
            self.refused += 1
            self._print_outcome("refused", "red", what)
        reason = proposal.get("rationale") or ""
        self._print_wrapped(f"{rule}: {reason}")

    def print_explanation(self, why: Mapping[str, Any]) -> None:
        """Print the provenance of an item and how it ended."""
        self.print_note(f'"{why["says"]}" is {why["canon_level"]}.')
        recorded = why["recorded"]
        self._print_point("recorded", f"{recorded['agent_type']}, {_log_position(recorded)}")
        for traced in why["evidence"]:
            if traced["kind"] == "turn":
                who = traced.get("entity_id", _SPEAKERS[traced["speaker"]])
                words = f'{who} in "{traced["scene_title"]}": {traced["text"]}'
                self._print_point("evidence", words)
        proposal = why["proposal"]
        self._print_point(
            "authority", f"{proposal['authority']}, proposed by {proposal['proposed_by']}"
        )
        self._print_point("rule", f"{proposal['decision']['rule']}: {proposal['rationale']}")
        fall = why["fall"]
        if fall is not None:
            self._print_point(fall["how"], f"{_log_position(fall)}, by {fall['by']}")

    def _print_point(self, what: str, text: str) -> None:
        self._print_wrapped(text, f"    {what:12}")

    def _print_outcome(self, verdict: str, colour: str, what: str) -> None:
        print_styled("  ", (colour, f"{verdict:8}"), f" {what}")

    def _print_wrapped(self, text: str, lead: str = " " * 11) -> None:
        for item_id, name in self._names.items():
            text = text.replace(item_id, name)
        rest = " " * len(lead)
        click.echo(click.wrap_text(text, width=_WIDTH, initial_indent=lead, subsequent_indent=rest))


def _log_position(commit: Mapping[str, Any]) -> str:
    return f"position {commit['position']} of the log, {commit['recorded_at'][:19]}Z"


Ids = dict[str, str]


class DemoWorld:
    """The ids that the agents have created, by the names of the play.

    `saltmere.json` has the first calls, the turns and proposals of each scene, and the other calls
    by name. `@` precedes the name of an id: that of a call's reply is `kept`, or also `called` in
    what is printed.
    """

    def __init__(self, agents: Troupe, teller: DemoPrinter) -> None:
        """Start without ids."""
        self._script = json.loads(files(__package__).joinpath("saltmere.json").read_bytes())
        self._agents = agents
        self._printer = teller
        self._ids: Ids = {}
        self._proposed: dict[str, str] = {}

    async def open_world(self) -> None:
        """Create a universe, its document, its first entities, and a story."""
        self._printer.print_heading("1. The CanonKeeper opens a universe, from a document")
        names = []
        for call in self._script["opening"]:
            reply = await self._call(call)
            named = call.get("called") or call["kept"]
            self._ids[named] = reply[call["id"]]
            if "called" in call:
                self._printer.name_item(reply[call["id"]], named)
            if call["tool"] == "neo4j_create_entity":
                names.append(named)
        self._printer.print_note(f"Saltmere, with {', '.join(names)}; Ilsa is at the Quay.")

    async def try_to_cheat(self) -> None:
        """Try to write canon without the right."""
        self._printer.print_heading("2. The Narrator tries to write canon directly")
        call = self._script["calls"]["cheat"]
        arguments = self._with_ids(call["arguments"])
        reply = await self._agents.call_tool(call["role"], call["tool"], **arguments)
        self._printer.print_denied('"Ilsa Vane rules Saltmere"', reply)

    async def play_scene(self, number: int) -> None:
        """Play a scene: append its turns, make its proposals, canonize it."""
        scene = self._script["scenes"][number]
        self._printer.print_heading(scene["heading"])
        opened = await self._do(
            "scene", title=scene["title"], location_ref=self._ids[scene["place"]]
        )
        self._ids["scene"] = opened["scene_id"]
        self._proposed = {}
        for turn in scene["turns"]:
            await self._append_turn(*turn)
        if number:
            silver = await self._find_fact("Ilsa Vane carries the silver lantern")
            self._ids["lantern fact"] = silver
        for label, turn_label, authority, confidence, kind, content in scene["proposals"]:
            said = self._ids[f"turn {turn_label}"]
            proposal = await self._do(
                "proposal",
                turn_id=said,
                type=kind,
                content=self._with_ids(content),
                evidence=[{"type": "turn", "ref_id": said}],
                confidence=confidence,
                authority=authority,
            )
            self._proposed[proposal["proposal_id"]] = label
        self._printer.print_heading(scene["end"])
        await self._do("canonize")
        listed = await self._do("proposals")
        decided = {each["proposal_id"]: each for each in listed["proposals"]}
        for proposal_id, label in self._proposed.items():
            self._printer.print_verdict(label, decided[proposal_id])

    async def ask_why(self) -> None:
        """Explain a fact down to its turn, and compare with the state before."""
        self._printer.print_heading("7. Is Odo Brand dead? Why, and since when?")
        fact = await self._find_fact("Odo Brand is dead")
        why = await self._do("why", id=fact)
        self._printer.print_explanation(why)
        before = await self._do("Odo then", as_known_at=why["recorded"]["position"] - 1)
        now = await self._do("Odo now")
        self._printer.print_note(
            f"One commit earlier he was known as {', '.join(before['state_tags'])}; "
            f"now he is {', '.join(now['state_tags'])}."
        )

    async def ask_about_the_retcon(self) -> None:
        """Explain a retconned fact and its replacement."""
        self._printer.print_heading("8. And the silver lantern?")
        why = await self._do("why", id=self._ids["lantern fact"])
        self._printer.print_explanation(why)

    async def store_memory(self) -> None:
        """Store a memory that contradicts canon."""
        self._printer.print_heading("9. Ilsa remembers it differently, and canon does not change")
        await self._do("memory")
        context = await self._do("context")
        self._printer.print_turn(
            "Ilsa's memory", self._script["calls"]["memory"]["arguments"]["text"]
        )
        recalled = context["recalled"]["character_memories"]
        self._printer.print_note("The memory is only hers.")
        self._printer.print_note(
            f"The context of the scene has {len(recalled)} memory of its participants and "
            f"{len(context['canonical']['facts'])} canon facts."
        )

    async def _append_turn(self, label: str, speaker: str, text: str) -> None:
        who: dict[str, Any] = {"speaker": speaker}
        if speaker in self._ids:
            who = {"speaker": "entity", "entity_id": self._ids[speaker]}
        turn = await self._do("turn", text=text, **who)
        self._ids[f"turn {label}"] = turn["turn_id"]
        names = {"gm": "game master", "user": "player"}
        self._printer.print_turn(names.get(speaker, speaker), text)

    async def _find_fact(self, statement: str) -> str:
        facts: list[Mapping[str, Any]] = (await self._do("facts"))["facts"]
        return next(str(each["fact_id"]) for each in facts if each["statement"] == statement)

    async def _do(self, name: str, **played: Any) -> dict[str, Any]:
        """Make the call with this name, with further arguments from the play."""
        return await self._call(self._script["calls"][name], **played)

    async def _call(self, call: Mapping[str, Any], **played: Any) -> dict[str, Any]:
        arguments = self._with_ids(call["arguments"])
        return await self._agents.require_call(call["role"], call["tool"], **arguments, **played)

    def _with_ids(self, value: Any) -> Any:
        """Return the value with ids in place of names."""
        if isinstance(value, Mapping):
            return {key: self._with_ids(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._with_ids(each) for each in value]
        if not isinstance(value, str) or "@" not in value:
            return value
        kind, _, name = value.partition("@")
        return kind + self._ids[name]


ROLES = ("Orchestrator", "Narrator", "CanonKeeper", "ContextAssembly", "MemoryManager")


@command_from("demo", settings=None)
def demo(*, keep: Path | None, inspects: bool | None) -> None:
    """Play a small world through real MCP clients, and see what becomes canon.

    The demo starts a server process for each agent, all on the same folder.
    """
    if inspects is None:
        inspects = sys.stdout.isatty() and is_installed("inspector")
    if inspects:
        require_package("inspector", "--inspect")
    if keep is not None and keep.exists() and any(keep.iterdir()):
        raise click.UsageError(f"{keep} is not empty. Give a new folder with --keep.")
    started = time.monotonic()
    kept = nullcontext(str(keep)) if keep else tempfile.TemporaryDirectory(prefix="canonry-demo-")
    with kept as folder:
        asyncio.run(_run_demo(Path(folder)))
        _next_steps(time.monotonic() - started, keep)
        if inspects:
            inspect_folder(Path(folder))


async def _run_demo(data: Path) -> None:
    async with start_troupe(data, ROLES) as agents:
        teller = DemoPrinter()
        world = DemoWorld(agents, teller)
        await world.open_world()
        await world.try_to_cheat()
        await world.play_scene(0)
        await world.play_scene(1)
        await world.ask_why()
        await world.ask_about_the_retcon()
        await world.store_memory()
        teller.print_heading("In short")
        teller.print_note(
            f"{teller.accepted} proposals became canon, {teller.refused} attempts failed,"
        )
        teller.print_note("and the log has the author, time, rule and evidence of each.")


def _next_steps(seconds: float, keep: Path | None) -> None:
    command = shlex.join(launch_command(sys.argv[0], sys.executable, sys.prefix))
    kept = "" if keep is None else f" --data {shlex.quote(str(keep.absolute()))}"
    click.echo(f"\nThat took {seconds:.1f} s. To list the MCP clients that you can connect, run:\n")
    click.echo(f"  {command} connect")
    click.echo("\nTo connect one of them:\n")
    click.echo(f"  {command} connect claude-desktop{kept}")
    if keep is not None and is_installed("inspector"):
        click.echo("\nTo browse the world and decide proposals:\n")
        click.echo(f"  {command} inspect{kept}")
