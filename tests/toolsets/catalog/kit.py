"""A catalog to test the tools in: a hostile fixture of our own, imported, and real calls on it."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jsonschema_rs

from canonry.app.compose import compose_memory
from canonry.canon.session.canon import Canon
from canonry.catalog.toolset import CATALOG
from canonry.catalog.usecases.exchange import CatalogImported, import_catalog
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.gateway.replies import Result
from canonry.testing.clocks import CountingIdentities, HandClock, a_caller
from canonry.values.ids import SpaceId, is_uuid
from canonry.values.moments import parse_instant

Arrays = dict[str, list[dict[str, Any]]]

LAB: Final = "00000000-0000-4000-a000-000000000001"
OTHER: Final = "00000000-0000-4000-a000-000000000002"
EMPTY: Final = "ffffffff-ffff-ffff-ffff-ffffffffffff"
NOWHERE: Final = "00000000-0000-4000-8000-00000000dead"
SHARED: Final = "0190a7c8-0000-7000-8000-00000000000a"
"""The id, of version 7, of a guide and of a source item."""

CODES: Final = frozenset(
    ("PROJECT_NOT_FOUND", "VALIDATION_ERROR", "ENTITY_NOT_FOUND", "INTERNAL_ERROR")
)


def _is_instant(text: str) -> bool:
    parse_instant(text)
    return True


REPLIES: Final = {
    tool.name: jsonschema_rs.validator_for(
        dict(tool.output_schema),
        formats={"uuid": is_uuid, "date-time": _is_instant},
        validate_formats=True,
    )
    for tool in CATALOG.tools
}


def make_uuid(number: int) -> str:
    """An entity's id."""
    return f"00000000-0000-4000-8000-{number:012x}"


def entity_row(number: int, kind: str, title: str, **more: Any) -> dict[str, Any]:
    """A row of an entity; its slug is made of its kind and number."""
    return {
        "id": make_uuid(number),
        "projectId": LAB,
        "entityType": kind,
        "title": title,
        "slug": f"{kind}-{number}",
        "createdAt": "2025-01-01T00:00:00.000Z",
        "updatedAt": "2025-02-01T00:00:00.000Z",
        **more,
    }


def relation_row(
    number: int, rel_type: str, source: str, target: str, **more: Any
) -> dict[str, Any]:
    """A row of a relation; the kinds of its ends follow from its type."""
    from canonry.log.schemas.catalog_tables import RELATIONS  # noqa: PLC0415

    joint = RELATIONS[rel_type]
    return {
        "id": f"10000000-0000-4000-8000-{number:012x}",
        "projectId": LAB,
        "fromEntityType": joint.source,
        "fromEntityId": source,
        "toEntityType": joint.target,
        "toEntityId": target,
        "relationType": rel_type,
        "createdAt": "2025-01-01T00:00:00.000Z",
        **more,
    }


