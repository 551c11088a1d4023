"""Record: typed records from claims and words, and how they are shown."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from canonry.assistant.claims import briefly, evidence_of
from canonry.assistant.desk import Desk, checked
from canonry.assistant.rows import Row, filled
from canonry.canon.ports.files import FileHint
from canonry.canon.session.caller import step
from canonry.canon.session.lookup import account_of
from canonry.gateway.tool import Reply
from canonry.language.texts.stems import stems_of
from canonry.log.items.entities import Entity
from canonry.log.schemas.narrative import DESCRIPTION
from canonry.log.schemas.schemas import TruthRelation
from canonry.log.schemas.typed_records import RESERVED
from canonry.readmodels.ports.state import EntityQuery
from canonry.readmodels.ranking import sought_in
from canonry.records.domain.asking import sought, texts_in, words_in
from canonry.records.domain.assertions import Warned
from canonry.records.domain.interpretations import Found, require_record
from canonry.records.domain.shown import Shown, shown_by
from canonry.records.usecases.asking import excerpt_of, own_records
from canonry.records.usecases.corrections import Correction, correct_field
from canonry.records.usecases.files import GivenFile
from canonry.records.usecases.ingest_file import ingest_file
from canonry.records.usecases.record_source import (
    GivenRecords,
    ingest_records,
)
from canonry.records.usecases.records import list_entities
from canonry.records.usecases.relationships import relate_entities
from canonry.records.usecases.schemas import schema_of, schemas_for
from canonry.records.usecases.services import ROWS_MAX
from canonry.values.errors import Conflict, InvalidInput, NotFound, NotSupported
from canonry.values.json_values import encode_json, folded

_UNKNOWN: Final = frozenset({"unknown_field", "not_in_schema"})
_MATCHES: Final = 5
"""So many fields of a record are shown that say what was looked for."""


def why_raw(reason: str) -> str:
    """Why a field is raw, in words."""
    plain = reason.replace("-", "_")
    return "unknown to the schema" if plain in _UNKNOWN else plain.replace("_", " ")


def raw_fields(shown: Shown) -> dict[str, Any]:
    """The fields that the schema has no place for, each with the reason."""
    return {
        name: {"value": each.value, "because": why_raw(each.reason)}
        for name, each in shown.fragments.items()
        if name != DESCRIPTION
    }


def described(shown: Shown) -> str:
    """What a record says of itself in words, whether or not its schema has a field for that."""
    raw = shown.fragments.get(DESCRIPTION)
    said = shown.fields.get(DESCRIPTION, None if raw is None else raw.value)
    return said if isinstance(said, str) else ""


async def records_saying(desk: Desk, text: str, limit: int) -> list[Entity]:
    """The records that have every word of the text in a field or in its name, the newest first.

    The index of words leaves out what nobody looks for in a world, such as a no or a version. Of
    an account that is too large to be kept in memory nothing is found so.
    """
    every = await list_entities(
        desk.canon, desk.caller, account_of(desk.caller).user_id, EntityQuery(limit=1, offset=0)
    )
    if every.total > ROWS_MAX:
        return []
    words, table = sought(text), await own_records(desk.canon, desk.caller)
    found: list[str] = []
    for row in reversed(table.ordered if words else ()):
        if len(found) == limit:
            break
        missing = [word for word in words if word not in row.said]
        if missing:
            names = words_in(" ".join((*row.fields, *row.unclear)).replace("_", " "))
            missing = [word for word in missing if word not in names]
        if not missing:
            found.append(row.id)
    seen = await desk.canon.within(desk.space.id).things(found)
    return [each for i in found if isinstance(each := seen.get(i), Entity)]


async def fields_saying(
    desk: Desk, text: str, entities: Sequence[Entity]
) -> Mapping[str, Mapping[str, str]]:
    """For each record the fields that say a word of the text, as far as they say it."""
    account, stems = account_of(desk.caller), frozenset(sought_in(text).stems)
    schemas = await schemas_for(desk.canon, account, entities)
    found: dict[str, Mapping[str, str]] = {}
    for entity in entities:
        shown = shown_by(entity, schema_of(schemas, account, entity))
        values = {n: each.value for n, each in shown.fragments.items()} | dict(shown.fields)
        said = {
            name: "; ".join(texts_in(each)) or encode_json(each).decode()
            for name, each in values.items()
        }
        hits = {
            name: excerpt_of(
                each, next((w.strip() for w in sought(text) if w in words_in(each)), "")
            )
            for name, each in said.items()
            if not stems.isdisjoint(stems_of(f"{name.replace('_', ' ')} {each}"))
        }
        found[entity.id] = dict(list(hits.items())[:_MATCHES])
    return found


_SAYS: Final = {"name": "name", "says": DESCRIPTION, "tags": "tags"}
"""As which fields a record keeps what an entity's claim says beside its fields."""
_RAW: Final = "raw_fields are kept as you gave them; get shows them, a correction changes them"


