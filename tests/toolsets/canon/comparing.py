"""The sessions of three agents by the plain verbs, and the same by the contracts' toolsets.

Both make the same truth in one store each; what is compared is what an agent has to say and read.
"""

import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any

from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.records.toolset import TRUTH
from tests.toolsets.canon import assistant, researcher
from tests.toolsets.canon.assistant import INVOICE, MAIL
from tests.toolsets.canon.game_master import BOOK, NIGHT, make_turns
from tests.toolsets.canon.kit import make_driver
from tests.toolsets.canon.researcher import GAZETTE, LETTER, MEMOIR

PEOPLE = ("Odo Brand", "Ilsa Vane", "Captain Roke")
PLACES = ("Marrow Lighthouse", "Customs House")
DEAD = "Odo Brand falls from Marrow Lighthouse"


class Counted:
    """Calls of one agent, counted with the characters of arguments and replies."""

    def __init__(self, gateway: Gateway, agent: str) -> None:
        self.gateway = gateway
        self.calls = self.characters = 0
        self.who = Principal(agent_id="a", agent_type=agent, authorities=None)

    @property
    def tokens(self) -> int:
        """About how many, of four characters each."""
        return self.characters // 4

    async def call(self, tool_: str, agent: str | None = None, **arguments: Any) -> Any:
        """The reply, which may be an error."""
        who = self.who if agent is None else Principal(agent_type=agent, authorities=None)
        result = await self.gateway.call(tool_, arguments, who)
        self.calls += 1
        self.characters += len(json.dumps(arguments)) + len(result.text)
        return result.body

    async def do(self, tool_: str, agent: str | None = None, **arguments: Any) -> Any:
        """The same where an error would be a defect."""
        reply = await self.call(tool_, agent, **arguments)
        assert not (isinstance(reply, dict) and "error" in reply), (tool_, reply)
        return reply

    done = do


async def night_by_verbs() -> tuple[Counted, Any]:
    """The preparation and the first night of a game."""
    c = Counted(make_driver().gateway, "Solo")
    await c.do("open", name="Saltmere")
    await c.do("tell", title="The Harbour Book", text=BOOK)
    named = [{"kind": "entity", "name": n, "type": "character", "tags": ["alive"]} for n in PEOPLE]
    named += [{"kind": "entity", "name": name, "type": "location"} for name in PLACES]
    await c.do("propose", evidence=["The Harbour Book"], claims=named)
    reply = await c.do("tell", scene="Night", place="Marrow", turns=make_turns(NIGHT))
    cited = [reply["turns"][5]["id"]]
    await c.do(
        "propose",
        evidence=cited,
        claims=[
            {"kind": "state", "of": "Odo", "tags": ["dead"]},
            {"kind": "event", "says": DEAD, "about": ["Odo"], "where": "Marrow"},
        ],
    )
    await c.do("tell", scene="Night", end_scene="Odo falls.")
    await c.do("find", text="who is dead?")
    odo = await c.do("get", of="Odo")
    await c.do("why", of=odo["facts"][0]["id"])
    return c, odo["tags"]


async def night_by_contract() -> tuple[Counted, Any]:
    """The same by the narrative contract and its extensions."""
    c = Counted(make_driver().gateway, "CanonKeeper")
    universe = (await c.do("neo4j_create_universe", name="Saltmere"))["universe_id"]
    source = await c.do(
        "neo4j_create_source",
        universe_id=universe,
        doc_id="book",
        title="The Harbour Book",
        source_type="lore",
        canon_level="canon",
    )
    backed: dict[str, Any] = {
        "confidence": 0.9,
        "authority": "source",
        "evidence_refs": [f"source:{source['source_id']}"],
    }
    ids: dict[str, str] = {}
    for name in (*PEOPLE, *PLACES):
        person = name in PEOPLE
        made = await c.do(
            "neo4j_create_entity",
            universe_id=universe,
            entity_class="EntityInstance",
            entity_type="character" if person else "location",
            name=name,
            description=f"This is {name}.",
            properties={},
            state_tags=["alive"] if person else [],
            **backed,
        )
        ids[name] = made["entity_id"]
    story = await c.do(
        "neo4j_create_story", universe_id=universe, title="Saltmere", story_type="campaign"
    )
    scene = await c.do(
        "mongodb_create_scene",
        "Orchestrator",
        universe_id=universe,
        story_id=story["story_id"],
        title="Night",
        participating_entities=[ids["Odo Brand"], ids["Ilsa Vane"]],
        location_ref=ids["Marrow Lighthouse"],
    )
    where = scene["scene_id"]
    said = [
        await c.do(
            "mongodb_append_turn", "Narrator", scene_id=where, text=text, **speaker_of(by, ids)
        )
        for by, text in NIGHT
    ]
    for kind, content in (
        ("state_change", {"entity_id": ids["Odo Brand"], "add": ["dead"]}),
        ("event", {"title": DEAD, "involved_entity_ids": [ids["Odo Brand"]]}),
    ):
        await c.do(
            "mongodb_create_proposed_change",
            scene_id=scene["scene_id"],
            turn_id=said[5]["turn_id"],
            type=kind,
            content=content,
            evidence=[{"type": "turn", "ref_id": said[5]["turn_id"]}],
            confidence=0.9,
            authority="gm",
        )
    await c.do("composite_canonize_scene", scene_id=scene["scene_id"], summary="Odo falls.")
    found = await c.do("qdrant_search_canon", query_text="who is dead?", universe_id=universe)
    odo = await c.do("neo4j_get_entity", entity_id=ids["Odo Brand"], include_relationships=True)
    await c.do("neo4j_explain", id=found["results"][0]["id"])
    return c, odo["state_tags"]


