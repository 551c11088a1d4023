"""`canonry world`: import, export, draw and check worlds."""

import json
from dataclasses import asdict
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from shlex import quote
from textwrap import shorten
from typing import Any, Final

import click

from canonry.app.settings import Settings
from canonry.app.stores import open_kept_store, open_store_to_try
from canonry.cli.options import command_from, operator_caller, settings_from, show_progress
from canonry.cli.terminal import EXAMPLES, data_output, print_line
from canonry.gateway.validation import compile_arguments
from canonry.language.texts.visible import escape_hidden
from canonry.values.errors import InvalidInput
from canonry.values.json_values import encode_json, encode_pretty, read_value, schema_of
from canonry.world.domain.atlas import (
    Atlas,
    Difference,
    complete_atlas,
    find_differences,
    merge_atlases,
)
from canonry.world.domain.checks import Problem, find_problems
from canonry.world.domain.drawing import draw_svg, draw_text
from canonry.world.usecases.exchange import ImportedWorld, export_world, import_world
from canonry.world.usecases.worlds import query_worlds, world_named


def read_atlas(path: Path) -> tuple[Atlas, str]:
    """Return the atlas in a file, and the file's name with a hash of its content.

    Raises:
        InvalidInput: `world.not-json`, `input.invalid`, `input.missing` or
            `input.unknown-property`, with the path within the file.
    """
    data = path.read_bytes()
    return parse_atlas(data), f"{path.name}@{sha256(data).hexdigest()[:16]}"


def parse_atlas(data: bytes) -> Atlas:
    """Return the atlas in these bytes; raises like `read_atlas`."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        message = "A world file must be JSON. Run `canonry world export` for an example."
        raise InvalidInput("world.not-json", message, path="") from None
    if not isinstance(value, dict):
        raise InvalidInput("world.not-json", "A world file must be a JSON object.", path="")
    return read_value(compile_arguments(schema_of(Atlas))(value), Atlas)


def atlas_bytes(atlas: Atlas) -> bytes:
    """Return the file of an atlas, with control characters made visible."""
    return escape_hidden(encode_pretty(atlas).decode()).encode()


def demo_atlas() -> Atlas:
    """Return the demo world of Canonry."""
    return parse_atlas(files(__package__).joinpath("demo.json").read_bytes())


WRONG: Final = 1
DEMO: Final = "demo.json of Canonry"


@click.group(epilog=EXAMPLES["world"])
def world() -> None:
    """Import, draw and check worlds for play."""


@command_from("world-import", world)
async def imports(*, file: Path, dry_run: bool, as_json: bool, **given: Any) -> None:
    """Create or update a world from FILE. A second import changes nothing.

    The whole file is checked before anything is written. Items of the store that the file does not
    mention stay, and known movers keep their location.
    """
    atlas, origin = read_atlas(file)
    done = await _import_atlas(settings_from(given), atlas, origin, dry_run=dry_run)
    _print_import(done, dry_run=dry_run, as_json=as_json)


@command_from("world-demo", world)
async def demo(**given: Any) -> None:
    """Import the demo world of Canonry, and print the command that serves it."""
    done = await _import_atlas(settings_from(given), demo_atlas(), DEMO, dry_run=False)
    _print_import(done, dry_run=False, as_json=False)
    click.echo("to serve it, run:")
    data = f" --data {quote(str(given['data']))}" if given.get("data") else ""
    command = f"canonry serve --toolsets world --world {done.world_id} --agent-type Narrative"
    click.echo(f"  {command}{data}")


async def _import_atlas(
    settings: Settings, atlas: Atlas, origin: str, *, dry_run: bool
) -> ImportedWorld:
    opening = open_store_to_try(settings) if dry_run else open_kept_store(settings)
    async with await opening as store:
        with show_progress("importing") as on_progress:
            return await import_world(
                store.canon,
                operator_caller("world import"),
                atlas,
                origin=origin,
                progress=on_progress,
                dry_run=dry_run,
            )


def _print_import(done: ImportedWorld, *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        summary = {"world_id": done.world_id, "changed": done.changed, "seen": done.seen}
        click.echo(encode_json({**summary, "dry_run": dry_run}).decode())
        return
    would = "would change" if dry_run else "changed"
    for noun, seen in done.seen.items():
        click.echo(f"  {noun:12} {done.changed.get(noun, 0):6} of {seen} {would}")
    for problem in done.warnings:
        _print_problem(problem)
    click.echo(f"world {done.world_id}")


@command_from("world-list", world)
async def list_worlds(**given: Any) -> None:
    """List the worlds of the store, with their ids."""
    async with await open_kept_store(settings_from(given), existing=True) as store:
        for each in await query_worlds(store.canon):
            print_line(f"{each.id}  {each.name}")


@command_from("world-export", world)
async def export(*, name: str, file: Path | None, **given: Any) -> None:
    """Write WORLD, by id or name, in its present state to FILE or to standard output."""
    text = atlas_bytes(await _export_atlas(settings_from(given), name)).decode()
    with data_output(file) as out:
        out.write(text)


@command_from("world-map", world)
async def draw(*, name: str, svg: Path | None, **given: Any) -> None:
    """Draw the exits, realms and unreachable locations of a world."""
    atlas = await _atlas_of(settings_from(given), name)
    if svg is None:
        click.echo(draw_text(atlas))
    else:
        with data_output(svg) as out:
            out.write(draw_svg(atlas))


@command_from("world-check", world)
async def check(*, name: str, **given: Any) -> None:
    """List faults and oddities of a world's structure. Exit code 1 if it has faults."""
    found = list(find_problems(await _atlas_of(settings_from(given), name)))
    for problem in found:
        _print_problem(problem)
    wrong = sum(problem.fatal for problem in found)
    click.echo(f"{wrong} faults, {len(found) - wrong} oddities")
    if wrong:
        raise SystemExit(WRONG)