async def record_claims(
    desk: Desk, claims: Sequence[Mapping[str, Any]], arguments: Mapping[str, Any]
) -> Reply:
    """Claims about one's own records: each is one's own word, beside what sources say."""
    dry = bool(arguments.get("dry_run"))
    for n, claim in enumerate(claims):
        if claim["kind"] not in {"entity", "relation", "correction"}:
            message = (
                f"/claims/{n}: an account keeps records, no {claim['kind']}s; say it as a field "
                "of an entity (kind correction), decide a merge, or tell the words in a space for "
                "statements, and name that in space"
            )
            raise NotSupported("claim.account", message, path=f"/claims/{n}/kind")
        if "for" in claim:
            message = f"/claims/{n}/for: nobody else reads your account; leave it out"
            raise NotSupported("claim.account", message, path=f"/claims/{n}/for")
    await _require_known(desk, claims)
    told_by = await _told_by(desk, claims, arguments, dry=dry)
    recorded = await _recorded(desk, claims, told_by, dry=dry)
    rows = [
        recorded.get(n) or await _own(desk, one, n, told_by, dry=dry)
        for n, one in enumerate(claims)
    ]
    good = sum(row["verdict"] == "accepted" for row in rows)
    reply: Row = {"accepted": good, "of": len(rows), "verdicts": rows}
    if any("raw_fields" in row for row in rows):
        reply["hint"] = _RAW
    return {"written": False, **reply} if dry else reply


async def _told_by(
    desk: Desk, claims: Sequence[Mapping[str, Any]], arguments: Mapping[str, Any], *, dry: bool
) -> Row:
    """What the claims rest on, which the source of their records keeps."""
    cited = [*arguments.get("evidence", ()), *(e for c in claims for e in c.get("evidence", ()))]
    evidence = [str(each) for each in await evidence_of(desk, cited, "/evidence")]
    if (said := arguments.get("said")) is not None and not dry:
        text = checked(said, desk.canon.policy.limits.snippet, path="/said")
        hint = FileHint(mime_type="text/plain; charset=utf-8", name="What was said")
        given = GivenFile(data=text.encode(), hint=hint)
        account, inner = account_of(desk.caller), step(desk.caller, "said")
        evidence.append(
            f"source:{(await ingest_file(desk.canon, inner, account, given)).source.id}"
        )
    told: Row = {"evidence": evidence, "authority": arguments.get("authority")}
    sure = [claim["confidence"] for claim in claims if "confidence" in claim]
    return filled({**told, "confidence": min(sure, default=None)})


async def _require_known(desk: Desk, claims: Sequence[Mapping[str, Any]]) -> None:
    """Refuse what names nobody, and relations that an account does not have, before any is written.

    Raises:
        InvalidInput: `relationship.type-unknown`, or that a name is empty or too long.
        NotFound: as a name is looked up.
    """
    new = {folded(claim["name"]) for claim in claims if claim["kind"] == "entity"}
    for n, claim in enumerate(claims):
        if claim["kind"] == "entity":
            checked(claim["name"], desk.canon.policy.limits.name, path=f"/claims/{n}/name")
            _record(claim, f"/claims/{n}")
        if claim["kind"] == "relation" and _edge(claim) not in list(TruthRelation):
            message = f"an account relates by {', '.join(TruthRelation)}; say others as fields"
            raise InvalidInput("relationship.type-unknown", message, path=f"/claims/{n}/type")
        for end in ("from", "to", "of"):
            if end in claim and folded(claim[end]) not in new:
                await desk.entity(claim[end], path=f"/claims/{n}/{end}")


