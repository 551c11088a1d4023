"""`canonry catalog import` and `export`: files in, files out, and clear words in between."""

import json
from pathlib import Path
from typing import Any

from tests.cli.run import Done, canonry
from tests.toolsets.catalog.kit import LAB, NOWHERE, OTHER, hostile


def run(folder: Path, *words: str) -> Done:
    return canonry("catalog", *words, "--data", str(folder / "data"))


def written(folder: Path, arrays: dict[str, Any], name: str = "catalog.json") -> str:
    path = folder / name
    path.write_text(json.dumps(arrays), encoding="utf-8")
    return str(path)


def test_json_goes_in_and_comes_out_the_same(tmp_path: Path) -> None:
    first = run(tmp_path, "import", written(tmp_path, hostile()))
    assert first.returncode == 0, first.stderr
    assert "19 are new" in first.stdout

    out, again = tmp_path / "out.json", tmp_path / "again.json"
    assert run(tmp_path, "export", str(out)).returncode == 0
    other = tmp_path / "other"
    assert run(other, "import", str(out)).returncode == 0
    assert run(other, "export", str(again)).returncode == 0

    assert out.read_bytes() == again.read_bytes()
    assert {name: len(rows) for name, rows in json.loads(out.read_text("utf-8")).items()} == {
        name: len(rows) for name, rows in hostile().items()
    }
    assert run(tmp_path, "export").stdout == out.read_text("utf-8")
    told = json.loads(run(tmp_path, "import", str(out), "--json").stdout)
    assert (told["created"], told["changed"], told["refused"]) == ({}, {}, [])


def test_csv_goes_in_and_comes_out_the_same(tmp_path: Path) -> None:
    arrays = hostile()
    arrays["entities"][2]["summary"] = None  # an empty cell is null
    run(tmp_path, "import", written(tmp_path, arrays))
    json_out, tables, again = tmp_path / "a.json", tmp_path / "tables", tmp_path / "b.json"
    run(tmp_path, "export", str(json_out))

    assert run(tmp_path, "export", "--csv", str(tables)).returncode == 0
    other = tmp_path / "other"
    done = run(other, "import", *(str(each) for each in sorted(tables.iterdir())))
    assert done.returncode == 0, done.stderr
    run(other, "export", str(again))

    assert again.read_bytes() == json_out.read_bytes()


def test_one_project_can_be_written_out(tmp_path: Path) -> None:
    run(tmp_path, "import", written(tmp_path, hostile()))

    told = json.loads(run(tmp_path, "export", "--project", OTHER.upper()).stdout)

    assert [row["id"] for row in told["projects"]] == [OTHER]
    assert [row["title"] for row in told["entities"]] == ["foreign"]
    assert run(tmp_path, "export", "--project", NOWHERE).returncode == 3
    assert run(tmp_path, "export", "--project", "x").returncode == 2


def test_a_wrong_row_is_named_and_nothing_is_stored(tmp_path: Path) -> None:
    arrays = hostile()
    arrays["entities"][3]["title"] = ""
    arrays["relations"][0]["toEntityId"] = NOWHERE

    done = run(tmp_path, "import", written(tmp_path, arrays))

    assert done.returncode == 2
    assert "entities[3].title: say something" in done.stderr
    assert "relations[0].toEntityId: the project has no concept with this id" in done.stderr
    exported = json.loads(run(tmp_path, "export").stdout)
    assert exported["projects"] == []

    lenient = run(tmp_path, "import", written(tmp_path, arrays), "--lenient")
    assert lenient.returncode == 0
    assert "refused: entities[3].title: say something" in lenient.stdout
    assert "rows were refused" in lenient.stdout


def test_a_dry_run_stores_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, "import", written(tmp_path, hostile()), "--dry-run")

    assert "19 would be new" in done.stdout
    assert json.loads(run(tmp_path, "export").stdout)["projects"] == []


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
        (strange, "is called by no array"),
        (listed, "holds no object"),
    ):
        done = run(tmp_path, "import", str(path))
        assert done.returncode == 2
        assert words in done.stderr
    cells = tmp_path / "projects.csv"
    cells.write_text(f"id,name,slug\n{LAB},a,b,too many\n", encoding="utf-8")
    assert "there is no such field" in run(tmp_path, "import", str(cells)).stderr
    assert run(tmp_path, "export", "a", "--csv", "b").returncode == 2
