"""Erasing what a file brought about: no name of it is left in a byte of the store, nor a type."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from canonry.app.embedded import Embedded, open_embedded
from canonry.canon.ports.files import FileHint
from canonry.canon.session.caller import Caller
from canonry.canon.session.lookup import Account
from canonry.log.items.sources import account_space
from canonry.log.schemas.schemas import EntitySchema
from canonry.readmodels.ports.state import EntityQuery
from canonry.records.usecases.files import GivenFile
from canonry.records.usecases.ingest_file import ingest_file, ingest_properties
from canonry.records.usecases.record_source import ingest_records
from canonry.testing.clocks import a_caller
from canonry.values.provenance import Actor
from tests.cli.run import Done, run_canonry

T = TypeVar("T")
ADA = "00000000-0000-0000-0000-0000000000ad"
NAME = "Anna Schmidt divorce"
FILE = GivenFile(data=b"lawyer,court\nBrown,Bonn\nGreen,Kiel\n", hint=FileHint(name=f"{NAME}.csv"))
pytestmark = pytest.mark.usefixtures("plain_rows")
HASHING = {"CANONRY_RECALL_EMBEDDER": "hashing"}
ACCOUNT = Account(user_id=ADA, space=account_space(ADA))


def make_caller() -> Caller:
    return replace(a_caller(), actor=Actor(agent_id="a-1", agent_type="x", user=ADA))


def run_within(folder: Path, work: Callable[[Embedded], Awaitable[T]]) -> T:
    async def run() -> T:
        store = await open_embedded(folder / "data")
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())


def run_on(folder: Path, *words: str, environment: Mapping[str, str] | None = None) -> Done:
    done = run_canonry(*words, "--data", str(folder / "data"), environment=environment)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done


def record_entities(folder: Path, *records: tuple[str, dict[str, Any]]) -> Any:
    """Records that somebody hands over, beside every file."""
    given = [{"entity_type": kind, **fields} for kind, fields in records]
    return run_within(folder, lambda store: ingest_records(store.canon, make_caller(), ADA, given))


def read_schemas(folder: Path) -> dict[str, EntitySchema]:
    async def read(store: Embedded) -> dict[str, EntitySchema]:
        spaces = frozenset((ACCOUNT.space,))
        page = await store.canon.state.schemas(spaces, None, limit=100, offset=0)
        return {each.entity_type: each for each in page.items}

    return run_within(folder, read)


def count_types(folder: Path) -> dict[str, int]:
    async def read(store: Embedded) -> dict[str, int]:
        return dict(await store.canon.state.entity_types(frozenset((ACCOUNT.space,))))

    return run_within(folder, read)


def files_with_words(folder: Path, *words: str) -> list[str]:
    """The files below that hold one of the words, in whatever case."""
    wanted = [word.lower().encode() for word in words]
    return [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and any(word in path.read_bytes().lower() for word in wanted)
    ]


def assert_gone(folder: Path, *words: str) -> None:
    """Nothing of it is in the store, in a backup or an export made now, nor after a rebuild."""
    assert files_with_words(folder / "data", *words) == []
    run_on(folder, "verify")
    run_on(folder, "backup", str(folder / "backup"))
    run_on(folder, "export", str(folder / "log.jsonl"))
    run_on(folder, "rebuild")
    run_on(folder, "verify")
    assert files_with_words(folder, *words) == []


@pytest.mark.parametrize("opened", [False, True], ids=["store closed", "store open meanwhile"])
def test_the_name_of_an_erased_file_is_nowhere(tmp_path: Path, opened: bool) -> None:
    done = run_within(tmp_path, lambda s: ingest_file(s.canon, make_caller(), ACCOUNT, FILE))
    run_on(tmp_path, "rebuild", "--only", "vectors", environment=HASHING)
    assert (tmp_path / "data" / "recall").is_dir()
    assert files_with_words(tmp_path, "Anna") != []
    assert not any("anna" in name for name in (*count_types(tmp_path), *read_schemas(tmp_path)))

    async def erase(_: Embedded) -> None:
        await asyncio.to_thread(run_on, tmp_path, "erase", "--source", done.source.id, "--yes")

    if opened:
        run_within(tmp_path, erase)
    else:
        asyncio.run(erase(None))  # type: ignore[arg-type]

    assert_gone(tmp_path, "Anna", "Schmidt", "divorce", "lawyer", "Brown", "Kiel")
    assert count_types(tmp_path) == {}
    assert read_schemas(tmp_path) == {}


def test_a_document_known_only_by_its_file_is_erased_with_it(tmp_path: Path) -> None:
    given = {"kind": "letter"}
    done = run_within(
        tmp_path, lambda s: ingest_properties(s.canon, make_caller(), ACCOUNT, FILE, given)
    )
    run_on(tmp_path, "erase", "--source", done.source.id, "--yes")
    assert_gone(tmp_path, "Anna", "Schmidt", "divorce", "letter")


def test_an_entity_mentioned_by_others_stays_and_is_named(tmp_path: Path) -> None:
    rows = GivenFile(
        data=b"Vorname,Nachname,E-Mail,Firma\nAda,Lovelace,ada@example.org,Engines\n"
        b"Eve,Moneypenny,eve@example.org,Engines\n",
        hint=FileHint(name="people.csv"),
    )
    done = run_within(tmp_path, lambda s: ingest_file(s.canon, make_caller(), ACCOUNT, rows))
    record = {"email": "ada@example.org", "name": "Ada Lovelace", "phone": "+49 30 123456"}
    record_entities(tmp_path, ("person", record))

    plan = run_on(tmp_path, "erase", "--source", done.source.id).stdout
    assert "--entity" in plan
    run_on(tmp_path, "erase", "--source", done.source.id, "--yes")

    assert count_types(tmp_path)["person"] == 1
    assert_gone(tmp_path, "Moneypenny", "eve@example.org")
    assert files_with_words(tmp_path / "data", "ada@example.org") != []


def test_a_type_is_erased_with_its_label_and_items(tmp_path: Path) -> None:
    record_entities(
        tmp_path, (NAME, {"name": "file 7", "court": "Bonn"}), ("wine", {"name": "Riesling"})
    )
    record_entities(tmp_path, (NAME, {"name": "file 8", "judge": "Grey"}))  # a second version
    (schema,) = [each for name, each in read_schemas(tmp_path).items() if "anna" in name]
    assert schema.version == "1.1"
    assert "Anna schmidt divorce" in schema.label

    async def one(store: Embedded) -> str:
        query = EntityQuery(spaces=frozenset((ACCOUNT.space,)), entity_type=schema.entity_type)
        return (await store.canon.state.entities(query)).items[0].id

    assert (
        f"--schema {schema.id}"
        in run_on(tmp_path, "erase", "--entity", run_within(tmp_path, one)).stdout
    )
    plan = run_on(tmp_path, "erase", "--schema", schema.id).stdout
    assert "2 schema" in plan
    assert "2 entity" in plan
    run_on(tmp_path, "erase", "--schema", schema.id, "--yes")

    assert list(read_schemas(tmp_path)) == ["wine"]
    assert count_types(tmp_path) == {"wine": 1}
    # The records were handed over together with others: their source is named, and goes too.
    for line in plan.splitlines():
        if "--source" in line:
            run_on(tmp_path, "erase", *line.split(), "--yes")
    assert_gone(tmp_path, "Anna", "Schmidt", "divorce", "Grey")
    report = json.loads(run_on(tmp_path, "verify", "--json").stdout)
    assert report["findings"] == []


def test_an_erased_type_may_be_stated_again(tmp_path: Path) -> None:
    record_entities(tmp_path, ("wine", {"name": "Riesling"}))
    run_on(tmp_path, "erase", "--schema", read_schemas(tmp_path)["wine"].id, "--yes")
    record_entities(
        tmp_path, ("wine", {"name": "Merlot", "year": 2020}), ("wine", {"name": "Riesling"})
    )
    assert count_types(tmp_path) == {"wine": 2}
    assert read_schemas(tmp_path)["wine"].find_field("year") is not None
    run_on(tmp_path, "verify")
    run_on(tmp_path, "rebuild")
    run_on(tmp_path, "verify")