def _edge(claim: Mapping[str, Any]) -> str:
    kind: str = claim["type"]
    return kind.strip().upper().replace(" ", "_")


async def _recorded(
    desk: Desk, claims: Sequence[Mapping[str, Any]], told_by: Mapping[str, Any], *, dry: bool
) -> Mapping[int, Row]:
    """The claimed entities by their numbers, which are records of one source: all or none."""
    told = {n: claim for n, claim in enumerate(claims) if claim["kind"] == "entity"}
    records = [_record(claim, f"/claims/{n}") for n, claim in told.items()]
    rows: dict[int, Row] = {
        n: {"claim": claim["name"], "verdict": "accepted"} for n, claim in told.items()
    }
    if told and not dry:
        given = GivenRecords(entities=records, provenance=told_by or None)
        recorded = await ingest_records(desk.canon, desk.caller, None, given)
        for place, (row, made) in enumerate(zip(rows.values(), recorded.records, strict=True)):
            row["id"] = made.entity_id
            if raw := _unread(recorded.warnings, f"/entities/{place}/"):
                row["raw_fields"] = raw
    return rows


def _record(claim: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """The claim as a record: its fields, beside what it says of itself.

    Raises:
        InvalidInput: `claim.said-twice`, `claim.field-name`, or as `require_record` says.
    """
    given = claim.get("fields", {})
    own = {member: claim[name] for name, member in _SAYS.items() if name in claim}
    for name in given:
        if name in RESERVED:
            message = (
                f"{path}/fields/{name}: every record has that member; call the field otherwise"
            )
            raise InvalidInput("claim.field-name", message, path=f"{path}/fields/{name}")
        if name in own and given[name] != own[name]:
            member = next(said for said, member in _SAYS.items() if member == name)
            message = f"{path}/fields/{name} says something else than {path}/{member}; keep one"
            raise InvalidInput("claim.said-twice", message, path=f"{path}/fields/{name}")
    require_record(Found(entity_type=claim["type"], fields={**given, **own}), path)
    return {"entity_type": claim["type"], **given, **own}


def _unread(warnings: Sequence[Warned], path: str) -> Row:
    """The fields of a record that its schema could not take, and why; they are kept as given."""
    return {
        name: why_raw(each.code.removeprefix("field."))
        for each in warnings
        if each.path.startswith(path)
        and (name := each.path.removeprefix(path)) != DESCRIPTION
        and each.code != "field.missing"
    }


async def _own(
    desk: Desk, claim: Mapping[str, Any], number: int, told_by: Row, *, dry: bool
) -> Row:
    """What became of a relation or a correction; a wrong one undoes none of the others."""
    row: Row = {"claim": briefly(claim), "verdict": "accepted"}
    try:
        return row if dry else {**row, "id": await _said_so(desk, claim, told_by, number)}
    except (InvalidInput, Conflict, NotFound) as error:
        return {**row, "verdict": "rejected", "rule": error.code, "because": error.message}


async def _said_so(desk: Desk, claim: Mapping[str, Any], told_by: Row, number: int) -> str:
    path, caller = f"/claims/{number}", step(desk.caller, f"claim {number}")
    if claim["kind"] == "relation":
        from_, to = [await desk.entity(claim[end], path=f"{path}/{end}") for end in ("from", "to")]
        when = {"when": claim["when"]} if "when" in claim else {}
        metadata = {**when, **claim.get("fields", {})}
        ends = (from_.id, to.id)
        made, _ = await relate_entities(desk.canon, caller, _edge(claim), ends, metadata)
        return made.id
    entity = await desk.entity(claim["of"], path=f"{path}/of")
    wrong = Correction(
        entity_id=entity.id,
        entity_type=entity.entity_type,
        field=DESCRIPTION if claim["field"] == "says" else claim["field"],
        value=claim["value"],
        any_field=True,
        grounds=filled({"reason": claim.get("says"), **told_by}),
    )
    await correct_field(desk.canon, caller, None, wrong)
    return entity.id
