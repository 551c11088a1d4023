"""Recording: claims about an account, each one's own word beside what sources say."""

from collections.abc import Mapping, Sequence
from typing import Any

from canonry.domain.errors import Conflict, InvalidInput, NotFound, NotSupported
from canonry.domain.normal_forms import folded
from canonry.domain.vocabularies.truth_relations import TruthRelation
from canonry.gateway.tool import Reply
from canonry.toolsets.canon.claims import briefly
from canonry.toolsets.canon.desk import Desk, checked
from canonry.toolsets.canon.rows import Row
from canonry.usecases.kernel.caller import step
from canonry.usecases.truth.correct_field import Correction, correct_field
from canonry.usecases.truth.ingest_records import GivenRecords, ingest_records
from canonry.usecases.truth.relate_entities import NewRelationship, relate_entities


async def record_claims(desk: Desk, claims: Sequence[Mapping[str, Any]], *, dry: bool) -> Reply:
    """Claims about one's own records: each is one's own word, beside what sources say."""
    for n, claim in enumerate(claims):
        if claim["kind"] not in {"entity", "relation", "correction"}:
            message = (
                f"/claims/{n}: an account keeps records, no {claim['kind']}s; say it as a field "
                "of an entity (kind correction), decide a merge, or open a space for statements"
            )
            raise NotSupported("claim.account", message, path=f"/claims/{n}/kind")
    await _require_known(desk, claims)
    recorded = await _recorded(desk, claims, dry=dry)
    rows = [recorded.get(n) or await _own(desk, one, n, dry=dry) for n, one in enumerate(claims)]
    good = sum(row["verdict"] == "accepted" for row in rows)
    reply = {"accepted": good, "of": len(rows), "verdicts": rows}
    return {"written": False, **reply} if dry else reply


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
    desk: Desk, claims: Sequence[Mapping[str, Any]], *, dry: bool
) -> Mapping[int, Row]:
    """The claimed entities by their numbers, which are records of one source: all or none."""
    told = {n: claim for n, claim in enumerate(claims) if claim["kind"] == "entity"}
    rows: dict[int, Row] = {
        n: {"claim": claim["name"], "verdict": "accepted"} for n, claim in told.items()
    }
    if told and not dry:
        given = GivenRecords(entities=[_record(claim) for claim in told.values()])
        recorded = await ingest_records(desk.canon, desk.caller, None, given)
        for row, made in zip(rows.values(), recorded.records, strict=True):
            row["id"] = made.entity_id
    return rows


def _record(claim: Mapping[str, Any]) -> Mapping[str, Any]:
    said = {"description": claim["says"]} if "says" in claim else {}
    return {"entity_type": claim["type"], **claim.get("fields", {}), "name": claim["name"], **said}


async def _own(desk: Desk, claim: Mapping[str, Any], number: int, *, dry: bool) -> Row:
    """What became of a relation or a correction; a wrong one undoes none of the others."""
    row: Row = {"claim": briefly(claim), "verdict": "accepted"}
    try:
        return row if dry else {**row, "id": await _said_so(desk, claim, number)}
    except (InvalidInput, Conflict, NotFound) as error:
        return {**row, "verdict": "rejected", "rule": error.code, "because": error.message}


async def _said_so(desk: Desk, claim: Mapping[str, Any], number: int) -> str:
    path, caller = f"/claims/{number}", step(desk.caller, f"claim {number}")
    if claim["kind"] == "relation":
        from_, to = [await desk.entity(claim[end], path=f"{path}/{end}") for end in ("from", "to")]
        new = NewRelationship(
            rel_type=_edge(claim),
            from_id=from_.id,
            to_id=to.id,
            metadata=claim.get("fields", {}),
        )
        return (await relate_entities(desk.canon, caller, new)).relation.id
    entity = await desk.entity(claim["of"], path=f"{path}/of")
    wrong = Correction(
        entity_id=entity.id,
        entity_type=entity.entity_type,
        field=claim["field"],
        value=claim["value"],
    )
    await correct_field(desk.canon, caller, None, wrong)
    return entity.id
