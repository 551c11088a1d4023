"""`canonry reread` and `upgrade`: facts of older stores get the statements in their words."""

import sys
import tarfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from canonry.app.embedded import open_embedded
from canonry.canon.maintenance.reread_facts import count_unread, reread_facts
from canonry.cli import main
from canonry.log.items.facts import Fact
from canonry.log.schemas.narrative import EntityType
from canonry.readmodels.ports.state import FactQuery
from canonry.testing.clocks import Scribe, a_caller
from canonry.testing.example_items import a_fact, a_space, an_entity, an_observation, uuid_of
from canonry.values.ids import EntityId
from canonry.values.moments import parse_instant
from tests.cli.run import SOURCE, canonry_in_a_thread

pytestmark = pytest.mark.anyio

FORMER = Path(__file__).parents[1] / "former" / "store.tar.xz"
STATED = (
    ("lived in Bree", "Ana lives in Bree", "1410-01-01T00:00:00Z"),
    ("lives in Dale", "Ana lives in Dale", "1412-01-01T00:00:00Z"),
    ("member", "Ana is a member of the Guild", "1410-01-01T00:00:00Z"),
    ("left", "Ana is no longer a member of the Guild", "1413-01-01T00:00:00Z"),
    ("cat", "Ana has a cat", "1413-01-01T00:00:00Z"),
)


@pytest.fixture
def former(tmp_path: Path) -> Path:
    """The store of a former version, whose facts carry no statements."""
    folder = tmp_path / "former"
    with tarfile.open(FORMER) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """A store with facts that end each other and were never read."""
    folder = tmp_path / "data"
    store = await open_embedded(folder)
    scribe = Scribe(store.canon)
    await scribe.make_items(a_space())
    names = {"Ana": "character", "Bree": "location", "Dale": "location", "Guild": "faction"}
    for name, kind in names.items():
        await scribe.make_items(an_entity(name, entity_type=EntityType(kind)))
        await scribe.make_items(an_observation(name, f"{name}/1", fields={"name": name}))
    for name, statement, when in STATED:
        about = tuple(EntityId(uuid_of(one)) for one in names if one in statement)
        at = parse_instant(when)
        await scribe.make_items(a_fact(name, statement=statement, involved=about, time_ref=at))
    await store.close()
    return folder


async def facts_of(data: Path) -> Sequence[Fact]:
    store = await open_embedded(data)
    found = (await store.canon.state.facts(FactQuery(limit=100))).items
    await store.close()
    return found


def run_command(*words: str, answer: str | None = None) -> str:
    """The output of the command if a person types this answer."""
    with ThreadPoolExecutor(1) as threads:
        ran = threads.submit(CliRunner().invoke, main, words, input=answer).result(90)
    assert ran.exit_code == 0, ran.stderr
    return ran.stdout


async def test_a_dry_run_lists_unread_facts_and_ends_and_writes_nothing(
    data: Path,
) -> None:
    listed = run_command("reread", "--data", str(data))

    assert "5 facts wait, 2 items end" in listed
    assert '"Ana lives in Bree" ends where "Ana lives in Dale" begins' in listed
    assert '"Ana is a member of the Guild" ends where "Ana is no longer a member' in listed
    assert "Nothing was changed" in listed
    assert all(fact.reader is None and not fact.superseded for fact in await facts_of(data))


async def test_reread_records_statements_with_the_readers_version_once(data: Path) -> None:
    run_command("reread", "--data", str(data), "--yes")

    facts = {fact.statement: fact for fact in await facts_of(data)}
    assert all(fact.reader is not None for fact in facts.values())
    assert facts["Ana lives in Bree"].superseded_by == facts["Ana lives in Dale"].id
    assert [name for name, fact in facts.items() if fact.superseded] == [
        "Ana lives in Bree",
        "Ana is a member of the Guild",
    ]
    assert "No fact waits" in run_command("reread", "--data", str(data), "--yes")
    assert "all is well" in run_command("verify", "--data", str(data))


async def test_upgrade_backs_up_and_asks_and_no_changes_nothing(data: Path, tmp_path: Path) -> None:
    reply = run_command("upgrade", str(tmp_path / "one"), "--data", str(data), answer="n\n")
    assert "2 items end" in reply
    assert "Nothing was changed" in reply
    assert (tmp_path / "one" / "manifest.json").exists()
    assert all(fact.reader is None for fact in await facts_of(data))

    run_command("upgrade", str(tmp_path / "two"), "--data", str(data), "--yes")
    assert all(fact.reader is not None for fact in await facts_of(data))
    run_command("restore", str(tmp_path / "two"), "--data", str(tmp_path / "back"))
    assert all(fact.reader is None for fact in await facts_of(tmp_path / "back"))


LANTERN = "01a20372-567b-88e5-8d69-a2f186d1adb4"
READINGS = {
    "Odo Brand is dead": [("life", "dead")],
    "Odo Brand is no longer alive": [("life", "alive")],
    "Ilsa Vane carries the silver lantern": [
        ("carrier", LANTERN),
        ("does:carry", "~lantern silver"),
    ],
    "Ilsa Vane carries a brass lantern": [
        ("does:carry", "~lantern brass"),
        ("has:lantern", "~lantern brass"),
    ],
}


async def test_each_changed_reading_of_an_earlier_store_is_listed(former: Path) -> None:
    store = await open_embedded(former)
    assert await count_unread(store.canon) == 4
    (dry,) = await reread_facts(store.canon, a_caller(), dry=True)
    await reread_facts(store.canon, a_caller(), dry=False)
    assert await count_unread(store.canon) == 0
    read = {
        fact.statement: [(one.attribute, str(one.value)) for one in fact.statements]
        for fact in (await store.canon.state.facts(FactQuery(limit=100))).items
    }
    await store.close()

    assert not dry.ends
    assert read == READINGS


async def test_the_doctor_counts_unread_facts(former: Path) -> None:
    said = canonry_in_a_thread("doctor", "--data", str(former)).stdout
    assert "4 facts of an older version are not compared with new claims." in said
    assert "canonry upgrade" in said


async def test_serve_reports_unread_facts_at_the_start(former: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "canonry.cli", "serve", "--data", str(former)],
        env={"PYTHONPATH": str(SOURCE), "CANONRY_RECALL_EMBEDDER": "none"},
    )
    with notes.open("w") as log:
        async with Client(stdio_client(server, errlog=log)) as client:
            await client.call_tool("spaces", {})
    assert "4 facts of an older version are not compared with new claims." in notes.read_text()
