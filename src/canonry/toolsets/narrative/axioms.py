"""Axiom tools: create, query; extensions, for the contract speaks of rules and makes none."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.domain.things.facts import AxiomDomain, AxiomDraft, Constraint
from canonry.domain.vocabularies.narrative_relations import relation_type
from canonry.gateway.tool import ANYONE, Arguments, Reply, Tool
from canonry.toolsets.narrative.replies.present import AXIOM, listing, present_axiom
from canonry.toolsets.narrative.replies.schemas import SHARE, TEXT, UUID, array, enum, obj
from canonry.toolsets.narrative.requests.arguments import (
    limit_of,
    offset_of,
    text_of,
    texts_of,
    uuid_of,
)
from canonry.toolsets.narrative.requests.backings import KEEPER, backing_of, created, created_schema
from canonry.toolsets.narrative.requests.pages import PAGING, QUERY_MAX
from canonry.usecases.graph.create_axiom import NewAxiom, create_axiom
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.queries.query_axioms import query_axioms

_PATH: Final = "/constraint"
_FORBIDDEN_RELATION: Final = "forbidden_relation"
_CONSTRAINT: Final = obj(
    {
        "kind": enum("forbidden_tag", "exclusive_tags", _FORBIDDEN_RELATION),
        "values": {**array(TEXT), "minItems": 1},
    },
    {"entity_type": enum("character", "faction", "location", "object", "concept", "organization")},
)


async def _create(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    given = arguments.get("constraint")
    new = NewAxiom(
        statement=text_of(arguments, "statement", limits.statement),
        domain=AxiomDomain(arguments["domain"]),
        constraint=None if given is None else _constraint(given, limits.tag),
    )
    receipt = await create_axiom(canon, caller, backing_of(arguments), new)
    return created(receipt, AxiomDraft, "axiom_id")


def _constraint(given: Mapping[str, Any], limit: int) -> Constraint:
    values = texts_of(given, "values", limit, within=_PATH)
    if given["kind"] == _FORBIDDEN_RELATION:
        values = tuple(
            relation_type(value, path=f"{_PATH}/values/{index}").name
            for index, value in enumerate(values)
        )
    return Constraint(kind=given["kind"], values=values, entity_type=given.get("entity_type"))


async def _query(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    page = await query_axioms(
        canon,
        caller,
        uuid_of(arguments, "universe_id"),
        limit=limit_of(arguments, default=50, maximum=QUERY_MAX),
        offset=offset_of(arguments),
    )
    shown: list[Any] = [present_axiom(axiom) for axiom in page.items]
    return {"axioms": shown, "total": page.total}


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        name="neo4j_create_axiom",
        title="Create axiom",
        description=(
            "Lay down a law of the world. With a constraint, canonization refuses whatever breaks "
            "it."
        ),
        input_schema=obj(
            {
                "universe_id": UUID,
                "statement": TEXT,
                "domain": enum(*AxiomDomain),
                "authority": enum("source", "gm", "system"),
                "evidence_refs": array(TEXT),
            },
            {"constraint": _CONSTRAINT, "confidence": {**SHARE, "default": 1.0}},
        ),
        output_schema=created_schema("axiom_id"),
        roles=KEEPER,
        run=_create,
        read_only=False,
        extension=True,
    ),
    Tool(
        name="neo4j_query_axioms",
        title="Query axioms",
        description="List the laws of a universe, oldest first.",
        input_schema=obj({"universe_id": UUID}, PAGING),
        output_schema=listing("axioms", AXIOM),
        roles=ANYONE,
        run=_query,
        read_only=True,
        idempotent=True,
        extension=True,
    ),
)