@command_from("world-diff", world)
async def diff(*, before: str, after: str, as_json: bool, **given: Any) -> None:
    """List the fields that differ between BEFORE and AFTER."""
    settings = settings_from(given)
    found = find_differences(await _atlas_of(settings, before), await _atlas_of(settings, after))
    if as_json:
        click.echo(encode_json([asdict(each) for each in found]).decode())
        return
    for each in found:
        _print_difference(each)
    click.echo(f"{len(found)} differences")


@command_from("world-merge", world, settings=None)
def merge(*, base: Path, ours: Path, theirs: Path, file: Path) -> None:
    """Merge OURS and THEIRS, both edited from BASE, into FILE.

    If both changed a field, OURS wins, the conflict is listed, and the exit code is 1.
    """
    done = merge_atlases(*(read_atlas(each)[0] for each in (base, ours, theirs)))
    with data_output(file) as out:
        out.write(atlas_bytes(done.atlas).decode())
    for each in done.conflicts:
        _print_difference(each)
    for problem in find_problems(complete_atlas(done.atlas)):
        _print_problem(problem)
    click.echo(f"{len(done.conflicts)} conflicts")
    if done.conflicts:
        raise SystemExit(WRONG)


def _print_difference(each: Difference) -> None:
    values = (shorten(encode_json(value).decode(), 60) for value in (each.before, each.after))
    print_line(f"  {each.path}: {' -> '.join(values)}")


def _print_problem(problem: Problem) -> None:
    weight = "fault" if problem.fatal else "odd  "
    print_line(f"  {weight}  {problem.where}: {problem.message} ({problem.code})")


async def _atlas_of(settings: Settings, name: str) -> Atlas:
    return _atlas_in(Path(name)) or await _export_atlas(settings, name)


def _atlas_in(path: Path) -> Atlas | None:
    return complete_atlas(read_atlas(path)[0]) if path.is_file() else None


async def _export_atlas(settings: Settings, name: str) -> Atlas:
    async with await open_kept_store(settings, existing=True) as store:
        return await export_world(store.canon, await world_named(store.canon, name))
