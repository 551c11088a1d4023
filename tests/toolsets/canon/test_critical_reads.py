"""Reading replies as a stranger reads them: what was renamed, refused, disputed or is planned."""

from typing import Any

import pytest

from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio


async def propose_facts(driver: ToolDriver, said: str, *claims: Any, **more: Any) -> dict[str, Any]:
    """Propose facts, given as sentences, and other claims."""
    facts = [{"kind": "fact", "says": one} if isinstance(one, str) else one for one in claims]
    return await driver.call("propose", said=said, claims=facts, **more)


async def a_coast() -> ToolDriver:
    """A driver with a renamed village, a refused claim and a correction of a description."""
    driver = make_driver()
    await driver.call("open", name="Coast", about="A novel.")
    people = [{"kind": "entity", "name": name, "type": "person"} for name in ("Ida", "Caleb")]
    await propose_facts(
        driver, "There.", *people, {"kind": "entity", "name": "Harrow", "type": "village"}
    )
    await propose_facts(driver, "Two churches.", "Harrow has two churches.", "Ida has green eyes.")
    await propose_facts(driver, "Her blue eyes.", "Ida has blue eyes.")
    for of, field, value in (("Harrow", "name", "Harrowmouth"), ("Caleb", "description", "Limps.")):
        claim = {"kind": "correction", "of": of, "field": field, "value": value, "says": "So."}
        await driver.call("propose", claims=[claim])
    return driver


async def test_a_renamed_entity_is_found_by_both_names() -> None:
    driver = await a_coast()

    (fact,) = (await driver.call("find", text="churches", kinds=["fact"]))["found"]
    own = await driver.call("get", of="Harrow")
    brief = (await driver.call("context", of="Ida", question="What holds?"))["brief"]
    changes = (await driver.call("changes", limit=50))["changes"]
    rows = [(one["how"], one["says"]) for each in changes for one in each["what"]]

    assert fact["now_called"] == {"Harrow": "Harrowmouth"}
    assert own["also_called"] == ["Harrow"]
    assert "now_called" not in own["facts"][0]  # `also_called` says it
    assert "Harrow has two churches. (Harrow is now Harrowmouth)" in brief
    assert ("renamed", "Harrowmouth, formerly Harrow") in rows
    assert ("said", "Caleb: description Limps.") in rows
    assert not [says for how, says in rows if "correction" in says or says == "What was said"]


async def test_a_record_with_a_corrected_name_has_both_names() -> None:
    driver = make_driver(user="ann")
    entity = {"kind": "entity", "name": "Greta Lorenz", "type": "person"}
    await propose_facts(driver, "So.", entity, "Greta Lorenz takes metformin.", space="account")
    claim = {"kind": "correction", "of": "Greta Lorenz", "field": "name", "value": "Greta Lorentz"}
    await propose_facts(driver, "With tz.", claim, space="account")

    (fact,) = (await driver.call("find", text="who takes metformin", kinds=["fact"]))["found"]
    own = await driver.call("get", of="Greta", space="account")

    assert fact["now_called"] == {"Greta Lorenz": "Greta Lorentz"}
    assert (own["name"], own["also_called"]) == ("Greta Lorentz", ["Greta Lorenz"])


async def test_a_quote_cited_only_by_a_refused_claim_says_so() -> None:
    driver = await a_coast()

    found = (await driver.call("find", text="blue eyes", kinds=["passage"]))["found"]
    brief = (await driver.call("context", question="What eyes has Ida?"))["brief"]
    await propose_facts(driver, "Her blue eyes.", "Ida looks at the sea.")
    cited = (await driver.call("find", text="blue eyes", kinds=["passage"]))["found"]

    assert [row["refused"] for row in found if row["says"] == "Her blue eyes."] == [True]
    assert ("green eyes" in brief, "blue eyes" in brief) == (True, False)
    assert not [row for row in cited if "refused" in row]