def speaker_of(by: str, ids: dict[str, str]) -> dict[str, str]:
    """The speaker of a turn as the contract names one."""
    if by in {"gm", "user"}:
        return {"speaker": by}
    (name,) = (each for each in PEOPLE if by in each)
    return {"speaker": "entity", "entity_id": ids[name]}


async def records_by_verbs() -> tuple[Counted, Any]:
    """The whole session of the personal assistant."""
    c = Counted(make_driver().gateway, "Solo")
    await assistant.play_day(c)  # type: ignore[arg-type]  # played, not written down
    bill = await c.gateway.call("get", {"of": "INV-2041"}, c.who)
    return c, bill.body["fields"]["amount_due"]


async def records_by_contract() -> tuple[Counted, Any]:
    """The same by the toolset of truth; what it has nothing for is left out."""
    c = Counted(Gateway(make_driver().canon, [TRUTH]), "Assistant")

    async def file(text: str, mime_type: str, name: str) -> None:
        data = base64.b64encode(text.encode()).decode()
        await c.do("ingest", file_content=data, mime_type=mime_type, original_filename=name)

    async def known(identifier: str) -> list[dict[str, Any]]:
        found = await c.do("get_entity_by_identifier", identifier=identifier)
        return list(found["entities"])

    await file(INVOICE, "text/plain", "invoice.txt")
    await file(MAIL, "message/rfc822", "mail.eml")
    records = [
        {
            "entity_type": "contact",
            "name": "Ann Lee",
            "email": "ann.lee@acme.example",
            "city": "Berlin",
        },
        {"entity_type": "company", "name": "Acme Tools Ltd", "website": "https://acme.example"},
        {"entity_type": "task", "title": "Pay INV-2041", "due_date": "2026-02-11"},
    ]
    await c.do("ingest", entities=records)
    await c.do("search_records", query="acme")
    bill = (await known("INV-2041"))[0]["id"]
    await c.do("get_entity_snapshot", entity_id=bill)
    ann = (await known("ann.lee@acme.example"))[0]["id"]
    await c.do("get_entity_snapshot", entity_id=ann)
    await file(INVOICE, "text/plain", "invoice.txt")
    other = {"entity_type": "invoice", "invoice_number": "INV-2041", "amount_due": 450.0}
    await c.do("ingest", entities=[other])
    await c.do("explain_snapshot", entity_id=bill)
    await c.do("correct", entity_id=bill, entity_type="invoice", field="amount_due", value=470.0)
    await c.do("explain_snapshot", entity_id=bill, field="amount_due")
    task = (await known("Pay INV-2041"))[0]["id"]
    await c.do(
        "create_relationship",
        relationship_type="SETTLES",
        source_entity_id=task,
        target_entity_id=bill,
    )
    person = {"entity_type": "person", "name": "Ann Lee", "phone": "+49 30 1234567"}
    await c.do("ingest", entities=[person])
    await known("Ann Lee")
    pair = (await c.do("list_possible_duplicates"))["pairs"][0]
    kept = pair["entity_id"]
    await c.do(
        "merge_entities",
        from_entity_id=pair["candidate_id"],
        to_entity_id=kept,
        merge_reason="The user says so.",
    )
    await c.do("get_entity_snapshot", entity_id=kept)
    await c.do("list_timeline_events")
    await c.do("list_observations", entity_id=bill, limit=3)
    await c.do("search_records", query="acme")
    snapshot = await c.gateway.call("get_entity_snapshot", {"entity_id": bill}, c.who)
    return c, snapshot.body["snapshot"]["amount_due"]


async def study_by_verbs() -> tuple[Counted, Any]:
    """The whole session of the researcher."""
    c = Counted(make_driver().gateway, "Solo")
    await researcher.play_study(c)  # type: ignore[arg-type]  # as above
    return c, (await c.gateway.call("get", {"of": "Clara"}, c.who)).body["tags"]


