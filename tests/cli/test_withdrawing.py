"""`canonry undo` and `canonry retain`: listed first, done with --yes, and the log still holds."""

import asyncio
from pathlib import Path
from typing import Any

from canonry.app.embedded import open_embedded
from canonry.gateway.call import Gateway
from canonry.log.commits import ORIGIN
from canonry.log.entries import Erased, Redacted, Withdrawn
from canonry.log.items.sources import account_space
from canonry.records.toolset import TRUTH
from canonry.testing.clocks import HandClock
from tests.cli.run import run_canonry
from tests.toolsets.truth.kit import ANN, BOB, ToolDriver


async def answer_calls(folder: Path, *steps: tuple[Any, ...], user: str = ANN) -> list[Any]:
    """Return the answers to these calls."""
    store = await open_embedded(folder)
    try:
        gateway = Gateway(store.canon, (TRUTH,))
        driver = ToolDriver(canon=store.canon, gateway=gateway, clock=HandClock(), user=user)
        return [await getattr(driver, name)(*given) for name, *given in steps]
    finally:
        await store.close()


def ingest_record(folder: Path, name: str, user: str = ANN) -> tuple[str, str]:
    """The source and the entity of a record."""
    record = {"entity_type": "company", "name": name, "tax_id": f"T-{name}"}
    (reply,) = asyncio.run(answer_calls(folder, ("ingest", record), user=user))
    return reply["source_id"], reply["entities"][0]["entity_id"]


async def entries_of(folder: Path, user: str = ANN) -> list[Any]:
    store = await open_embedded(folder)
    try:
        log = await store.canon.ledger.read_commits(account_space(user), after=ORIGIN, limit=100)
        return [entry for commit in log for entry in commit.entries]
    finally:
        await store.close()


def test_an_import_is_listed_shown_and_undone_with_yes(tmp_path: Path) -> None:
    source, _ = ingest_record(tmp_path, "Acme")
    _, kept = ingest_record(tmp_path, "Beta")
    data = ("--data", str(tmp_path))
    assert f"--source {source}" in run_canonry("undo", *data).stdout
    asked = ("undo", "--source", source, *data)

    shown = run_canonry(*asked)
    assert "1 entities      that no other source describes" in shown.stdout
    assert "Nothing was changed" in shown.stdout
    done = run_canonry(*asked, "--yes", "--reason", "the wrong file")
    assert "1 sources       withdrawn" in done.stdout
    assert run_canonry(*asked, "--yes").returncode == 3
    assert f"--source {source}" not in run_canonry("undo", *data).stdout

    (left,) = asyncio.run(answer_calls(tmp_path, ("snapshot", kept)))
    assert left["name"] == "Beta"
    found = [e for e in asyncio.run(entries_of(tmp_path)) if isinstance(e, Withdrawn)]
    assert [each.reason for each in found] == ["the wrong file"]
    assert run_canonry("verify", *data).returncode == 0


def test_an_account_without_imports_has_nothing_to_undo(tmp_path: Path) -> None:
    ingest_record(tmp_path, "Acme")
    data = ("--data", str(tmp_path))
    assert "has no sources" in run_canonry("undo", "--user", BOB, *data).stdout
    assert run_canonry("undo", "--source", "x", *data).returncode == 2


def test_without_a_rule_everything_is_kept(tmp_path: Path) -> None:
    ingest_record(tmp_path, "Acme")
    assert (
        "No retention rule is set" in run_canonry("retain", "--yes", "--data", str(tmp_path)).stdout
    )


