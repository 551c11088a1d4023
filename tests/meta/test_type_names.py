"""One name for one type: no two types of the package have one name, public or private."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.meta.tree import PACKAGE

TYPE_NAME = re.compile(r"_?[A-Z]\w*[a-z]\w*")
VARIABLES = frozenset({"ParamSpec", "TypeVar", "TypeVarTuple"})


def types_in(module: ast.Module) -> Iterator[str]:
    """The classes, aliases and new types that a module defines; what it imports is not its own."""
    for node in module.body:
        match node:
            case ast.ClassDef(name=name):
                yield name
            case (
                ast.AnnAssign(target=ast.Name(id=name), value=value)
                | ast.Assign(targets=[ast.Name(id=name)], value=value)
            ) if TYPE_NAME.fullmatch(name):
                if not (
                    isinstance(value, ast.Call)
                    and isinstance(value.func, ast.Name)
                    and value.func.id in VARIABLES
                ):
                    yield name


def defined_twice(package: Path) -> Mapping[str, list[str]]:
    """Each type name that several modules define, with those modules."""
    where: dict[str, list[str]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        for name in types_in(ast.parse(path.read_text(encoding="utf-8"))):
            where[name].append(path.relative_to(package).as_posix())
    return {name: modules for name, modules in where.items() if len(modules) > 1}


def test_no_two_types_have_one_name() -> None:
    assert defined_twice(PACKAGE) == {}, "name each for what it is; the glossary has the words"


def test_a_name_given_twice_is_found(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(
        'from typing import NewType, TypeVar\nT_co = TypeVar("T_co")\nclass Part: ...\n'
        'Row = tuple[int, str]\nPlace = NewType("Place", str)\nclass _Run: ...\nLIMIT = 1\n'
    )
    (tmp_path / "two.py").write_text(
        'from one import Free\nfrom typing import TypeAlias, TypeVar\nT_co = TypeVar("T_co")\n'
        "Part: TypeAlias = int\nclass Row: ...\nclass Place: ...\nclass _Run: ...\nLIMIT = 2\n"
    )

    assert sorted(defined_twice(tmp_path)) == ["Part", "Place", "Row", "_Run"]
