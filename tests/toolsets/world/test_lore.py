"""Lore: versions stay readable, texts come clean, and questions in other words are answered."""

import pytest

from tests.toolsets.world.kit import a_world

pytestmark = pytest.mark.anyio


async def test_the_latest_version_is_current_and_older_ones_stay() -> None:
    isle = await a_world()

    now = await isle.call("get-canonical-fact", "Narrative", factId="council")
    first = await isle.call("get-fact-version", "Narrative", factId="council", version=1)

    assert (now["version"], now["fields"]["description"]) == (2, "Eight mages in a tower.")
    assert (first["version"], first["fields"]["description"]) == (1, "Nine mages.")
    assert (now["factId"], now["type"]) == ("council", "faction")
    assert now["id"] != first["id"]
    assert "updatedUtc" in now
    assert "updatedUtc" not in first
    assert await isle.call("get-fact-version", factId="council", version=3) is None


async def test_long_texts_are_cut_and_that_is_reported() -> None:
    isle = await a_world()
    fact = await isle.call("get-canonical-fact", factId="ferry")
    assert len(fact["fields"]["description"]) == 512
    assert fact["fieldTruncations"] == [{"path": "fields.description", "originalLength": 800}]


async def test_a_new_version_follows_the_one_read_by_its_author() -> None:
    isle = await a_world()
    arguments = {"factId": "council", "type": "faction", "fields": {"name": "The Council"}}
    details = await isle.refused(
        "record-lore", "CONFLICT", "lore.version-conflict", **arguments, expectedVersion=1
    )
    assert details["latest"] == 2
    assert await isle.call("record-lore", **arguments, expectedVersion=2) == {
        "factId": "council",
        "version": 3,
    }
    other = {**arguments, "type": "creature"}
    await isle.refused("record-lore", "CONFLICT", "lore.type-fixed", **other)


async def test_archiving_a_version_restores_the_previous_and_keeps_its_number() -> None:
    isle = await a_world()
    arguments = {"factId": "council", "type": "faction", "fields": {"name": "Mages"}}
    await isle.call("record-lore", **arguments, archived=True)
    assert (await isle.call("get-canonical-fact", factId="council"))["version"] == 2
    assert await isle.call("search-lore", query="mages") == []
    archived = await isle.call("get-fact-version", factId="council", version=3)
    assert "archivedUtc" in archived
    assert (await isle.call("record-lore", **arguments))["version"] == 4
    assert (await isle.call("get-canonical-fact", factId="council"))["version"] == 4


async def test_a_search_names_its_hits_and_reasons() -> None:
    isle = await a_world()

    (hit,) = await isle.call("search-lore", "Planner", query="who are the mages in the tower?")

    assert hit.pop("score") > 0
    assert "tower" in hit.pop("why")["words"]
    assert hit == {
        "factId": "council",
        "type": "faction",
        "snippet": "Eight mages in a tower.",
        "version": 2,
    }
    assert await isle.call("search-lore", query="  ") == []
    assert await isle.call("search-lore", query="!?") == []


async def test_a_search_gives_at_most_k_and_k_is_clamped() -> None:
    isle = await a_world()
    for number in range(25):
        fields = {"name": f"Dragon {number}", "description": "A dragon sleeps under the hill."}
        arguments = {"factId": f"dragon-{number}", "type": "creature", "fields": fields}
        await isle.call("record-lore", **arguments)
    for asked, count in ((None, 5), (3, 3), (0, 1), (99, 20), (2.9, 2)):
        more = {} if asked is None else {"k": asked}
        assert len(await isle.call("search-lore", query="dragon", **more)) == count


async def test_a_snippet_has_more_than_a_name() -> None:
    isle = await a_world()
    ghoul = {"name": "Salt Ghoul", "description": "It licks the hulls of wrecks."}
    await isle.call("record-lore", factId="ghoul", type="creature", fields=ghoul)
    await isle.call("record-lore", factId="bare", type="creature", fields={"name": "Salt Imp"})

    hits = await isle.call("search-lore", query="salt")

    found = {hit["factId"]: hit["snippet"] for hit in hits}
    assert found == {"ghoul": "It licks the hulls of wrecks.", "bare": "Salt Imp"}


async def test_a_snippet_is_short_without_markup_or_hidden_fields() -> None:
    isle = await a_world()
    fields = {
        "name": "Wyrm",
        "description": "# The <b>wyrm</b>\x07 *sleeps* " + "under the hill " * 40,
        "hidden": "it is the king",
        "embeddings": [0.5, 0.25],
    }
    await isle.call("record-lore", factId="wyrm", type="creature", fields=fields)

    (hit,) = await isle.call("search-lore", query="wyrm")

    assert len(hit["snippet"]) <= 200
    assert hit["snippet"].startswith("The wyrm sleeps under the hill")
    assert not set("<>*#_\x07") & set(hit["snippet"])
    assert await isle.call("search-lore", query="king") in ([], [hit])
    fact = await isle.call("get-canonical-fact", factId="wyrm")
    assert fact["fields"].keys() == {"name", "description"}
    assert fact["embeddingsOmitted"]


async def test_archived_facts_do_not_hide_the_current_one() -> None:
    isle = await a_world()
    for number in range(40):
        arguments = {"factId": f"old-{number}", "type": "creature", "fields": {"name": "Gryphon"}}
        await isle.call("record-lore", **arguments, archived=True)
    arguments = {
        "factId": "new",
        "type": "creature",
        "fields": {"text": "One gryphon is left here."},
    }
    await isle.call("record-lore", **arguments)
    (hit,) = await isle.call("search-lore", query="gryphon", k=1)
    assert hit["factId"] == "new"


async def test_a_fact_with_only_archived_versions_does_not_exist() -> None:
    isle = await a_world()
    arguments = {"factId": "rumour", "type": "creature", "fields": {"name": "Wyrm"}}
    await isle.call("record-lore", **arguments, archived=True)

    assert await isle.call("get-canonical-fact", factId="rumour") is None