def test_retention_rules_are_shown_and_applied_with_yes(tmp_path: Path) -> None:
    source, gone = ingest_record(tmp_path, "Acme")
    _, other = ingest_record(tmp_path, "Beta", user=BOB)
    settings = tmp_path / "canonry.toml"
    settings.write_text("[policy.truth.retention]\nbrought_days = 36500\nwithdrawn_days = 36500\n")
    data = ("--data", str(tmp_path))
    assert "Nothing is due" in run_canonry("retain", "--config", str(settings), *data).stdout

    rule = ("retain", "--brought-days", "0", "--user", ANN, *data)
    shown = run_canonry(*rule)
    assert "1 sources to withdraw, 0 items to erase" in shown.stdout
    assert "Nothing was changed" in shown.stdout
    assert "done; erased the content of 0 log entries" in run_canonry(*rule, "--yes").stdout
    assert "Nothing is due" in run_canonry(*rule).stdout

    erase = ("retain", "--withdrawn-days", "0", *data)
    assert "0 sources to withdraw" in run_canonry(*erase).stdout
    assert "done; " in run_canonry(*erase, "--yes").stdout
    assert "Nothing is due" in run_canonry(*erase).stdout
    entries = asyncio.run(entries_of(tmp_path))
    assert [source in e.targets for e in entries if isinstance(e, Erased)] == [True]
    assert any(isinstance(each, Redacted) and gone in each.ids for each in entries)
    assert "Acme" not in repr(entries)
    assert run_canonry("verify", *data).returncode == 0
    (left,) = asyncio.run(answer_calls(tmp_path, ("snapshot", other), user=BOB))
    assert left["name"] == "Beta"


def test_an_unknown_user_has_nothing_to_erase_and_is_reported(tmp_path: Path) -> None:
    ingest_record(tmp_path, "Acme")
    rule = ("retain", "--brought-days", "0", "--yes")
    refused = run_canonry(*rule, "--user", "Anne", "--data", str(tmp_path))
    assert refused.returncode != 0
    assert "account.unknown" in refused.stderr


def test_a_repeated_import_is_not_erased_with_the_withdrawn_one(tmp_path: Path) -> None:
    source, entity = ingest_record(tmp_path, "Acme")
    data = ("--data", str(tmp_path))
    assert run_canonry("undo", "--source", source, "--yes", *data).returncode == 0
    assert ingest_record(tmp_path, "Acme") == (source, entity)

    assert run_canonry("retain", "--withdrawn-days", "0", "--yes", *data).returncode == 0
    (left,) = asyncio.run(answer_calls(tmp_path, ("snapshot", entity)))
    assert left["name"] == "Acme"
    assert run_canonry("verify", *data).returncode == 0


def test_a_withdrawn_source_can_be_erased_by_its_id(tmp_path: Path) -> None:
    source, _ = ingest_record(tmp_path, "Acme")
    data = ("--data", str(tmp_path))
    assert run_canonry("undo", "--source", source, "--yes", *data).returncode == 0
    erased = run_canonry("erase", "--source", source, "--yes", *data)

    assert "erased" in erased.stdout
    assert "Acme" not in repr(asyncio.run(entries_of(tmp_path)))
    assert run_canonry("verify", *data).returncode == 0


def test_statements_of_others_can_be_erased_after_a_withdrawal(tmp_path: Path) -> None:
    record = {"entity_type": "company", "name": "Acme", "tax_id": "T-1"}
    reported, wrong, more = asyncio.run(
        answer_calls(
            tmp_path,
            ("ingest", record),
            ("ingest", {**record, "industry": "anvils"}),
            ("ingest", {**record, "email": "office@acme.test"}),
        )
    )
    data, entity = ("--data", str(tmp_path)), reported["entities"][0]["entity_id"]
    assert run_canonry("undo", "--source", wrong["source_id"], "--yes", *data).returncode == 0
    seen = more["entities"][0]["observation_id"]
    assert run_canonry("erase", "--observation", seen, "--yes", *data).returncode == 0
    assert run_canonry("verify", *data).returncode == 0
    (left,) = asyncio.run(answer_calls(tmp_path, ("snapshot", entity)))
    assert left == {"name": "Acme", "tax_id": "T-1"}

    erased = run_canonry("erase", "--entity", entity, "--yes", *data)
    assert f"--source {wrong['source_id']}" in erased.stdout  # it is in the log still
    assert run_canonry("erase", "--source", wrong["source_id"], "--yes", *data).returncode == 0
    assert "anvils" not in repr(asyncio.run(entries_of(tmp_path)))
    assert run_canonry("verify", *data).returncode == 0
