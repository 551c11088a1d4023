"""A search says by what it looked where that is not by all there is, and never the contrary."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from canonry.assistant import CANON
from canonry.gateway.call import Gateway
from canonry.recall.embedders import EndpointReranker, HashingEmbedder, RerankingEndpoint
from canonry.recall.usecases.search_by_meaning import FRESH, Engines, Recall, RecallServices
from canonry.recall.vectors import FolderVectors
from tests.adapters.embedders.endpoint import Said, an_endpoint
from tests.toolsets.canon.kit import ToolDriver, make_driver
from tests.usecases.recall_scenario import index_all

pytestmark = pytest.mark.anyio


@pytest.fixture
def broken() -> Iterator[Said]:
    with an_endpoint(answer=lambda _: b"no order") as said:
        yield said


@pytest.fixture
async def driver(tmp_path: Path) -> AsyncIterator[ToolDriver]:
    """A driver whose searches know meanings too."""
    bare = make_driver()
    canon = bare.canon
    recall = Recall(
        Engines(
            embedder=lambda wanted: HashingEmbedder() if wanted is None else None,
            vectors=lambda: FolderVectors(tmp_path),
        ),
        ledger=canon.ledger,
        state=canon.state,
        documents=canon.documents,
        clock=canon.clock,
    )
    canon = canon.revise_service(RecallServices, recall=recall)
    yield ToolDriver(canon, Gateway(canon, [CANON]), bare.clock)
    await recall.close()


async def test_an_empty_result_mentions_an_index_being_built(
    driver: ToolDriver,
) -> None:
    await driver.call("open", name="Bells")
    for part in range(FRESH // 40 + 2):
        turns = [{"by": "gm", "text": f"Bell {part} tolls {n} times."} for n in range(40)]
        await driver.call("tell", scene="Tower", turns=turns)
    asked = {"text": "zyzzyva", "kinds": ["fact"]}

    early = await driver.call("find", **asked)
    brief = await driver.call("context", question="zyzzyva")
    recall = driver.canon.find_service(RecallServices).recall
    assert recall is not None
    behind = recall.commits_behind
    await index_all(recall)
    late = await driver.call("find", **asked)

    assert early["found"] == late["found"] == []
    built = f"the index of meaning still lacks {behind} commits"
    assert built in early["note"]
    assert "meaning without" in brief["searched"]
    assert late["note"] == "Nothing is known about it here."
    assert "searched" not in late


async def test_an_empty_result_without_meaning_search_says_so(
    driver: ToolDriver, tmp_path: Path
) -> None:
    await driver.call("open", name="Bells")
    canon = driver.canon
    missing = Recall(
        Engines(embedder=lambda _: None, vectors=lambda: FolderVectors(tmp_path / "none")),
        ledger=canon.ledger,
        state=canon.state,
        documents=canon.documents,
        clock=canon.clock,
    )
    canon = canon.revise_service(RecallServices, recall=missing)
    slow = ToolDriver(canon, Gateway(canon, [CANON]), driver.clock)

    found = await slow.call("find", text="bell")
    brief = await slow.call("context", question="bell")
    await missing.close()

    for reply in (found, brief):
        assert reply["searched"] == "words only"
        assert "does not answer yet" in reply["note"]


async def test_a_search_reports_how_far_the_index_is_behind(driver: ToolDriver) -> None:
    await driver.call("open", name="Bells")
    for part in range(FRESH // 40 + 2):
        turns = [{"by": "gm", "text": f"Bell {part} tolls {n} times."} for n in range(40)]
        await driver.call("tell", scene="Tower", turns=turns)

    before = await driver.call("find", text="bell tolls 7 times")
    recall = driver.canon.find_service(RecallServices).recall
    assert recall is not None
    behind = recall.commits_behind
    await index_all(recall)
    after = await driver.call("find", text="bell tolls 7 times")

    assert behind > 0
    assert before["searched"] == f"words, and meaning without the newest {behind} commits"
    assert "searched" not in after


async def test_a_paused_reranker_hides_neither_words_nor_meaning(
    driver: ToolDriver, broken: Said
) -> None:
    reranking = EndpointReranker(RerankingEndpoint(base_url=broken.url))
    canon = driver.canon.revise_service(RecallServices, reranking=reranking)
    looking = ToolDriver(canon, Gateway(canon, [CANON]), driver.clock)
    await looking.saltmere()

    turns = [{"by": "gm", "text": f"The light of night {n} goes out."} for n in range(3)]
    await looking.call("tell", scene="Storm", turns=turns, space="Saltmere")

    found = await looking.call("find", text="the light goes out", space="Saltmere")
    await reranking.close()

    assert found["found"]
    assert found["searched"] == "without reranking"


async def test_a_retracted_item_is_no_answer_at_any_time() -> None:
    driver = make_driver()
    await driver.saltmere()
    tale, deed = "Odo Brand drowned at the ford", "Odo Brand crossed the ford"
    claims = [{"kind": "fact", "says": each, "about": ["Odo"]} for each in (tale, deed)]
    done = await driver.call("propose", said="Odo at the ford.", claims=claims)
    drowned = done["verdicts"][0]["id"]

    await driver.call("decide", verdict="retcon", of=[drowned], reason="A tale.")

    facts = (await driver.call("find", text="drowned at the ford", kinds=["fact"]))["found"]
    assert [each["says"] for each in facts] == [deed]
    assert (await driver.call("why", of=drowned))["level"] == "retconned"
    brief = await driver.call("context", question="drowned at the ford")
    assert tale not in str(brief)
    later = await driver.call("find", text="drowned at the ford", at="2030-01-01")
    assert tale not in str(later)


@pytest.mark.parametrize("of", ["captain of the Petrel", "owner of the lantern", "price of rope"])
async def test_a_later_single_value_ends_the_earlier_one(of: str) -> None:
    driver = make_driver()
    await driver.saltmere()
    for when, value in (("1900-01-01", "Roke"), ("1910-01-01", "Ilsa")):
        claim = {"kind": "fact", "says": f"The {of} is {value}", "when": when}
        await driver.call("propose", said="So it is.", claims=[claim])

    facts = (await driver.call("find", text=f"the {of} before", kinds=["fact"]))["found"]

    found = [(each["says"], "until" in each) for each in facts if of in each["says"]]
    assert found == [(f"The {of} is Ilsa", False), (f"The {of} is Roke", True)]


@pytest.mark.parametrize("relation", ["RULES", "LEADS", "WIELDS", "CARRIES"])
async def test_a_later_single_holder_ends_the_earlier_one(relation: str) -> None:
    driver = make_driver()
    await driver.saltmere()
    beacon = {"kind": "entity", "name": "Silver lantern", "type": "object"}
    tam = {"kind": "entity", "name": "Tam Wick", "type": "character"}
    await driver.call("propose", said="There they are.", claims=[beacon, tam])
    for when, who in (("1900-01-01", "Odo"), ("1910-01-01", "Tam Wick")):
        ends = {"from": who, "type": relation, "to": "Silver lantern", "when": when}
        await driver.call("propose", said="So it is.", claims=[{"kind": "relation", **ends}])

    asked = f"{relation.lower()} before"
    found = (await driver.call("find", text=asked, kinds=["relation"]))["found"]

    listed = [(e["says"], "until" in e) for e in found if relation.lower() in e["says"]]
    first, then = (f"{who} {relation.lower()} Silver lantern" for who in ("Odo Brand", "Tam Wick"))
    assert listed == [(then, False), (first, True)]


@pytest.mark.parametrize(
    "question",
    ["which car do the Bergs own", "which car do the Bergs have", "the Bergs and the car"],
)
async def test_a_question_of_two_names_finds_what_ties_them(
    driver: ToolDriver, question: str
) -> None:
    await driver.call("open", name="Street")
    claims = [
        {"kind": "entity", "name": "The Bergs", "type": "family"},
        {"kind": "entity", "name": "VW Golf", "type": "car"},
        {"kind": "relation", "from": "The Bergs", "type": "OWNS", "to": "VW Golf"},
    ]
    await driver.call("propose", said="The Bergs own a VW Golf.", claims=claims)
    recall = driver.canon.find_service(RecallServices).recall
    assert recall is not None
    await index_all(recall)

    found = (await driver.call("find", text=question))["found"]

    assert "The Bergs owns VW Golf" in [row.get("says") for row in found]
