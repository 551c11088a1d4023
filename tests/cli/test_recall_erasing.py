"""Erasing on the command line reaches the index of meanings, in whatever state that is."""

import asyncio
import json
from pathlib import Path

from canonry.readmodels.ports.text import Purpose
from canonry.recall.embedders import HashingEmbedder
from canonry.recall.vectors.rows import to_halves
from tests.cli.run import run_canonry

HASHING = {"CANONRY_RECALL_EMBEDDER": "hashing"}
LINES = ("The hall is empty.", "Xanthippe took the letter.", "Then she left.")


def make_indexed_store(folder: Path) -> tuple[Path, str]:
    """A store with a story whose turns are indexed; the index, and the turn to erase."""
    story = folder / "story.json"
    story.write_text(json.dumps([{"speaker": "GM", "text": line} for line in LINES]))
    data = folder / "data"
    for words in (
        ("import", "transcript", str(story), "--universe", "Home"),
        ("rebuild", "--only", "vectors"),
    ):
        done = run_canonry(*words, "--data", str(data), environment=HASHING)
        assert done.returncode == 0, done.stderr
    export = run_canonry("export", "--data", str(data), environment=HASHING)
    return data, turn_in(export.stdout)


def turn_in(export: str) -> str:
    """The id of the turn to erase."""
    for line in export.splitlines()[1:-1]:
        for part in json.loads(line)["parts"]:
            item = json.loads(part["payload"])
            if item.get("text") == LINES[1]:
                return str(item["id"])
    raise AssertionError("the turn is not there")


def erase_turn(data: Path, turn: str, **environment: str) -> None:
    done = run_canonry(
        "erase", "--turn", turn, "--yes", "--data", str(data), environment=environment
    )
    assert done.returncode == 0, done.stderr


async def vector_traces() -> list[bytes]:
    """The vectors that the erased line went into, as they are kept."""
    texts = [f"GM: {LINES[0]}\nGM: {LINES[1]}", f"GM: {LINES[1]}\nGM: {LINES[2]}"]
    return [to_halves(each) for each in await HashingEmbedder().embed(texts, Purpose.PASSAGE)]


def hold_secrets(data: Path, secrets: list[bytes]) -> list[bool]:
    files = [path.read_bytes() for path in (data / "recall").glob("recall*")]
    return [any(secret in file for file in files) for secret in secrets]


def test_the_index_forgets_even_if_no_embedder_is_set(tmp_path: Path) -> None:
    secrets = asyncio.run(vector_traces())
    data, turn = make_indexed_store(tmp_path)
    assert hold_secrets(data, secrets) == [True, True]

    erase_turn(data, turn, CANONRY_RECALL_EMBEDDER="none")

    assert hold_secrets(data, secrets) == [False, False]


def test_a_damaged_index_is_dropped_completely(tmp_path: Path) -> None:
    data, turn = make_indexed_store(tmp_path)
    index = data / "recall" / "recall.db"
    index.write_bytes(b"no database at all, but maybe a secret" * 1000)

    erase_turn(data, turn, **HASHING)

    assert not index.exists()
