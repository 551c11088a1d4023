"""Interrupted calls: a session of every writing tool, cut off after each append."""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, cast

from typing_extensions import override

from canonry.canon.session.canon import Canon
from canonry.gateway.call import Gateway
from canonry.gateway.limits import SECONDS
from canonry.gateway.principal import KEY_META, Principal
from canonry.gateway.replies import Result
from canonry.log.commits import ORIGIN, Append, Appended, Outcome
from canonry.log.ports.ledger import Ledger, LocalFile, LocalFiles
from canonry.records.usecases.services import RecordServices
from canonry.testing.conformance.kit import Backend, Contract, requirement
from canonry.testing.worlds import a_caller
from canonry.values.errors import Unavailable
from canonry.values.fields import revised
from canonry.values.ids import SpaceId
from canonry.values.moments import SECOND

# A session that calls every writing tool. `CutsContract` cuts it off after each append.
#
# `$name` in an argument stands for a value that an earlier reply returned. `keeps` holds its path
# in that reply.

NOTE: Final = "# Note\n\nInvoice INV-77 of Acme Corp is due on 2025-03-01.\n"
NOTE_BASE64: Final = (
    "IyBOb3RlCgpJbnZvaWNlIElOVi03NyBvZiBBY21lIENvcnAgaXMgZHVlIG9uIDIwMjUtMDMtMDEuCg=="
)


@dataclass(frozen=True, slots=True)
class CutCall:
    """One call: a tool, its arguments, and the parts of its reply that later calls need."""

    tool: str
    arguments: Mapping[str, Any]
    keeps: Mapping[str, str] = field(default_factory=dict)


def every_call() -> Iterator[CutCall]:
    """Yield the whole session. The player creates a world first, with the key `$world`."""
    yield from _canon()
    yield from _account()
    yield from _narrative()
    yield from _retcons()
    yield from _truth()
    yield from _world()
    yield from _catalog()


def _tellings(here: Mapping[str, Any]) -> Iterator[CutCall]:
    book = "\n\n".join(
        f"Day {n}. Odo keeps the light at Marrow. {'It rains. ' * 200}" for n in (1, 2)
    )
    yield CutCall("tell", {"text": book, "title": "Log", **here}, {"log": "document"})
    yield CutCall("tell", {"file": NOTE_BASE64, "mime_type": "text/markdown", **here})
    yield CutCall("tell", {"text": "Odo keeps the light.", "title": "Log", **here})
    yield CutCall(
        "tell",
        {
            "turns": [{"by": "gm", "text": "Night falls."}, {"by": "user", "text": "I wait."}],
            "scene": "The night",
            **here,
        },
    )
    few: dict[str, Any] = {"for": ["gm"], **here}
    whispered = [{"by": "gm", "text": "Ilsa has the key."}]
    yield CutCall("tell", {"turns": whispered, "scene": "The night", **few})
    yield CutCall("tell", {"text": "Ilsa has the key.", "title": "Log", **few})
    yield CutCall("tell", {"text": "Ilsa lies.", "title": "Aside", **few})


