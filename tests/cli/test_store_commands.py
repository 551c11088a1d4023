"""Commands on a store: import, export, verify, rebuild, backup, restore, erase and doctor."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from canonry.app.embedded import open_embedded
from canonry.canon.commands.universes import create_universe
from canonry.canon.session.commit_change import Change, commit_change, first_made
from canonry.log.entries import Made, SceneMoved
from canonry.log.items.scenes import SceneDraft, SceneStatus
from canonry.testing.clocks import HandClock, a_caller
from canonry.values.ids import NewId, SceneId, SpaceDraft, SpaceKind, StoryId
from tests.cli.run import SOURCE, Done, run_canonry

TURNS = [
    {"speaker": "GM", "text": "The hall is empty."},
    {"speaker": "Ann", "text": "I open the chest."},
    {"speaker": "Ben", "text": "I watch the door."},
]
SESSION = {
    "title": "Session 1",
    "turns": TURNS,
    "summaries": [{"start": 0, "end": 2, "text": "Ann opens the chest while Ben guards the door."}],
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store into which a session was imported, and its session file."""
    folder = tmp_path_factory.mktemp("world")
    (folder / "session.json").write_text(json.dumps(SESSION), encoding="utf-8")
    done = import_session(folder)
    assert done.returncode == 0, done.stderr
    return folder


def import_session(folder: Path) -> Done:
    return run_canonry(
        *("import", "transcript", str(folder / "session.json"), "--universe", "Home", "--json"),
        *("--data", str(folder / "data")),
    )


@pytest.fixture
def copy(world: Path, tmp_path: Path) -> Path:
    """A store of one's own to change."""
    shutil.copytree(world / "data", tmp_path / "data")
    return tmp_path


def export_store(data: Path) -> str:
    done = run_canonry("export", "--data", str(data))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_a_session_again_adds_nothing(world: Path) -> None:
    before = export_store(world / "data")
    done = import_session(world)
    report = json.loads(done.stdout)

    assert export_store(world / "data") == before
    (session,) = report["transcripts"]
    assert (session["turns"], session["scenes"], session["accepted"]) == (3, 1, 1)
    assert session["commits"] == 0


def test_an_imported_session_is_canonized_with_its_evidence(world: Path) -> None:
    entries = [
        json.loads(part["payload"])
        for line in export_store(world / "data").splitlines()[1:-1]
        for part in json.loads(line)["parts"]
    ]
    (event,) = [each for each in entries if "severity" in each]

    assert event["title"] == "Ann opens the chest while Ben guards the door."
    assert {evidence["kind"] for evidence in event["evidence"]} >= {"source", "snippet", "turn"}
    assert len(event["involved"]) == 2


