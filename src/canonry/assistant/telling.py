"""The tool `tell`: record texts, turns, files and records."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from canonry.assistant.desk import (
    ANYTHING,
    CONTRIBUTORS,
    SOLO,
    SPACE,
    Desk,
    Wanted,
    checked,
    desk_of,
    named,
    names,
    takes,
)
from canonry.assistant.rows import Row, cut, filled, fitted, reply_schema
from canonry.canon.canonization.canonize_scene import finalize_scene, outcomes_among, proposals_of
from canonry.canon.commands.sources import GivenDocument, ImportedDocument, import_document
from canonry.canon.ports.files import FileHint
from canonry.canon.queries.listings import query_snippets
from canonry.canon.session.caller import Caller, step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import made_before, the_made
from canonry.canon.session.lookup import account_of
from canonry.gateway.limits import Limits
from canonry.gateway.replies import BOOLEAN, COUNT, OBJECT, TEXT, Field, array
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.language.texts.sentences import DocumentType
from canonry.log.items.scenes import Scene, SceneDraft, SceneStatus, Speaker, TurnDraft
from canonry.log.items.sources import SourceType
from canonry.narrative.usecases.scenes import (
    SceneRequest,
    TurnRequest,
    append_turn,
    open_scene,
    opening,
    query_scenes,
    story_of_late,
)
from canonry.readmodels.ports.documents import SceneQuery
from canonry.records.domain.assertions import Warned
from canonry.records.usecases.files import GivenFile, given_file, read_local
from canonry.records.usecases.ingest_file import ingest_file
from canonry.records.usecases.record_entities import RecordedAs
from canonry.records.usecases.record_source import GivenRecords, ingest_records
from canonry.values.audience import EVERYBODY, Audience, covers
from canonry.values.errors import InvalidInput, NotAllowed, NotFound
from canonry.values.fields import plain_time
from canonry.values.ids import SpaceId, is_uuid
from canonry.values.json_values import folded
from canonry.values.provenance import CanonLevel

_PLAIN: Final = "text/plain; charset=utf-8"
_KINDS: Final = {
    **{kind.value: kind for kind in DocumentType},
    ".md": DocumentType.MARKDOWN,
    ".pdf": DocumentType.PDF,
}


async def given_document(desk: Desk, arguments: Arguments, form: str) -> GivenFile:
    """Return the document that was given as text, file or path."""
    title = arguments.get("title") or ""
    if form == "text":
        if not arguments["text"].strip():
            raise InvalidInput("text.empty", "/text is empty. Write a text.", path="/text")
        hint = FileHint(mime_type=arguments.get("mime_type") or _PLAIN, name=title)
        return GivenFile(data=arguments["text"].encode(), hint=hint)
    if form == "file":
        mime = arguments.get("mime_type")
        if mime is None:
            message = "Name the media type of /file in /mime_type, such as application/pdf."
            raise InvalidInput("file.mime-type", message, path="/mime_type")
        return given_file(arguments["file"], mime, title or None)
    if desk.caller.actor.agent_type != SOLO:
        message = f"Only the agent type {SOLO} may read files by path. Send the content in /file."
        raise NotAllowed("tell.path", message, path="/path", allowed_types=[SOLO])
    return await read_local(desk.canon, arguments["path"], arguments.get("mime_type") or "")


async def keep_text(
    desk: Desk,
    space: str,
    given: GivenFile,
    *,
    title: str,
    doc_id: str | None = None,
    audience: Audience = EVERYBODY,
) -> ImportedDocument:
    """Record a document with its passages; with a `doc_id`, append to that document."""
    media = given.hint.media or ""
    kind = _KINDS.get(media) or _KINDS.get(PurePosixPath(given.hint.name).suffix.lower())
    if kind is None and media and not media.startswith("text/"):
        message = "This space reads text, Markdown and PDF. Tell other files to space 'account'."
        raise InvalidInput("document.unsupported", message, path="/mime_type")
    document = GivenDocument(
        name=doc_id or title,
        title=checked(title, desk.canon.policy.limits.name, path="/title"),
        data=given.data,
        kind=kind or DocumentType.PLAIN,
        doc_id=doc_id,
        audience=audience,
    )
    return await import_document(
        desk.canon,
        desk.caller,
        document,
        space=SpaceId(space),
        source_type=SourceType.DOCUMENT,
        level=CanonLevel.CANON,
    )


TURNS_MAX: Final = 50
RECORDS_MAX: Final = 500
SHOWN_MAX: Final = 20
"""The most passages, entities and warnings that a reply lists."""
_ENTITY_PATH: Final = 2
"""The number of slashes in the path of an entity; the path of a field has one more."""

_FORMS: Final = ("text", "turns", "records", "file", "path")
_LIMITS: Final = Limits(characters=80_000_000, seconds=120.0, any_number=True)
_OPEN_MAX: Final = 500
_TURN: Final = Field(
    takes(
        {
            "by": named("The speaker: gm, user or a name."),
            "text": TEXT.but(description="The words spoken."),
        },
        {},
    )
)
_BY: Final = {"user": Speaker.USER, "me": Speaker.USER, "gm": Speaker.GM, "narrator": Speaker.GM}


async def _tell(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    forms = [form for form in _FORMS if arguments.get(form) is not None]
    closing = arguments.get("end_scene") is not None
    if len(forms) != 1 and not (closing and not forms):
        given_forms = ", ".join(forms) or "none of them"
        message = (
            f"Give exactly one of {', '.join(_FORMS)}, or end_scene and scene to close a scene. "
            f"This call has {given_forms}."
        )
        raise InvalidInput("tell.form", message, path=f"/{forms[1] if len(forms) > 1 else 'text'}")
    desk = await desk_of(canon, caller, arguments, "scene", opens=True)
    desk.require_writable()
    if desk.is_account and "for" in arguments:
        message = "Only you can read your account. Omit /for, or name another /space."
        raise InvalidInput("tell.readers", message, path="/for")
    if closing or forms == ["turns"]:
        return await _turns(desk, arguments)
    if forms == ["records"]:
        if not desk.is_account:
            desk.require_told("Records", "")  # refuses a catalog with its own message
            message = (
                "Records belong in your account: set /space to account. In this space, propose "
                "an entity, a fact or a relation."
            )
            raise InvalidInput("tell.records", message, path="/records")
        given = [_typed(each, n) for n, each in enumerate(arguments["records"])]
        recorded = await ingest_records(desk.canon, desk.caller, None, GivenRecords(entities=given))
        head: Row = {"document": recorded.source.id, "known_before": recorded.again or None}
        return filled({**head, **_recorded(recorded.records, recorded)})
    return await _document(desk, arguments, await given_document(desk, arguments, forms[0]))


async def _document(desk: Desk, arguments: Arguments, given: GivenFile) -> Reply:
    title = arguments.get("title") or given.hint.name.rsplit("/", 1)[-1] or "Untitled"
    if desk.is_account:
        account = account_of(desk.caller)
        done = await ingest_file(desk.canon, desk.caller, account, given)
        records: Sequence[RecordedAs] = () if done.recorded is None else done.recorded.records
        return filled(
            {
                "document": done.source.id,
                "title": title,
                "known_before": done.deduplicated or None,
                **_recorded(records, done.recorded),
            }
        )
    space = desk.require_told("Documents", "Tell it to space 'account'.")
    audience = await desk.audience(arguments)
    desk.require_reader(audience, path="/for")
    kept = await keep_text(desk, space, given, title=title, audience=audience)
    page = await query_snippets(
        desk.canon, desk.caller, kept.source_id, limit=SHOWN_MAX, offset=kept.first
    )
    rows = [{"id": one.id, "says": cut(one.text, full=False)} for one in page.items]
    start = Wanted(limit=SHOWN_MAX, offset=0, full=False)
    shown = fitted(rows[: kept.snippets], start, kept.snippets, "passages")["passages"]
    more = f"To list all passages, get {kept.source_id}. " if len(shown) < kept.snippets else ""
    return filled(
        {
            "document": kept.source_id,
            "title": title,
            "passages": shown,
            "total": kept.snippets or None,
            "known_before": kept.added == 0 or None,
            "hint": f"{more}Cite the ids of passages as evidence in propose.",
        }
    )


def _typed(record: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    """Return the record with its type under `entity_type`."""
    if "schema_version" in record:
        path = f"/records/{number}/schema_version"
        message = f"{path}: this name is reserved. Rename the field."
        raise InvalidInput("tell.field-name", message, path=path)
    if "entity_type" in record or not isinstance(record.get("type"), str):
        if isinstance(record.get("entity_type"), str):
            return record
        path = f"/records/{number}/type"
        message = f"{path} is missing. Name the type, such as person, company or invoice."
        raise InvalidInput("tell.record-type", message, path=path)
    others = {name: value for name, value in record.items() if name != "type"}
    return {"entity_type": record["type"], **others}


def _recorded(records: Sequence[RecordedAs], recorded: Any) -> Row:
    """Return the recorded entities, the warnings and the possible duplicates."""
    found = [
        {
            "id": one.entity_id,
            "name": one.name,
            "type": one.entity_type,
            **({"new": True} if one.created else {}),
        }
        for one in records[:SHOWN_MAX]
    ]
    warnings = () if recorded is None else recorded.warnings
    duplicates = [] if recorded is None else recorded.duplicates[:SHOWN_MAX]
    return {
        "entities": found,
        "total": (recorded is not None and recorded.total) or None,
        "warnings": _warned(warnings)[:SHOWN_MAX],
        "possible_duplicates": [
            {"of": each.entity_id, "and": each.candidate_id, "because": each.reason}
            for each in duplicates
        ],
        "hint": "Merge possible duplicates with decide. Propose a correction for a wrong field.",
    }


def _warned(warnings: Sequence[Warned]) -> list[str]:
    """List each warning once, with the number of records that have it; those for all first."""
    paths: dict[tuple[str, str], list[str]] = {}
    for each in warnings:
        field = each.path.rpartition("/")[2] if each.path.count("/") > _ENTITY_PATH else ""
        paths.setdefault((field, each.message), []).append(each.path)
    told = [
        f"{field or 'all'} of {len(where)} records: {message}"
        if len(where) > 1
        else f"{where[0]}: {message}".removeprefix(": ")
        for (field, message), where in paths.items()
    ]
    return sorted(told, key=lambda line: line.startswith("/"))


async def _turns(desk: Desk, arguments: Arguments) -> Reply:
    space = desk.require_told("Turns", "Give the words as /text.")
    if arguments.get("scene") is None:
        message = "Name the scene in /scene. A new title opens a new scene."
        raise InvalidInput("tell.scene", message, path="/scene")
    turns = arguments.get("turns") or ()
    spoken = [await _spoken(desk, turn, n) for n, turn in enumerate(turns)]
    audience = await desk.audience(arguments)
    desk.require_reader(audience, path="/for")
    scene, opened = await _scene(desk, arguments, space, audience)
    has_more_readers = not covers(audience, scene.audience)
    if has_more_readers and arguments.get("end_scene") is not None:
        message = (
            "All readers of a scene can read its summary, and this scene has more readers than "
            "/for names. Omit /for, or tell the summary as a text."
        )
        raise InvalidInput("tell.summary-readers", message, path="/end_scene")
    told: list[Row] = []
    for n, (turn, (speaker, entity_id, text)) in enumerate(zip(turns, spoken, strict=True)):
        request = TurnRequest(
            scene_id=scene.id, speaker=speaker, entity_id=entity_id, text=text, audience=audience
        )
        receipt = await append_turn(desk.canon, step(desk.caller, f"turn {n}"), request)
        told.append({"id": the_made(receipt, TurnDraft).id, "by": turn["by"]})
    reply: Row = {"scene": scene.id, "name": scene.title, "opened": opened or None, "turns": told}
    if (closing := arguments.get("end_scene")) is not None:
        summary = checked(closing, desk.canon.policy.limits.summary, path="/end_scene")
        proposals = await proposals_of(desk.canon, scene.space, scene.id)
        became = [one for each in proposals if each.decision for one in each.decision.made]
        outcomes = await outcomes_among(desk.canon, scene.space, became)
        await finalize_scene(
            desk.canon,
            step(desk.caller, "end"),
            scene.id,
            outcomes=[each.id for each in outcomes],
            summary=summary,
        )
        reply["closed"] = True
    elif told:
        reply["hint"] = "Cite the ids of turns as evidence in propose."
        if has_more_readers:
            reply["hint"] += " The scene, its title and its summary have more readers."
    return filled(reply)


async def _spoken(
    desk: Desk, turn: Mapping[str, str], number: int
) -> tuple[Speaker, str | None, str]:
    """Return the speaker, its entity and the text of a turn.

    The name of a speaker without an entity becomes part of the text. A name that is similar to
    an entity's name is refused as a typing error.
    """
    most = desk.canon.policy.limits.turn
    path, by = f"/turns/{number}", turn["by"].strip()
    text = checked(turn["text"], most, path=f"{path}/text")
    if (speaker := _BY.get(folded(by))) is not None:
        return speaker, None, text
    try:
        return Speaker.ENTITY, (await desk.entity(by, path=f"{path}/by")).id, text
    except NotFound as error:
        if not by or is_uuid(by) or error.details.get("candidates"):
            raise
    return Speaker.USER, None, checked(f"{by}: {text}", most, path=f"{path}/text")


async def _scene(
    desk: Desk, arguments: Arguments, space: str, audience: Audience
) -> tuple[Scene | SceneDraft, bool]:
    """Return the open scene of this title, else open one; and whether it is new.

    Of several open scenes with the title, choose the one for the same readers, else the last.
    """
    if opened := await made_before(desk.canon, opening(desk.caller), desk.space.id, SceneDraft):
        return opened[0], True
    named = arguments["scene"].strip()
    query = SceneQuery(status=SceneStatus.ACTIVE, limit=_OPEN_MAX)
    playing = (await query_scenes(desk.canon, desk.caller, query, universe_id=space)).items
    same = [each for each in playing if folded(each.title) == folded(named)]
    same.sort(key=lambda each: each.audience == audience)
    same += [each for each in playing if each.id == named.lower()]
    if same:
        return same[-1], False
    if is_uuid(named) or arguments.get("turns") is None:
        found = await desk.thing(named, Scene, path="/scene")
        assert isinstance(found, Scene)  # noqa: S101 - the kind was asked for
        return found, False
    place, late = arguments.get("place"), await story_of_late(desk.canon, desk.space.id)
    asked = SceneRequest(
        universe_id=space,
        title=checked(named, desk.canon.policy.limits.name, path="/scene"),
        location_id=None if place is None else (await desk.entity(place, path="/place")).id,
        time_ref=await desk.time(arguments, "when", at=late),
        time_words=_words_of(arguments.get("when")),
        audience=audience,
    )
    return await open_scene(desk.canon, desk.caller, asked), True


def _words_of(when: str | None) -> str | None:
    """Return the time as it was written, or None if it is RFC 3339."""
    try:
        plain_time(when or "", "/when")
    except InvalidInput:
        return when
    return None


TELL: Final = Tool(
    name="tell",
    title="Tell",
    description=(
        "Record a text, the turns of a scene, a file, or records of your account, "
        "unchanged. Use it when someone says, writes or sends something. It returns ids to "
        'cite in propose; it does not make anything canon. Example: {"title": "Letter from '
        'Hilde", "text": "The lighthouse is mine."}.'
    ),
    input_schema=takes(
        {},
        {
            "text": TEXT.but(description="Text of a document, message or note."),
            "title": named("Title of the text or file."),
            "turns": array(_TURN).but(
                maxItems=TURNS_MAX, description="Turns of a scene, in order."
            ),
            "scene": named("Title or id of the scene; a new title opens a scene."),
            "place": named("Name or id of the existing location of a new scene."),
            "when": named("Valid time of a new scene: a date, an RFC 3339 time or words."),
            "for": names("Readers of a secret: gm or names; default everyone."),
            "end_scene": TEXT.but(description="Summary of the scene; it closes the scene."),
            "records": array(ANYTHING).but(
                maxItems=RECORDS_MAX,
                description="Account only: objects with a type and any fields.",
            ),
            "file": TEXT.but(description="File content in base64; give mime_type too."),
            "path": TEXT.but(description="Path of a file on the server, if the server allows it."),
            "mime_type": named("Media type of the file or text, such as application/pdf."),
            "space": SPACE,
        },
    ),
    output_schema=reply_schema(
        {},
        {
            "document": TEXT,
            "title": TEXT,
            "passages": array(OBJECT),
            "known_before": BOOLEAN,
            "entities": array(OBJECT),
            "warnings": array(TEXT),
            "possible_duplicates": array(OBJECT),
            "scene": TEXT,
            "name": TEXT,
            "opened": BOOLEAN,
            "turns": array(OBJECT),
            "closed": BOOLEAN,
            "total": COUNT,
        },
    ),
    roles=CONTRIBUTORS,
    run=_tell,
    read_only=False,
    limits=_LIMITS,
)
TOOLS: Final = (TELL,)
