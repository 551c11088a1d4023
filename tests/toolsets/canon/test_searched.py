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
from tests.toolsets.canon.kit import Desk, a_desk
from tests.usecases.recall_scenario import index

pytestmark = pytest.mark.anyio


@pytest.fixture
def broken() -> Iterator[Said]:
    with an_endpoint(answer=lambda _: b"no order") as said:
        yield said


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A desk whose searches know meanings too."""
    bare = a_desk()
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
    yield Desk(canon, Gateway(canon, [CANON]), bare.clock)
    await recall.close()


async def test_n13_nothing_found_while_the_index_is_being_built_is_said_to_be_that(
    desk: Desk,
) -> None:
    await desk.call("open", name="Bells")
    for part in range(FRESH // 40 + 2):
        turns = [{"by": "gm", "text": f"Bell {part} tolls {n} times."} for n in range(40)]
        await desk.call("tell", scene="Tower", turns=turns)
    asked = {"text": "zyzzyva", "kinds": ["fact"]}

    early = await desk.call("find", **asked)
    brief = await desk.call("context", question="zyzzyva")
    recall = desk.canon.find_service(RecallServices).recall
    assert recall is not None
    behind = recall.commits_behind
    await index(recall)
    late = await desk.call("find", **asked)

    assert early["found"] == late["found"] == []
    built = f"the index of meaning still lacks {behind} commits"
    assert built in early["note"]
    assert "meaning without" in brief["searched"]
    assert late["note"] == "Nothing is known about it here."
    assert "searched" not in late


async def test_n13_while_meaning_does_not_answer_nothing_is_not_said_to_be_all(
    desk: Desk, tmp_path: Path
) -> None:
    await desk.call("open", name="Bells")
    canon = desk.canon
    missing = Recall(
        Engines(embedder=lambda _: None, vectors=lambda: FolderVectors(tmp_path / "none")),
        ledger=canon.ledger,
        state=canon.state,
        documents=canon.documents,
        clock=canon.clock,
    )
    canon = canon.revise_service(RecallServices, recall=missing)
    slow = Desk(canon, Gateway(canon, [CANON]), desk.clock)

    found = await slow.call("find", text="bell")
    brief = await slow.call("context", question="bell")
    await missing.close()

    for reply in (found, brief):
        assert reply["searched"] == "words only"
        assert "does not answer yet" in reply["note"]


async def test_while_the_index_is_behind_a_search_tells_how_far(desk: Desk) -> None:
    await desk.call("open", name="Bells")
    for part in range(FRESH // 40 + 2):
        turns = [{"by": "gm", "text": f"Bell {part} tolls {n} times."} for n in range(40)]
        await desk.call("tell", scene="Tower", turns=turns)

    before = await desk.call("find", text="bell tolls 7 times")
    recall = desk.canon.find_service(RecallServices).recall
    assert recall is not None
    behind = recall.commits_behind
    await index(recall)
    after = await desk.call("find", text="bell tolls 7 times")

    assert behind > 0
    assert before["searched"] == f"words, and meaning without the newest {behind} commits"
    assert "searched" not in after


async def test_a_reranker_that_rests_hides_neither_words_nor_meaning(
    desk: Desk, broken: Said
) -> None:
    reranking = EndpointReranker(RerankingEndpoint(base_url=broken.url))
    canon = desk.canon.revise_service(RecallServices, reranking=reranking)
    looking = Desk(canon, Gateway(canon, [CANON]), desk.clock)
    await looking.saltmere()

    turns = [{"by": "gm", "text": f"The light of night {n} goes out."} for n in range(3)]
    await looking.call("tell", scene="Storm", turns=turns, space="Saltmere")

    found = await looking.call("find", text="the light goes out", space="Saltmere")
    await reranking.close()

    assert found["found"]
    assert found["searched"] == "without reranking"


async def test_what_was_taken_back_is_no_answer_at_any_time() -> None:
    desk = a_desk()
    await desk.saltmere()
    tale, deed = "Odo Brand drowned at the ford", "Odo Brand crossed the ford"
    claims = [{"kind": "fact", "says": each, "about": ["Odo"]} for each in (tale, deed)]
    done = await desk.call("propose", said="Odo at the ford.", claims=claims)
    drowned = done["verdicts"][0]["id"]

    await desk.call("decide", verdict="retcon", of=[drowned], reason="A tale.")

    facts = (await desk.call("find", text="drowned at the ford", kinds=["fact"]))["found"]
    assert [each["says"] for each in facts] == [deed]
    assert (await desk.call("why", of=drowned))["level"] == "retconned"
    brief = await desk.call("context", question="drowned at the ford")
    assert tale not in str(brief)
    later = await desk.call("find", text="drowned at the ford", at="2030-01-01")
    assert tale not in str(later)


@pytest.mark.parametrize("of", ["captain of the Petrel", "owner of the lantern", "price of rope"])
async def test_a_later_value_of_what_there_is_one_of_ends_the_one_before(of: str) -> None:
    desk = a_desk()
    await desk.saltmere()
    for when, value in (("1900-01-01", "Roke"), ("1910-01-01", "Ilsa")):
        claim = {"kind": "fact", "says": f"The {of} is {value}", "when": when}
        await desk.call("propose", said="So it is.", claims=[claim])

    facts = (await desk.call("find", text=f"the {of} before", kinds=["fact"]))["found"]

    told = [(each["says"], "until" in each) for each in facts if of in each["says"]]
    assert told == [(f"The {of} is Ilsa", False), (f"The {of} is Roke", True)]


@pytest.mark.parametrize("relation", ["RULES", "LEADS", "WIELDS", "CARRIES"])
async def test_a_later_holder_of_what_one_holds_ends_the_one_before(relation: str) -> None:
    desk = a_desk()
    await desk.saltmere()
    beacon = {"kind": "entity", "name": "Silver lantern", "type": "object"}
    tam = {"kind": "entity", "name": "Tam Wick", "type": "character"}
    await desk.call("propose", said="There they are.", claims=[beacon, tam])
    for when, who in (("1900-01-01", "Odo"), ("1910-01-01", "Tam Wick")):
        ends = {"from": who, "type": relation, "to": "Silver lantern", "when": when}
        await desk.call("propose", said="So it is.", claims=[{"kind": "relation", **ends}])

    asked = f"{relation.lower()} before"
    found = (await desk.call("find", text=asked, kinds=["relation"]))["found"]

    told = [(e["says"], "until" in e) for e in found if relation.lower() in e["says"]]
    first, then = (f"{who} {relation.lower()} Silver lantern" for who in ("Odo Brand", "Tam Wick"))
    assert told == [(then, False), (first, True)]