def _canon() -> Iterator[CutCall]:
    yield CutCall("open", {"name": "Marrow", "about": "A harbour."}, {"marrow": "id"})
    here: dict[str, Any] = {"space": "$marrow"}

    def propose(*claims: Mapping[str, Any], keeps: str = "", **more: Any) -> CutCall:
        kept = {keeps: "verdicts.0.id"} if keeps else {}
        return CutCall("propose", {"claims": list(claims), **more, **here}, kept)

    def decide(verdict: str, *of: str, **more: Any) -> CutCall:
        return CutCall("decide", {"verdict": verdict, "of": list(of), **more, **here})

    yield from _tellings(here)
    people = [
        {"kind": "entity", "name": name, "type": kind}
        for name, kind in (
            ("Odo Brand", "character"),
            ("Ilsa Vane", "character"),
            ("Ilse Vane", "character"),
            ("Marrow Light", "location"),
        )
    ]
    lives = {"kind": "relation", "from": "Odo Brand", "type": "LOCATED_IN", "to": "Marrow Light"}
    yield propose(*people, lives, said="Odo lives in the light; Ilsa sails.", authority="gm")
    yield propose({"kind": "fact", "says": "Odo Brand is brave"}, keeps="brave", evidence=["$log"])
    yield propose(
        {"kind": "fact", "says": "Ilsa Vane was born in Marrow", "about": ["Ilsa Vane"]},
        {"kind": "event", "says": "A storm sinks the ferry", "where": "Marrow Light"},
        {"kind": "state", "of": "Odo Brand", "tags": ["wounded"]},
        evidence=["$log"],
        keeps="born",
    )
    yield propose({"kind": "fact", "says": "Odo Brand is not brave"})
    yield propose({"kind": "fact", "says": "The sea is grey"}, said="How grey the sea is!")
    key = {"kind": "fact", "says": "Ilsa Vane hides a key", "about": ["Ilsa Vane"], "for": ["gm"]}
    letter = {**key, "says": "Ilsa Vane wrote the letter"}
    yield propose(key, said="Ilsa hides a key.")
    yield propose(letter, evidence=["$log"], said="Ilsa wrote the letter.")
    twin = {"kind": "entity", "name": "Odo Tern", "type": "character"}
    yield propose(twin, {"kind": "fact", "says": "Odo sings"}, said="Odo sings.")
    spy = {"kind": "entity", "name": "Wren", "type": "character", "for": ["gm"]}
    yield propose(spy, {"kind": "fact", "says": "Wren waits", "about": ["Wren"]}, said="She waits.")
    yield propose(
        {"kind": "correction", "of": "Odo Brand", "field": "name", "value": "Odo Brandt"},
        {"kind": "merge", "from": "Ilse Vane", "to": "Ilsa Vane"},
        said="His name ends with a t.",
    )
    yield propose({"kind": "retcon", "of": "$brave", "says": "he never was"})
    yield CutCall("tell", {"end_scene": "Nobody came.", "scene": "The night", **here})
    yield decide("separate", "Ilse Vane", reason="a sister")
    yield decide("merge", "Ilsa Vane", "Ilse Vane")
    yield decide("retcon", "$born", reason="she came by sea", along=True)


def _account() -> Iterator[CutCall]:
    def tell(**more: Any) -> CutCall:
        return CutCall("tell", {**more, "space": "account"})

    yield tell(records=[{"type": "person", "name": "Ada Moss", "email": "ada@moss.test"}])
    yield tell(text="Invoice\n\nInvoice Number: R-7\nInvoice Date: 2025-01-15\nTotal: 12.50 EUR\n")
    claims = [
        {"kind": "entity", "name": "Moss Ltd", "type": "company", "fields": {"tax_id": "M-1"}},
        {"kind": "entity", "name": "Fen Ltd", "type": "company", "fields": {"tax_id": "F-1"}},
        {"kind": "relation", "from": "Ada Moss", "type": "PART_OF", "to": "Moss Ltd"},
        {"kind": "relation", "from": "Fen Ltd", "type": "PART_OF", "to": "Moss Ltd"},
        {"kind": "correction", "of": "Ada Moss", "field": "phone", "value": "+49 30 1234567"},
        {"kind": "correction", "of": "Fen Ltd", "field": "website", "value": "fen.test"},
    ]
    yield CutCall("propose", {"claims": claims, "space": "account"})
    merge = {"verdict": "merge", "of": ["Moss Ltd", "Fen Ltd"], "space": "account"}
    yield CutCall("decide", merge)


_BACKED: Final[Mapping[str, Any]] = {
    "confidence": 1.0,
    "authority": "gm",
    "evidence_refs": ["source:$source"],
}


