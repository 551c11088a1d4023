"""Files of erased sources: their bytes go, another user's copy and every other file stay."""

from dataclasses import replace
from pathlib import Path

import pytest

from canonry.app.embedded import open_embedded
from canonry.canon.maintenance.erase import erase_items, plan_erasure
from canonry.canon.ports.files import FileHint
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import Account
from canonry.log.items.sources import SourceDraft, account_space
from canonry.readmodels.ports.state import EntityQuery
from canonry.records.usecases.files import GivenFile, sign_url
from canonry.records.usecases.ingest_file import ingest_file
from canonry.testing.clocks import a_caller
from canonry.values.errors import NotFound
from canonry.values.provenance import Actor

pytestmark = pytest.mark.anyio

ADA = "00000000-0000-0000-0000-0000000000ad"
EVE = "00000000-0000-0000-0000-0000000000ee"
SECRET = b"The words that must go."


async def keep_file(canon: Canon, user: str, data: bytes) -> SourceDraft:
    caller = replace(a_caller(), actor=Actor(agent_id="a-1", agent_type="x", user=user))
    account = Account(user_id=user, space=account_space(user))
    given = GivenFile(data=data, hint=FileHint(name="note.txt"))
    return (await ingest_file(canon, caller, account, given)).source


def bytes_below(folder: Path, user: str) -> set[bytes]:
    return {path.read_bytes() for path in (folder / "files" / user).rglob("*") if path.is_file()}


async def test_only_the_bytes_of_an_erased_source_are_removed(tmp_path: Path) -> None:
    store = await open_embedded(tmp_path)
    try:
        source = await keep_file(store.canon, ADA, SECRET)
        await keep_file(store.canon, ADA, b"Other words.")
        other = await keep_file(store.canon, EVE, SECRET)
        plan = await plan_erasure(store.canon, "source", source.id)

        await erase_items(store.canon, store.maintenance, a_caller(), plan, reason="asked for")

        assert bytes_below(tmp_path, ADA) == {b"Other words."}
        assert bytes_below(tmp_path, EVE) == {SECRET}
        with pytest.raises(NotFound):
            await sign_url(store.canon, ADA, source.files[0])
        assert (await sign_url(store.canon, EVE, other.files[0])).url
    finally:
        await store.close()


async def test_a_backup_has_the_files(tmp_path: Path) -> None:
    store = await open_embedded(tmp_path / "store")
    try:
        await keep_file(store.canon, ADA, SECRET)
        await store.maintenance.backup(tmp_path / "backup", lambda done, total: None)
    finally:
        await store.close()

    assert bytes_below(tmp_path / "backup", ADA) == {SECRET}
    assert not (tmp_path / "backup" / "files.key").exists()


async def test_a_source_imported_again_after_erasure_has_its_names_again(tmp_path: Path) -> None:
    invoice = b"# Invoice\n\nInvoice number: INV-77\nTotal: 5.00 EUR\nVendor: Zed Ltd\n"
    store = await open_embedded(tmp_path)
    try:
        source = await keep_file(store.canon, ADA, invoice)
        plan = await plan_erasure(store.canon, "source", source.id)
        await erase_items(store.canon, store.maintenance, a_caller(), plan, reason="asked for")
        assert await file_names(store.canon) == {}

        again = await keep_file(store.canon, ADA, invoice)

        assert again.id == source.id
        assert await file_names(store.canon) == {"invoice": "INV-77", "company": "Zed Ltd"}
        assert bytes_below(tmp_path, ADA) == {invoice}
    finally:
        await store.close()


async def file_names(canon: Canon) -> dict[str, str]:
    query = EntityQuery(spaces=frozenset((account_space(ADA),)))
    return {each.entity_type: each.name for each in (await canon.state.entities(query)).items}
