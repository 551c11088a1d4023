"""The patterns of the package, and texts that are as hard for each as its own form suggests."""

import ast
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import chain, product
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined] # the form of a pattern, as parsed
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final

from canonry.language.reading import rewriting, tokens
from tests.meta.tree import PACKAGE

USES: Final[dict[str, Callable[[Any, Any], object]]] = {
    "match": lambda pattern, text: pattern.match(text),
    "fullmatch": lambda pattern, text: pattern.fullmatch(text),
    "search": lambda pattern, text: pattern.search(text),
    "findall": lambda pattern, text: pattern.findall(text),
    "finditer": lambda pattern, text: sum(1 for _ in pattern.finditer(text)),
    "split": lambda pattern, text: pattern.split(text),
    "sub": lambda pattern, text: pattern.sub(text[:0], text),
    "subn": lambda pattern, text: pattern.subn(text[:0], text),
}
SCANS: Final = frozenset(USES) - {"match", "fullmatch"}
"""Each of these runs one search after the other, and `findall` does no less than any of them."""

EVERYDAY: Final = "aA0 \n\t.,-_:;@('\"*/%\u00e9\u3042"
ENDLESS: Final = 1_000
OWN_MAX, PAIRED_MAX = 24, 9
"""So many characters of a pattern are tried, and in pairs."""

SAMPLES_MAX, HEADS_MAX, SAMPLE_MAX = 24, 8, 60
"""So many texts that a pattern or a part of it matches are repeated, or stand in front."""

TAILS: Final = ("", "!\n!", "\x00")
_REPEAT: Final = re.compile(r"_REPEAT, \(\w+, (\w+)")
_REPEATS: Final = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)


@dataclass(frozen=True)
class Found:
    """A compiled pattern, where it is, and by which methods it is asked."""

    where: str
    pattern: re.Pattern[Any]
    uses: tuple[str, ...]


def patterns_in(path: Path) -> Iterator[Found]:
    """Every pattern that a module compiles at its top, alone or in a table."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if not any(_is_compile(node) for node in ast.walk(tree)):
        return
    inner = path.relative_to(PACKAGE.parent).with_suffix("")
    module = import_module(".".join(inner.parts).removesuffix(".__init__"))
    for statement in tree.body:
        value = getattr(statement, "value", None)
        if value is None or not any(map(_is_compile, ast.walk(value))):
            continue
        targets = getattr(statement, "targets", None) or [statement.target]  # type: ignore[attr-defined]
        name = targets[0].id
        for key, pattern in compiled_patterns(getattr(module, name)):
            yield Found(f"{path.name}:{name}{key}", pattern, pattern_uses(tree, name))


def compiled_patterns(value: Any, key: str = "") -> Iterator[tuple[str, re.Pattern[Any]]]:
    if isinstance(value, re.Pattern):
        yield key, value
    elif isinstance(value, dict):
        for name, each in members_of(value).items():
            yield from compiled_patterns(each, f"{key}[{name!r}]")
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from compiled_patterns(each, f"{key}[{index}]")


def members_of(table: dict[str, Any]) -> dict[str, Any]:
    """The members of a table, with those that it makes when they are first asked for."""
    if table is rewriting.PATTERNS:
        sets = (each for code in tokens._DATA for each in tokens._REWRITES[code].values())
        return {old: table[old] for rewrites in sets for old, _new in rewrites.rows}
    if isinstance(table, rewriting.Lazy):
        return {code: table[code] for code in tokens._DATA}
    return table


def strays_in(path: Path) -> Iterator[int]:
    """The lines where patterns are made or used in a way that nobody can prove anything about."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    at_top = {node for statement in tree.body for node in _outside_functions(statement)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in {"re", "regex"}:
            yield node.lineno
        if isinstance(node, ast.Call) and _is_compile(node) and node not in at_top:
            yield node.lineno
        if isinstance(node, ast.Attribute) and _is_re(node.value) and node.attr in USES:
            yield node.lineno


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return
    if isinstance(node, ast.Call) and ast.unparse(node.func) == rewriting.Lazy.__name__:
        yield from ast.walk(node)
    yield node
    for inner in ast.iter_child_nodes(node):
        yield from _outside_functions(inner)


def _is_compile(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and _is_re(node.func.value)
        and node.func.attr == "compile"
    )


def _is_re(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "re"


def repeats_repetitions(pattern: re.Pattern[Any]) -> bool:
    """Return whether an unbounded repetition contains an unbounded repetition."""
    return any(repetition_depths(parse_pattern(pattern), 0))


def has_repetition(pattern: re.Pattern[Any]) -> bool:
    """Return whether a part of a pattern can match several times in a row."""
    return any(most != "1" for most in _REPEAT.findall(repr(parse_pattern(pattern))))


def repetition_depths(tree: Any, depth: int) -> Iterator[bool]:
    for node in tree:
        endless = node[0] in _REPEATS and node[1][1] > ENDLESS
        if endless and depth:
            yield True
        for inner in inner_parts(node):
            yield from repetition_depths(inner, depth + endless)


def parse_pattern(pattern: re.Pattern[Any]) -> Any:
    return parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)


