"""Lore: versions stay readable, texts come clean, and questions in other words are answered."""

import pytest

from tests.toolsets.world.kit import a_world

pytestmark = pytest.mark.anyio


async def test_the_latest_version_is_the_fact_and_older_ones_stay() -> None:
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


async def test_long_texts_are_cut_and_that_is_told() -> None:
    isle = await a_world()
    fact = await isle.call("get-canonical-fact", factId="ferry")
    assert len(fact["fields"]["description"]) == 512
    assert fact["fieldTruncations"] == [{"path": "fields.description", "originalLength": 800}]


async def test_a_new_version_follows_the_one_that_its_author_read() -> None:
    isle = await a_world()
    told = {"factId": "council", "type": "faction", "fields": {"name": "The Council"}}
    details = await isle.refused(
        "record-lore", "CONFLICT", "lore.version-conflict", **told, expectedVersion=1
    )
    assert details["latest"] == 2
    assert await isle.call("record-lore", **told, expectedVersion=2) == {
        "factId": "council",
        "version": 3,
    }
    other = {**told, "type": "creature"}
    await isle.refused("record-lore", "CONFLICT", "lore.type-fixed", **other)


async def test_of_an_archived_version_the_one_before_stands_and_its_number_never_returns() -> None:
    isle = await a_world()
    told = {"factId": "council", "type": "faction", "fields": {"name": "Mages"}}
    await isle.call("record-lore", **told, archived=True)
    assert (await isle.call("get-canonical-fact", factId="council"))["version"] == 2
    assert await isle.call("search-lore", query="mages") == []
    archived = await isle.call("get-fact-version", factId="council", version=3)
    assert "archivedUtc" in archived
    assert (await isle.call("record-lore", **told))["version"] == 4
    assert (await isle.call("get-canonical-fact", factId="council"))["version"] == 4


async def test_a_search_tells_what_it_found_and_why() -> None:
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
        told = {"factId": f"dragon-{number}", "type": "creature", "fields": fields}
        await isle.call("record-lore", **told)
    for asked, count in ((None, 5), (3, 3), (0, 1), (99, 20), (2.9, 2)):
        more = {} if asked is None else {"k": asked}
        assert len(await isle.call("search-lore", query="dragon", **more)) == count


async def test_a_snippet_says_more_than_a_name() -> None:
    isle = await a_world()
    ghoul = {"name": "Salt Ghoul", "description": "It licks the hulls of wrecks."}
    await isle.call("record-lore", factId="ghoul", type="creature", fields=ghoul)
    await isle.call("record-lore", factId="bare", type="creature", fields={"name": "Salt Imp"})

    hits = await isle.call("search-lore", query="salt")

    told = {hit["factId"]: hit["snippet"] for hit in hits}
    assert told == {"ghoul": "It licks the hulls of wrecks.", "bare": "Salt Imp"}


async def test_a_snippet_is_short_and_shows_neither_markup_nor_hidden_fields() -> None:
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


async def test_archived_facts_do_not_hide_the_one_that_stands() -> None:
    isle = await a_world()
    for number in range(40):
        told = {"factId": f"old-{number}", "type": "creature", "fields": {"name": "Gryphon"}}
        await isle.call("record-lore", **told, archived=True)
    told = {"factId": "new", "type": "creature", "fields": {"text": "One gryphon is left here."}}
    await isle.call("record-lore", **told)
    (hit,) = await isle.call("search-lore", query="gryphon", k=1)
    assert hit["factId"] == "new"


async def test_a_fact_of_which_every_version_is_archived_is_none() -> None:
    isle = await a_world()
    told = {"factId": "rumour", "type": "creature", "fields": {"name": "Wyrm"}}
    await isle.call("record-lore", **told, archived=True)

    assert await isle.call("get-canonical-fact", factId="rumour") is None
