"""The grades of the conflicts between two sentences that stand in one row of a table."""

from collections.abc import Sequence

from canonry.canon.judging.conflicts import find_clash
from canonry.language.reading.reading import read_statements
from canonry.log.items.proposals import Grade


def grades_of_row(row: str, names: Sequence[str]) -> set[Grade]:
    """Return the grades between the two sentences of a row, apart from changes."""
    ids = {name: f"{name}-1" for name in names}
    held, said = (read_statements(each.strip(), ids) for each in row.split(" | "))
    clashes = [find_clash(one, other) for one in held for other in said]
    return {one.grade for one in clashes if one is not None and not one.ends_earlier}
