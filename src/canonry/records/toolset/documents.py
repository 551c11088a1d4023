"""The documents that values come from, as resources to link to: sources and their files."""

from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.tool import ANYONE, File, Resource, Variables
from canonry.records.toolset.shapes import SOURCE
from canonry.records.usecases.files import own_file
from canonry.records.usecases.ingest_file import require_source
from canonry.values.json_values import encode_json


async def _source(canon: Canon, caller: Caller, variables: Variables) -> str:
    source = await require_source(canon, caller, variables["source_id"])
    file = {"file": FILE.address(source.id)} if source.files else {}
    return as_json({**SOURCE(source), **file})


async def _file(canon: Canon, caller: Caller, variables: Variables) -> File:
    found = await own_file(canon, caller, variables["file_id"])
    return File(data=found.data, mime_type=found.mime_type)


def as_json(value: Any) -> str:
    """A reply as the text of a resource."""
    return encode_json(value).decode()


def user_resource(
    template: str, name: str, description: str, read: Any, mime: str = ""
) -> Resource:
    """A resource of the user's own; JSON, unless said otherwise."""
    return Resource(
        uri_template=template,
        name=name,
        title=name.capitalize(),
        description=description,
        mime_type=mime or "application/json",
        roles=ANYONE,
        read=read,
    )


SOURCE_LINK: Final = user_resource(
    "truth://source/{source_id}", "source", "What is known of a file or of told records.", _source
)
FILE: Final = user_resource(
    "truth://file/{file_id}",
    "file",
    "The bytes of a file, by the id of its source.",
    _file,
    "application/octet-stream",
)
