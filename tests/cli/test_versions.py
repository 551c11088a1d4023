"""One version everywhere, and help that begins with what a command is about."""

import json
from pathlib import Path

import pytest

from canonry import __version__
from canonry.app.packages import TOOLSETS, load_toolsets
from canonry.server.startup import greeting_server
from tests.cli.run import canonry

ROOT = Path(__file__).parents[2]


async def unready() -> None:
    """Nothing is served here."""


@pytest.mark.parametrize("names", [*((name,) for name in TOOLSETS), ("canon", "truth")])
def test_n16_every_server_tells_the_version_of_the_package(names: tuple[str, ...]) -> None:
    server = greeting_server(load_toolsets(names), unready)  # type: ignore[arg-type]

    assert server.version == __version__


def test_n16_what_registries_are_told_has_the_same_version() -> None:
    told = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))

    assert told["version"] == __version__
    assert {each["version"] for each in told["packages"]} == {__version__}


def test_n16_help_on_inspect_begins_with_its_own_options() -> None:
    told = canonry("inspect", "--help").stdout

    assert told.index("--port") < told.index("--read-only") < told.index("--data")
    assert told.index("--browser") < told.index("--config")


def test_n16_the_example_of_every_tool_with_arguments_shows_one() -> None:
    told = json.loads(canonry("tools", "--toolsets", ",".join(TOOLSETS), "--json").stdout)
    bare = [each["name"] for each in told if each["input_schema"].get("properties")]

    assert len(bare) > 50
    assert [each["name"] for each in told if each["name"] in bare and not each["example"]] == []
