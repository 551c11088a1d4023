"""Apps: what a client that can show pages shows beside a tool's reply, by the MCP Apps extension.

Each is one page without any address in it, of the sheet of the pages and one script; it asks the
client for everything, and the tool's own text stays what it was for all others.
"""

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.tool import Resource, Tool, Toolset, Variables
from canonry.inspector.drawing import LANGUAGES, catalogue_of

MIME: Final = "text/html;profile=mcp-app"
APPS: Final = {"review": "review", "timeline": "timeline", "get-spatial-context": "map"}
"""By tools, what shows their replies."""

_TITLES: Final = {
    "review": ("Review", "What waits, to accept or reject."),
    "timeline": ("Timeline", "What happened, in order."),
    "map": ("Map", "The places around one, and the ways to them."),
}
_TEXTS: Final = (
    *("nav.review", "nav.timeline", "nav.map", "review.none", "review.total", "review.perhaps"),
    *("review.failed", "review.reason", "reason", "verdict.accept", "verdict.reject", "nothing"),
    *("map.picture", "map.places", "find.total", "app.wait", "pages.after"),
)


def with_apps(toolsets: Iterable[Toolset]) -> tuple[Toolset, ...]:
    """The toolsets, whose tools name what shows their replies, with that beside them."""
    return tuple(_with_apps(each) for each in toolsets)


def _with_apps(toolset: Toolset) -> Toolset:
    tools = tuple(map(_shown, toolset.tools))
    found = {APPS[each.name]: each for each in tools if each.app is not None}
    added = tuple(_resource(name, tool) for name, tool in found.items())
    return replace(toolset, tools=tools, resources=(*toolset.resources, *added))


def _shown(tool: Tool) -> Tool:
    named = APPS.get(tool.name)
    return tool if named is None else replace(tool, app=f"ui://canonry/{named}")


def _resource(name: str, tool: Tool) -> Resource:
    async def read(canon: Canon, caller: Caller, variables: Variables) -> str:
        del canon, caller, variables  # it tells nothing by itself
        return page_of(name)

    title, says = _TITLES[name]
    return Resource(
        uri_template=f"ui://canonry/{name}",
        name=f"{name}-app",
        title=title,
        description=says,
        mime_type=MIME,
        roles=tool.roles,
        read=read,
    )


@cache
def page_of(name: str) -> str:
    """The page of an app, with all that it needs."""
    static = files("canonry.inspector").joinpath("static")
    sheet, script = (
        static.joinpath(each).read_text(encoding="utf-8") for each in ("style.css", "app.js")
    )
    said = {code: {key: catalogue_of(code)[key] for key in _TEXTS} for code in LANGUAGES}
    texts = json.dumps(said).replace("<", "\\u003c")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Canonry</title><style>\n{sheet}</style></head>"
        f'<body data-app="{name}"><main id="main" aria-live="polite"></main>'
        f'<script type="application/json" id="texts">{texts}</script>'
        f'<script type="module">\n{script}</script></body></html>\n'
    )
