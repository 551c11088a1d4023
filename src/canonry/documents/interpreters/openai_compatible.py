"""The OpenAI protocol for chat completions: an answer in words that satisfies a JSON schema."""

import json
from collections.abc import Mapping
from typing import Any, Final

from canonry.documents.interpreters.answering import ModelProtocol
from canonry.documents.interpreters.prompt import ANSWER_SCHEMA, INSTRUCTIONS
from canonry.models.endpoint import bearer


def _body(question: str) -> Mapping[str, Any]:
    return {
        "messages": [
            {"role": "system", "content": INSTRUCTIONS},
            {"role": "user", "content": question},
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "entities", "strict": True, "schema": ANSWER_SCHEMA},
        },
    }


def _said(answer: Any) -> Any:
    return json.loads(answer["choices"][0]["message"]["content"])


OPENAI: Final = ModelProtocol(
    provider="openai", path="/chat/completions", headers=bearer, body=_body, said=_said
)