def _narrative() -> Iterator[CutCall]:
    arda = {"universe_id": "$arda"}
    yield CutCall("neo4j_create_multiverse", {"name": "All"}, {"all": "multiverse_id"})
    universe = {"name": "Arda", "multiverse_id": "$all"}
    yield CutCall("neo4j_create_universe", universe, {"arda": "universe_id"})
    yield CutCall("neo4j_declare_calendar", {**arda, "calendar": None})
    source = {**arda, "doc_id": "b", "title": "B", "source_type": "lore", "canon_level": "canon"}
    yield CutCall("neo4j_create_source", source, {"source": "source_id"})
    pages = "\n\n".join(f"Page {n}. {'The ring is lost. ' * 60}" for n in range(260))
    yield CutCall("mongodb_ingest_source", {"source_id": "$source", "text": pages})
    for name, kind in (
        ("Ann", "character"),
        ("Ben", "character"),
        ("Cid", "character"),
        ("Inn", "location"),
        ("Gold", "object"),
    ):
        entity = {
            **arda,
            **_BACKED,
            "entity_class": "EntityInstance",
            "name": name,
            "entity_type": kind,
            "description": f"This is {name}.",
            "properties": {},
        }
        yield CutCall("neo4j_create_entity", entity, {name.lower(): "entity_id"})
    bo = {**entity, "name": "Bo", "entity_type": "character", "state_tags": ["dead"]}
    yield CutCall("neo4j_create_entity", bo, {"dead": "entity_id"})
    backed = {key: value for key, value in _BACKED.items() if key != "confidence"}
    changes = {"entity_id": "$ann", "state_tag_changes": {"add": ["wet"]}}
    yield CutCall("neo4j_update_entity_state", {**backed, **changes})
    yield CutCall("neo4j_update_entity", {**backed, "entity_id": "$ann", "description": "Tall."})
    ends = {"from_entity_id": "$ann", "to_entity_id": "$inn", "rel_type": "LOCATED_IN"}
    yield CutCall("neo4j_create_relationship", ends, {"stay": "relationship_id"})
    yield CutCall("neo4j_end_relationship", {"relationship_id": "$stay", "reason": "left"})
    owns = {"from_entity_id": "$ann", "to_entity_id": "$gold", "rel_type": "OWNS"}
    yield CutCall("neo4j_create_relationship", {**owns, "properties": {"quantity": 5}})
    hands = {"from_entity_id": "$ann", "to_entity_id": "$ben", "thing_entity_id": "$gold"}
    yield CutCall("neo4j_transfer_quantity", {**backed, **hands, "quantity": 2})
    yield from _statements(arda)
    yield from _scenes(arda)
    yield from _afterwards(arda)


def _statements(arda: Mapping[str, Any]) -> Iterator[CutCall]:
    backed = {key: value for key, value in _BACKED.items() if key != "confidence"}
    for n in (1, 2):
        fact = {**arda, **_BACKED, "statement": f"Ann is {n}", "involved_entity_ids": ["$ann"]}
        yield CutCall("neo4j_create_fact", fact, {f"fact{n}": "fact_id"})
    anew = {"fact_id": "$fact1", "reason": "no", "replacement_statement": "Ann is 7"}
    yield CutCall("neo4j_retcon_fact", {**anew, **backed})
    for n in (1, 2, 3):
        event = {
            **arda,
            **_BACKED,
            "title": f"Rain {n}",
            "description": "It rains.",
            "involved_entity_ids": ["$ben"],
        }
        yield CutCall("neo4j_create_event", event, {f"event{n}": "event_id"})
    yield CutCall(
        "neo4j_create_causal_link", {"cause_event_id": "$event1", "effect_event_id": "$event2"}
    )
    yield CutCall(
        "neo4j_create_causal_link", {"cause_event_id": "$event2", "effect_event_id": "$event3"}
    )
    cited = {"canonical_id": "$event3", "evidence_ref": "source:$source"}
    yield CutCall("neo4j_link_evidence", cited)
    axiom = {**arda, **_BACKED, "statement": "The dead stay dead", "domain": "biology"}
    yield CutCall("neo4j_create_axiom", axiom)


def _afterwards(arda: Mapping[str, Any]) -> Iterator[CutCall]:
    memory = {"entity_id": "$ann", "text": "Rain.", "certainty": 1.0}
    felt = {"emotional_valence": 0.1, "importance": 0.5}
    yield CutCall("mongodb_create_character_memory", {**memory, **felt})
    merged = {"kept_entity_id": "$ben", "merged_entity_id": "$cid", "reason": "one"}
    yield CutCall("neo4j_merge_entities", merged)
    yield CutCall("neo4j_unmerge_entities", {"entity_id": "$cid", "reason": "two"})
    yield CutCall("neo4j_set_audience", {"id": "$fact2", "audience": ["gm"], "reason": "secret"})
    fact = {**arda, **_BACKED, "statement": "Ben is tired", "involved_entity_ids": ["$ben"]}
    inner = [  # in separate logs: they are built independently
        {"name": "neo4j_create_fact", "arguments": fact},
        {"name": "neo4j_create_multiverse", "arguments": {"name": "Dreams"}},
    ]
    yield CutCall("batch_call", {"calls": inner})