def pattern_uses(tree: ast.AST, name: str) -> tuple[str, ...]:
    """The methods by which a module asks a pattern; all of them where it hands the pattern on.

    `findall` stands for every method that scans a text. Its first attempt is that of `match`.
    """
    asked: set[str] = set()
    plain = total = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            total += 1
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == name
        ):
            plain += 1
            asked.add(node.attr)
    found = asked & set(USES) if total == plain and asked & set(USES) else set(USES)
    asked = {"findall" if each in SCANS else each for each in found}
    return tuple(sorted(asked - {"match"} if "findall" in asked else asked))


def hard_texts(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    """(head, what is repeated, tail) of texts on which a pattern may have to try again and again.

    Repeated are single characters, pairs of the pattern's own characters, and what its parts and
    their beginnings match; heads are what leads up to each of its parts.
    """
    tree = parse_pattern(pattern)
    own = "".join(dict.fromkeys(chain.from_iterable(yield_characters(tree))))
    all_samples = dict.fromkeys((*yield_bodies(tree), *yield_samples(tree)))
    samples = [each for each in all_samples if 0 < len(each) <= SAMPLE_MAX]
    units = [*dict.fromkeys(own[:OWN_MAX] + EVERYDAY), *samples[:SAMPLES_MAX]]
    for unit, head in product(units, ("", *samples[:HEADS_MAX])):
        if unit != head:
            yield from ((head, unit, tail) for tail in (TAILS if not head else TAILS[1:2]))
    for one, other in product(own[:PAIRED_MAX], repeat=2):
        if one != other:
            yield "", one + other, TAILS[1]


def text_of(parts: tuple[str, str, str], length: int, like: Any) -> Any:
    """Such a text of about this length, as bytes if the pattern reads bytes."""
    head, unit, tail = parts
    text = head + unit * (length // len(unit)) + tail
    return text.encode("utf-8", "replace") if isinstance(like, bytes) else text


def cpu_seconds(use: str, pattern: re.Pattern[Any], *texts: Any, tries: int = 1) -> float:
    """The least time of this thread that a pattern took over all the texts."""
    ask, best = USES[use], float("inf")
    for _ in range(tries):
        begin = time.thread_time()
        for text in texts:
            ask(pattern, text)
        best = min(best, time.thread_time() - begin)
    return best


def yield_samples(tree: Any) -> Iterator[str]:
    """Yield texts that match the beginnings of a pattern and its parts, at every depth."""
    so_far = ""
    for each in tree:
        for inner in inner_parts(each):
            for sample in yield_samples(inner):
                yield sample
                yield so_far + sample
        so_far += _sample_of(each)
        yield so_far


def yield_bodies(tree: Any) -> Iterator[str]:
    """Yield one text for each repeated part of a pattern."""
    for each in tree:
        for inner in inner_parts(each):
            yield from yield_bodies(inner)
            if each[0] in _REPEATS:
                yield sample_of(inner)


def inner_parts(node: tuple[Any, Any]) -> Sequence[Any]:
    kind, value = node
    match kind:
        case repeat if repeat in _REPEATS:
            return [value[2]]
        case sre.SUBPATTERN:
            return [value[3]]
        case sre.ATOMIC_GROUP:
            return [value]
        case sre.BRANCH:
            return list(value[1])
        case _:
            return []


def _sample_of(node: tuple[Any, Any]) -> str:
    kind, value = node
    inner = inner_parts(node)
    if kind in _REPEATS:
        least, most, _ = value
        return sample_of(inner[0]) * int(max(least, min(most, 1)))
    if inner:
        return sample_of(inner[0])
    if kind is sre.LITERAL:
        return chr(int(value))
    if kind is sre.IN:
        return next(class_members(value), "a")
    return "a" if kind in {sre.ANY, sre.NOT_LITERAL} else ""


def sample_of(tree: Any) -> str:
    return "".join([_sample_of(node) for node in tree])


def yield_characters(tree: Any) -> Iterator[str]:
    for node in tree:
        kind, value = node
        match kind:
            case sre.LITERAL | sre.NOT_LITERAL:
                yield chr(value)
            case sre.IN:
                yield "".join(class_members(value))
            case sre.ASSERT | sre.ASSERT_NOT:
                yield from yield_characters(value[1])
            case _:
                pass
        for inner in inner_parts(node):
            yield from yield_characters(inner)


_CATEGORIES: Final = {
    sre.CATEGORY_DIGIT: "0",
    sre.CATEGORY_SPACE: " \n",
    sre.CATEGORY_WORD: "a0",
    sre.CATEGORY_NOT_DIGIT: "a ",
    sre.CATEGORY_NOT_SPACE: "a.",
    sre.CATEGORY_NOT_WORD: " .",
}


def class_members(items: Any) -> Iterator[str]:
    """Some characters of a class; of a negated one, everyday ones outside it."""
    excluded = items and items[0][0] is sre.NEGATE
    named: list[str] = []
    for kind, value in items:
        match kind:
            case sre.LITERAL:
                named.append(chr(value))
            case sre.RANGE:
                named.append(chr(value[0]))
            case sre.CATEGORY:
                named += _CATEGORIES[value]
            case _:
                pass
    yield from (c for c in EVERYDAY if c not in named) if excluded else iter(named)
