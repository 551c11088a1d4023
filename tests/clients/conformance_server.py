"""Serve the requests of the protocol's conformance suite, through our gateway, over HTTP.

The names, texts and shapes are the suite's. This server leaves out the features that Canonry does
not have: it sends no logging and no sampling, elicits nothing, and its prompts are texts.
"""

import asyncio
import json
import sys
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.principal import Principal
from canonry.gateway.tool import (
    ANYONE,
    Arguments,
    Completion,
    CompletionPage,
    File,
    Noted,
    Prompt,
    PromptArgument,
    Reply,
    Resource,
    Tool,
    Toolset,
)
from canonry.server.http import LOCAL, http_app, serve_app
from canonry.server.options import ServerOptions
from canonry.values.errors import NotFound
from tests.gateway.sample import a_canon, a_gateway, a_tool, an_object, dialect

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000001000500010d0a2db4"
    "0000000049454e44ae426082"
)
SILENCE = b"RIFF$\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00" + bytes(20)
SAID = {"type": "text", "text": "This is a simple text response for testing."}
IMAGE = {"type": "image", "data": b64encode(PIXEL).decode(), "mimeType": "image/png"}
SOUND = {"type": "audio", "data": b64encode(SILENCE).decode(), "mimeType": "audio/wav"}


def embedded(name: str, mime_type: str, text: str) -> dict[str, Any]:
    """A resource as a part of a result."""
    inner = {"uri": f"test://{name}", "mimeType": mime_type, "text": text}
    return {"type": "resource", "resource": inner}


EMBEDDED = embedded("embedded-resource", "text/plain", "This is an embedded resource content.")
MIXED = embedded("mixed-content-resource", "application/json", '{"test":"data","value":123}')


def make_tool(*parts: Mapping[str, Any]) -> Any:
    """A tool that says these parts and nothing else."""

    async def run(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
        return Noted(parts=parts)

    return run


async def progress(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    for step in (0, 50, 100):
        await caller.progress(step, 100, "working")
    return {"done": True}


async def fail(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    message = "This tool intentionally returns an error for testing"
    raise NotFound("test.intended", message)


async def echo(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    return {"given": dict(arguments)}


SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


MIRRORED = an_object({"region": {"type": "string", "x-mcp-header": "Region"}})


async def static_text(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    return "This is the content of the static text resource."


async def static_binary(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> File:
    return File(data=PIXEL)


async def templated(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    name = variables["id"]
    return json.dumps({"id": name, "templateTest": True, "data": f"Data for ID: {name}"})


def a_resource(uri: str, mime_type: str, read: Any) -> Resource:
    """A resource of the suite."""
    name = uri.removeprefix("test://").replace("/", "-")
    return Resource(
        uri_template=uri,
        name=name,
        title=name,
        description="For tests.",
        mime_type=mime_type,
        roles=ANYONE,
        read=read,
    )


async def words(canon: Canon, caller: Caller, asked: Completion) -> CompletionPage:
    return [("testValue1", "one"), ("testValue2", "two")], 2


def a_test(name: str, run: Any, schema: Mapping[str, Any] | None = None) -> Tool:
    """A tool of the suite."""
    return a_tool(name, run, an_object({}) if schema is None else schema)


ARGUMENTS = tuple(
    PromptArgument(name=name, description="For tests.", required=True) for name in ("arg1", "arg2")
)

SUITE = Toolset(
    name="conformance",
    purpose="What the conformance suite asks for",
    server_name="canonry-conformance",
    contract_version="1.0.0",
    agent_types=ANYONE,
    default_agent_type="anybody",
    dialect=dialect,
    tools=(
        a_test("test_simple_text", make_tool(SAID)),
        a_test("test_image_content", make_tool(IMAGE)),
        a_test("test_audio_content", make_tool(SOUND)),
        a_test("test_embedded_resource", make_tool(EMBEDDED)),
        a_test("test_multiple_content_types", make_tool(SAID, IMAGE, MIXED)),
        a_test("test_tool_with_progress", progress),
        a_test("test_error_handling", fail),
        a_test("json_schema_2020_12_tool", echo, SCHEMA),
        a_test("test_custom_headers", echo, MIRRORED),
    ),
    resources=(
        a_resource("test://static-text", "text/plain", static_text),
        a_resource("test://static-binary", "image/png", static_binary),
        a_resource("test://template/{id}/data", "application/json", templated),
        a_resource("test://watched-resource", "text/plain", static_text),
    ),
    prompts=(
        Prompt(
            name="test_simple_prompt",
            title="Simple",
            description="For tests.",
            roles=ANYONE,
            arguments=(),
            render=lambda _: "This is a simple prompt for testing.",
        ),
        Prompt(
            name="test_prompt_with_arguments",
            title="With arguments",
            description="For tests.",
            roles=ANYONE,
            arguments=ARGUMENTS,
            render=lambda given: (
                f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"
            ),
        ),
    ),
    completions={"arg1": words},
)


async def main() -> None:
    """Serve until somebody ends the process; the address goes to standard output."""

    def say(address: str) -> None:
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()

    async def close() -> None:
        """Nothing is open."""

    gateway, options = a_gateway(SUITE, canon=a_canon()), ServerOptions()
    await serve_app(
        gateway,
        lambda: http_app(gateway, Principal(), server_options=options),
        address=(LOCAL, 0),
        server_options=options,
        close=close,
        listening=say,
    )


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
