"""Words that only retracted items cite are evidence for them, and no answer to a question."""

import json
from pathlib import Path
from typing import Any

import pytest

from canonry.app.embedded import open_embedded
from canonry.assistant import CANON
from canonry.canon.maintenance.erase import erase_items, plan_erasure
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.narrative.toolset import NARRATIVE
from canonry.testing.clocks import HandClock, a_caller
from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio

PEOPLE = [{"kind": "entity", "name": n, "type": "character"} for n in ("Zed Kay", "Ana Fox")]
PLACES = [{"kind": "entity", "name": name, "type": "location"} for name in ("Mill", "Inn")]
WRONG: dict[str, dict[str, Any]] = {
    "fact": {"kind": "fact", "says": "Zed Kay smuggles opium"},
    "event": {"kind": "event", "says": "Zed Kay sold opium", "who": ["Zed Kay"]},
    "state": {"kind": "state", "of": "Zed Kay", "tags": ["opium eater"]},
    "relation": {"kind": "relation", "from": "Zed Kay", "type": "LOCATED_IN", "to": "Mill"},
}
RIGHT = {"kind": "fact", "says": "Zed Kay smuggles tea"}
SAID = "Zed Kay brought the opium to the Mill."


async def a_town(driver: ToolDriver | None = None) -> ToolDriver:
    driver = driver or make_driver()
    await driver.saltmere()
    await driver.call("propose", claims=[*PEOPLE, *PLACES], said="They are here.")
    return driver


async def make_words(driver: ToolDriver, *claims: dict[str, Any], **more: Any) -> list[str]:
    more = more or {"said": SAID}
    reply = await driver.call("propose", claims=[*claims], **more)
    assert reply["accepted"] == len(claims), reply
    return [str(row["id"]) for row in reply["verdicts"]]


async def retcon_words(driver: ToolDriver, *ids: str) -> None:
    for one in ids:
        await driver.call("decide", verdict="retcon", of=[one], reason="It was never true.")


async def answers_with(
    driver: ToolDriver, text: str = "opium", **then: Any
) -> dict[str, list[str]]:
    """The words with `opium` in each read, and in `find` the levels of its rows."""
    asked = f"What about Zed Kay and the {text}?"
    found = (await driver.call("find", text=asked, limit=50, **then))["found"]
    brief = (await driver.call("context", question=asked, **then))["brief"]
    space = (await driver.call("spaces"))["spaces"][0]["id"]
    more: list[str] = []
    for collection in () if then else ("snippet_chunks", "scene_chunks"):
        call = {
            "collection": collection,
            "query_text": f"Zed Kay {text}",
            "filters": {"universe_id": space},
        }
        result = await driver.gateway.call("qdrant_semantic_search", call, principal_of(driver))
        assert result.error is None, result.text
        more += [line for line in json.dumps(result.body).split('"') if text in line]
    return {
        "holds": [r["says"] for r in found if text in r.get("says", "") and "level" not in r],
        "retracted": [r["says"] for r in found if text in r.get("says", "") and "level" in r],
        "context": [line for line in brief.split("\n")[1:] if text in line],
        "search": [line for line in more if len(line) > len(text)],
    }


def principal_of(driver: ToolDriver) -> Principal:
    return Principal(
        agent_id="solo",
        agent_type="ContextAssembly",
        user=driver.user,
        spaces=None,
        world=None,
        characters=frozenset(),
        authorities=None,
    )


NOWHERE: dict[str, list[str]] = {"holds": [], "context": [], "search": []}


@pytest.mark.parametrize("kind", WRONG)
async def test_words_of_a_retracted_item_answer_no_question(kind: str) -> None:
    driver = await a_town()
    (wrong,) = await make_words(driver, WRONG[kind])
    head = str(max(position for _, position in await driver.heads()))
    before = await answers_with(driver)
    assert SAID in before["holds"]
    assert before["context"]
    assert before["search"]

    await retcon_words(driver, wrong)

    after = await answers_with(driver)
    assert {name: after[name] for name in NOWHERE} == NOWHERE
    assert after["retracted"] == []
    assert (await driver.call("why", of=wrong))["because"][0]["says"] == SAID
    then = await answers_with(driver, as_known_at=head)
    assert SAID in then["holds"]


@pytest.mark.parametrize("call", ["replaces", "correction"])
async def test_words_of_a_corrected_fact_are_not_those_of_the_right_one(call: str) -> None:
    driver = await a_town()
    said = "Zed Kay smuggles opium, they say."
    (wrong,) = await make_words(driver, WRONG["fact"], said=said)

    if call == "replaces":
        await make_words(driver, {**RIGHT, "replaces": wrong}, said="It was tea.")
    else:
        await make_words(
            driver, {"kind": "correction", "of": wrong, "value": RIGHT["says"]}, said="No."
        )

    after = await answers_with(driver)
    assert {name: after[name] for name in NOWHERE} == NOWHERE
    found = (await driver.call("find", text="tea"))["found"]
    assert RIGHT["says"] in [row["says"] for row in found]


async def test_misread_words_stay_evidence_of_the_right_fact() -> None:
    driver = await a_town()
    said = "Zed Kay was born on 3 May 1990."
    wrong = {"kind": "fact", "says": "Zed Kay was born on 3 May 1989"}
    (wrong_id,) = await make_words(driver, wrong, said=said)

    right = {"kind": "correction", "of": wrong_id, "value": "Zed Kay was born on 3 May 1990"}
    await make_words(driver, right, said="I misread it.")

    asked = "When was Zed Kay born?"
    found = (await driver.call("find", text=asked, kinds=["passage"]))["found"]
    assert [row.get("level") for row in found if row.get("says") == said] == [None]
    every = (await driver.call("find", text=asked))["found"]
    assert said not in [row.get("says") for row in every]  # the fact says it


