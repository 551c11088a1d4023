"""Proposing in the browser: the claims of a form, judged in the name of its user; linked names."""

import re
from typing import Any

import pytest

from canonry.inspector.rendering import link_names
from tests.inspector.kit import Harbour, a_harbour
from tests.inspector.reader import Answer

pytestmark = pytest.mark.anyio


@pytest.fixture
async def harbour() -> Harbour:
    return await a_harbour(world=False)


async def send_proposal(harbour: Harbour, agent: str = "Solo", **form: Any) -> Answer:
    reader = harbour.reader(agent)
    back = f"/space?space={harbour.space}"
    fixed = {"key": await reader.form_key(), "space": harbour.space, "back": back}
    return await reader.post("/propose", {**fixed, **form})


async def test_an_entity_a_fact_and_a_relation_are_accepted_and_traced(
    harbour: Harbour,
) -> None:
    ilsa = harbour.ids["Ilsa Vane"]
    for form in (
        {"kind": "entity", "name": "Quill", "type": "character", "says": "A clerk."},
        {"kind": "fact", "says": "Ilsa Vane likes rum.", "about": ilsa, "said": "She drank it."},
        {"kind": "relation", "from": ilsa, "type": "KNOWS", "to": "Quill"},
    ):
        answer = await send_proposal(harbour, **form)
        assert answer.status == 200
        assert "status-accepted" in answer.text

    page = await harbour.reader().read_page(f"/thing/{ilsa}")
    assert "likes rum" in page
    assert "Quill" in page
    reply = await harbour.driver.call("find", text="likes rum", space=harbour.space)
    why = await harbour.driver.call("why", of=reply["found"][0]["id"])
    assert "She drank it." in str(why["because"])


async def test_corrections_keep_the_old_words_readable(
    harbour: Harbour,
) -> None:
    ilsa, fact = harbour.ids["Ilsa Vane"], harbour.ids["fact"]
    await send_proposal(
        harbour, kind="correction", of=ilsa, field="age", value="41", says="She told me"
    )
    await send_proposal(
        harbour, kind="correction", of=fact, value="Odo Brand sold the light.", says="Misheard"
    )

    assert (await harbour.driver.call("get", of=ilsa, full=True))["fields"]["age"] in (41, "41")
    assert (await harbour.driver.call("get", of=fact, full=True))["level"] == "retconned"
    assert "status-retconned" in await harbour.reader().read_page(f"/thing/{fact}")


async def test_a_refusal_gives_its_reason(harbour: Harbour) -> None:
    fact = harbour.ids["fact"]
    corrected = await send_proposal(
        harbour, "Contributor", kind="correction", of=fact, value="Odo sold it.", says="Misheard"
    )
    unknown = await send_proposal(
        harbour, kind="relation", type="KNOWS", **{"from": "Ilsa", "to": "Zz"}
    )
    nothing = await send_proposal(harbour, kind="nothing")

    assert "status-needs-review" in corrected.text
    assert "the authority player cannot override a higher one" in corrected.text
    assert unknown.status == 404
    assert "Zz" in unknown.text
    assert nothing.status == 400
    assert not (await harbour.driver.call("get", of=fact, full=True)).get("level")


async def test_readers_see_no_form_and_nobody_proposes_for_another(harbour: Harbour) -> None:
    page = await harbour.reader("Reader").read_page(f"/space?space={harbour.space}")
    foreign = await harbour.reader().post("/propose", {"key": "0" * 64, "kind": "fact"})

    assert 'action="/propose"' not in page
    assert 'action="/propose"' in await harbour.reader().read_page(f"/space?space={harbour.space}")
    assert foreign.status == 403


async def test_proposals_about_one_entity_are_decided_together(harbour: Harbour) -> None:
    reader = harbour.reader()
    page = await reader.read_page(f"/review?space={harbour.space}")
    group = next(
        one
        for one in page.split('<section class="group"')[1:]
        if ">Ilsa Vane</bdi></a></h2>" in one
    )
    ids = re.findall(r'name="of" value="([0-9a-f-]+)"', group.partition("</form>")[0])
    assert len(ids) > 1

    await reader.send_verdict("reject", ids, reason="All of it is gossip")

    left = await reader.read_page(f"/review?space={harbour.space}")
    assert not [one for one in ids if f"p-{one}" in left]


async def test_names_in_texts_are_links_even_by_first_name(harbour: Harbour) -> None:
    ilsa, scene = harbour.ids["Ilsa Vane"], harbour.ids["scene"]
    turn = {"by": "gm", "text": "Ilsa laughs <loud>. Ilsa Vane bows."}
    await harbour.driver.call("tell", scene=scene, turns=[turn], space="Saltmere")

    page = await harbour.reader().read_page(f"/thing/{scene}")

    link = f'<a href="/thing/{ilsa}">'
    assert f"{link}Ilsa</a> laughs &lt;loud&gt;. {link}Ilsa Vane</a> bows." in page


def test_links_escape_the_text_around_and_in_them() -> None:
    text = "<b>Odo & Co</b>"

    shown = link_names(text, {text: [(3, 11, "1"), (5, 9, "2")]}, lambda path: f"{path}?a=1&b=2")

    assert shown == '&lt;b&gt;<a href="/thing/1?a=1&amp;b=2">Odo &amp; Co</a>&lt;/b&gt;'
