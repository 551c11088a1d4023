"""`canonry doctor`: looks at settings and store, and says for each finding what helps."""

import asyncio
import json
from dataclasses import asdict
from typing import Any

import click

from canonry.app.examination import Diagnosis, examine
from canonry.app.file_modes import close_to_others, open_to_others
from canonry.app.setting_table import DEFAULT
from canonry.cli.options import SettingsCommand, all_options, settings_from
from canonry.cli.screen import tell_line

EPILOG = """\
\b
Examples:
  canonry doctor
  canonry doctor --data ./world --json
  canonry doctor --mend                         closes an older store to others
  CANONRY_AGENT_TYPE=Narrator canonry doctor    shows where each setting comes from
"""


@click.command(cls=SettingsCommand, epilog=EPILOG)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
@click.option(
    "--mend", is_flag=True, help="First close to others what an older version left open to them."
)
@click.option("--all", "whole", is_flag=True, help="Tell all settings, not only those given.")
@all_options
def doctor(*, as_json: bool, mend: bool, whole: bool, **given: Any) -> None:
    """Look what is wrong with settings and store, and say what helps.

    Without --mend nothing is changed. Exit code 1 when something is wrong; hints alone are not
    wrong.
    """
    settings = settings_from(given)
    if mend:
        found = open_to_others(settings.data)
        close_to_others(found)
        click.echo(f"closed {len(found)} files and folders to others", err=True)
    diagnosis = asyncio.run(examine(settings))
    if as_json:
        click.echo(json.dumps(asdict(diagnosis), sort_keys=True))
    else:
        _print(diagnosis, whole=whole)
    if diagnosis.wrong:
        raise click.exceptions.Exit(1)


def _print(diagnosis: Diagnosis, *, whole: bool) -> None:
    click.echo("findings")
    if not diagnosis.wrong and not diagnosis.hints:
        click.echo("  none: all is well")
    for advice in diagnosis.wrong:
        click.echo(f"  WRONG  {advice.what}\n         {advice.help}")
    for advice in diagnosis.hints:
        click.echo(f"  hint   {advice.what}\n         {advice.help}")
    click.echo("\nstore")
    if not diagnosis.store:
        click.echo("  none yet")
    width = max(map(len, diagnosis.store), default=0)
    for key, value in diagnosis.store.items():
        tell_line(f"  {key:{width}}  {value}")
    click.echo("\nsettings")
    shown = [each for each in diagnosis.settings if whole or each.source != DEFAULT]
    width = max((len(each.key) for each in shown), default=0)
    for each in shown:
        tell_line(f"  {each.key:{width}}  {each.value}  ({each.source})")
    if left := len(diagnosis.settings) - len(shown):
        click.echo(f"  {left} others are as by default; --all lists them")
