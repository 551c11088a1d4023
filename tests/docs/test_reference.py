"""The generated pages say what the code does."""

from tests.docs.markdown import ROOT
from tests.docs.reference import make_pages


def test_the_reference_is_up_to_date() -> None:
    stale = [
        page.relative_to(ROOT).as_posix()
        for page, text in make_pages().items()
        if not page.is_file() or page.read_text(encoding="utf-8") != text
    ]

    assert not stale, "run `make reference`"
