"""Describe the tools of a caller as an OpenAPI 3.1 document."""

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any, Final

from canonry import __version__
from canonry.gateway.offers import Offer
from canonry.gateway.tool import Tool

PREFIX: Final = "/api/v1"
Listed = tuple[Offer[Tool], Mapping[str, Any]]
"""A tool, and its entry in lists."""

_DEFS: Final = "#/$defs/"
_SCHEMAS: Final = "#/components/schemas/"


def openapi_of(listed: Iterable[Listed], *, bearer: bool) -> dict[str, Any]:
    """Return the document about these tools: each is one operation with its name.

    `bearer` says whether the server wants tokens.
    """
    document: dict[str, Any] = json.loads(files(__package__).joinpath("openapi.json").read_bytes())
    document["info"]["version"] = __version__
    operation = json.dumps(document.pop("operation"))
    schemas = document["components"]["schemas"]
    if not bearer:
        del document["security"], document["components"]["securitySchemes"]
    for offer, entry in listed:
        name, taken = offer.item.name, entry["inputSchema"]
        schemas |= _hoist_definitions(taken, f"{name}.arguments")
        reply = entry.get("outputSchema", offer.item.output_schema)
        schemas |= _hoist_definitions(reply, f"{name}.reply")
        post = json.loads(operation.replace("TOOL", name))
        post |= {"summary": entry["title"], "description": entry["description"]}
        post["tags"] = [offer.toolset.name]
        post["requestBody"]["required"] = bool(taken.get("required"))
        if offer.read_only:
            del post["parameters"][-1]
        document["paths"][f"{PREFIX}/tools/{name}"] = {"post": post}
    return document


def _hoist_definitions(schema: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the schema as `name`, and its definitions beside it.

    References count from the root of the document, so definitions cannot stay in the schema.
    """

    def move_refs(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [move_refs(each) for each in value]
        if not isinstance(value, Mapping):
            return value
        target = value.get("$ref")
        if isinstance(target, str) and target.startswith(_DEFS):
            value = {**value, "$ref": f"{_SCHEMAS}{name}.{target.removeprefix(_DEFS)}"}
        return {key: move_refs(each) for key, each in value.items() if key != "$defs"}

    parts = {f"{name}.{part}": move_refs(inner) for part, inner in schema.get("$defs", {}).items()}
    return {name: move_refs(schema), **parts}
