"""Changes: words that end what held, as "no longer", "was deposed" and "ceased to be" do."""

from typing import Final

from canonry.canon.judging.comparing.denials import covers
from canonry.canon.judging.comparing.findings import Clash, Setting, When, contradiction, possible
from canonry.canon.judging.comparing.frame_subjects import Subjects, subjects_of
from canonry.language.clauses.frames import Frame, words_of
from canonry.language.clauses.tokens import lemma
from canonry.language.words.frame_words import DEPOSED, ENDED, ENDING_VERBS, OFFICES, RULING

_ENDING: Final = frozenset(map(lemma, ENDING_VERBS))
_ENDED: Final = frozenset(map(lemma, ENDED))
_OFFICES: Final = frozenset(map(lemma, OFFICES))
_RULING: Final = frozenset(map(lemma, RULING))
_DEPOSED: Final = frozenset(map(lemma, DEPOSED))


def ends(held: Frame, said: Frame) -> bool:
    """Whether what is said ends what was held."""
    if held.negative or (said.negative and not said.ends):
        return False
    if said.ends:
        return held.verb == said.verb and covers(held.phrases, said)
    return _ending(said) is not None and _touches(said, held) is not None


def tells_an_end(frame: Frame) -> bool:
    """Whether the frame says that something is over."""
    return frame.ends or (not frame.negative and _ending(frame) is not None)


def ended(one: Frame, other: Frame, setting: Setting) -> Clash | None:  # noqa: PLR0911 - one exclusion a line
    """What one frame says has ended, and the other says holds."""
    if one.negative or other.negative:
        return None
    if _ending(one) is not None:
        over, holding, later = one, other, setting.when is When.LATER
    elif _ending(other) is not None:
        over, holding, later = other, one, setting.when is When.EARLIER
    else:
        return None
    exact = _touches(over, holding)
    if exact is None or holding.past or holding.modal or holding.perfect:
        return None
    if subjects_of(one, other, setting) is Subjects.OTHER and not _same_head(one, other):
        return None
    if setting.one_moment:
        if exact:
            return contradiction("one says that what the other tells has ended")
        return possible("one may have ended what the other tells")
    return possible("what had ended is told again as holding") if later else None


def _same_head(one: Frame, other: Frame) -> bool:
    return bool(one.subject and other.subject) and one.subject[0].head == other.subject[0].head


def _ending(frame: Frame) -> str | None:
    """The word by which the frame ends something."""
    if frame.modal or frame.future:
        return None
    if frame.verb in _ENDING:
        return frame.verb
    if frame.verb == "be" and frame.phrases and frame.phrases[0].head in _ENDED:
        return frame.phrases[0].head
    if frame.verb == "break" and any(p.role == "with" for p in frame.phrases):
        return frame.verb
    return None


def _touches(over: Frame, holding: Frame) -> bool | None:
    """Whether what ended is what holds, word by word or by what the ending means; None if not."""
    word = _ending(over)
    if holding is over or _ending(holding) is not None:
        return None
    told, content = words_of(over.phrases) - {word, "be"}, words_of(holding.phrases)
    if holding.verb not in {"be", "have"}:
        content |= {holding.verb}
    if content and content <= told:
        return True
    if content & told:
        return False
    if word in _DEPOSED and (content & _OFFICES or holding.verb in _RULING):
        return False
    return None
