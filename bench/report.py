"""Rows of a bench table: what was measured, against what, and whether it keeps the budget."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A figure; `budget` None means that it is shown for orientation only."""

    section: str
    what: str
    value: float
    unit: str
    budget: float | None = None
    at_least: bool = False
    note: str = ""

    @property
    def kept(self) -> bool | None:
        """Return whether the budget is kept."""
        if self.budget is None:
            return None
        return self.value >= self.budget if self.at_least else self.value <= self.budget


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def median(values: Sequence[float]) -> float:
    """The middle value."""
    return statistics.median(values)


def table(rows: Sequence[Row]) -> str:
    """The rows as text, one line each."""
    lines = [f"{'section':<12} {'what':<58} {'value':>12} {'budget':>10}  kept  note"]
    lines.append("-" * 110)
    for row in rows:
        sign = ">=" if row.at_least else "<="
        budget = "" if row.budget is None else f"{sign} {row.budget:g}"
        kept = {True: "yes", False: "NO", None: ""}[row.kept]
        figure = f"{row.value:.3g} {row.unit}"
        lines.append(
            f"{row.section:<12} {row.what:<58} {figure:>12} {budget:>10}  {kept:<4}  {row.note}"
        )
    return "\n".join(lines)


def write_json(rows: Sequence[Row], path: Path) -> None:
    """The rows as JSON, for comparing runs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = [{**asdict(row), "kept": row.kept} for row in rows]
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
