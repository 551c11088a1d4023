"""The truth toolset: the Neotoma contract's actions, and the extensions that they need.

Only its face is loaded with the package; the tools are imported when somebody asks for them.
"""

from typing import TYPE_CHECKING, Final

from canonry.gateway.face import Face, lazily

if TYPE_CHECKING:
    from canonry.records.toolset.toolset import EXACT, TRUTH

__all__ = ["EXACT", "FACE", "TRUTH"]

_USE: Final = (
    "Store what you read or hear with ingest: a file as file_content with mime_type, or records as "
    "entities, each with entity_type and its fields as they were said. Records of one entity come "
    "together by its identifiers (a number, an e-mail, a tax id), never by a guess; "
    "possible_duplicates names near misses, and merge_entities joins them if they are one. Read "
    "with get_entity_snapshot, retrieve_entities or get_entity_by_identifier; at gives an earlier "
    "state."
)
_KEPT: Final = (
    "Every field leads to its source with get_field_provenance. If a field is wrong, correct it: a "
    "correction wins over every source. Nothing is ever overwritten."
)
_ERRORS: Final = "Errors are {error: {code, message, details, trace_id}}."
FACE: Final = Face(
    name="truth",
    purpose="One current truth for each entity, from documents and records, with its sources",
    server_name="neotoma",
    contract_version="1.0.0",
    instructions=(
        f"{_USE} search_records finds records by words and fields, and summarise_records adds "
        f"them up: never add up a list yourself. {_KEPT} user_id may be left out: it is the user "
        f"for whom the server speaks, and an error tells it in details.expected. {_ERRORS}"
    ),
    contract_instructions=f"{_USE} {_KEPT} {_ERRORS}",
)

__getattr__ = lazily(__name__, "EXACT", "TRUTH")
