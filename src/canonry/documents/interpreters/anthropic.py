"""The Anthropic protocol for messages: one call of a tool whose input satisfies a JSON schema."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.documents.interpreters.answering import ModelProtocol
from canonry.documents.interpreters.prompt import ANSWER_SCHEMA, INSTRUCTIONS

_VERSION: Final = "2023-06-01"
_TOOL: Final = "record_entities"


def _headers(key: str | None) -> Mapping[str, str]:
    return {"anthropic-version": _VERSION, **({} if key is None else {"x-api-key": key})}


def _body(question: str) -> Mapping[str, Any]:
    return {
        "system": INSTRUCTIONS,
        "messages": [{"role": "user", "content": question}],
        "tools": [
            {
                "name": _TOOL,
                "description": "Record the entities that the document states.",
                "input_schema": ANSWER_SCHEMA,
            }
        ],
        "tool_choice": {"type": "tool", "name": _TOOL},
    }


def _said(answer: Any) -> Any:
    return next(each for each in answer["content"] if each.get("type") == "tool_use")["input"]


ANTHROPIC: Final = ModelProtocol(
    provider="anthropic", path="/messages", headers=_headers, body=_body, said=_said
)
