"""Contents of proposals and spoken times, as the contract publishes them."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import wraps
from typing import Any, Final, TypedDict

from canonry.canon.judging.content_shapes import CONTENT_SHAPES
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.spoken_times import in_words
from canonry.gateway.limits import pointer
from canonry.gateway.tool import ANYONE, Arguments, Reply, Resource, Run, Schema
from canonry.log.entries import Thing
from canonry.narrative.toolset.arguments import TIME_WORDS
from canonry.values.calendars.declaring import TIME_MAX
from canonry.values.fields import ReadTime, is_plain_time
from canonry.values.ids import is_uuid
from canonry.values.moments import render_instant

CONTENTS_URI: Final = "canonry://proposals/contents"
CONTENTS_TOLD: Final = "\n".join(
    ("", "content by type:", *(f"- {shape.takes}" for shape in CONTENT_SHAPES.values()))
)
"""What stands below the description of the tool that takes contents."""


async def _contents(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    del canon, caller, variables  # the same for everybody
    schemas = {shape.type.value: shape.schema for shape in CONTENT_SHAPES.values()}
    return json.dumps(schemas, ensure_ascii=False, indent=2)


RESOURCES: Final[tuple[Resource, ...]] = (
    Resource(
        uri_template=CONTENTS_URI,
        name="proposal-contents",
        title="Contents of proposals",
        description="What the content of each type of proposal takes, as JSON schemas.",
        mime_type="application/json",
        roles=ANYONE,
        read=_contents,
    ),
)


# Spoken times in arguments: whatever takes a date-time takes words of the universe's calendar too.
#
# The published schemas stay as they are; what a tool gets is the date-time that the words say.

_PLACES: Final = ("scene_id", "story_id", "universe_id")
"""Arguments that say where a time is said; else it is anything else that is named by its id."""

_Path = tuple[str, ...]


class Spoken(TypedDict):
    """What a tool that takes times has otherwise."""

    run: Run
    accepted_schema: Schema | None


def spoken(schema: Schema, run: Run) -> Spoken:
    """How a tool of this schema takes words for times."""
    paths = tuple(_times(schema))
    if not paths:
        return Spoken(run=run, accepted_schema=None)

    @wraps(run)
    async def run_with_times(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
        told = {path: _at(arguments, path) for path in paths}
        said = [p for p, each in told.items() if isinstance(each, str) and not is_plain_time(each)]
        place = await _place(canon, caller, arguments) if said else None
        if place is None:  # the tool tells what it does not know
            return await run(canon, caller, arguments)

        def read(times: ReadTime) -> Arguments:
            resolved = deepcopy(dict(arguments))
            for path in said:
                instant = times(_at(arguments, path), pointer(*path))
                _at(resolved, path[:-1])[path[-1]] = render_instant(instant)
            resolved[TIME_WORDS] = {path[-1]: told[path] for path in said}
            return resolved

        return await run(canon, caller, await in_words(canon, caller, place, read))

    return Spoken(run=run_with_times, accepted_schema=_accepting(schema))


def _times(schema: Schema, path: _Path = ()) -> Iterator[_Path]:
    for name, each in schema.get("properties", {}).items():
        if each.get("format") == "date-time":
            yield (*path, name)
        elif "properties" in each:
            yield from _times(each, (*path, name))


def _accepting(schema: Schema) -> Schema:
    """The schema that holds a time for any short text."""
    properties = {
        name: {**{key: value for key, value in each.items() if key != "format"}}
        | {"maxLength": TIME_MAX}
        if each.get("format") == "date-time"
        else _accepting(each)
        if "properties" in each
        else each
        for name, each in schema["properties"].items()
    }
    return {**schema, "properties": properties}


def _at(arguments: Mapping[str, Any], path: _Path) -> Any:
    found: Any = arguments
    for name in path:
        found = (found or {}).get(name)
    return found


async def _place(canon: Canon, caller: Caller, arguments: Arguments) -> Thing | None:
    others = [name for name in arguments if name.endswith("_id") and name not in _PLACES]
    for name in (*_PLACES, *others):
        value = arguments.get(name)
        if isinstance(value, str) and is_uuid(value):
            return await canon.seen_by(caller).thing(value.lower())
    return None