def _scenes(arda: Mapping[str, Any]) -> Iterator[CutCall]:
    story = {**arda, "title": "The ring", "story_type": "campaign"}
    yield CutCall("neo4j_create_story", story, {"story": "story_id"})
    for n in (1, 2):
        scene = {**arda, "story_id": "$story", "title": f"Scene {n}", "location_ref": "$inn"}
        people = {"participating_entities": ["$ann", "$ben"]}
        yield CutCall("mongodb_create_scene", {**scene, **people}, {f"scene{n}": "scene_id"})
    yield CutCall("mongodb_update_scene", {"scene_id": "$scene1", "gm_notes": "Dark."})
    said = {"scene_id": "$scene1", "speaker": "gm", "text": "Ann draws her sword."}
    yield CutCall("mongodb_append_turn", said, {"turn": "turn_id"})
    change = {
        "evidence": [{"type": "turn", "ref_id": "$turn"}],
        "confidence": 0.9,
        "authority": "gm",
    }
    for n, (kind, content) in enumerate(
        (
            ("state_change", {"entity_id": "$ann", "tag": "armed", "action": "add"}),
            ("fact", {"statement": "Ann has a sword", "involved_entity_ids": ["$ann"]}),
            (
                "event",
                {
                    "title": "A sword is drawn",
                    "description": "By Ann.",
                    "involved_entity_ids": ["$ann"],
                },
            ),
        )
    ):
        suggested = {"scene_id": "$scene1", "type": kind, "content": content, **change}
        yield CutCall("mongodb_create_proposed_change", suggested, {f"asked{n}": "proposal_id"})
    decided = {"proposal_id": "$asked0", "decision": "rejected", "rationale": "no sword"}
    yield CutCall("mongodb_evaluate_proposal", decided)
    yield CutCall("composite_canonize_scene", {"scene_id": "$scene1", "summary": "A sword."})
    done = {"scene_id": "$scene2", "canonical_outcome_ids": ["$event1"], "summary": "Rain."}
    yield CutCall("mongodb_finalize_scene", done)
    source = [{"type": "source", "ref_id": "$source"}]
    told = {**arda, "evidence": source, "confidence": 0.9, "authority": "source"}
    funeral = {"title": "The funeral", "involved_entity_ids": ["$dead"]}
    yield CutCall(
        "mongodb_propose_change",
        {**told, "type": "event", "content": funeral},
        {"a": "proposal_id"},
    )
    tall = {"statement": "Ben is tall", "involved_entity_ids": ["$ben"]}
    yield CutCall(
        "mongodb_propose_change", {**told, "type": "fact", "content": tall}, {"b": "proposal_id"}
    )
    doubt = {"doubt": "verdicts.0.conflict_details.0.id"}
    yield CutCall("composite_canonize_proposals", {"proposal_ids": ["$a", "$b"]}, doubt)
    waived = {"proposal_id": "$a", "conflict_id": "$doubt", "reason": "he is buried"}
    yield CutCall("mongodb_waive_conflict", waived)


def _retcons() -> Iterator[CutCall]:
    yield CutCall("composite_retcon_scene", {"scene_id": "$scene1", "reason": "a dream"})
    chain = {"id": "$event1", "reason": "no rain", "along_ids": ["$event2", "$event3"]}
    yield CutCall("neo4j_retcon_thing", chain)
    yield CutCall("neo4j_retcon_thing", {"id": "$cid", "reason": "nobody", "along": True})
    yield CutCall("neo4j_update_story", {"story_id": "$story", "status": "completed"})


