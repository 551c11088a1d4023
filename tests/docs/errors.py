"""The error codes: what each means and what to do, read from where it is raised."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from canonry.values import errors
from tests.meta.tree import python_files

CLASSES = {
    each.__name__: each
    for each in errors.CanonryError.__subclasses__()
    if each.__module__ == errors.__name__  # a client has an error of its own
}
WHAT_TO_DO = {
    "InvalidInput": "The request is wrong: change it, then send it again.",
    "NotAllowed": "Use a role that may do this, or ask the operator of the server for the right.",
    "NotFound": "The named item does not exist, or this caller may not see it: look it up first.",
    "Conflict": "The canon contradicts the request: read the named items, then decide again.",
    "NotSupported": "This installation cannot do this: the message says what it lacks.",
    "Unavailable": "Send the same request again, a little later.",
    "BrokenInvariant": "An invariant is broken: run `canonry verify`, and report its output.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """One place at which an error is made."""

    code: str
    kind: str
    message: str


def raised_in(path: Path) -> Iterator[Raised]:
    """Every error with a code of its own that a module makes."""
    source = path.read_text(encoding="utf-8")
    if not any(name in source for name in CLASSES):
        return
    tree = ast.parse(source)
    constants = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and not isinstance(node.value, ast.Name)
    }
    for scope in ast.walk(tree):
        if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            continue
        for call in _calls_of(scope):
            local = constants | _texts_of(scope, before=call.lineno)
            code = text_of(call.args[0], local)
            if "." in code and " " not in code:
                message = text_of(call.args[1], local) if len(call.args) > 1 else ""
                yield Raised(code=code, kind=name_of(call.func), message=message)


def _calls_of(scope: ast.AST) -> Iterator[ast.Call]:
    for node in own_nodes(scope):
        if isinstance(node, ast.Call) and name_of(node.func) in CLASSES and node.args:
            yield node


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope, without those of the functions within it."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from own_nodes(child)


def _texts_of(scope: ast.AST, *, before: int) -> dict[str, ast.expr]:
    """The texts that names of a scope stand for where a line begins."""
    return {
        target.id: node.value
        for node in own_nodes(scope)
        if isinstance(node, ast.Assign) and node.lineno < before
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value, ast.Constant | ast.JoinedStr)
    }


def name_of(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def text_of(node: ast.expr, known: dict[str, ast.expr]) -> str:
    """A text as it is written, with a dash where a value is put in."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(text_of(part, known) for part in parts)
        case ast.IfExp(body=body):
            return text_of(body, known)
        case ast.Name(id=name) if name in known:
            return text_of(known[name], {k: v for k, v in known.items() if k != name})
        case _:
            return "…"


@cache
def every_error() -> dict[str, list[Raised]]:
    """Code -> the places at which it is raised, by the code's alphabet."""
    found: dict[str, list[Raised]] = defaultdict(list)
    for path in python_files("src"):
        for each in raised_in(path):
            found[each.code].append(each)
    return dict(sorted(found.items()))


def errors_section() -> str:
    """Return every code under the class that says what a caller may do about it."""
    found = every_error()
    intro = (
        "An error has a stable code, a message that says what to do next, and details for a\n"
        "program. Its class says what a caller may do about it. Each toolset reports it as its\n"
        "contract says. Other codes consist of a kind of item and its state, as `entity.unknown`.\n"
    )
    parts = [intro]
    for kind, error in CLASSES.items():
        codes = {code: places for code, places in found.items() if places[0].kind == kind}
        named = {code: places for code, places in codes.items() if "…" not in code}
        meaning = (error.__doc__ or "").split("\n")[0]
        parts.append(f"\n## {kind}\n\n{meaning} {WHAT_TO_DO[kind]}\n\n")
        parts.append("| code | message |\n| --- | --- |\n")
        parts += [f"| `{code}` | {message_rows(places)} |\n" for code, places in named.items()]
    return "".join(parts)


def message_rows(places: list[Raised]) -> str:
    texts = dict.fromkeys(each.message for each in places if each.message.strip("…. :"))
    return (
        " · ".join(texts).replace("|", "\\|").replace("<", "&lt;")
        or "composed where the error is raised"
    )