async def test_a_passage_names_the_refused_and_retracted_statements_in_its_words() -> None:
    driver = await a_coast()
    await driver.call("tell", title="Nine", text="Ida turned, and her blue eyes were like slate.")
    claim = {"kind": "fact", "says": "Ida has blue eyes."}
    await driver.call("propose", claims=[claim], evidence=["Nine"])
    await propose_facts(driver, "A mill and a dam.", "Harrow has a mill.", "Harrow has a dam.")
    wrong = {"of": ["Harrow has a dam."], "reason": "It is a weir."}
    await driver.call("decide", verdict="retcon", **wrong)

    (slate,) = (await driver.call("find", text="slate", kinds=["passage"]))["found"]
    (read,) = (await driver.call("get", of="Nine"))["passages"]
    dams = (await driver.call("find", text="mill", kinds=["passage"]))["found"]

    assert (slate["not_canon"], read["not_canon"]) == (["Ida has blue eyes."],) * 2
    assert [row["not_canon"] for row in dams] == [["Harrow has a dam."]]


async def test_changes_show_a_secret_and_its_text_only_to_its_readers() -> None:
    driver = await a_coast()
    secret = {"kind": "fact", "says": "Caleb is a smuggler.", "for": ["gm"]}
    await driver.call("propose", said="He smuggles.", claims=[secret])

    (change,) = (await driver.call("changes", limit=1))["changes"]

    assert [(row["says"], row["for"]) for row in change["what"]] == [
        ("He smuggles.", ["owner"]),
        ("Caleb is a smuggler.", ["owner"]),
    ]
    assert "smuggle" not in str(await make_driver("Contributor", driver).call("changes"))


async def test_a_corrected_description_holds_before_the_first_date() -> None:
    driver = await a_coast()
    await propose_facts(
        driver, "Later.", {"kind": "state", "of": "Caleb", "tags": ["dead"], "when": "1851-06"}
    )

    then = await driver.call("get", of="Caleb", at="1851-05-01")

    assert then["says"] == "Limps."
    assert [row["says"] for row in then["later"]] == ["Caleb is dead"]


async def test_open_conflicts_are_shown_where_relevant() -> None:
    driver = await a_coast()
    await driver.call("tell", title="Wiki", text="The harbour has 3 piers.")
    await driver.call("tell", title="Runbook", text="The harbour has 4 piers.")
    for number, title in ((3, "Wiki"), (4, "Runbook")):
        claim = {"kind": "fact", "says": f"The harbour has {number} piers."}
        await driver.call("propose", claims=[claim], evidence=[title])

    why = await driver.call("why", of="The harbour has 3 piers.")
    asked = await driver.call("find", text="how many piers has the harbour")
    other = await driver.call("find", text="green eyes in the harbour")

    doubt = '"The harbour has 3 piers" may contradict "The harbour has 4 piers".'
    assert doubt in why["note"]
    assert [row["says"] for row in why["disputed"]] == ["The harbour has 4 piers."]
    assert "may contradict" in asked["note"]
    assert "may contradict" not in other["note"]


async def test_a_missing_number_suggests_no_other_number() -> None:
    driver = await a_coast()
    await driver.call("tell", title="Chapter 9", text="Nine.")

    missing = await driver.refused("get", of="Chapter 11")
    slip = await driver.refused("get", of="Chaptr 9")

    assert "candidates" not in missing["details"]
    assert slip["details"]["candidates"] == ["Chapter 9"]


async def test_get_lists_as_many_facts_as_requested() -> None:
    driver = await a_coast()
    await propose_facts(driver, "All.", *(f"Ida owns a boat called {name}." for name in "ABCDEFGH"))

    every, few = [await driver.call("get", of="Ida", **more) for more in ({}, {"limit": 2})]

    assert (len(every["facts"]), "facts_left" in every) == (9, False)
    assert (len(few["facts"]), few["facts_left"]) == (2, 7)


async def test_passages_are_words_and_no_scenes() -> None:
    driver = await a_coast()
    await driver.call("tell", scene="Bell", turns=[{"by": "gm", "text": "The bell rings."}])
    await driver.call("tell", scene="Bell", end_scene="The bell was stolen.")

    kinds = [
        {row["kind"] for row in (await driver.call("find", text="bell", **more))["found"]}
        for more in ({"kinds": ["passage"]}, {})
    ]

    assert kinds == [{"turn"}, {"turn", "scene"}]