def _truth() -> Iterator[CutCall]:
    rows = [{"entity_type": "company", "name": f"{name} Corp", "tax_id": name} for name in "ABC"]
    ids = {name.lower() + "_corp": f"entities.{n}.entity_id" for n, name in enumerate("ABC")}
    yield CutCall("ingest", {"entities": rows}, ids)
    note = {"file_content": NOTE_BASE64, "mime_type": "text/markdown"}
    yield CutCall("ingest", note, {"note": "source_id"})
    bank = {
        "entities": [{"entity_type": "invoice", "invoice_number": "R-1", "amount_due": "1.250"}]
    }
    yield CutCall("ingest", bank, {"bank": "source_id"})
    settle = {"source_id": "$bank", "field": "amount_due", "read_as": "comma"}
    yield CutCall("settle_unclear_values", settle)
    yield CutCall("upload_file", {"file_path": "note.md"}, {"file": "source_id"})
    own = {"file_path": "note.md", "properties": '{"title": "A note"}'}
    yield CutCall("upload_file", own)
    other = {"provider": "rules", "code_version": "2"}
    yield CutCall("reinterpret", {"source_id": "$note", "interpretation_config": other})
    edge = {"source_entity_id": "$a_corp", "target_entity_id": "$b_corp"}
    yield CutCall("create_relationship", {"relationship_type": "REFERS_TO", **edge})
    value = {
        "entity_id": "$a_corp",
        "entity_type": "company",
        "field": "website",
        "value": "a.test",
    }
    yield CutCall("correct", value)
    yield CutCall("edit_aliases", {"entity_id": "$a_corp", "add": ["A & Sons"]})
    yield CutCall("merge_entities", {"from_entity_id": "$b_corp", "to_entity_id": "$c_corp"})
    yield CutCall("unmerge_entities", {"entity_id": "$b_corp"})
    fields = {"name": {"type": "string"}}
    gadget = {"entity_type": "gadget", "fields": fields, "identity": [["name"]]}
    yield CutCall("register_entity_schema", gadget)
    yield CutCall("withdraw_source", {"source_id": "$note", "reason": "wrong"})


def _world() -> Iterator[CutCall]:
    fields = {"name": "The Council", "description": "Nine mages."}
    yield CutCall("record-lore", {"factId": "council", "type": "faction", "fields": fields})
    for key in ("town", "crown"):
        realm = {"name": key.title(), "key": key, "realmType": "CITY", "scope": "LOCAL"}
        yield CutCall("create-realm", realm)
    tie = {"fromId": "town", "tie": "vassal_of", "toRealmId": "crown"}
    yield CutCall("create-tie", tie)
    yield CutCall("remove-tie", tie)
    yard = {"name": "Yard", "key": "yard", "description": "Mud."}
    out = {"direction": "out", "toLocationId": "inn"}
    yield CutCall("create-location", {**yard, "exits": [out]})
    yield CutCall("create-location", {"name": "Loft", "key": "loft", "description": "Dusty."})
    up = {"fromLocationId": "inn", "direction": "up"}
    yield CutCall("create-exit", {**up, "toLocationId": "loft"})
    road = {"routeName": "Road", "stopIds": ["inn", "yard"]}
    yield CutCall("create-route", road)
    yield CutCall("remove-route", road)
    layer = {"scopeId": "inn", "layerType": "weather", "value": "rain", "fromTick": 0}
    yield CutCall("create-layer", layer)
    yield CutCall("create-character", {"name": "Cook", "key": "cook", "locationId": "inn"})
    yield CutCall("create-player", {"name": "Bob", "key": "bob", "locationId": "inn"})
    yield CutCall(
        "set-status", {"moverId": "bob", "conditions": [{"condition": "cold", "untilTick": None}]}
    )
    cup = {"name": "Cup", "key": "cup", "itemType": "thing", "holderId": "cook"}
    yield CutCall("create-item", cup)
    yield CutCall("record-event", {"eventType": "Town.Bell", "description": "It rang."})
    yield CutCall("move", {"moverId": "bob", "direction": "up"})
    yield CutCall("transfer-item", {"itemId": "cup", "toHolderId": "ann"})
    yield from _proposals()
    yield CutCall("remove-exit", up)


