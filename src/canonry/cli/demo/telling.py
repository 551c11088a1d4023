"""How the demonstration tells what happens: headings, what was done, and verdicts with reasons."""

from collections.abc import Mapping
from typing import Any

import click

from canonry.cli.screen import tell

_WIDTH = 76
_SPEAKERS = {"gm": "the game master", "user": "a player", "entity": "a character"}


class Teller:
    """Prints, and counts what became canon and what was refused."""

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self.accepted = 0
        self.refused = 0
        self._names: dict[str, str] = {}

    def call(self, thing_id: str, name: str) -> None:
        """From now on, `name` is shown where the server says `thing_id`."""
        self._names[thing_id] = f'"{name}"'

    def heading(self, text: str) -> None:
        """A new step."""
        click.echo()
        tell(("bold", text))

    def note(self, text: str) -> None:
        """Something that happened."""
        click.echo(f"  {text}")

    def said(self, who: str, text: str) -> None:
        """A turn at the table."""
        tell(f"  {who}: ", ("italic", text))

    def denied(self, what: str, reply: Mapping[str, Any]) -> None:
        """A call that was refused, with the reason that the agent was told."""
        error = reply.get("error", {})
        self.refused += 1
        self._line("refused", "red", what)
        click.echo(f"           {error.get('code')} {error.get('message')}")

    def verdict(self, what: str, proposal: Mapping[str, Any]) -> None:
        """How a proposal was decided, by which rule, and against what it stood."""
        decision = proposal.get("decision") or {}
        rule = decision.get("rule", "undecided")
        if proposal["status"] == "accepted":
            self.accepted += 1
            self.call(proposal["canonical_id"], what)
            self._line("canon", "green", what)
        else:
            self.refused += 1
            self._line("refused", "red", what)
        reason = proposal.get("rationale") or ""
        self._wrapped(f"{rule}: {reason}")

    def explanation(self, why: Mapping[str, Any]) -> None:
        """Why something is canon, since when, and what ended it."""
        self.note(f'"{why["says"]}" is {why["canon_level"]}.')
        recorded = why["recorded"]
        self._point("who, when", f"{recorded['agent_type']}, {_place(recorded)}")
        for traced in why["evidence"]:
            if traced["kind"] == "turn":
                who = traced.get("entity_id", _SPEAKERS[traced["speaker"]])
                words = f'{who} in "{traced["scene_title"]}": {traced["text"]}'
                self._point("evidence", words)
        proposal = why["proposal"]
        self._point(
            "the word of", f"{proposal['authority']}, proposed by {proposal['proposed_by']}"
        )
        self._point("the rule", f"{proposal['decision']['rule']}: {proposal['rationale']}")
        fall = why["fall"]
        if fall is not None:
            self._point(fall["how"], f"{_place(fall)}, by {fall['by']}")

    def _point(self, what: str, text: str) -> None:
        self._wrapped(text, f"    {what:12}")

    def _line(self, verdict: str, colour: str, what: str) -> None:
        tell("  ", (colour, f"{verdict:8}"), f" {what}")

    def _wrapped(self, text: str, lead: str = " " * 11) -> None:
        for thing_id, name in self._names.items():
            text = text.replace(thing_id, name)
        rest = " " * len(lead)
        click.echo(click.wrap_text(text, width=_WIDTH, initial_indent=lead, subsequent_indent=rest))


def _place(commit: Mapping[str, Any]) -> str:
    return f"position {commit['position']} of the log, {commit['recorded_at'][:19]}Z"