def hostile_names() -> Arrays:
    """Names that mean something to a database, ids of several versions, and awkward graphs."""
    late = {"updatedAt": "2025-03-01T00:00:00.123Z"}
    nil = "00000000-0000-0000-0000-000000000000"
    entities = [
        entity_row(1, "guide", "100% sure", summary="about \\ and _", **late),
        entity_row(2, "guide", "snake_case", contentRef="guides/2.md", difficulty="beginner"),
        entity_row(3, "concept", "Stra\u00dfe", conceptKind="standard", summary=""),
        entity_row(
            4, "concept", "STRASSE", conceptKind="comparison", comparisonTargets=[make_uuid(3), nil]
        ),
        entity_row(5, "concept", "cafe\u0301", summary="combining"),
        entity_row(6, "concept", "caf\u00e9", summary="composed", status="archived"),
        entity_row(
            7, "concept", "\u0130stanbul", status="published", publishedAt="2025-01-02T00:00:00Z"
        ),
        entity_row(8, "concept", "istanbul"),
        entity_row(9, "project", "dragon \U0001f409", repoUrl="https://example.org", license="MIT"),
        entity_row(10, "news", "alpha", status="publish_requested"),
        entity_row(11, "news", "ALPHA", summary="the same in capitals"),
        entity_row(12, "concept", "alone"),
        entity_row(13, "guide", 'say "hello"; DROP TABLE', summary="100\u00a0%"),
        {**entity_row(14, "guide", "shared id"), "id": SHARED},
        {**entity_row(15, "concept", "nil"), "id": nil},
        {**entity_row(16, "concept", "foreign"), "projectId": OTHER},
        entity_row(17, "concept", "circle a"),
        entity_row(18, "concept", "circle b"),
        entity_row(19, "concept", "circle c"),
    ]
    links = [
        ("GUIDE_USES_CONCEPT", make_uuid(1), make_uuid(3)),
        ("GUIDE_EXPLAINS_CONCEPT", make_uuid(1), make_uuid(3)),
        ("GUIDE_USES_CONCEPT", make_uuid(1), make_uuid(4)),
        ("GUIDE_USES_CONCEPT", make_uuid(2), make_uuid(4)),
        ("CONCEPT_RELATES_TO_CONCEPT", make_uuid(3), make_uuid(4)),
        ("CONCEPT_RELATES_TO_CONCEPT", make_uuid(4), make_uuid(3)),
        ("CONCEPT_RELATES_TO_CONCEPT", make_uuid(5), make_uuid(5)),
        ("CONCEPT_RELATES_TO_CONCEPT", make_uuid(5), make_uuid(6)),
        ("NEWS_REFERENCES_CONCEPT", make_uuid(10), make_uuid(7)),
        ("NEWS_REFERENCES_CONCEPT", make_uuid(11), make_uuid(7)),
        ("PROJECT_IMPLEMENTS_CONCEPT", make_uuid(9), make_uuid(7)),
        ("PROJECT_HAS_GUIDE", make_uuid(9), make_uuid(1)),
        ("GUIDE_REFERENCES_SOURCE", make_uuid(1), SHARED),
        ("GUIDE_USES_CONCEPT", SHARED, nil),
        ("GUIDE_REFERENCES_SOURCE", SHARED, SHARED),
        ("DISTRIBUTION_PROMOTES_GUIDE", make_uuid(1), make_uuid(1)),
        ("VIDEO_EXPLAINS_CONCEPT", make_uuid(1), make_uuid(3)),
        ("CONCEPT_RELATES_TO_CONCEPT", make_uuid(17), make_uuid(18)),
        ("CONCEPT_RELATES_TO_CONCEPT", make_uuid(18), make_uuid(19)),
        ("CONCEPT_RELATES_TO_CONCEPT", make_uuid(19), make_uuid(17)),
    ]
    about = {"projectId": LAB, "platform": "x", "createdAt": "2025-01-01T00:00:00Z"}
    about["updatedAt"] = about["createdAt"]
    shown = {
        "primaryEntityType": "guide",
        "primaryEntityId": make_uuid(1),
        "externalUrl": "https://x",
    }
    item = {"id": SHARED, "sourceType": "webpage", "url": "https://s", "operatorIntent": "read"}
    item["capturedAt"] = "2025-01-01T00:00:00Z"
    return {
        "projects": [
            project_row(LAB, "alpha Lab"),
            project_row(OTHER, "Alpha Lab", description="another"),
            project_row(EMPTY, "beta"),
        ],
        "entities": entities,
        "sourceItems": [{**about, **item}],
        "distributionEvents": [{**about, **shown, "id": make_uuid(1)}],
        "videos": [{**about, **shown, "id": make_uuid(1)}],
        "relations": [
            relation_row(n, *link, notes="first" if n == 0 else None)
            for n, link in enumerate(links)
        ],
    }


def project_row(project_id: str, name: str, **more: Any) -> dict[str, Any]:
    then = "2025-01-01T00:00:00.000Z"
    slug = f"slug-{project_id[-1]}"
    return {
        "id": project_id,
        "name": name,
        "slug": slug,
        "createdAt": then,
        "updatedAt": then,
        **more,
    }


def shuffle_rows(arrays: Arrays, seed: int) -> Arrays:
    """The same rows in another order."""
    order = random.Random(seed)
    return {name: order.sample(rows, len(rows)) for name, rows in arrays.items()}


@dataclass(frozen=True)
class CatalogDriver:
    """A canon with the gateway of the catalog; every reply is checked against its schema."""

    canon: Canon
    gateway: Gateway
    spaces: frozenset[SpaceId] | None = None

    async def outcome(self, tool: str, arguments: Mapping[str, Any]) -> Result:
        """Return the result of a call, be it a reply or an error."""
        outcome = await self.gateway.call(tool, arguments, Principal(spaces=self.spaces))
        if outcome.error is None:
            problems = [str(each.message) for each in REPLIES[tool].iter_errors(outcome.body)]
            assert not problems, (tool, problems)
        else:
            assert set(outcome.body) == {"error"}
            assert set(outcome.body["error"]) == {"code", "message", "details"}
            assert outcome.body["error"]["code"] in CODES
        return outcome

    async def call(self, tool: str, **arguments: Any) -> Any:
        """The reply of a call that succeeds."""
        outcome = await self.outcome(tool, arguments)
        assert outcome.error is None, outcome.text
        return outcome.body

    async def refused(self, tool: str, **arguments: Any) -> Any:
        """The error of a call that fails."""
        outcome = await self.outcome(tool, arguments)
        assert outcome.error is not None, outcome.text
        return outcome.body["error"]


def make_catalog_driver(canon: Canon | None = None) -> CatalogDriver:
    """A shelf without anything on it."""
    canon = canon or compose_memory(clock=HandClock(), identities=CountingIdentities())
    return CatalogDriver(canon=canon, gateway=Gateway(canon, (CATALOG,)))


async def make_filled_driver(
    arrays: Mapping[str, Sequence[Any]], canon: Canon | None = None
) -> CatalogDriver:
    """A shelf with these rows."""
    driver = make_catalog_driver(canon)
    await import_rows(driver.canon, arrays)
    return driver


async def import_rows(
    canon: Canon, arrays: Mapping[str, Sequence[Any]], **how: bool
) -> CatalogImported:
    """Import these rows."""
    caller = a_caller("Operator")
    return await import_catalog(canon, caller, arrays, lambda _done, _total: None, **how)
