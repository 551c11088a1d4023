"""Names that steer a terminal: no command prints or draws them as they are, whatever it does.

The commands are those that click knows, with every argument and option, so that a new one is tried
as soon as it is there.
"""

import asyncio
import json
import re
import shutil
import socket
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import click
import pytest
import uvicorn
from typing_extensions import override

from canonry.app.embedded import open_embedded
from canonry.catalog.usecases.exchange import import_catalog
from canonry.cli import main
from canonry.cli.entry import COMMANDS, DEFECT
from canonry.cli.options import operator_caller
from canonry.cli.world.command import atlas_bytes, demo_atlas
from canonry.world.domain.atlas import Atlas
from canonry.world.domain.drawing import draw_svg
from canonry.world.usecases.exchange import import_world
from tests.cli.run import SOURCE, Done, canonry_process, run_canonry
from tests.toolsets.catalog.kit import hostile_names

EVIL: Final = (
    "Ann\x1b]0;owned\x07\x1b[2J\x9b31m\x90q\x9c\u202egnp\u2066.\u200f\x7f\ufeff\r\x08\U000e0041"
)
"""Commands of a terminal in seven and eight bits, what turns text around, and what hides it."""

FILE: Final = "e\x1b[2J\x9b\u202ex"
TURNING: Final = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
MARKS: Final = "\u061c\u200e\u200f"
WITHOUT_LUCK: Final = {
    ("erase",),
    ("move",),
    ("move-space",),
    ("propose",),
    ("restore",),
    ("retcon",),
    ("token",),
    ("world", "merge"),
}
"""Commands that need more than the tests can give them."""

IN_A_PROCESS: Final = {("serve",)}
"""They take the standard streams of their process."""


def steering_characters(text: str) -> set[str]:
    """The characters of the text that may do something to a terminal; judged without our code."""
    return {
        char
        for char in text
        if (unicodedata.category(char) in {"Cc", "Cs"} and char not in "\n\t")
        or unicodedata.bidirectional(char) in TURNING
        or char in MARKS
    }


def evil_atlas() -> Atlas:
    atlas = demo_atlas()

    def evil(items: Any) -> Any:
        return tuple(replace(each, name=EVIL + each.name) for each in items)

    return replace(
        atlas,
        name=EVIL,
        description=EVIL,
        locations=tuple(
            replace(each, description=EVIL, exits=(), tags=(EVIL,)) if n < 3 else each
            for n, each in enumerate(evil(atlas.locations))
        ),
        realms=evil(atlas.realms),
        routes=evil(atlas.routes),
        players=evil(atlas.players),
        characters=evil(atlas.characters),
        items=evil(atlas.items),
    )


