"""The truth toolset: the actions of the Neotoma contract, with extensions.

Importing the package loads only the face. The tools are imported on demand.
"""

from typing import TYPE_CHECKING, Final

from canonry.gateway.face import Face, lazily

if TYPE_CHECKING:
    from canonry.records.toolset.toolset import EXACT, TRUTH

__all__ = ["EXACT", "FACE", "TRUTH"]

_USE: Final = (
    "Store data with ingest: a file as file_content with mime_type, or records as entities, each "
    "with entity_type and its fields as stated. Records with the same identifier (a number, "
    "an e-mail, a tax id) become one entity. possible_duplicates lists entities that may be the "
    "same; join them with merge_entities. Read with get_entity_snapshot, retrieve_entities or "
    "get_entity_by_identifier. Use at to read an earlier state."
)
_KEPT: Final = (
    "get_field_provenance shows the source of a field. If a field is wrong, call correct: a "
    "correction wins over every source. Nothing is ever overwritten."
)
_ERRORS: Final = "Errors are {error: {code, message, details, trace_id}}."
FACE: Final = Face(
    name="truth",
    purpose="The current values of each entity, from documents and records, with their sources",
    server_name="neotoma",
    contract_version="1.0.0",
    instructions=(
        f"{_USE} search_records finds records by words and fields. summarise_records adds them "
        f"up: never add up a list yourself. {_KEPT} You can leave out user_id. If you give a "
        f"wrong one, details.expected of the error has the right one. {_ERRORS}"
    ),
    contract_instructions=f"{_USE} {_KEPT} {_ERRORS}",
)

__getattr__ = lazily(__name__, "EXACT", "TRUTH")
