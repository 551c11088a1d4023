"""Export an account: all that it holds as plain JSON, a line a thing, for whoever it belongs to.

The log of a store can be verified and brought in again; this can be read without Canonry.
"""

from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any, Final

from canonry.canon.session.account import account_of, require_told
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.every_item import every_item, every_match
from canonry.log.items.relations import Relation
from canonry.log.items.sources import Source
from canonry.log.schemas.narrative_fields import PROPERTY_PREFIX
from canonry.readmodels.ports.state import EntityQuery, RelationQuery
from canonry.records.domain.shown import shown_by
from canonry.records.usecases.schemas_in_force import schema_of, schemas_for
from canonry.values.ids import EntityId
from canonry.values.json_values import encode_json
from canonry.values.observations import Observation
from canonry.values.time import render_instant

FORMAT: Final = "canonry-account"
FORMAT_VERSION: Final = 1


async def export_account(canon: Canon, caller: Caller) -> AsyncIterator[bytes]:
    """The lines: the account, its sources, each entity before its observations, and the edges.

    Raises:
        NotFound: `account.unknown`, nothing was ever told in it.
    """
    account = account_of(caller)
    await require_told(canon, account.space)
    yield _line({"format": FORMAT, "version": FORMAT_VERSION, "user_id": account.user_id})
    async for source in every_item(partial(canon.state.sources, account.space)):
        yield _line({"source": _source(source)})
    spaces = frozenset((account.space,))
    query = EntityQuery(spaces=spaces, include_merged=True)
    async for entity in every_match(canon.state.entities, query):
        schemas = await schemas_for(canon, account, (entity,))
        shown = shown_by(entity, schema_of(schemas, account, entity))
        fragments = {n: {"value": f.value, "reason": f.reason} for n, f in shown.fragments.items()}
        yield _line(
            {
                "entity": {
                    "id": entity.id,
                    "entity_type": entity.entity_type,
                    "name": entity.name,
                    "merged_into": entity.merged_into,
                    "fields": shown.fields,
                    "observations": shown.sources,
                    "raw_fragments": fragments,
                }
            }
        )
        async for seen in every_item(partial(canon.state.observations_newest, _only(entity.id))):
            yield _line({"observation": _observation(seen)})
    async for relation in every_match(canon.state.relations, RelationQuery(spaces=spaces)):
        yield _line({"relationship": _relation(relation)})


def _only(entity_id: EntityId) -> tuple[EntityId]:
    return (entity_id,)


def _source(source: Source) -> Mapping[str, Any]:
    return {
        "id": source.id,
        "title": source.title,
        "file_name": source.file_name,
        "mime_type": source.mime_type,
        "size": source.size,
        "content_hash": source.content_hash,
        "files": source.files,
        "content": source.content,
        "created_at": render_instant(source.created_at),
    }


def _observation(seen: Observation) -> Mapping[str, Any]:
    return {
        "id": seen.id,
        "entity_id": seen.entity_id,
        "source_id": seen.source_id,
        "fields": {n.removeprefix(PROPERTY_PREFIX): value for n, value in seen.fields.items()},
        "raw_fragments": {
            n: {"value": f.value, "reason": f.reason} for n, f in seen.fragments.items()
        },
        "correction": seen.correction,
        "observed_at": render_instant(seen.seen_at),
        "recorded_at": render_instant(seen.recorded_at),
    }


def _relation(relation: Relation) -> Mapping[str, Any]:
    return {
        "id": relation.id,
        "relationship_type": relation.rel_type,
        "source_entity_id": relation.from_id,
        "target_entity_id": relation.to_id,
        "ended": relation.ended,
        "metadata": relation.properties,
        "created_at": render_instant(relation.created_at),
    }


def _line(value: Mapping[str, Any]) -> bytes:
    return encode_json(value) + b"\n"
