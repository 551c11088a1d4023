"""`canonry world`: the demo world, files in and out, drawings, and what is wrong with a file."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import TextContent

from canonry.cli.world.command import atlas_bytes, demo_atlas, parse_atlas
from canonry.values.errors import InvalidInput
from canonry.world.domain.atlas import complete_atlas
from canonry.world.domain.checks import find_problems, reachable_locations
from tests.cli.run import SOURCE, Done, canonry_process, run_canonry

NAME = "The Salt Marches"


def run_world(folder: Path, *words: str) -> Done:
    return run_canonry("world", *words, "--data", str(folder / "data"))


def test_the_demo_world_is_large_enough_and_sound() -> None:
    atlas = demo_atlas()
    assert len(atlas.locations) >= 60
    assert len(atlas.lore) >= 100
    assert sum(len(fact.versions) > 1 for fact in atlas.lore) >= 5
    assert sum(place.tags[:1] == ("settlement",) for place in atlas.locations) >= 20
    assert any(way.one_way for place in atlas.locations for way in place.exits)
    assert any(way.hidden for place in atlas.locations for way in place.exits)
    assert list(find_problems(complete_atlas(atlas))) == []
    assert reachable_locations(complete_atlas(atlas), atlas.starter) == {
        place.key for place in atlas.locations
    }


def test_a_file_is_read_as_written() -> None:
    assert parse_atlas(atlas_bytes(demo_atlas())) == demo_atlas()


@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        (lambda w: w.pop("starter"), "input.missing", "/starter"),
        (lambda w: w.update(starters="x"), "input.unknown-property", "/starters"),
        (
            lambda w: w["locations"][3].update(exit=[]),
            "input.unknown-property",
            "/locations/3/exit",
        ),
        (
            lambda w: w["locations"][0]["exits"][0].update(direction="upwards"),
            "input.invalid",
            "/locations/0/exits/0/direction",
        ),
        (lambda w: w["items"][0].update(quantity="1"), "input.invalid", "/items/0/quantity"),
    ],
)
def test_a_malformed_file_is_refused_with_the_position(change: Any, code: str, path: str) -> None:
    document = json.loads(atlas_bytes(demo_atlas()))
    change(document)
    with pytest.raises(InvalidInput) as refused:
        parse_atlas(json.dumps(document).encode())
    assert (refused.value.code, refused.value.details["path"]) == (code, path)


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff", b"[" * 100_000])
def test_a_file_that_is_no_json_object_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_atlas(data)
    assert refused.value.code == "world.not-json"


def test_a_world_is_imported_exported_drawn_and_checked(tmp_path: Path) -> None:
    made = run_world(tmp_path, "demo")
    assert made.returncode == 0, made.stderr
    (world_id,) = re.findall(r"--world (\S+) --agent-type Narrative --data ", made.stdout)
    listed = run_world(tmp_path, "list")
    assert listed.stdout == f"{world_id}  {NAME}\n"

    out = tmp_path / "out.json"
    assert run_world(tmp_path, "export", NAME, str(out)).returncode == 0
    again = run_world(tmp_path, "import", str(out), "--json")
    assert again.returncode == 0, again.stderr
    report = json.loads(again.stdout)
    assert report["world_id"] == world_id
    assert not any(report["changed"].values())
    assert report["seen"]["locations"] == len(demo_atlas().locations)

    drawing = tmp_path / "map.svg"
    assert run_world(tmp_path, "map", world_id, "--svg", str(drawing)).returncode == 0
    assert drawing.read_text(encoding="utf-8").startswith("<svg")
    assert "0 of them unreachable" in run_world(tmp_path, "map", str(out)).stdout
    checked = run_world(tmp_path, "check", NAME)
    assert (checked.returncode, checked.stdout) == (0, "0 faults, 0 oddities\n")


def test_a_faulty_file_is_reported_by_check_and_refused_by_import(tmp_path: Path) -> None:
    document = json.loads(atlas_bytes(demo_atlas()))
    document["players"][0]["location"] = "nowhere"
    file = tmp_path / "faulty.json"
    file.write_text(json.dumps(document), encoding="utf-8")

    checked = run_world(tmp_path, "check", str(file))
    refused = run_world(tmp_path, "import", str(file), "--dry-run")

    assert checked.returncode == 1
    assert "there is no location with the key nowhere" in checked.stdout
    assert refused.returncode == 2
    assert "world.malformed" in refused.stderr


def test_a_missing_world_is_not_found(tmp_path: Path) -> None:
    run_world(tmp_path, "demo")
    done = run_world(tmp_path, "export", "Atlantis")
    assert done.returncode == 3
    assert "world.unknown" in done.stderr


@pytest.mark.anyio
async def test_a_client_asks_about_the_demo_world(tmp_path: Path) -> None:
    """Over standard input and output, as the command that `canonry world demo` prints."""
    made = canonry_process("world", "demo", "--data", str(tmp_path / "data"))
    (world_id,) = re.findall(r"--world (\S+) --agent-type Narrative --data ", made.stdout)
    server = StdioServerParameters(
        command=sys.executable,
        args=[
            *("-m", "canonry.cli", "serve", "--data", str(tmp_path / "data")),
            *("--toolsets", "world", "--world", world_id, "--agent-type", "Narrative"),
        ],
        env={"PYTHONPATH": str(SOURCE), "HOME": os.environ["HOME"]},
    )

    async def ask(client: Client, tool: str, **arguments: Any) -> Any:
        result = await client.call_tool(tool, arguments)
        (text,) = result.content
        assert not result.is_error, text
        assert isinstance(text, TextContent)
        reply = json.loads(text.text)
        assert result.structured_content in (None, reply)
        return reply

    with open(os.devnull, "w", encoding="utf-8") as log:  # noqa: PTH123 - never blocks
        async with Client(stdio_client(server, errlog=log)) as client:
            listed = {tool.name for tool in (await client.list_tools()).tools}
            square = await ask(client, "get-location-context")
            nowhere = await ask(client, "get-location-context", locationId="nowhere")
            events = await ask(client, "get-recent-events", scope="player", scopeId="mara")
            near = await ask(client, "get-spatial-context", depth="3")
            found = await ask(client, "search-lore", query="assassins for hire", k=3)
            fact = await ask(client, "get-canonical-fact", factId=found[0]["factId"])
            refused = await client.call_tool("move", {"moverId": "mara", "direction": "north"})

    assert {"get-location-context", "search-lore"} <= listed
    assert "move" not in listed  # a narrator moves nobody
    assert square["location"]["name"] == "Gullwick, Bell Square"
    assert square["ambient"]["valuePreview"].startswith("Gulls")
    assert nowhere is None
    assert events[0]["eventType"] == "Player.Arrive"
    assert {each["name"] for each in near["neighbors"]} >= {"The Ninth Milestone", "Customs House"}
    assert fact["factId"] == "oarsmen"
    assert refused.is_error


def test_two_files_of_a_world_are_compared_and_merged(tmp_path: Path) -> None:
    def file(called: str, **changed: Any) -> str:
        path = tmp_path / called
        reply = json.loads(atlas_bytes(demo_atlas()))
        reply["locations"][0] |= changed
        path.write_text(json.dumps(reply))
        return str(path)

    base, ann = file("base.json"), file("ann.json", name="Elsewhere")
    ben, cid = file("ben.json", description="Gone."), file("cid.json", name="Nowhere")
    both = tmp_path / "both.json"

    found = run_world(tmp_path, "diff", base, ann)
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines()[-1] == "1 differences"
    reply = json.loads(run_world(tmp_path, "diff", base, ann, "--json").stdout)
    assert [each["after"] for each in reply] == ["Elsewhere"]

    merged = run_canonry("world", "merge", base, ann, ben, str(both))
    assert merged.returncode == 0, merged.stderr
    assert parse_atlas(both.read_bytes()).locations[0].name == "Elsewhere"
    assert parse_atlas(both.read_bytes()).locations[0].description == "Gone."

    refused = run_canonry("world", "merge", base, ann, cid, str(both))
    assert refused.returncode == 1
    assert "1 conflicts" in refused.stdout