def _proposals() -> Iterator[CutCall]:
    params = {"locationId": "inn", "layerType": "dynamic", "layerContent": "Water drips."}
    action = {"actionType": "Layer.Add", "scopeKey": "loc:inn", "params": params}
    number = "00000000-0000-4000-8000-00000000"
    envelope = {
        "proposalId": f"{number}a001",
        "version": 1,
        "issuedUtc": "2025-01-15T00:00:00Z",
        "actor": {"kind": "system"},
        "correlationId": f"{number}c001",
        "idempotencyKey": "a-key",
    }
    yield CutCall(
        "propose-action",
        {"playerId": "ann", "actionEnvelope": {**envelope, "proposedActions": [action]}},
    )
    refused = {**envelope, "proposalId": f"{number}a002", "idempotencyKey": "b-key"}
    gone = {**action, "params": {**params, "locationId": "nowhere"}}
    yield CutCall(
        "propose-action",
        {"playerId": "ann", "actionEnvelope": {**refused, "proposedActions": [gone]}},
    )
    rain = {
        "scopeKey": "loc:inn",
        "locationId": "inn",
        "layerType": "weather",
        "layerContent": "Rain drums on the roof.",
    }
    queued = {"type": "Location.Environment.Changed", "payload": rain}
    yield CutCall("enqueue-world-event", queued)
    later = {**queued, "dueTick": 900_000_000}
    yield CutCall("enqueue-world-event", later, {"later": "proposalId"})
    yield CutCall("withdraw-proposal", {"proposalId": "$later", "reason": "the sky clears"})
    yield CutCall("enqueue-world-event", {**queued, "dueTick": 100})
    yield CutCall("advance-clock", {"durationMs": 10_000})


def _catalog() -> Iterator[CutCall]:
    yield CutCall("catalog_save_project", {"name": "Lab", "slug": "lab"}, {"lab": "id"})
    lab = {"projectId": "$lab"}
    for kind in ("guide", "concept"):
        row = {**lab, "entityType": kind, "title": kind.title(), "slug": kind}
        yield CutCall("catalog_save_entity", row, {kind: "id"})
    item = {"sourceType": "webpage", "url": "https://a.test/", "operatorIntent": "read"}
    yield CutCall("catalog_save_source_item", {**lab, **item})
    shown = {"platform": "x", "externalUrl": "https://x.test/1"}
    about = {"primaryEntityType": "guide", "primaryEntityId": "$guide"}
    yield CutCall("catalog_save_distribution_event", {**lab, **shown, **about})
    film = {"platform": "youtube", "externalUrl": "https://y.test/1"}
    yield CutCall("catalog_save_video", {**lab, **film, **about})
    link = {
        "fromEntityType": "guide",
        "fromEntityId": "$guide",
        "toEntityType": "concept",
        "toEntityId": "$concept",
        "relationType": "GUIDE_USES_CONCEPT",
    }
    yield CutCall("catalog_save_relation", {**lab, **link}, {"link": "id"})
    yield CutCall("catalog_withdraw_relation", {**lab, "relationId": "$link"})
    yield CutCall("catalog_move_entity", {**lab, "entityId": "$guide", "action": "archive"})


ServeToolsets = Callable[[Canon], Gateway]
"""Creates the gateway that serves all toolsets over a canon."""

_ASKED_MAX: Final = 5
"""Attempts of a call that is told to retry, because a view may be behind."""

_STEPS: Final = 3
"""Some calls of the session make at least this many appends."""
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


_KEPT: Final = re.compile(r"\$([a-z_0-9]+)")
_PASSING: Final = re.compile(r"2025-01-15T[0-9:.]+Z|1736[89][0-9]{11}|[0-9a-f]{64}")


class DiedError(BaseException):
    """The process has died: no code that follows in it runs."""


def _die() -> BaseException:
    return DiedError()


def _time_out() -> BaseException:
    message = f"The call was stopped after {SECONDS:g} s. Retry it, or ask for less."
    return Unavailable("call.deadline", message, seconds=SECONDS)


ENDS: Final[Mapping[str, Callable[[], BaseException]]] = {
    "killed": _die,
    "cancelled": asyncio.CancelledError,
    "out of time": _time_out,
}
"""Ways in which a call may end. The call's code meets the exception at an append."""


