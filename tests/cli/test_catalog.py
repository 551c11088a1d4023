"""`canonry catalog import` and `export`: files in, files out, and clear words in between."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import Done, run_canonry
from tests.toolsets.catalog.kit import LAB, NOWHERE, OTHER, hostile_names


def run_catalog(folder: Path, *words: str) -> Done:
    return run_canonry("catalog", *words, "--data", str(folder / "data"))


def write_arrays(folder: Path, arrays: dict[str, Any], name: str = "catalog.json") -> str:
    path = folder / name
    path.write_text(json.dumps(arrays), encoding="utf-8")
    return str(path)


def test_json_survives_import_and_export(tmp_path: Path) -> None:
    first = run_catalog(tmp_path, "import", write_arrays(tmp_path, hostile_names()))
    assert first.returncode == 0, first.stderr
    assert "19 are new" in first.stdout

    out, again = tmp_path / "out.json", tmp_path / "again.json"
    assert run_catalog(tmp_path, "export", str(out)).returncode == 0
    other = tmp_path / "other"
    assert run_catalog(other, "import", str(out)).returncode == 0
    assert run_catalog(other, "export", str(again)).returncode == 0

    assert out.read_bytes() == again.read_bytes()
    assert {name: len(rows) for name, rows in json.loads(out.read_text("utf-8")).items()} == {
        name: len(rows) for name, rows in hostile_names().items()
    }
    assert run_catalog(tmp_path, "export").stdout == out.read_text("utf-8")
    reply = json.loads(run_catalog(tmp_path, "import", str(out), "--json").stdout)
    assert (reply["created"], reply["changed"], reply["refused"]) == ({}, {}, [])


def test_csv_survives_import_and_export(tmp_path: Path) -> None:
    arrays = hostile_names()
    arrays["entities"][2]["summary"] = None  # an empty cell is null
    run_catalog(tmp_path, "import", write_arrays(tmp_path, arrays))
    json_out, tables, again = tmp_path / "a.json", tmp_path / "tables", tmp_path / "b.json"
    run_catalog(tmp_path, "export", str(json_out))

    assert run_catalog(tmp_path, "export", "--csv", str(tables)).returncode == 0
    other = tmp_path / "other"
    done = run_catalog(other, "import", *(str(each) for each in sorted(tables.iterdir())))
    assert done.returncode == 0, done.stderr
    run_catalog(other, "export", str(again))

    assert again.read_bytes() == json_out.read_bytes()


def test_one_project_can_be_exported(tmp_path: Path) -> None:
    run_catalog(tmp_path, "import", write_arrays(tmp_path, hostile_names()))

    reply = json.loads(run_catalog(tmp_path, "export", "--project", OTHER.upper()).stdout)

    assert [row["id"] for row in reply["projects"]] == [OTHER]
    assert [row["title"] for row in reply["entities"]] == ["foreign"]
    assert run_catalog(tmp_path, "export", "--project", NOWHERE).returncode == 3
    assert run_catalog(tmp_path, "export", "--project", "x").returncode == 2


def test_an_import_names_a_dangerous_address(tmp_path: Path) -> None:
    arrays = hostile_names()
    arrays["entities"][8]["repoUrl"] = "Java\tScript:alert(1)"

    done = run_catalog(tmp_path, "import", write_arrays(tmp_path, arrays))
    lenient = run_catalog(tmp_path, "import", write_arrays(tmp_path, arrays), "--lenient")

    assert done.returncode == 2
    assert "entities[8].repoUrl: Give an address like https:" in done.stderr
    assert "refused: entities[8].repoUrl: Give an address like https:" in lenient.stdout


def test_a_wrong_row_is_named_and_nothing_is_stored(tmp_path: Path) -> None:
    arrays = hostile_names()
    arrays["entities"][3]["title"] = ""
    arrays["relations"][0]["toEntityId"] = NOWHERE

    done = run_catalog(tmp_path, "import", write_arrays(tmp_path, arrays))

    assert done.returncode == 2
    assert "entities[3].title: The text is empty" in done.stderr
    assert "relations[0].toEntityId: The project has no concept with this id" in done.stderr
    exported = json.loads(run_catalog(tmp_path, "export").stdout)
    assert exported["projects"] == []

    lenient = run_catalog(tmp_path, "import", write_arrays(tmp_path, arrays), "--lenient")
    assert lenient.returncode == 0
    assert "refused: entities[3].title: The text is empty" in lenient.stdout
    assert "rows were refused" in lenient.stdout


def test_a_dry_run_stores_nothing(tmp_path: Path) -> None:
    done = run_catalog(tmp_path, "import", write_arrays(tmp_path, hostile_names()), "--dry-run")

    assert "19 would be new" in done.stdout
    assert "store.absent" in run_catalog(tmp_path, "export").stderr


def test_files_that_are_no_catalog_are_refused(tmp_path: Path) -> None:
    no_json = tmp_path / "a.json"
    no_json.write_text("{", encoding="utf-8")
    latin = tmp_path / "entities.csv"
    latin.write_bytes(b"id,title\n1,caf\xe9\n")
    strange = tmp_path / "guides.csv"
    strange.write_text("id\n", encoding="utf-8")
    listed = tmp_path / "b.json"
    listed.write_text("[]", encoding="utf-8")

    for path, words in (
        (no_json, "is no JSON: line 1"),
        (latin, "is not UTF-8"),
        (strange, "must have the name of an array"),
        (listed, "must be an object"),
    ):
        done = run_catalog(tmp_path, "import", str(path))
        assert done.returncode == 2
        assert words in done.stderr
    assert run_catalog(tmp_path, "export", "a", "--csv", "b").returncode == 2


LAB_ROW = f"{LAB},a,b\n"
UNREADABLE: tuple[tuple[str, str | bytes, str], ...] = (
    ("projects.csv", f"id,name,slug\n{LAB},a,b,more\n", "(more cells than the header)"),
    ("projects.csv", f"id,name,slug\n{LAB},a\n", "(fewer cells than the header)"),
    ("projects.csv", "", "has no column id, name, slug"),
    ("projects.csv", f"id;name;slug\n{LAB};a;b\n", "unknown column 'id;name;slug'"),
    ("projects.csv", f"id,name,slug,colour\n{LAB},a,b,red\n", "unknown column 'colour'"),
    ("projects.csv", f"id,name,slug,name\n{LAB},a,b,c\n", "the column name twice"),
    ("projects.csv", f'id,name,slug\n{LAB},"a,b\n{LAB_ROW}', "line 3: unexpected end of data"),
    ("projects.csv", f"id,name,slug\n{LAB},{'x' * 1_000_001},b\n", "line 2: field larger"),
    ("projects.csv", f"id,name,slug\n{LAB},a\0,b\n", "projects[0].name: The text must not"),
    ("projects.csv.gz", b"no gzip", "is no gzip file"),
    ("projects.csv.gz", gzip.compress(b"id,name,slug\n" * 99, mtime=0)[:-9], "is damaged"),
    ("a.json", '{"projects": [], "projects": []}', "an object has 'projects' twice"),
    ("a.json", f'{{"projects": [{{"id": "{LAB}", "a": 1, "a": 2}}]}}', f"id {LAB} has 'a' twice"),
    ("a.json", '{"projects": [NaN]}', "NaN is no number"),
    ("a.json", f'{{"projects": [{"9" * 5_000}]}}', "too many digits"),
    ("a.json", "[" * 100_000, "nested too deep"),
    ("a.json", "{} {}", "line 1, column 4: Extra data"),
    ("a.json", b'{"projects":\0[]}', "is no JSON: line 1"),
    ("a.json", '{"guides": []}', "no array 'guides'"),
    ("a.json", '{"projects": {}}', "'projects' must be an array of objects"),
    ("a.json", '{"projects": [1]}', "projects[0]: A row must be an object"),
    (
        "a.json",
        json.dumps({"projects": [{"id": LAB, "name": "x" * 10_000_000}]}),
        "the limit is 1000",
    ),
)


@pytest.mark.parametrize(("name", "content", "words"), UNREADABLE)
def test_unclear_input_is_refused_with_its_position(
    tmp_path: Path, name: str, content: str | bytes, words: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())

    done = run_catalog(tmp_path, "import", str(path))

    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert len(done.stderr) < 1_000
    assert done.stdout == ""


def test_a_table_is_read_as_spreadsheets_write_it(tmp_path: Path) -> None:
    table = f'\ufeffid,slug,name,description\r\n\r\n{LAB},lab,"a ""b"",\r\nc",\r\n\r\n'
    path = tmp_path / "projects.csv.gz"
    path.write_bytes(gzip.compress(table.encode()))

    done = run_catalog(tmp_path, "import", str(path))

    assert done.returncode == 0, done.stderr
    (row,) = json.loads(run_catalog(tmp_path, "export").stdout)["projects"]
    assert (row["name"], row["slug"], row["description"]) == ('a "b",\r\nc', "lab", None)


def test_rows_of_several_files_are_distinguished(tmp_path: Path) -> None:
    wrong = {"entities": [{**hostile_names()["entities"][0], "title": ""}]}
    first = write_arrays(tmp_path, hostile_names(), "first.json")
    second = write_arrays(tmp_path, wrong, "second.json")

    done = run_catalog(tmp_path, "import", first, second)

    reported = (
        "entities come from 2 files: from entities[0] on first.json, from entities[19] on second"
    )
    assert "Nothing was stored: entities[19].title: The text is empty" in done.stderr
    assert reported in done.stderr
    assert reported in run_catalog(tmp_path, "import", first, second, "--lenient").stdout


def test_a_file_without_rows_says_so(tmp_path: Path) -> None:
    done = run_catalog(tmp_path, "import", write_arrays(tmp_path, {}))

    assert (done.returncode, done.stdout) == (0, "the files have no rows\n")


def test_a_failed_export_leaves_the_earlier_file(tmp_path: Path) -> None:
    run_catalog(tmp_path, "import", write_arrays(tmp_path, hostile_names()))
    file, tables = tmp_path / "out.json", tmp_path / "tables"
    run_catalog(tmp_path, "export", str(file))
    run_catalog(tmp_path, "export", "--csv", str(tables))
    before = [each.read_bytes() for each in (file, *sorted(tables.iterdir()))]

    for where in ((str(file),), ("--csv", str(tables))):
        assert run_catalog(tmp_path, "export", *where, "--project", NOWHERE).returncode == 3

    assert [each.read_bytes() for each in (file, *sorted(tables.iterdir()))] == before
    assert not list(tmp_path.rglob("*.part"))