def evil_catalog() -> dict[str, Any]:
    arrays = hostile_names()
    for row in arrays["entities"]:
        row["title"] = EVIL + row["title"]
    return arrays


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store full of such names, and files that are called so and hold them."""
    folder = tmp_path_factory.mktemp("hostile")

    async def store() -> None:
        opened = await open_embedded(folder / "data")
        try:
            caller = operator_caller("test")
            await import_world(
                opened.canon, caller, evil_atlas(), origin=EVIL, progress=lambda *_: None
            )
            await import_catalog(opened.canon, caller, evil_catalog(), lambda *_: None)
        finally:
            await opened.close()

    asyncio.run(store())
    files = folder / FILE
    files.mkdir()
    for name, content in file_contents():
        (files / name).write_text(content, encoding="utf-8")
    done = run_canonry(*("export", str(files / f"{FILE}.jsonl"), "--data", str(folder / "data")))
    assert done.returncode == 0, done.stderr
    return folder


def file_contents() -> Iterator[tuple[str, str]]:
    turns = [{"speaker": EVIL, "text": EVIL}, {"speaker": "GM", "text": "It rains."}]
    summaries = [{"start": 0, "end": 1, "text": f"{EVIL} waits in the rain."}]
    session = {"title": EVIL, "turns": turns, "summaries": summaries}
    yield f"{FILE}-session.json", json.dumps(session)
    yield f"{FILE}-world.json", atlas_bytes(evil_atlas()).decode()
    faulty = json.loads(atlas_bytes(evil_atlas()))
    faulty["players"][0]["location"] = EVIL
    yield f"{FILE}-faulty.json", json.dumps(faulty)
    yield f"{FILE}-unknown.json", json.dumps({**faulty, EVIL: EVIL})
    yield f"{FILE}-catalog.json", json.dumps(evil_catalog())
    arrays = evil_catalog()
    arrays["entities"][0] |= {"entityType": EVIL, EVIL: EVIL}
    arrays["relations"][0]["toEntityId"] = EVIL
    yield f"{FILE}-refused.json", json.dumps(arrays)
    yield f"{FILE}-array.json", json.dumps({EVIL: [1]})
    yield f"{FILE}-twice.json", f'{{"entities": [{{"{FILE!a}": 1, "{FILE!a}": 2}}]}}'
    yield f"{FILE}-broken.json", '{"title": '
    yield "entities.csv", f"id,{EVIL!s}\n1,{EVIL}\n".replace("\r", "")
    yield f"{FILE}.csv", "id\n1\n"
    yield f"{FILE}.md", f"# {EVIL}\n\n{EVIL} stands here.\n"
    yield f"{FILE}.toml", f'"{FILE!a}" = 1\n'.replace("\\x", "\\u00")


def every_command() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """The words of each command and what click knows of it."""
    for name in COMMANDS:
        command = main.get_command(click.Context(main), name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from (((name, inner), each) for inner, each in command.commands.items())
        else:
            yield (name,), command


def values_of(param: click.Parameter, folder: Path, *, out: Path) -> Sequence[str]:
    """Return the files and names that are tried for a parameter."""
    if isinstance(param.type, click.Path):
        if param.type.exists and param.type.file_okay:
            return [str(each) for each in sorted((folder / FILE).iterdir())]
        if param.name == "config":
            return [str(folder / FILE / f"{FILE}.toml"), str(out / f"{FILE}.toml")]
        return [str(folder / FILE if param.type.exists else out / f"{FILE}.svg")]
    if isinstance(param.type, click.Choice):
        return [*map(str, param.type.choices), EVIL]
    return [EVIL, f"{EVIL}=x", "neo4j_create_fact", "00000000-0000-4000-8000-000000000001"]


def calls_of(
    words: tuple[str, ...], command: click.Command, folder: Path, out: Path
) -> Iterator[list[str]]:
    """Calls of a command: with each value of its arguments, then with each of its options."""
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    options = [each for each in command.params if isinstance(each, click.Option)]
    needed = [word for o in options if o.required for word in (o.opts[0], EVIL)]
    store = ["--data", str(out / "data")] if any(o.name == "data" for o in options) else []
    plain = [*words, *store, *needed]
    tried = [[value] for each in arguments[:1] for value in values_of(each, folder, out=out)]
    beside = [v for each in arguments[1:] if each.required for v in [EVIL]]
    for one in tried or [[]]:
        yield [*plain, *one, *beside]
    first = tried[0] if tried else []
    if any(option.name == "space" for option in options):  # there are several
        here = [*words, *store, "--space", EVIL]
        two = [EVIL + each.name for each in demo_atlas().characters[:2]]
        yield from (here, [*here, two[0]], [*here, "merge", *two])
    yield [*words, *store, EVIL, EVIL, EVIL]
    yield [*words, *store, f"--{FILE}"]
    for option in options:
        if option.is_flag:
            yield from ([*plain, name, *one] for name in option.opts for one in tried or [[]])
        elif option.name not in {"data", "keep"}:
            for value in values_of(option, folder, out=out)[:2]:
                yield [*plain, option.opts[0], value, *first]
        if option.name == "svg":
            yield [
                *plain,
                "--svg",
                str(out / "world.svg"),
                str(folder / FILE / f"{FILE}-world.json"),
            ]


class ForAMoment(uvicorn.Server):
    """Serves pages until somebody interrupts it."""

    @override
    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().call_later(1.0, setattr, self, "should_exit", True)
        await super().serve(sockets)


def run_call(words: tuple[str, ...], call: list[str]) -> Done:
    try:
        return (canonry_process if words in IN_A_PROCESS else run_canonry)(*call)
    except ValueError:  # no system takes a zero byte in an argument
        pytest.fail(f"{call} cannot be called")


def test_commands_print_only_through_the_escaping_console() -> None:
    ways = re.compile(r"std(out|err)\.buffer|__std(out|err)__|os\.(write|fdopen)\(|\.bare\b")
    found = {
        path.name
        for path in (SOURCE / "canonry" / "cli").rglob("*.py")
        if ways.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"terminal.py"}


@pytest.mark.parametrize(("words", "command"), list(every_command()), ids=str)
def test_no_command_prints_or_draws_terminal_control_codes(
    words: tuple[str, ...],
    command: click.Command,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    # Every call would load the model and wait for its index, which prints nothing.
    monkeypatch.setenv("CANONRY_RECALL_EMBEDDER", "none")
    monkeypatch.setattr("canonry.server.http._Host", ForAMoment)
    monkeypatch.setattr("click.launch", lambda _url: 0)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folder / "data", tmp_path / "data")
    tried = list(calls_of(words, command, folder, tmp_path))
    if words in IN_A_PROCESS or words == ("connect",):
        few = {"--agent-type", "--http", f"--{FILE}", "json", "--name"}  # a process takes a second
        tried = [each for each in tried if few & set(each)] + tried[:1]
    codes: set[int] = set()
    for call in tried:
        done = run_call(words, call)
        codes.add(done.returncode)
        assert steering_characters(done.stdout) == set(), call
        assert steering_characters(done.stderr) == set(), call
        assert done.returncode != DEFECT, (call, done.stderr)
    assert 0 in codes or words in WITHOUT_LUCK, codes
    for drawing in tmp_path.rglob("*.svg"):
        if drawing.is_file() and drawing.read_bytes().startswith(b"<"):
            ET.fromstring(drawing.read_bytes())


def test_names_are_shown_escaped_and_exact_in_json(folder: Path) -> None:
    def on(*words: str) -> str:
        done = run_canonry(*words, "--data", str(folder / "data"))
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "Ann\\u001b]0;owned\\u0007\\u001b[2J\\u009b31m" in on("world", "list")
    assert on("world", "list").count("\n") == 1
    assert "\\u202egnp\\u2066." in on("world", "map", EVIL)
    assert json.loads(on("world", "export", EVIL))["name"] == EVIL
    catalog = json.loads(on("catalog", "export"))
    assert {row["title"][: len(EVIL)] for row in catalog["entities"]} == {EVIL}


def test_no_name_can_fake_a_line(tmp_path: Path) -> None:
    feigned = "Isles\nall is well"
    document = json.loads(atlas_bytes(replace(demo_atlas(), name=feigned)))
    document["locations"][0]["name"] = feigned
    document["players"][0]["location"] = feigned
    file = tmp_path / "isles.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    session = tmp_path / "session.json"
    turns = [{"speaker": "GM", "text": "It rains."}]
    session.write_text(json.dumps({"title": feigned, "turns": turns}), encoding="utf-8")

    data = ("--data", str(tmp_path / "data"))
    for words in (
        ("world", "map", str(file)),
        ("world", "check", str(file)),
        ("world", "import", str(file)),
        ("world", "export", feigned),
        ("import", "transcript", str(session), "--universe", "Home"),
    ):
        done = run_canonry(*words, *data)
        lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
        assert not [line for line in lines if line.startswith("all is well")], words


def test_a_traceback_is_escaped_too(folder: Path) -> None:
    called = ("--debug", "world", "export", EVIL, "--data", str(folder / "data"), "/dev/full")
    done = canonry_process(*called[:3], f"{EVIL}!", *called[4:6])

    assert "Traceback" in done.stderr
    assert "\\u001b]0;owned" in done.stderr
    assert steering_characters(done.stderr) == set()


def test_a_drawing_of_hostile_names_is_well_formed() -> None:
    every = "".join(map(chr, [*range(0x250), *range(0x2000, 0x2070), 0xFEFF, 0xFFFE, 0xFFFF]))
    atlas = replace(evil_atlas(), name=every)
    drawn = ET.fromstring(draw_svg(atlas))
    assert drawn[0].text is not None
    assert steering_characters(drawn[0].text) == set()