class CutLedger:
    """A ledger that ends the call after its append number `cut_at`."""

    def __init__(self, inner: Ledger) -> None:
        """Interrupt no call before `begin`."""
        self._inner = inner
        self.begin(0, _die)

    def begin(self, cut_at: int, end: Callable[[], BaseException]) -> None:
        """Count the appends of the next call. With 0 it is not interrupted."""
        self.cut_at, self.end = cut_at, end
        self.appends = 0
        self.cut = self.dead = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def append(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        """Append, and end the call at its append `cut_at`. A dead process appends nothing."""
        if self.dead:
            raise DiedError
        outcomes = await self._inner.append(batch)
        self.appends += any(isinstance(o, Appended) and not o.replayed for o in outcomes)
        if self.cut_at and self.appends == self.cut_at and not self.cut:
            self.cut, self.dead = True, self.end is _die
            raise self.end()
        return outcomes


class _OneNote(LocalFiles):
    """A folder with one file."""

    @override
    async def read(self, path: str, *, most: int) -> LocalFile:
        return LocalFile(name=path, data=NOTE.encode())


@dataclass(slots=True, kw_only=True)
class _Session:
    """A session on a store. `cut_at` is the append after which each call is cut off.

    Its replies must equal those of the session `like`. `replies` omit accidental ids and times.
    `appends` has the number of appends of each call.
    """

    backend: Backend
    serve: ServeToolsets
    cut_at: Sequence[int] = ()
    like: "_Session | None" = None
    keyed: bool = True
    end: Callable[[], BaseException] = _die
    kept: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    replies: list[tuple[str, str]] = field(default_factory=list)
    appends: list[int] = field(default_factory=list)
    served: tuple[CutLedger, Gateway] | None = None

    async def play(self) -> None:
        """Create a world, then make every call."""
        from canonry.world.domain.atlas import Atlas, Mover, Place  # noqa: PLC0415 - can be left out
        from canonry.world.usecases.exchange import import_world  # noqa: PLC0415 - as above

        place = Place(key="inn", name="Inn", description="A low room.")
        ann = Mover(key="ann", name="Ann", location="inn")
        atlas = Atlas(name="The Isle", starter="inn", locations=(place,), players=(ann,))
        builder = a_caller("Operator", "world import")
        done = await import_world(
            self.backend.canon, builder, atlas, origin="kit", told=lambda *_: None
        )
        self.kept["world"] = done.world_id
        for number, call in enumerate(every_call()):
            result = await self._call(call, number)
            self.names.clear()
            self.replies.append((call.tool, self._plain(result.text)))
            assert self.like is None or self.replies[-1] == self.like.replies[number], number
            assert result.error is None, (call.tool, result.text)
            self.kept |= {name: _at(result.body, path) for name, path in call.keeps.items()}

    async def _call(self, call: CutCall, number: int) -> Result:
        arguments = _filled(call.arguments, self.kept)
        ledger, gateway = self.served or self._serving()
        ledger.begin(self.cut_at[number] if self.cut_at else 0, self.end)
        meta = {KEY_META: f"call {number}"} if self.keyed else None
        who = self._caller(gateway, call.tool)
        result: Result | None = None
        try:
            result = await gateway.call(call.tool, arguments, who, meta)
        except (DiedError, asyncio.CancelledError):
            assert ledger.cut
        self.appends.append(ledger.appends)
        if ledger.cut:
            self.backend.clock.move(SECOND)
            if ledger.dead and self.backend.reopen is not None:
                self.backend = await self.backend.reopen()
            if ledger.dead:
                ledger, gateway = self._serving()
            for _ in range(_ASKED_MAX):
                result = await gateway.call(call.tool, arguments, who, meta)
                if '"retryable":true' not in result.text:
                    break
        assert result is not None
        return result

    def _serving(self) -> tuple[CutLedger, Gateway]:
        ledger = CutLedger(self.backend.canon.ledger)
        gateway = self.serve(revised(self.backend.canon, ledger=cast("Ledger", ledger)))
        filing = gateway.canon.service(RecordServices).filing
        if filing is not None:
            filing.local = _OneNote()
        self.served = ledger, gateway
        return self.served

    def _caller(self, gateway: Gateway, tool: str) -> Principal:
        offer = gateway.catalogue.find_tool(tool)
        assert offer is not None, f"no toolset serves {tool}"
        roles = offer.thing.roles - {"*"} or offer.toolset.agent_types
        role = "Solo" if "Solo" in roles else min(roles)
        world = SpaceId(self.kept["world"]) if offer.toolset.name == "world" else None
        return Principal(agent_id=role.lower(), agent_type=role, world=world, authorities=None)

    def _plain(self, text: str) -> str:
        named = _UUID.sub(lambda m: self.names.setdefault(m[0], f"#{len(self.names)}"), text)
        return _PASSING.sub("@", named)

    async def logs(self) -> list[list[str]]:
        """Return every commit of each space, in a comparable form."""
        ledger, told = self.backend.canon.ledger, list[list[str]]()
        for head in await ledger.heads(limit=100):
            self.names.clear()
            commits = await ledger.read(head.space, after=ORIGIN, limit=1_000)
            told.append([self._plain(f"{each.tool} {each.entries}") for each in commits])
        return sorted(told)


def _at(body: Any, path: str) -> str:
    for step in path.split("."):
        body = body[int(step)] if step.isdigit() else body[step]
    return str(body)


def _filled(value: Any, kept: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _KEPT.sub(lambda found: kept[found[1]], value)
    if isinstance(value, Mapping):
        return {name: _filled(each, kept) for name, each in value.items()}
    return [_filled(each, kept) for each in value] if isinstance(value, list) else value


class CutsContract(Contract):
    """For backends behind all toolsets. Subclasses have the fixtures `backend` and `serve`."""

    ends: ClassVar[tuple[str, ...]] = tuple(ENDS)
    rounds: ClassVar[int | None] = None
    """A slow backend may skip some ends, and limit the rounds of each."""

    @requirement("calls:cut:covered", because="A tool without this test may lose data.")
    async def test_every_tool_that_writes_is_cut(
        self, backend: Backend, serve: ServeToolsets
    ) -> None:
        """The interrupted session calls every writing tool."""
        tools = serve(backend.canon).catalogue.tools
        writing = {name for name, offer in tools.items() if not offer.read_only}

        assert writing - {call.tool for call in every_call()} == set()

    @requirement(
        "calls:key:changes-nothing",
        because="Of two steps of a call with one key, one would count as the other and be lost.",
    )
    async def test_a_key_changes_nothing_of_what_a_call_does(
        self, backend: Backend, serve: ServeToolsets
    ) -> None:
        """An idempotency key changes neither the reply nor the commits of a call."""
        with_keys = await _played(backend, serve)
        without = await _played(await backend.another(), serve, keyed=False, like=with_keys)

        assert await without.logs() == await with_keys.logs()

    @requirement(
        "calls:cut:anywhere",
        because="A client that does not know whether a call arrived sends it again with its key.",
    )
    async def test_f1_a_call_cut_off_anywhere_is_finished_by_sending_it_again(
        self, backend: Backend, serve: ServeToolsets
    ) -> None:
        """A call that is cut off after any of its appends is completed by sending it again.

        If the call was killed, cancelled or out of time, its retry with the same key gives the same
        reply and the same log as an uninterrupted call. This holds for every writing tool.
        """
        whole = await _played(backend, serve)
        logs = await whole.logs()
        assert max(whole.appends) > _STEPS, "no call of several appends is cut off"
        for end in self.ends:
            for turn in range(self.rounds or max(whole.appends)):
                # Each round cuts a call off after another of its appends.
                cut_at = [turn < n and 1 + (i + turn) % n for i, n in enumerate(whole.appends)]
                store = await backend.another()
                cut = await _played(store, serve, cut_at=cut_at, end=ENDS[end], like=whole)
                assert await cut.logs() == logs, (end, turn)


async def _played(backend: Backend, serve: ServeToolsets, **given: Any) -> _Session:
    session = _Session(backend=backend, serve=serve, **given)
    await session.play()
    return session