def test_a_log_is_exported_and_imported(world: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    data = str(tmp_path / "data")
    for words in (
        ("export", str(first), "--data", str(world / "data")),
        ("import", "log", str(first), "--data", data),
        ("import", "log", str(first), "--data", data),
        ("export", str(second), "--data", data),
        ("verify", "--data", data, "--against", str(first)),
    ):
        done = run_canonry(*words)
        assert done.returncode == 0, done.stderr

    assert first.read_bytes() == second.read_bytes()


def test_a_damaged_log_is_refused_with_its_line(world: Path, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(export_store(world / "data").replace("chest", "crate", 1), encoding="utf-8")
    done = run_canonry("import", "log", str(path), "--data", str(tmp_path / "data"))

    assert done.returncode == 2
    assert "import.damaged" in done.stderr
    assert "Line " in done.stderr


def test_verify_records_heads_and_finds_a_truncated_log(copy: Path, world: Path) -> None:
    heads = copy / "heads.json"
    assert (
        run_canonry("verify", "--data", str(copy / "data"), "--record", str(heads)).returncode == 0
    )
    recorded = json.loads(heads.read_text())["heads"]
    (space,) = recorded
    recorded[space][0] += 1
    heads.write_text(json.dumps({"heads": recorded}))

    done = run_canonry("verify", "--data", str(copy / "data"), "--against", str(heads), "--json")

    assert done.returncode == 1
    assert "cut off" in json.loads(done.stdout)["findings"][0]["what"]


def test_verify_finds_an_altered_byte(copy: Path) -> None:
    connection = apsw.Connection(str(copy / "data" / "canon.db"))
    connection.execute("UPDATE parts SET payload = CAST(payload || x'20' AS BLOB) WHERE seq = 1")
    connection.close()
    done = run_canonry("verify", "--data", str(copy / "data"))

    assert done.returncode == 1
    assert "WRONG" in done.stdout


def test_rebuild_gives_the_same_views(copy: Path) -> None:
    assert run_canonry("rebuild", "--data", str(copy / "data")).returncode == 0
    assert run_canonry("verify", "--data", str(copy / "data")).returncode == 0


def test_a_restored_backup_holds_the_same(copy: Path) -> None:
    data, backup, restored = copy / "data", copy / "backup", copy / "restored"
    assert run_canonry("backup", str(backup), "--data", str(data)).returncode == 0
    assert run_canonry("backup", str(backup), "--data", str(data)).returncode == 3
    done = run_canonry("restore", str(backup), "--data", str(restored))

    assert done.returncode == 0, done.stderr
    assert export_store(restored) == export_store(data)
    assert run_canonry("restore", str(backup), "--data", str(restored)).returncode == 3
    assert {path.name for path in copy.iterdir()} == {"data", "backup", "restored"}


def test_a_damaged_backup_is_refused_and_leaves_nothing(copy: Path) -> None:
    backup = copy / "backup"
    run_canonry("backup", str(backup), "--data", str(copy / "data"))
    manifest = json.loads((backup / "manifest.json").read_text())
    for head in manifest["heads"].values():
        head[0] += 1
    (backup / "manifest.json").write_text(json.dumps(manifest))
    done = run_canonry("restore", str(backup), "--data", str(copy / "restored"))

    assert done.returncode == 3
    assert "restore.damaged" in done.stderr
    assert not (copy / "restored").exists()
    assert not list(copy.glob("*.restoring"))


def test_erasing_shows_its_plan_first(copy: Path) -> None:
    report = json.loads(import_report(copy))
    entity = report["entity"]
    data = str(copy / "data")
    before = export_store(copy / "data")
    plan = run_canonry("erase", "--entity", entity, "--data", data)

    assert plan.returncode == 0, plan.stderr
    assert "Nothing was changed" in plan.stdout
    assert export_store(copy / "data") == before

    called = ("--also-called", "watch the")
    named = run_canonry("erase", "--entity", entity, "--data", data, *called)
    assert "turn: 1" in named.stdout
    assert "--mentions erase" in named.stdout
    more = run_canonry("erase", "--entity", entity, "--data", data, *called, "--mentions", "erase")
    assert "turn: 1" not in more.stdout

    done = run_canonry("erase", "--entity", entity, "--data", data, "--yes")
    assert "erased" in done.stdout
    assert "I open the chest" not in export_store(copy / "data")
    assert run_canonry("verify", "--data", data).returncode == 0


def import_report(folder: Path) -> str:
    """The id of Ann, from the log."""
    for line in export_store(folder / "data").splitlines()[1:-1]:
        for part in json.loads(line)["parts"]:
            item = json.loads(part["payload"])
            fields = item.get("fields", {})
            if isinstance(fields, dict) and fields.get("name") == "Ann":
                return json.dumps({"entity": item["entity_id"]})
    raise AssertionError("Ann is not there")


def test_erasing_requires_exactly_one_id() -> None:
    assert run_canonry("erase").returncode == 2
    assert run_canonry("erase", "--turn", "x").returncode == 2


def run_doctor(*arguments: str, **environment: str) -> tuple[int, dict[str, Any]]:
    done = run_canonry("doctor", "--json", *arguments, environment=environment)
    return done.returncode, json.loads(done.stdout)


def test_the_doctor_reports_the_origin_of_each_setting(world: Path) -> None:
    narrative = {"CANONRY_TOOLSETS": "narrative", "CANONRY_AGENT_TYPE": "Narrator"}
    code, found = run_doctor("--data", str(world / "data"), **narrative)
    sources = {each["key"]: each["source"] for each in found["settings"]}

    assert code == 0
    assert not found["wrong"]
    assert sources["data"] == "--data"
    assert sources["agent_type"] == "CANONRY_AGENT_TYPE"
    assert found["store"]["integrity"] == "ok"
    assert found["store"]["proposals"] == 1


def test_the_doctor_finds_an_unknown_agent_type(tmp_path: Path) -> None:
    narrative = {"CANONRY_TOOLSETS": "narrative", "CANONRY_AGENT_TYPE": "CanonKeper"}
    code, found = run_doctor("--data", str(tmp_path), **narrative)

    assert code == 1
    assert "did you mean CanonKeeper" in found["wrong"][0]["what"]


def test_the_doctor_finds_a_file_that_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "canon.db").write_bytes(b"something else entirely" * 100)
    code, found = run_doctor("--data", str(tmp_path))

    assert code == 1
    assert found["wrong"]


def test_the_doctor_finds_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    place = tmp_path / "store"
    place.write_text("a file")
    code, found = run_doctor("--data", str(place))

    assert code == 1
    assert any("is no folder" in each["what"] for each in found["wrong"])


def test_the_doctor_does_not_show_a_secret(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("hush-hush")
    environment = {
        "CANONRY_AUTH_ISSUER": "https://issuer",
        "CANONRY_AUTH_AUDIENCE": "canonry",
        "CANONRY_AUTH_KEY_FILE": str(tmp_path / "key"),
    }
    done = run_canonry("doctor", "--data", str(tmp_path), environment=environment)

    assert "hush-hush" not in done.stdout


def test_a_killed_import_is_completed_by_the_next(tmp_path: Path) -> None:
    lines = [{"speaker": f"P{n % 7}", "text": f"Line {n}. " * 5} for n in range(3000)]
    found = [{"start": n, "end": n + 99, "text": f"Line {n} is told."} for n in range(0, 3000, 100)]
    path = tmp_path / "long.json"
    path.write_text(json.dumps({"title": "Long", "turns": lines, "summaries": found}))
    words = ["import", "transcript", str(path), "--universe", "Long", "--json"]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = subprocess.Popen(
        [sys.executable, "-m", "canonry.cli", *words, "--data", str(killed)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        text=True,
    )
    wal = killed / "canon.db-wal"
    while process.poll() is None and not (wal.exists() and wal.stat().st_size > 400_000):
        pass
    process.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
    process.communicate()

    again = json.loads(run_canonry(*words, "--data", str(killed)).stdout)["transcripts"][0]
    once = json.loads(run_canonry(*words, "--data", str(whole)).stdout)["transcripts"][0]

    assert {k: again[k] for k in ("turns", "scenes", "proposals", "accepted")} == {
        k: once[k] for k in ("turns", "scenes", "proposals", "accepted")
    }
    assert count_items(killed) == count_items(whole)
    assert run_canonry("verify", "--data", str(killed)).returncode == 0


COUNTED = ("things", "spaces", "entities", "events", "stories", "scenes", "proposals")


def count_items(data: Path) -> dict[str, Any]:
    """Count the items in the store."""
    _, found = run_doctor("--data", str(data))
    return {key: found["store"][key] for key in COUNTED}


async def a_scene_in_canonization(data: Path) -> str:
    """Leave a scene as a crash in the midst of its canonization would, long ago."""
    store = await open_embedded(data, clock=HandClock())
    caller = a_caller("Orchestrator")
    try:
        receipt = await create_universe(
            store.canon,
            caller,
            kind=SpaceKind.UNIVERSE,
            name="Stuck",
            description="",
            properties={},
        )
        space = first_made(receipt, SpaceDraft).id
        scene_id = SceneId("01890a5d-ac96-774b-bcce-b302099a8057")

        async def prepare(new_id: NewId) -> Change:
            scene = SceneDraft(
                id=scene_id,
                space=space,
                story_id=StoryId(new_id("story")),
                title="Night",
                purpose=None,
                order=1,
                location_ref=None,
                participants=(),
                status=SceneStatus.ACTIVE,
            )
            moved = SceneMoved(scene_id=scene_id, status=SceneStatus.FINALIZING)
            return Change(entries=(Made(thing=scene), moved), reads=frozenset())

        await commit_change(store.canon, caller, space, prepare)
        return scene_id
    finally:
        await store.close()


def test_the_doctor_finds_a_scene_left_in_canonization_by_a_crash(tmp_path: Path) -> None:
    scene_id = asyncio.run(a_scene_in_canonization(tmp_path))
    code, found = run_doctor("--data", str(tmp_path))

    assert code == 1
    assert scene_id in found["wrong"][0]["what"]
    assert "Canonize the scene again" in found["wrong"][0]["help"]
