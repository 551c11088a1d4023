"""A space as a folder of Markdown notes, and the edits of such a folder as claims."""

import json
import re
import unicodedata
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any, Final

import yaml  # type: ignore[import-untyped]

from canonry.assistant.call_context import SOLO, CallContext, context_of
from canonry.assistant.claims import claim_of
from canonry.assistant.finding import get_item
from canonry.canon.queries.listings import query_asserted, query_entities
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.log.items.facts import Fact, Relation
from canonry.readmodels.ports.state import EntityQuery, FactQuery, RelationQuery
from canonry.values.audience import ANYBODY, FULL_VIEWER, audience_in, viewer_of
from canonry.values.errors import InvalidInput
from canonry.values.json_values import decode_json, encode_json
from canonry.values.provenance import Actor, CanonLevel

INDEX: Final = "Index"
"""The note that lists all others; its front matter names the space and the reader."""
EVERYONE: Final = "everyone"
_FACTS: Final = "## Facts"
_PAGE: Final = 200  # bounds the memory of an export
_NAME_BYTES: Final = 120  # file systems allow 255 bytes; a suffix and a mark follow
_UNSAFE: Final = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*#^\[\]]')
_RESERVED: Final = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")
_LINK: Final = re.compile(r"\[\[([^\[\]|\n]*)(?:\|([^\[\]|\n]*))?\]\]")
_NO_LINK: Final = re.compile(r"[\[\]|]")
_TIE: Final = re.compile(r"([A-Z][A-Z_]*) \[\[([^\[\]|\n]+)(?:\|[^\[\]|\n]*)?\]\]")
_ITEM: Final = re.compile(r"[-*+] (.*)")
_MARK: Final = re.compile(r" \^canon-([0-9a-f-]{36})$")
_CHANGED: Final = "changed since the export"
_FRONT: Final = ("type", "aliases", "tags", "fields", "space", "as")
"""Members of a head that stand in the front matter: those of an entity, and those of the index."""


@dataclass(frozen=True, kw_only=True)
class Note:
    """A note: its head (name, type, ...), and its lines by the id of their fact or relation.

    `new` are lines without an id, `listed` the ids of the lines that were exported, and `reflects`
    is the digest of the head that was exported.
    """

    head: Mapping[str, Any]
    lines: Mapping[str, str]
    id: str = ""
    new: Sequence[str] = ()
    listed: Sequence[str] = ()
    reflects: str = ""

    @property
    def head_digest(self) -> str:
        """A short digest of the head, which is the same as long as the entity is."""
        return blake2b(encode_json(self.head), digest_size=8).hexdigest()


