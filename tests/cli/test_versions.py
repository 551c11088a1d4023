"""One version everywhere, and help that begins with what a command is about."""

import json
from pathlib import Path

import pytest

from canonry import __version__
from canonry.app.packages import TOOLSETS, load_toolsets
from canonry.server.startup import greeting_server
from tests.cli.run import run_canonry

ROOT = Path(__file__).parents[2]


async def refuse_serving() -> None:
    """Nothing is served here."""


@pytest.mark.parametrize("names", [*((name,) for name in TOOLSETS), ("canon", "truth")])
def test_every_server_reports_the_package_version(names: tuple[str, ...]) -> None:
    server = greeting_server(load_toolsets(names), refuse_serving)  # type: ignore[arg-type]

    assert server.version == __version__


def test_registries_receive_the_same_version() -> None:
    reply = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))

    assert reply["version"] == __version__
    assert {each["version"] for each in reply["packages"]} == {__version__}


def test_help_of_inspect_begins_with_its_own_options() -> None:
    reported = run_canonry("inspect", "--help").stdout

    assert reported.index("--port") < reported.index("--read-only") < reported.index("--data")
    assert reported.index("--browser") < reported.index("--config")


def test_the_example_of_every_tool_with_arguments_uses_one() -> None:
    reply = json.loads(run_canonry("tools", "--toolsets", ",".join(TOOLSETS), "--json").stdout)
    bare = [each["name"] for each in reply if each["input_schema"].get("properties")]

    assert len(bare) > 50
    assert [each["name"] for each in reply if each["name"] in bare and not each["example"]] == []
