"""Numerals: numbers as several countries write them, by one rule for all that is read.

What can be read in one way only is a number. One mark with three digits behind it may divide
thousands or decimals; who knows how a document writes its numbers may say so.
"""

from typing import Final

NUMERAL: Final = (
    r"(?:[0-9]{1,3}(?P<group>[ \xa0\u202f'\u2019.,])[0-9]{3}(?:(?P=group)[0-9]{3})*(?:[.,][0-9]+)?"
    r"|[0-9]+(?:[.,][0-9]+)?)"
)
"""What a numeral looks like, without a sign; part of a pattern."""

_GROUP: Final = 3
_BLANKS: Final = str.maketrans("", "", " \xa0\u202f'\u2019")


def plain_numeral(written: str, mark: str | None = None, group: str | None = None) -> str | None:
    """A numeral with a point and no thousands; None where it is unclear.

    Where that is so, `mark` is the decimal mark; `group` divides thousands, and says nothing of the
    other mark.
    """
    plain = written.translate(_BLANKS)
    marks = [char for char in plain if char in ".,"]
    if not marks:
        return plain
    last = marks[-1]
    head, _, tail = plain.rpartition(last)
    if len(set(marks)) == 2:  # noqa: PLR2004 - both marks, the last one is decimal
        other = "," if last == "." else "."
        return None if marks.count(last) > 1 else f"{head.replace(other, '')}.{tail}"
    if len(marks) > 1:
        return plain.replace(last, "") if len(tail) == _GROUP else None
    if len(tail) != _GROUP or head in {"", "0"} or len(head) > _GROUP or plain != written:
        return f"{head}.{tail}"
    if last == group or mark not in {last, None}:
        return head + tail
    return f"{head}.{tail}" if mark == last else None
