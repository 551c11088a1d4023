"""Axiom tools: create, query; and the one that supports any thing of canon with more evidence.

They are extensions, for the contract speaks of rules and of evidence and makes none.
"""

from collections.abc import Mapping
from typing import Any, Final

from canonry.canon.commands.create_axiom import NewAxiom, create_axiom
from canonry.canon.commands.link_evidence import link_evidence
from canonry.canon.queries.query_axioms import query_axioms
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import SHARE, TEXT, UUID, Shape, array, enum, obj, optional
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.log.items.facts import AxiomDomain, AxiomDraft, Constraint
from canonry.log.schemas.narrative_relations import relation_type
from canonry.narrative.toolset.arguments import backing_of, text_of, texts_of, uuid_of
from canonry.narrative.toolset.contract import listing_tool, writing_tool
from canonry.narrative.toolset.rows import Listing, RowShape
from canonry.narrative.toolset.shapes import AXIOM, WORDS, canon_created, created
from canonry.values.provenance import parse_evidence

_PATH: Final = "/constraint"
_FORBIDDEN_RELATION: Final = "forbidden_relation"
_CONSTRAINT: Final = Shape(
    kind=enum("forbidden_tag", "exclusive_tags", _FORBIDDEN_RELATION),
    values=array(TEXT).but(minItems=1),
    entity_type=optional(
        enum("character", "faction", "location", "object", "concept", "organization")
    ),
)
_CREATED: Final = canon_created("axiom_id")
_LINKED: Final = Shape(canonical_id=UUID.of("id"), evidence_refs=WORDS.of("evidence"))


async def _create(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    given = arguments.get("constraint")
    new = NewAxiom(
        statement=text_of(arguments, "statement", limits.statement),
        domain=AxiomDomain(arguments["domain"]),
        constraint=None if given is None else _constraint(given, limits.tag),
    )
    receipt = await create_axiom(canon, caller, backing_of(arguments), new)
    return created(_CREATED, receipt, AxiomDraft)


def _constraint(given: Mapping[str, Any], limit: int) -> Constraint:
    values = texts_of(given, "values", limit, within=_PATH)
    if given["kind"] == _FORBIDDEN_RELATION:
        values = tuple(
            relation_type(value, path=f"{_PATH}/values/{index}").name
            for index, value in enumerate(values)
        )
    return Constraint(kind=given["kind"], values=values, entity_type=given.get("entity_type"))


async def _link(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    evidence = parse_evidence(arguments["evidence_ref"], path="/evidence_ref")
    return _LINKED(await link_evidence(canon, caller, uuid_of(arguments, "canonical_id"), evidence))


TOOLS: Final[tuple[Tool, ...]] = (
    writing_tool(
        "neo4j_create_axiom",
        "Create axiom",
        "Lay down a law of the world. With a constraint, canonization refuses whatever breaks it.",
        _create,
        takes=obj(
            {
                "universe_id": UUID,
                "statement": TEXT,
                "domain": enum(*AxiomDomain),
                "authority": enum("source", "gm", "system"),
                "evidence_refs": array(TEXT),
            },
            {"constraint": _CONSTRAINT, "confidence": SHARE.but(default=1.0)},
        ),
        gives=_CREATED,
    ),
    listing_tool(
        "neo4j_query_axioms",
        "Query axioms",
        "List the laws of a universe, oldest first.",
        query_axioms,
        within="universe_id",
        gives=Listing(
            "axioms", RowShape(AXIOM, "axiom_id", "statement", "domain", "constraint", "authority")
        ),
    ),
    writing_tool(
        "neo4j_link_evidence",
        "Link evidence",
        "Support an entity, relation, fact, event or axiom with one more reference, written "
        "kind:uuid.",
        _link,
        takes=obj({"canonical_id": UUID, "evidence_ref": TEXT}),
        gives=_LINKED,
        idempotent=True,
    ),
)
