"""`canonry tools`: list or explain the tools that the server offers to agents."""

import inspect
import json
from typing import Any

import click

from canonry.app.packages import TOOLSETS, load_toolsets
from canonry.app.serving import served_toolsets
from canonry.cli.options import all_options, command_from, settings_from
from canonry.gateway.tool import ANYONE, Tool, Toolset
from canonry.values.errors import NotFound
from canonry.values.json_values import encode_json


@command_from("tools", settings=all_options)
def tools(*, name: str | None, as_json: bool, **given: Any) -> None:
    """List tools with the agent types that may call them, or explain the tool NAME."""
    settings = settings_from(given)
    chosen = settings.toolsets if name is None else tuple(TOOLSETS)
    offered = [
        (toolset, tool)
        for toolset in served_toolsets(settings, load_toolsets(chosen))
        for tool in toolset.tools
    ]
    if name is None:
        _list_tools(offered, as_json=as_json)
        return
    found = next((pair for pair in offered if pair[1].name == name), None)
    if found is None:
        message = f"There is no tool {name}. Run `canonry tools` to list all tools."
        raise NotFound("tool.unknown", message, name=name)
    _explain_tool(*found, as_json=as_json)


def _list_tools(offered: list[tuple[Toolset, Tool]], *, as_json: bool) -> None:
    if as_json:
        _print_json([_tool_data(toolset, tool) for toolset, tool in offered])
        return
    width = max((len(tool.name) for _, tool in offered), default=0)
    for toolset, tool in offered:
        mark = "+" if tool.extension else " "
        roles = "anyone" if tool.roles == ANYONE else ", ".join(sorted(tool.roles))
        click.echo(f"{mark} {tool.name:{width}}  {toolset.name:10} {roles}")
    if any(tool.extension for _, tool in offered):
        click.echo("\n+ extension: not in the published contract; --contract-only hides it")


def _explain_tool(toolset: Toolset, tool: Tool, *, as_json: bool) -> None:
    data = _tool_data(toolset, tool)
    if as_json:
        _print_json(data)
        return
    click.echo(f"{tool.name}: {tool.title}\n\n{tool.description}\n")
    click.echo(f"toolset   {toolset.name}{', an extension' if tool.extension else ''}")
    click.echo(f"roles     {', '.join(data['roles'])}")
    traits = [name for name in ("read_only", "destructive", "idempotent") if data[name]]
    click.echo(f"effect    {', '.join(traits).replace('_', ' ') or 'writes'}")
    click.echo(f"code      {data['lives_in']}\n")
    click.echo("arguments")
    _print_properties(tool.input_schema)
    for part in ("example", "input_schema", "output_schema"):
        click.echo(f"\n{part.replace('_', ' ')}")
        click.echo("\n".join(f"  {line}" for line in json.dumps(data[part], indent=2).splitlines()))


def _print_properties(schema: Any) -> None:
    required = set(schema.get("required", ()))
    properties = schema.get("properties", {})
    width = max(map(len, properties), default=0)
    if not properties:
        click.echo("  none")
    for name, inner in properties.items():
        need = "required" if name in required else "optional"
        click.echo(f"  {name:{width}}  {need}  {_kind_text(inner)}")
        if about := inner.get("description"):
            click.echo(click.wrap_text(about, 90, "      ", "      "))


def _kind_text(schema: Any) -> str:
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    kind = schema.get("type", "any")
    text = kind if isinstance(kind, str) else " or ".join(kind)
    if text == "array":
        text = f"list of {_kind_text(schema.get('items', {}))}"
    if "format" in schema:
        text = f"{schema['format']}"
    bounds = [f"{word} {schema[key]}" for key, word in _BOUNDS.items() if key in schema]
    if "default" in schema:
        bounds.append(f"default {schema['default']}")
    return f"{text} ({', '.join(bounds)})" if bounds else text


_BOUNDS = {"minimum": "from", "maximum": "to"}
_SAMPLES: Any = {"string": "text", "integer": 1, "number": 0.9, "boolean": True, "object": {}}
_FORMATS = {"uuid": "01890a5d-ac96-774b-bcce-b302099a8057", "date-time": "2025-01-15T12:00:00Z"}


def example_of(schema: Any) -> Any:
    """Return valid arguments: the schema's example, the required properties, or the first."""
    shown = [*schema.get("examples", ())[:1], *schema.get("enum", ())[:1]]
    if "default" in schema or shown:
        return schema["default"] if "default" in schema else shown[0]
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), None)
    if kind == "object":
        wanted = schema.get("required") or list(schema.get("properties", ()))[:1]
        return {name: example_of(schema["properties"].get(name, {})) for name in wanted}
    if kind == "array":
        return [example_of(schema.get("items", {}))]
    if kind == "number" and "maximum" in schema:
        return min(0.9, schema["maximum"])
    return _FORMATS.get(schema.get("format", ""), _SAMPLES.get(str(kind), "text"))


def _tool_data(toolset: Toolset, tool: Tool) -> dict[str, Any]:
    run = tool.compose or tool.run
    inner = inspect.unwrap(getattr(run, "func", run))
    module = getattr(inner, "__module__", type(inner).__module__)
    line = inner.__code__.co_firstlineno if inspect.isfunction(inner) else 1
    _, _, text = tool.description.partition("Example: ")
    made = not text.startswith("{")
    return {
        "name": tool.name,
        "toolset": toolset.name,
        "title": tool.title,
        "description": tool.description,
        "roles": sorted(tool.roles) if tool.roles != ANYONE else ["anyone of a known type"],
        "extension": tool.extension,
        "read_only": tool.read_only,
        "destructive": tool.destructive,
        "idempotent": tool.idempotent,
        "lives_in": f"src/{module.replace('.', '/')}.py:{line}",
        "example": (
            example_of(tool.input_schema) if made else json.JSONDecoder().raw_decode(text)[0]
        ),
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
    }


def _print_json(value: Any) -> None:
    click.echo(encode_json(value).decode())
