"""A space as a folder of notes: `canonry export markdown`, and its edits with `import notes`."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.cli.note_folder import (
    EVERYONE,
    INDEX,
    Note,
    NoteFolder,
    in_one_line,
    read_note,
    stems_of,
)
from canonry.values.errors import InvalidInput
from tests.cli.run import Done, run_canonry

PLAIN = {"CANONRY_RECALL_EMBEDDER": "none"}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
PUBLIC = (
    {"kind": "entity", "name": "Hilde", "type": "character", "says": "Keeps the light.\n\n- day"},
    {"kind": "entity", "name": "Old Mill", "type": "location", "fields": {"built": 1812}},
    {"kind": "fact", "says": "Hilde fears the sea.", "about": ["Hilde"]},
    {"kind": "fact", "says": "Hilde keeps a spare key.", "about": ["Hilde"]},
    {"kind": "relation", "from": "Hilde", "type": "KNOWS", "to": "Old Mill"},
    {"kind": "state", "of": "Hilde", "tags": ["tired"]},
)
SECRET = (
    {"kind": "entity", "name": "old mill keeper", "type": "character", "says": "A smuggler."},
    {"kind": "fact", "says": "Hilde is the heir.", "about": ["Hilde"]},
    {"kind": "relation", "from": "old mill keeper", "type": "KNOWS", "to": "Hilde"},
    {"kind": "state", "of": "Hilde", "tags": ["cursed"]},
)
LATER = ({"kind": "entity", "name": "Old Mill Keeper?", "type": "character"},)


def run_on(folder: Path, *words: str) -> Done:
    return run_canonry(*words, "--data", str(folder / "data"), environment=PLAIN)


def propose_claims(folder: Path, claims: Any, said: str) -> None:
    done = run_on(folder, "propose", json.dumps(claims), "--said", said, "--space", "Home")
    assert done.returncode == 0, done.stdout + done.stderr


def make_note_store(folder: Path) -> Path:
    """A folder with a store of a space in which Hilde, a mill and four statements are known."""
    session = folder / "session.json"
    session.write_text(json.dumps([{"speaker": "GM", "text": "It rains."}]), encoding="utf-8")
    assert (
        run_on(folder, "import", "transcript", str(session), "--universe", "Home").returncode == 0
    )
    propose_claims(folder, PUBLIC, "Everybody knows it.")
    return folder


def export_notes(folder: Path, name: str, *words: str) -> Path:
    done = run_on(folder, "export", "markdown", str(folder / name), "--space", "Home", *words)
    assert done.returncode == 0, done.stderr
    return folder / name


def edit_note(path: Path, *changes: tuple[str, str]) -> None:
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_note_store(tmp_path_factory.mktemp("notes"))


def test_an_unchanged_folder_proposes_nothing(home: Path) -> None:
    notes = export_notes(home, "same")
    hilde = (notes / "Hilde.md").read_text(encoding="utf-8")
    assert "\n# Hilde\n\nKeeps the light.\n\n- day\n\n## Facts\n\n- Hilde fears the sea. ^" in hilde
    assert "\n- KNOWS [[Old Mill]] ^canon-" in hilde
    assert "[[Hilde]]" in (notes / "Index.md").read_text(encoding="utf-8")
    before = run_on(home, "export").stdout

    done = run_on(home, "import", "notes", str(notes))

    assert (done.returncode, done.stdout) == (0, "nothing changed\n")
    assert run_on(home, "export").stdout == before


def test_an_export_shows_its_position_and_only_game_masters_see_the_index(home: Path) -> None:
    log = map(json.loads, run_on(home, "export").stdout.splitlines())
    head = max(line.get("position", 0) for line in log)
    for reader in ("gm", "everyone"):
        folder = home / f"as-{reader}"
        done = run_on(home, "export", "markdown", str(folder), "--space", "Home", "--as", reader)
        assert done.stdout.endswith(f", as of position {head}\n")
        index = (folder / "Index.md").read_text(encoding="utf-8")
        assert (f"\nposition: {head}\n" in index) is (reader == "gm")


def test_edits_become_judged_proposals(tmp_path: Path) -> None:
    notes = export_notes(make_note_store(tmp_path), "notes")
    key, sea = re.search(r"- Hilde fears.*\n", (notes / "Hilde.md").read_text()), "the sea"
    assert key is not None
    edit_note(notes / "Hilde.md", ("a spare key", "two keys"), (key[0], ""))
    edit_note(notes / "Old Mill.md", ("## Facts", "A ruin.\n\n## Facts"), ("1812", "1813"))
    with (notes / "Hilde.md").open("a", encoding="utf-8") as file:
        file.write("- Hilde sails.\n- FEARS [[Bo]]\n")
    (notes / "Bo.md").write_text("---\ntype: character\n---\nA boy.\n", encoding="utf-8")
    before = run_on(tmp_path, "export").stdout

    planned = run_on(tmp_path, "import", "notes", str(notes), "--dry-run")
    assert planned.returncode == 0
    assert planned.stdout.count("would propose") == 7
    assert run_on(tmp_path, "export").stdout == before
    done = json.loads(run_on(tmp_path, "import", "notes", str(notes), "--json").stdout)

    assert [each["accepted"] for each in done["replies"]] == [1] * 7
    assert done["refused"] == []
    after = (export_notes(tmp_path, "after") / "Hilde.md").read_text(encoding="utf-8")
    assert sea not in after
    for line in ("- Hilde keeps two keys. ^", "- Hilde sails. ^", "- FEARS [[Bo]] ^"):
        assert line in after
    mill = (tmp_path / "after" / "Old Mill.md").read_text(encoding="utf-8")
    assert "built: 1813" in mill
    assert "\n# Old Mill\n\nA ruin.\n" in mill
    assert "A boy." in (tmp_path / "after" / "Bo.md").read_text(encoding="utf-8")

    edit_note(notes / "Hilde.md", ("two keys", "nine keys"), ("- tired", "- awake"))
    again = run_on(tmp_path, "import", "notes", str(notes))
    assert again.returncode == 1
    assert "not proposed: Hilde: tags (cannot be edited in a note)\n" in again.stdout
    line = "not proposed: Hilde: Hilde keeps nine keys. (changed since the export)"
    assert line in again.stdout.splitlines()


def test_a_secret_changes_no_byte_for_uninformed_readers(tmp_path: Path) -> None:
    texts = []
    for name, secret in (("twin", ()), ("told", SECRET)):
        (tmp_path / name).mkdir()
        folder = make_note_store(tmp_path / name)
        if secret:
            propose_claims(folder, [{**each, "for": ["gm"]} for each in secret], "A secret.")
        propose_claims(folder, LATER, "A keeper came.")
        notes, known = export_notes(folder, "notes"), dict[str, str]()

        def number(found: re.Match[str], known: dict[str, str] = known) -> str:
            return known.setdefault(found[0], f"id-{len(known)}")

        files = {each.name: each.read_text(encoding="utf-8") for each in sorted(notes.iterdir())}
        texts.append({each: UUID.sub(number, text) for each, text in files.items()})
    assert texts[0] == texts[1]
    assert set(texts[0]) == {"GM.md", "Hilde.md", "Index.md", "Old Mill Keeper-.md", "Old Mill.md"}

    all_of_it = export_notes(tmp_path / "told", "gm", "--as", "gm")
    assert "heir" in (all_of_it / "Hilde.md").read_text(encoding="utf-8")
    assert (all_of_it / "old mill keeper.md").exists()
    edit_note(all_of_it / "Hilde.md", ("is the heir", "is the last heir"))
    assert run_on(tmp_path / "told", "import", "notes", str(all_of_it)).returncode == 0
    again = export_notes(tmp_path / "told", "again")
    assert not [each for each in again.iterdir() if "heir" in each.read_text(encoding="utf-8")]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("type: character", "type: [x", 3),
        ("type: character", "type: &a x\nlist: *a", 2),
        ("---\n\n# Hilde", "\n# Hilde", 1),
        ("## Facts\n", "", None),
    ],
)
def test_a_damaged_note_is_named_with_its_line(
    home: Path, tmp_path: Path, old: str, new: str, line: int | None
) -> None:
    notes = export_notes(home, str(tmp_path / "notes"))
    edit_note(notes / "Hilde.md", (old, new))
    done = run_on(home, "import", "notes", str(notes))
    assert done.returncode == 2
    assert f"Hilde.md, line {line or ''}" in done.stderr


NAMES = st.text(st.characters(codec="utf-8"), max_size=12).filter(in_one_line)
NAMED = st.lists(NAMES | st.sampled_from(["con", "A", "a", "..", "a/b", "index", "é"]), max_size=6)


@given(NAMED, st.lists(NAMES, min_size=1, max_size=3), st.dictionaries(NAMES, NAMES))
def test_every_note_is_read_as_written(
    names: list[str], texts: list[str], fields: dict[str, str]
) -> None:
    stems = list(stems_of([*names, "x" * 300, "😀" * 300]))
    assert len({each.casefold() for each in (*stems, INDEX)}) == len(stems) + 1
    for stem in stems:
        assert not re.search(r'[<>:"/\\|?*\x00-\x1f]|^[ .]|[ .]$|(?i:^con$)', stem)
        assert len(f"{stem}.md".encode()) <= 255
    lines = {
        f"{n:08x}-0000-4000-8000-000000000000": in_one_line(text) for n, text in enumerate(texts)
    }
    result = "\n".join(" ".join(each.split()) for each in texts).strip()
    head = {"type": "x", "aliases": texts, "tags": [], "fields": fields, "description": result}
    notes = {INDEX: Note(head={"name": "Home", "description": ""}, lines={})}
    notes |= {
        stem: Note(head={**head, "name": in_one_line(name)}, lines=lines, id="i")
        for stem, name in zip(stems, names, strict=False)
    }
    folder = NoteFolder(space="s", reader=EVERYONE, notes=notes)
    for stem, text in folder.note_texts:
        read = read_note(text, f"{stem}.md")
        assert read.lines == notes[stem].lines
        assert list(read.lines) == read.listed
        assert stem == INDEX or (read.head, read.reflects) == (notes[stem].head, read.head_digest)


def test_a_note_with_unclosed_front_matter_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"a\.md, line 1: the front matter has no end"):
        read_note("---\ntype: x\n", "a.md")