async def study_by_contract() -> tuple[Counted, Any]:
    """The same by the narrative contract and its extensions."""
    c = Counted(make_driver().gateway, "CanonKeeper")
    universe = (await c.do("neo4j_create_universe", name="Harrow bridges"))["universe_id"]

    async def passage(title: str, text: str) -> dict[str, str]:
        source = await c.do(
            "neo4j_create_source",
            universe_id=universe,
            doc_id=title,
            title=title,
            source_type="lore",
            canon_level="canon",
        )
        await c.do("mongodb_ingest_source", source_id=source["source_id"], text=text)
        kept = await c.do("mongodb_query_snippets", source_id=source["source_id"])
        return {"type": "snippet", "ref_id": kept["snippets"][0]["snippet_id"]}

    async def propose(kind: str, content: dict[str, Any], cited: dict[str, str]) -> str:
        made = await c.do(
            "mongodb_propose_change",
            universe_id=universe,
            type=kind,
            content=content,
            evidence=[cited],
            confidence=0.9,
            authority="source",
        )
        return str(made["proposal_id"])

    async def judged(*proposals: str) -> list[dict[str, Any]]:
        done = await c.do("composite_canonize_proposals", proposal_ids=list(proposals))
        return list(done["verdicts"])

    gazette = await passage("County Gazette 1931", GAZETTE)
    memoir = await passage("Memoir of J. Pike", MEMOIR)
    ids: dict[str, str] = {}
    for name, kind, tags in (
        ("Iron Bridge", "object", []),
        ("Harrow", "location", []),
        ("Clara Holt", "character", ["alive"]),
    ):
        content: dict[str, Any] = {"name": name, "entity_type": kind, "state_tags": tags}
        ids[name] = await propose("entity", content, gazette)
    named = {name: f"proposal:{each}" for name, each in ids.items()}
    bridge, harrow, clara = (named[each] for each in ids)
    opened = {"statement": "The Iron Bridge was opened in 1931", "involved_entity_ids": [bridge]}
    tie = {"from_entity_id": bridge, "rel_type": "LOCATED_IN", "to_entity_id": harrow}
    event = {
        "title": "Opening of the Iron Bridge",
        "involved_entity_ids": [bridge, clara],
        "location_id": harrow,
        "time_ref": "1931-05-04T00:00:00Z",
    }
    verdicts = await judged(
        *ids.values(),
        await propose("relationship", tie, gazette),
        await propose("fact", opened, gazette),
        await propose("event", event, gazette),
    )
    real = [each["canonical_id"] for each in verdicts]
    dead = {"entity_id": real[2], "add": ["dead"], "time_ref": "1930-12-31T00:00:00Z"}
    said = await judged(
        await propose(
            "fact",
            {
                "statement": "The Iron Bridge was not opened in 1931",
                "involved_entity_ids": [real[0]],
            },
            memoir,
        ),
        await propose(
            "fact",
            {"statement": "The Iron Bridge was opened in 1932", "involved_entity_ids": [real[0]]},
            memoir,
        ),
        await propose("state_change", dead, memoir),
    )
    await c.do("mongodb_query_reviews", universe_id=universe)
    refused = next(each for each in said if each["status"] != "accepted")
    await c.do("neo4j_explain", id=refused["proposal_id"])
    letter = await passage("Letter of 6 May 1931", LETTER)
    again = {"statement": opened["statement"], "involved_entity_ids": [real[0]]}
    await judged(await propose("fact", again, letter))
    found = await c.do(
        "qdrant_search_canon", query_text="Clara Holt is dead", kinds=["fact"], universe_id=universe
    )
    wrong = next(each for each in found["results"] if "dead" in each["text"])
    await c.do(
        "neo4j_retcon_thing",
        id=wrong["id"],
        along=True,
        authority="gm",
        reason="The letter has her speak at the opening; the memoir is wrong on both.",
    )
    holt = await c.do("neo4j_get_entity", entity_id=real[2], include_state_history=True)
    await c.do(
        "qdrant_search_canon", query_text="when was the bridge opened?", universe_id=universe
    )
    await c.do("neo4j_explain", id=real[4])
    await c.do("neo4j_get_entity_at", entity_id=real[0], at="1931-06-01T00:00:00Z")
    await c.do("neo4j_get_timeline", universe_id=universe, end="1931-12-31T23:59:59Z")
    await c.do("neo4j_query_facts", entity_id=real[0])
    await c.do("neo4j_query_relationships", entity_id=real[0])
    return c, holt["state_tags"]


Played = Callable[[], Awaitable[tuple[Counted, Any]]]
COMPARED: dict[str, tuple[str, Played, Played]] = {
    "a game master's first night": ("narrative", night_by_verbs, night_by_contract),
    "a personal assistant's records": ("truth", records_by_verbs, records_by_contract),
    "a researcher's study": ("narrative", study_by_verbs, study_by_contract),
}
"""The task, the toolset of the comparison, and both ways of doing it."""