@dataclass(frozen=True, kw_only=True)
class NoteFolder:
    """The notes of a space as `reader` sees it, by the names of their files without an ending.

    `position` is the last position of the log that they reflect.
    """

    space: str
    reader: str
    position: int = 0
    notes: Mapping[str, Note]

    @property
    def note_texts(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the text of each note, the index first."""
        for stem, note in self.notes.items():
            head = {key: value for key, value in note.head.items() if key in _FRONT}
            front = {**head, "id": note.id, "lines": list(note.lines), "reflects": note.head_digest}
            body = str(note.head["description"])
            if stem == INDEX:
                at = {"position": self.position} if self.reader == "gm" else {}  # it counts secrets
                front = {"space": self.space, "as": self.reader, **at, "lines": list(note.lines)}
                body = "\n".join(f"- {self.link_to(one)}" for one in self.notes if one != INDEX)
            # YAML folds the line breaks of Unicode unless they are escaped.
            one_line = len(encode_json(front).decode().splitlines()) == 1
            shown = yaml.safe_dump(front, sort_keys=False, allow_unicode=one_line)
            items = "\n".join(f"- {words} ^canon-{one}" for one, words in note.lines.items())
            parts = (f"---\n{shown}---", f"# {in_one_line(note.head['name'])}", body, _FACTS, items)
            yield stem, "\n\n".join(filter(None, parts)) + "\n"

    @cached_property
    def line_texts(self) -> Mapping[str, str]:
        """The words of all lines by the id of their item."""
        return {one: words for note in self.notes.values() for one, words in note.lines.items()}

    @property
    def claim_readers(self) -> dict[str, list[str]]:
        """The readers of a new claim, as its member `for`: those of the notes."""
        return {} if self.reader == EVERYONE else {"for": [self.reader]}

    def link_to(self, stem: str) -> str:
        """Return a link to a note, with the name of its entity."""
        name = _NO_LINK.sub("-", in_one_line(self.notes[stem].head["name"]))
        return f"[[{stem}]]" if name == stem else f"[[{stem}|{name}]]"

    def without_links(self, text: str) -> str:
        """Return the text with the name in place of each link."""

        def name_of(found: re.Match[str]) -> str:
            note = self.notes.get(found[1])
            return found[2] or (in_one_line(note.head["name"]) if note else found[1])

        return in_one_line(_LINK.sub(name_of, text))


def in_one_line(text: str) -> str:
    """Return the text in one line."""
    return " ".join(text.split())


def stems_of(names: Iterable[str]) -> Iterator[str]:
    """Yield a file name for each name, safe and distinct on every system, without an ending."""
    taken = {INDEX.casefold()}
    for name in names:
        bare = _UNSAFE.sub("-", unicodedata.normalize("NFC", in_one_line(name)))
        bare = bare.encode()[:_NAME_BYTES].decode(errors="ignore").strip(" .") or "untitled"
        bare = f"_{bare}" if _RESERVED.match(bare) else bare
        stem, number = bare, 1
        while (folded := unicodedata.normalize("NFKC", stem).casefold()) in taken:
            number += 1
            stem = f"{bare} {number}"
        taken.add(folded)
        yield stem


async def read_space(
    canon: Canon, space: str | None, reader: str
) -> tuple[NoteFolder, CallContext]:
    """Return a space as `reader` (everyone, gm or a character) sees it, and the context to read it.

    Raises:
        CanonryError: the space or the reader is unknown.
    """
    actor = Actor(agent_id="command-line", agent_type=SOLO)
    caller = Caller(actor=actor, tool="canonry export markdown", viewer=FULL_VIEWER)
    asked = {} if space is None else {"space": space}
    context = await context_of(canon.for_viewer(FULL_VIEWER), caller, asked)
    if reader != EVERYONE:
        audience = audience_in([await context.read_reader(reader, path="--as")], path="--as")
    viewer = ANYBODY if reader == EVERYONE else viewer_of(audience)
    context = replace(
        context, canon=canon.for_viewer(viewer), caller=replace(caller, viewer=viewer)
    )
    level, position = CanonLevel.CANON, await canon.ledger.head_position(context.space.id)
    found = [one async for one in _all_standing(context, query_entities, EntityQuery(level=level))]
    stems = dict(zip(stems_of(each.name for each in found), found, strict=True))
    notes = {INDEX: Note(head={"name": context.space.name, "description": ""}, lines={})}
    notes |= {
        stem: Note(head=await _entity_head(context, each), lines={}, id=each.id)
        for stem, each in stems.items()
    }
    folder = NoteFolder(space=context.space.id, reader=reader, position=position, notes=notes)
    stem_of = {i: stem for stem, each in stems.items() for i in (each.id, *each.members)}
    lines: dict[str, dict[str, str]] = {stem: {} for stem in notes}
    async for fact in _all_standing(context, query_asserted, FactQuery(level=level)):
        if claim_of(fact)[0]["kind"] == "fact":  # a state is among the tags
            owner = next((stem_of[one] for one in fact.involved if one in stem_of), INDEX)
            lines[owner][fact.id] = in_one_line(fact.statement)
    async for tie in _all_standing(context, query_asserted, RelationQuery(current=True)):
        if tie.from_id in stem_of and tie.to_id in stem_of:
            words = f"{tie.rel_type} {folder.link_to(stem_of[tie.to_id])}"
            lines[stem_of[tie.from_id]][tie.id] = words
    complete = {stem: replace(each, lines=lines[stem]) for stem, each in notes.items()}
    return replace(folder, notes=complete), context


async def _entity_head(context: CallContext, entity: Any) -> dict[str, Any]:
    fields = dict(entity.properties)
    if context.is_account:
        asked = {"of": entity.id, "space": context.space.id, "full": True}
        row: Any = await get_item(context.canon, context.caller, asked)
        fields = {**row.get("raw_fields", {}), **row.get("fields", {})}
    return {
        "name": entity.name,
        "type": entity.entity_type,
        "aliases": [each for each in entity.aliases if each != entity.name],
        "tags": list(entity.state_tags),
        "fields": decode_json(encode_json(fields)),
        "description": _join_lines((entity.description or "").splitlines()),
    }


async def _all_standing(context: CallContext, listing: Any, query: Any) -> AsyncIterator[Any]:
    """Yield all items of a listing that hold."""
    total = 1
    for offset in count(0, _PAGE):
        if offset >= total:
            return
        asked = replace(query, limit=_PAGE, offset=offset)
        page = await listing(context.canon, context.caller, asked, universe_id=context.space.id)
        total = page.total
        for each in page.items:
            if context.canon.viewpoint.may_show(each):
                yield each


def read_note(text: str, name: str) -> Note:
    """Read a note of the file `name`.

    Raises:
        InvalidInput: `note.malformed`, with the file and the line.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    end = 0
    if lines and lines[0].rstrip() == "---":
        end = next((n for n, each in enumerate(lines) if n and each.rstrip() == "---"), 0)
        if not end:
            raise _malformed_note(
                name, 1, "the front matter has no end. Close it with a line of ---"
            )
    front, body = _front_in(lines[1:end], name), lines[end + 1 if end else 0 :]
    split = max((n for n, each in enumerate(body) if each.rstrip() == _FACTS), default=len(body))
    if "lines" in front and split == len(body):
        raise _malformed_note(name, len(lines), f"the heading {_FACTS!r} is missing. Put it back")
    title, about = Path(name).stem, _join_lines(body[:split])
    if about.startswith("# "):
        title, _, about = about[2:].partition("\n")
    marked: dict[str, str] = {}
    new: list[str] = []
    for item in filter(None, map(_ITEM.fullmatch, map(str.rstrip, body[split:]))):
        words, *mark = _MARK.split(item[1])
        if mark:
            marked[mark[0]] = in_one_line(words)
        elif words.strip():
            new.append(in_one_line(words))
    head = {key: value for key, value in front.items() if key in _FRONT}
    return Note(
        head={**head, "name": in_one_line(title), "description": about.strip()},
        lines=marked,
        id=str(front.get("id", "")),
        new=new,
        listed=[str(each) for each in front.get("lines") or ()],
        reflects=str(front.get("reflects", "")),
    )


def _front_in(lines: Sequence[str], name: str) -> dict[str, Any]:
    """Return the front matter of a note; a date without quotes is a text."""
    shown = "\n".join(lines)
    try:
        if any(isinstance(each, yaml.AliasToken) for each in yaml.scan(shown)):
            raise _malformed_note(name, 2, "the front matter has an alias. Write its value instead")
        front = json.loads(json.dumps(yaml.safe_load(shown) or {}, default=str))
    except (yaml.YAMLError, ValueError, TypeError) as error:
        mark, why = (getattr(error, each, None) for each in ("problem_mark", "problem"))
        line = 2 + (mark.line if mark else 0)
        raise _malformed_note(
            name, line, f"the front matter is not YAML: {why or error}"
        ) from error
    if not isinstance(front, dict) or not isinstance(front.get("lines") or [], list):
        raise _malformed_note(name, 2, "the front matter is no list of `name: value`")
    return front


def _join_lines(lines: Sequence[str]) -> str:
    """Return the lines as one text, without spaces at their ends."""
    return "\n".join(map(str.rstrip, lines)).strip()


def _malformed_note(name: str, line: int, why: str) -> InvalidInput:
    return InvalidInput("note.malformed", f"{name}, line {line}: {why}.", path=name)


async def compare_folder(canon: Canon, path: Path) -> "Edits":
    """Compare an exported folder with the canon as its reader sees it.

    Raises:
        InvalidInput: `note.malformed`; the error of `read_space`.
    """
    texts = {each: each.read_text("utf-8", "replace") for each in sorted(path.glob("*.md"))}  # noqa: ASYNC240
    given = {each.stem: read_note(text, each.name) for each, text in texts.items()}
    front = given[INDEX].head
    folder, context = await read_space(canon, front["space"], front["as"])
    asked = {one for note in given.values() for one in (*note.listed, *note.lines)}
    stems = {note.id: stem for stem, note in folder.notes.items()}
    former: dict[str, str] = {}
    for one, item in (await context.canon.caller_scope(context.caller).items_by_id(asked)).items():
        if isinstance(item, Fact):
            former[one] = in_one_line(item.statement)
        elif isinstance(item, Relation) and item.to_id in stems:
            former[one] = f"{item.rel_type} {folder.link_to(stems[item.to_id])}"
    edits = Edits(folder=folder, given=given, former=former)
    for stem in given:
        edits.compare_note(stem)
    return edits


def is_exported(path: Path) -> bool:
    """Return whether the folder has the index of an export."""
    index = path / f"{INDEX}.md"
    return index.is_file() and index.read_text("utf-8", "replace").startswith("---\nspace: ")


@dataclass(frozen=True, kw_only=True)
class Edits:
    """The edits of given notes: claims with the note of each, and lines that are not proposed.

    `former` has the words of items, also of those that no longer stand.
    """

    folder: NoteFolder
    given: Mapping[str, Note]
    former: Mapping[str, str]
    claims: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list[Any])
    refused: list[str] = field(default_factory=list[str])

    @cached_property
    def _kept_ids(self) -> frozenset[str]:
        return frozenset(one for note in self.given.values() for one in note.lines)

    @cached_property
    def _notes_by_id(self) -> Mapping[str, Note]:
        return {note.id: note for note in self.folder.notes.values() if note.id}

    def compare_note(self, stem: str) -> None:
        """Add the edits of a note."""
        note, same, standing = self.given[stem], self.folder.without_links, self.folder.line_texts
        if note.id:
            self._compare_head(stem, note)
        elif stem != INDEX:
            self._add_claim(stem, self._entity_claim(note.head))
        for one in dict.fromkeys((*note.listed, *note.lines)):
            here, base = note.lines.get(one), standing.get(one, self.former.get(one, ""))
            if here is None and one in standing and one not in self._kept_ids:
                self._add_claim(stem, {"kind": "retcon", "of": one, "says": "Removed from a note."})
            elif here is None or same(here) == same(base):
                continue
            elif one not in standing or bool(_TIE.fullmatch(here)) != bool(_TIE.fullmatch(base)):
                self.refused.append(f"{stem}: {here} ({_CHANGED})")
            else:
                reason = "Edited in a note."
                self._add_claim(
                    stem, {**self._line_claim(stem, here), "replaces": one, "reason": reason}
                )
        for words in note.new:
            self._add_claim(stem, {**self._line_claim(stem, words), **self.folder.claim_readers})

    def _add_claim(self, stem: str, claim: Mapping[str, Any]) -> None:
        self.claims.append((stem, claim))

    def _entity_claim(self, head: Mapping[str, Any]) -> dict[str, Any]:
        """Return the claim of a new entity."""
        kind = {"kind": "entity", "name": head["name"], "type": head.get("type") or "concept"}
        more = {"says": head["description"], "fields": head.get("fields"), "tags": head.get("tags")}
        more = {key: value for key, value in more.items() if value}
        return {**kind, **more, **self.folder.claim_readers}

    def _line_claim(self, stem: str, words: str) -> dict[str, Any]:
        """Return the fact or relation of a line."""
        tie, note = _TIE.fullmatch(words), self.given[stem]
        owner = note.id or note.head["name"]
        if tie is None or stem == INDEX:
            about = {} if stem == INDEX else {"about": [owner]}
            return {"kind": "fact", "says": self.folder.without_links(words), **about}
        end = self.given.get(tie[2]) or self.folder.notes.get(tie[2])
        to = tie[2] if end is None else end.id or end.head["name"]
        return {"kind": "relation", "from": owner, "type": tie[1], "to": to}

    def _compare_head(self, stem: str, note: Note) -> None:
        """Add the edits of an entity's own members."""
        now = self._notes_by_id.get(note.id)
        head = dict(note.head if now is None else {**now.head, **note.head})
        if now is not None and in_one_line(now.head["name"]) == head["name"]:
            head["name"] = now.head["name"]
        if (now and head == now.head) or replace(note, head=head).head_digest == note.reflects:
            return
        if now is None or now.head_digest != note.reflects:
            self.refused.append(f"{stem}: {note.head['name']} ({_CHANGED})")
            return
        right = {key: value for key, value in head.items() if value != now.head[key]}
        before, after = now.head["fields"], right.pop("fields", now.head["fields"]) or {}
        right |= {key: value for key, value in after.items() if before.get(key) != value}
        fixed = {"type", "aliases", "tags"} & right.keys() | before.keys() - after.keys()
        self.refused.extend(
            f"{stem}: {each} (cannot be edited in a note)" for each in sorted(fixed)
        )
        reason = {"of": note.id, "says": "Edited in a note."}
        for key in (each for each in right if each not in fixed):
            claim = {"kind": "correction", "field": key, "value": right[key], **reason}
            self._add_claim(stem, claim)
