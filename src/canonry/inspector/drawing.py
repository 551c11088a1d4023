"""Drawing: values become HTML by templates that escape whatever they are given."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from canonry import __version__
from canonry.inspector.texts import Texts
from canonry.language.texts.visible import visible
from canonry.values.time import Instant, render_instant

TITLE_MAX: Final = 160
"""So much of a name stands where there is one line for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFrame:
    """What is around every page: its reader's language and rights, and where it is in time.

    `asked` are the parameters that the page was asked with; `moves` says whether time moves it.
    """

    texts: Texts
    form_key: str
    path: str
    asked: Mapping[str, tuple[str, ...]]
    tools: frozenset[str]
    leaves: bool = False
    who: str = ""

    def asked_for(self, name: str) -> str:
        """The parameter of this name, or nothing."""
        return next(iter(self.asked.get(name, ())), "")

    def address(self, **changes: Any) -> str:
        """This page with other parameters; None takes one away."""
        kept = {name: values for name, values in self.asked.items() if name not in changes}
        for name, value in changes.items():
            if value not in (None, ""):
                kept[name] = (str(value),)
        return _with(self.path, kept)

    def to(self, path: str, **more: Any) -> str:
        """Another page at the same time."""
        if not more and self.asked.keys().isdisjoint(TIMES):
            return path
        times = {name: self.asked[name] for name in TIMES if self.asked.get(name)}
        given = {name: (str(value),) for name, value in more.items() if value not in (None, "")}
        return _with(path, {**times, **given})


_DATED: Final = re.compile(r"[+-]?\d{4,6}-\d\d")
NONE: Final = "\N{EN DASH}"
TIMES: Final = ("at", "known")
"""The parameters that every page understands: a time of the world, and one of the log."""


def draw(template: str, frame: PageFrame, /, **values: Any) -> str:
    """The page that `template` makes of values."""
    return (
        _environment()
        .get_template(template)
        .render(frame=frame, t=frame.texts.say, word=frame.texts.word, to=frame.to, **values)
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("canonry.inspector"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters |= {
        "brief": brief,
        "data": as_data,
        "exact": render_instant,
        "moment": _moment,
        "value": as_text,
    }
    environment.globals |= {"version": __version__, "asset": asset}
    return environment


def brief(text: str, most: int = TITLE_MAX) -> str:
    """The text, or its beginning."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def as_data(value: Any) -> Markup:
    """A value as JSON within a script element, which it cannot end."""
    text = json.dumps(value, ensure_ascii=True)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 - nothing in it is markup any more


def as_text(value: Any) -> str:
    """A JSON value as a person reads it."""
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


def _moment(instant: Instant | str | None) -> Markup:
    """A time, as people read it, with the exact one behind it."""
    if instant is None:
        return escape(NONE)
    exact = instant if isinstance(instant, str) else render_instant(instant)
    if not _DATED.match(exact):
        return escape(visible(exact))  # words of somebody
    day, _, rest = exact.partition("T")
    clock = "" if rest[:5] in {"", "00:00"} else f" {rest[:5]}"
    return Markup('<time datetime="{}" title="{}">{}{}</time>').format(exact, exact, day, clock)


def _shown(value: Any) -> Any:
    """What would steer or hide what stands beside it is spelled out, whatever says it."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def asset(name: str) -> str:
    """The address of a file of ours, another one for each version."""
    return f"/static/{quote(name)}?v={__version__}"


@cache
def has_asset(name: str) -> bool:
    """Whether a file lies with the package; what others wrote is put there when it is built."""
    return files("canonry.inspector").joinpath("static", name).is_file()


def _with(path: str, asked: Mapping[str, tuple[str, ...]]) -> str:
    pairs = [(name, value) for name, values in asked.items() for value in values]
    return f"{path}?{urlencode(pairs, errors='replace')}" if pairs else path
