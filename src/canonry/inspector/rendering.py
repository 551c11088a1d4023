"""Render pages in the user's language, with their headers, and the apps of clients."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from canonry import __version__
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.tool import Resource, Tool, Toolset, Variables
from canonry.language.texts.visible import escape_hidden
from canonry.values.moments import Instant, render_instant

LANGUAGES: Final[Mapping[str, str]] = {"en": "English", "de": "Deutsch"}
"""Code -> name of the language in itself."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one language."""

    language: str

    def text_of(self, key: str, /, **values: Any) -> str:
        """Return the text of a key with its values filled in.

        Raises:
            KeyError: if there is no such text.
        """
        text = catalogue_of(self.language).get(key) or catalogue_of("en")[key]
        return text.format_map(values) if values else text

    def label_of(self, group: str, name: str) -> str:
        """Return the label of a value of a vocabulary; the value itself without one."""
        key = f"{group}.{name}"
        return catalogue_of(self.language).get(key) or catalogue_of("en").get(key, name)


@cache  # read from a file once a language
def catalogue_of(language: str) -> Mapping[str, str]:
    """Return key -> text; the keys are flat, because a translator reads one list."""
    path = files("canonry.inspector").joinpath("catalogue", f"{language}.json")
    found: Mapping[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return found


def language_of(chosen: str | None, accepted: str) -> str:
    """Return the chosen language, or else the first one that the browser accepts."""
    if chosen is not None and chosen in LANGUAGES:
        return chosen
    for each in accepted.split(",")[:20]:
        code = each.strip().partition(";")[0].partition("-")[0].lower()
        if code in LANGUAGES:
            return code
    return "en"


TITLE_MAX: Final = 160
"""The most characters of a name in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFrame:
    """The frame of every page: the reader's language and rights, and the times of the page.

    `asked` are the parameters of the request; `moves` says whether the page depends on time.
    """

    texts: Texts
    form_key: str
    path: str
    asked: Mapping[str, tuple[str, ...]]
    tools: frozenset[str]
    leaves: bool = False
    who: str = ""

    def asked_for(self, name: str) -> str:
        """Return a parameter of the request, or an empty text."""
        return next(iter(self.asked.get(name, ())), "")

    def address(self, **changes: Any) -> str:
        """Return the address of this page with other parameters; None removes one."""
        kept = {name: values for name, values in self.asked.items() if name not in changes}
        for name, value in changes.items():
            if value not in (None, ""):
                kept[name] = (str(value),)
        return _with_query(self.path, kept)

    def to(self, path: str, **more: Any) -> str:
        """Return the address of another page at the same times."""
        if not more and self.asked.keys().isdisjoint(TIMES):
            return path
        times = {name: self.asked[name] for name in TIMES if self.asked.get(name)}
        given = {name: (str(value),) for name, value in more.items() if value not in (None, "")}
        return _with_query(path, {**times, **given})


_OPTIONAL_PAGES: Final = {
    "/map": ("canonry.world", "canonry.inspector.views.atlas:atlas_page"),
    "/catalog": ("canonry.catalog", "canonry.inspector.views.catalog_rows:catalog_page"),
}
"""Path -> the package that the page needs, and "module:attribute" of the page."""


@cache  # searches the import path
def installed_pages() -> Mapping[str, str]:
    """Return the optional pages whose packages are installed, by their paths."""
    return {
        path: target
        for path, (package, target) in _OPTIONAL_PAGES.items()
        if find_spec(package) is not None
    }


_DATED: Final = re.compile(r"[+-]?\d{4,6}-\d\d")
NONE: Final = "\N{EN DASH}"
TIMES: Final = ("at", "known")
"""The parameters of every page: a valid time and a transaction time."""


def draw_template(template: str, frame: PageFrame, /, **values: Any) -> str:
    """Return the page of `template`; its space is that of `seen`, if it has one."""
    values = {"space": (values.get("seen") or {}).get("space"), **values}
    return (
        _make_environment()
        .get_template(template)
        .render(
            frame=frame, t=frame.texts.text_of, word=frame.texts.label_of, to=frame.to, **values
        )
    )


@cache  # templates are compiled once: bench inspector
def _make_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("canonry.inspector"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible_value,
    )
    environment.filters |= {
        "brief": shorten_text,
        "data": as_data,
        "exact": render_instant,
        "linked": link_names,
        "moment": _time_markup,
        "value": as_text,
    }
    environment.globals |= {
        "version": __version__,
        "asset": asset_address,
        "optional_pages": installed_pages(),
    }
    return environment


def shorten_text(text: str, most: int = TITLE_MAX) -> str:
    """Return the text, or its beginning if it is long."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def link_names(text: str, names: Mapping[str, Sequence[tuple[int, int, str]]], to: Any) -> Markup:
    """Return the text with a link for each name in it; `to` makes the address of a page."""
    shown, reached = Markup(), 0
    for first, last, of in names.get(text, ()):
        if first >= reached:
            shown += escape_hidden(text[reached:first])
            link = Markup('<a href="{}">{}</a>')
            shown += link.format(to(f"/thing/{of}"), escape_hidden(text[first:last]))
            reached = last
    return shown + escape_hidden(text[reached:])


def as_data(value: Any) -> Markup:
    """Return a value as JSON for a script element; it cannot close the element."""
    text = json.dumps(value, ensure_ascii=True)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 - the markup in it is escaped


def as_text(value: Any) -> str:
    """Return a JSON value as text for people."""
    match value:
        case str():
            return value
        case True:
            return "✓"
        case False:
            return "✗"
        case None:
            return NONE
        case list() | tuple():
            return ", ".join(map(as_text, value))
        case _:
            return json.dumps(value, ensure_ascii=False, default=str)


def _time_markup(instant: Instant | str | None) -> Markup:
    """Return a time as people write it, with the exact time as its title."""
    if instant is None:
        return escape(NONE)
    exact = instant if isinstance(instant, str) else render_instant(instant)
    if not _DATED.match(exact):
        return escape(escape_hidden(exact))  # a time in words
    day, _, rest = exact.partition("T")
    clock = "" if rest[:5] in {"", "00:00"} else f" {rest[:5]}"
    return Markup('<time datetime="{}" title="{}">{}{}</time>').format(exact, exact, day, clock)


def _visible_value(value: Any) -> Any:
    """Return the value with control and bidirectional characters spelled out."""
    return (
        escape_hidden(value) if isinstance(value, str) and not isinstance(value, Markup) else value
    )


@cache  # each page asks for the same files
def asset_address(name: str) -> str:
    """Return the address of a static file; each version has another one."""
    return f"/static/{quote(name)}?v={__version__}"


@cache  # asks the file system
def has_asset(name: str) -> bool:
    """Return whether the package holds a file; third-party files are added at the build."""
    return files("canonry.inspector").joinpath("static", name).is_file()


def _with_query(path: str, asked: Mapping[str, tuple[str, ...]]) -> str:
    pairs = [(name, value) for name, values in asked.items() for value in values]
    return f"{path}?{urlencode(pairs, errors='replace')}" if pairs else path


_LISTS: Final = {
    "facts": "fact",
    "relations": "relation",
    "turns_said": "turn",
    "passages": "passage",
}


def difference_row(field: str, item_id: str, one: Any, other: Any) -> dict[str, Any]:
    """Return a field with its two values, None if a side has none; `item_id` is a related item."""
    return {"field": field, "id": item_id, "one": one, "other": other, "same": one == other}


def difference_rows(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every field of either side, in the order of the first; `fields` is flattened."""
    sides = dict(_flatten_row(one)), dict(_flatten_row(other))
    keys = dict.fromkeys([*sides[0], *sides[1]])
    return [difference_row(*key, *(side.get(key) for side in sides)) for key in keys]


def _flatten_row(row: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Any]]:
    for name, value in row.items():
        if name == "fields" and isinstance(value, Mapping):
            yield from (((field, ""), each) for field, each in value.items())
        elif name in _LISTS:
            yield from (((_LISTS[name], each["id"]), each["says"]) for each in value)
        elif name not in {"hint", "id", "space"}:
            yield (name, ""), value


POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_ALWAYS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
_UNKEPT: Final = (b"cache-control", b"private, no-store")
_KEPT: Final = (b"cache-control", b"private, max-age=3600")


class GuardedHeaders:
    """Adds the security headers to every answer of an application."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        static = scope["path"].startswith("/static/")

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = _KEPT if static and message["status"] == 200 else _UNKEPT  # noqa: PLR2004
                message = {**message, "headers": [*message["headers"], *_ALWAYS, kept]}
            await send(message)

        await self._app(scope, receive, send_guarded)


# Apps: pages that a client shows with a tool's reply, by the MCP Apps extension.
#
# Each is one page without addresses: the style sheet of the pages and one script. It asks its
# client for everything, and the text of the tool's reply does not change for other clients.

MIME: Final = "text/html;profile=mcp-app"
APPS: Final = {"review": "review", "timeline": "timeline", "get-spatial-context": "map"}
"""Tool -> the app that shows its reply."""

_TITLES: Final = {
    "review": ("Review", "Pending items, to accept or reject."),
    "timeline": ("Timeline", "Events, in order."),
    "map": ("Map", "The locations around one, and the exits to them."),
}
_TEXTS: Final = (
    *("nav.review", "nav.timeline", "nav.map", "review.none", "review.total", "review.perhaps"),
    *("review.failed", "review.reason", "reason", "verdict.accept", "verdict.reject", "nothing"),
    *("map.picture", "map.places", "find.total", "app.wait", "pages.after"),
)


def with_apps(toolsets: Iterable[Toolset]) -> tuple[Toolset, ...]:
    """Return the toolsets with their apps; each tool names the app that shows its reply."""
    return tuple(_with_apps(each) for each in toolsets)


def _with_apps(toolset: Toolset) -> Toolset:
    tools = tuple(
        replace(tool, app=f"ui://canonry/{APPS[tool.name]}") if tool.name in APPS else tool
        for tool in toolset.tools
    )
    found = {APPS[each.name]: each for each in tools if each.app is not None}
    added = tuple(_app_resource(name, tool) for name, tool in found.items())
    return replace(toolset, tools=tools, resources=(*toolset.resources, *added))


def _app_resource(name: str, tool: Tool) -> Resource:
    async def read_page(canon: Canon, caller: Caller, variables: Variables) -> str:
        del canon, caller, variables  # the page alone reveals nothing
        return app_page(name)

    title, description = _TITLES[name]
    return Resource(
        uri_template=f"ui://canonry/{name}",
        name=f"{name}-app",
        title=title,
        description=description,
        mime_type=MIME,
        roles=tool.roles,
        read=read_page,
    )


@cache  # read from files once
def app_page(name: str) -> str:
    """Return the page of an app with its style sheet and script."""
    static = files("canonry.inspector").joinpath("static")
    style_sheet, script = (
        static.joinpath(each).read_text(encoding="utf-8") for each in ("style.css", "app.js")
    )
    texts_by_language = {
        code: {key: catalogue_of(code)[key] for key in _TEXTS} for code in LANGUAGES
    }
    texts = json.dumps(texts_by_language).replace("<", "\\u003c")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Canonry</title><style>\n{style_sheet}</style></head>"
        f'<body data-app="{name}"><main id="main" aria-live="polite"></main>'
        f'<script type="application/json" id="texts">{texts}</script>'
        f'<script type="module">\n{script}</script></body></html>\n'
    )
