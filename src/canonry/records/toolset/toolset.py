"""The toolset `truth`: its tools, resources and errors."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import account_of, entity_id_in, require_account
from canonry.gateway.offers import ContractFile, brief_schema
from canonry.gateway.replies import INTERNAL_ERROR, INVALID_PARAMS, DialectTable
from canonry.gateway.tool import (
    ANYONE,
    Completion,
    CompletionPage,
    ErrorBody,
    FindCompletions,
    Tool,
    Toolset,
    Variables,
)
from canonry.gateway.toolset_introduction import Face
from canonry.records.toolset import entities, ingestion, queries
from canonry.records.toolset.contract import entries, published, truth_tool
from canonry.records.toolset.entities import get_snapshot
from canonry.records.toolset.queries import list_types
from canonry.records.toolset.shapes import FILE, SOURCE_LINK, TABLE, as_json
from canonry.records.usecases.records import list_entities
from canonry.values.data_files import read_toml
from canonry.values.errors import CanonryError, Unavailable

_TYPES_SHOWN: Final = 1_000


async def _account_json(canon: Canon, caller: Caller, variables: Variables) -> str:
    account = require_account(caller, variables["user_id"])
    types = await list_types(canon, caller, limit=_TYPES_SHOWN)
    return as_json({"user_id": account.user_id, **types})


async def _entity_json(canon: Canon, caller: Caller, variables: Variables) -> str:
    entity_id = entity_id_in(variables["entity_id"], "/entity_id")
    return as_json(await get_snapshot(canon, caller, entity_id))


async def _complete_accounts(canon: Canon, caller: Caller, asked: Completion) -> CompletionPage:
    del canon  # accounts of others are not listed
    own = account_of(caller).user_id
    return asked.page_of([(own, "Your own account")])


async def _complete_entities(canon: Canon, caller: Caller, asked: Completion) -> CompletionPage:
    page = await list_entities(canon, caller, None, asked.entity_query())
    return [(each.id, f"{each.name} ({each.entity_type})") for each in page.items], page.total


async def _complete_sources(canon: Canon, caller: Caller, asked: Completion) -> CompletionPage:
    found = await canon.state.sources(account_of(caller).space, **asked.page_read)
    named = [(e.id, e.title or e.file_name or e.source_type.value) for e in found.items]
    return asked.page_among(named, found.total)


COMPLETIONS: Final[Mapping[str, FindCompletions]] = {
    "user_id": _complete_accounts,
    "entity_id": _complete_entities,
    "source_id": _complete_sources,
}


RESOURCES: Final = (
    TABLE.make_resource("account", _account_json),
    TABLE.make_resource("entity", _entity_json),
    SOURCE_LINK,
    FILE,
)


CODES: Final[Mapping[str, str]] = read_toml(__package__, "codes.toml")
"""Codes of Canonry that have their own code in the contract.

`DB_DELETE_FAILED` is not used: no action of the contract deletes, and erasing is not a tool.
"""

_TABLE: Final = DialectTable.read_table(__package__, codes=CODES)
_OTHER_TYPE: Final = ("/relationship_type", "enum")
"""The path and keyword of a schema error for an unknown type of relationship."""
_STORE: Final = ("ledger.", "blobs.", "state.", "text.", "canon.contended")
_UPDATES: Final = frozenset({"merge_entities", "unmerge_entities"})
_NUMBERS: Final = {400: INVALID_PARAMS, 403: -32001, 404: -32002, 429: -32005, 503: -32005}


def truth_error(
    error: CanonryError, *, tool: str, caller: Caller | None, trace_id: str = ""
) -> ErrorBody:
    """Word an error as the contract's envelope, with Canonry's code as `reason`."""
    del caller  # errors do not depend on the caller
    code = code_of(error, tool)
    status = published()["errors"][code]
    details = {**error.details, "reason": error.code, "retryable": error.retryable}
    if "retry_after" in details:
        details["retry_after_seconds"] = math.ceil(details.pop("retry_after"))
    body: dict[str, Any] = {
        "code": code,
        "message": error.message,
        "details": details,
        "trace_id": trace_id,
        "http_status": status,
    }
    number = _NUMBERS.get(status, INTERNAL_ERROR)
    return ErrorBody(code=number, message=error.message, data=body, wire={"error": body})


def code_of(error: CanonryError, tool: str) -> str:
    """Return the contract's code for an error of a tool."""
    stored = isinstance(error, Unavailable) and error.code not in CODES
    if stored and error.code.startswith(_STORE):
        if tool == "upload_file" and error.code.startswith("blobs."):
            return "UPLOAD_FAILED"
        if tool in _UPDATES:
            return "DB_UPDATE_FAILED"
        entry = entries().get(tool)
        return "DB_INSERT_FAILED" if entry and not entry["read_only"] else "DB_QUERY_FAILED"
    fault = (error.details.get("path"), error.details.get("keyword"))
    return (
        _TABLE.codes["relationship.type-unknown"]
        if fault == _OTHER_TYPE
        else _TABLE.error_name(error)
    )


_RUNS: Final = ingestion.RUNS | entities.RUNS | queries.RUNS

EXACT: Final[tuple[Tool, ...]] = tuple(truth_tool(name, _RUNS[name]) for name in entries())
"""The tools with complete reply schemas. The tests check every reply against them."""


def outline_reply(tool: Tool) -> Tool:
    """Return the tool with a short output schema, which has only the type of each property.

    Clients load all schemas before their first call, and long ones cost tokens. Every reply that
    fits the exact schema fits the short one.
    """
    exact = tool.output_schema
    properties = {name: brief_schema(each) for name, each in exact["properties"].items()}
    outline = {"type": "object", "properties": properties, "required": exact["required"]}
    return replace(tool, output_schema=outline)


FACE: Final = Face.read_face(__package__)
TRUTH: Final = Toolset(
    **FACE.to_fields(),
    agent_types=ANYONE,
    default_agent_type="Assistant",  # the contract has users and no roles
    traced=True,
    dialect=truth_error,
    tools=tuple(map(outline_reply, EXACT)),
    remedies={
        "type.unknown": "Use list_entity_types to list all types.",
        "interpretation.failed": "Use reinterpret to read the file again.",
    },
    resources=RESOURCES,
    completions=COMPLETIONS,
    descriptions=ContractFile("canonry.records.toolset.contract", "words.json").read_contract(),
)
