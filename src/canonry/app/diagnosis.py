"""What an examination finds: facts, what must be mended, and what is good to know."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSetting:
    """A setting as it is in force."""

    key: str
    value: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What was found, and what helps."""

    what: str
    help: str


@dataclass(slots=True, kw_only=True)
class Diagnosis:
    """Everything that was seen; `wrong` must be mended, `hints` are good to know."""

    settings: list[ShownSetting] = field(default_factory=list)
    store: dict[str, str | int] = field(default_factory=dict)
    wrong: list[Advice] = field(default_factory=list)
    hints: list[Advice] = field(default_factory=list)

    def is_wrong(self, what: str, advice: str) -> None:
        """Something that must be mended."""
        self.wrong.append(Advice(what=what, help=advice))

    def hint(self, what: str, advice: str) -> None:
        """Something that is good to know."""
        self.hints.append(Advice(what=what, help=advice))