async def test_words_cited_by_a_current_item_stay_an_answer() -> None:
    driver = await a_town()
    other = {"kind": "fact", "says": "The Mill burned", "about": ["Mill"]}
    wrong, _ = await make_words(driver, WRONG["fact"], other)

    await retcon_words(driver, wrong)

    assert SAID in (await answers_with(driver))["holds"]


async def test_words_are_an_answer_again_when_the_item_holds_again() -> None:
    driver = await a_town()
    (wrong,) = await make_words(driver, WRONG["fact"])
    await retcon_words(driver, wrong)
    assert (await answers_with(driver))["holds"] == []

    await driver.call("decide", verdict="undo")

    assert SAID in (await answers_with(driver))["holds"]


@pytest.mark.parametrize("whole", [False, True])
async def test_an_undone_claim_leaves_a_document_unchanged(*, whole: bool) -> None:
    driver = await a_town()
    reply = await driver.call("tell", title="Log", text=f"{SAID} The sea was calm.")
    cited = "Log" if whole else reply["passages"][0]["id"]
    before = await answers_with(driver)

    await make_words(driver, WRONG["fact"], evidence=[cited])
    await driver.call("decide", verdict="undo")
    assert (await answers_with(driver))["holds"] == before["holds"]
    await make_words(driver, WRONG["fact"])
    await driver.call("decide", verdict="undo")

    assert (await answers_with(driver))["holds"] == before["holds"]


async def test_a_document_cited_as_a_whole_keeps_its_other_passages() -> None:
    driver = await a_town()
    paragraphs = ("Zed Kay smuggles opium by night.", "The opium house is in Bree.")
    for n, text in enumerate(paragraphs):
        await driver.call("tell", title=f"Log {n}", text=text)
    (wrong,) = await make_words(driver, WRONG["fact"], evidence=["Log 0", "Log 1"])

    await retcon_words(driver, wrong)

    assert (await answers_with(driver))["holds"] == [paragraphs[1]]


async def test_turns_cited_only_by_a_retracted_item_stay_only_in_their_scene() -> None:
    driver = await a_town()
    turns = [{"by": "Ana Fox", "text": SAID}, {"by": "gm", "text": "The bell rings."}]
    reply = await driver.call("tell", scene="Night", turns=turns)
    (wrong,) = await make_words(driver, WRONG["fact"], evidence=[reply["turns"][0]["id"]])

    await retcon_words(driver, wrong)

    after = await answers_with(driver)
    assert {name: after[name] for name in NOWHERE} == NOWHERE
    assert SAID in str((await driver.call("get", of="Night"))["turns_said"])


async def test_a_secret_retraction_hides_no_words_from_uninformed_readers() -> None:
    driver = await a_town()
    ana = (await driver.call("get", of="Ana Fox"))["id"]
    player = make_driver("Reader", driver, characters=frozenset({ana}))
    (wrong,) = await make_words(driver, WRONG["fact"])
    secret = {**RIGHT, "replaces": wrong, "for": ["gm"]}
    await make_words(driver, secret, said="It was tea all along.")

    assert (await answers_with(driver))["holds"] == []
    found = (await player.call("find", text="Zed Kay opium"))["found"]
    assert [row.get("level") for row in found if "opium" in row.get("says", "")] == [None, None]


async def test_words_cited_by_a_secret_item_stay_for_its_readers() -> None:
    driver = await a_town()
    ana = (await driver.call("get", of="Ana Fox"))["id"]
    player = make_driver("Reader", driver, characters=frozenset({ana}))
    reply = await driver.call("tell", title="Log", text=SAID)
    passage = reply["passages"][0]["id"]
    secret = {**WRONG["fact"], "for": ["gm"]}
    (hidden,) = await make_words(driver, secret, evidence=[passage])
    await retcon_words(driver, hidden)

    assert (await answers_with(driver))["holds"] == []
    found = (await player.call("find", text="opium"))["found"]
    assert [(row["says"], row.get("level")) for row in found] == [(SAID, None)]


async def test_erasing_a_fact_lists_and_optionally_erases_its_words(
    tmp_path: Path,
) -> None:
    store = await open_embedded(tmp_path)
    try:
        driver = await a_town(
            ToolDriver(store.canon, Gateway(store.canon, [CANON, NARRATIVE]), HandClock())
        )
        other = {"kind": "fact", "says": "The Mill burned", "about": ["Mill"]}
        wrong, _ = await make_words(driver, WRONG["fact"], other)
        assert not (await plan_erasure(store.canon, "fact", wrong)).mentions
        (alone,) = await make_words(
            driver, {"kind": "fact", "says": "Ana Fox eats opium"}, said="She does."
        )

        plan = await plan_erasure(store.canon, "fact", alone)
        assert [each.kind for each in plan.mentions] == ["snippet"]
        plan = await plan_erasure(store.canon, "fact", alone, with_mentions=True)
        await erase_items(store.canon, store.maintenance, a_caller(), plan, reason="asked for")

        found = await driver.call("find", text="She does eat opium Ana Fox", limit=50)
        assert "She does." not in str(found)
        assert "eats" not in str(found)
    finally:
        await store.close()
