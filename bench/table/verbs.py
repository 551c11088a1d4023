"""Derive what other verbs mean from a WordNet: python -m bench.table.verbs FOLDER.

FOLDER has the files of WordNet 3.1 (`data.verb`, `index.verb`, `index.noun`, `index.sense`). The
verbs of `words.toml` say what their senses mean; a verb that they do not have means what the senses
near its own mean, the commoner senses more than the rare ones. With --held-out each verb of
`words.toml` is derived from all others, which tells how often that is right.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from canonry.world.domain.utterances import lexicon

BODILY: Final = frozenset({29, 32, 33, 34, 35, 38, 39, 40})
"""Lexicographers' files: what is done with body, voice, hands, feet and eyes."""
NEAR: Final = 0.5
FEW: Final = 2
SURE: Final = 0.5
ENOUGH: Final = 0.05
TARGET: Final = Path(lexicon.__file__).with_name("verbs.txt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sense:
    """A sense: in which file it is, which verbs have it, and which senses are near."""

    file: int
    members: tuple[str, ...]
    above: tuple[str, ...]
    near: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Net:
    """Senses by their offset, and for each verb how common each of its senses is."""

    senses: Mapping[str, Sense]
    shares: Mapping[str, Mapping[str, float]]
    notice: str


def rows(path: Path) -> Iterable[list[str]]:
    """The rows of a file, without its notice."""
    for line in path.read_text("latin-1").splitlines():
        if not line.startswith("  "):
            yield line.partition("|")[0].split()


def read(folder: Path) -> Net:
    """The verbs of a WordNet; a verb that is commoner as a noun is left out."""
    senses = {}
    for line in rows(folder / "data.verb"):
        size = int(line[3], 16)
        links = line[5 + 2 * size :]
        linked = [links[at : at + 2] for at in range(0, len(links) - 3, 4) if links[at + 2] == "v"]
        senses[line[0]] = Sense(
            file=int(line[1]),
            members=tuple(word.lower() for word in line[4 : 4 + 2 * size : 2]),
            above=tuple(to for sign, to in linked if sign == "@"),
            near=tuple(to for sign, to in linked if sign in {"@", "~", "$"}),
        )
    reported, nouns = Counter[tuple[str, int]](), Counter[str]()
    for key, _, number, count in rows(folder / "index.sense"):
        word, kind = key.split("%")
        reported[word, int(number)] += int(count) * (kind[0] == "2")
        nouns[word] += int(count) * (kind[0] == "1")
    named = {row[0] for row in rows(folder / "index.noun")}
    shares = {}
    for row in rows(folder / "index.verb"):
        offsets = row[-int(row[2]) :]
        counts = [reported[row[0], at] for at in range(1, len(offsets) + 1)]
        if row[0] in named and nouns[row[0]] > sum(counts) + FEW and row[0] not in seeds():
            continue
        weights = [count + 1 / at for at, count in enumerate(counts, 1)]
        shares[row[0]] = {o: w / sum(weights) for o, w in zip(offsets, weights, strict=True)}
    lines = (folder / "data.verb").read_text("latin-1").splitlines()
    notice = [line[4:].strip() for line in lines if line.startswith("  ")]
    return Net(
        senses=senses, shares=shares, notice="\n".join(f"# {each}".rstrip() for each in notice)
    )


def seeds() -> Mapping[str, str]:
    """Return the meanings of the verbs in `words.toml`."""
    return {
        "_".join(form.words): form.verb
        for forms in lexicon.FORMS.values() for form in forms
        if form.words and not form.derived
    }  # fmt: skip


def meaning(verb: str, net: Net, known: Mapping[str, str]) -> str | None:
    """Return the meaning of a verb by the verbs of the same or near senses; None: unknown."""
    total = defaultdict[str, float](float)
    for offset, share in net.shares[verb].items():
        sense = net.senses[offset]
        around = {offset: 1.0} | dict.fromkeys(sense.near, NEAR)
        for above in sense.above:
            for beside in net.senses[above].near:
                higher = beside in net.senses[above].above
                around.setdefault(beside, NEAR**2 if higher else NEAR**3)
        for to, weight in around.items():
            for member in net.senses[to].members:
                if member in known and member != verb:
                    total[known[member]] += share * weight * net.shares[member].get(to, 0.0)
    if not total:
        return None
    best = max(total, key=lambda each: total[each])
    most = total[best]
    sure = most / sum(total.values()) * min(most / ENOUGH, 1.0)
    first = net.senses[next(iter(net.shares[verb]))]
    return best if sure >= SURE and first.file in BODILY else None


def main(folder: str, *options: str) -> None:
    """Write the verbs that are derived, or tell how often that is right."""
    net = read(Path(folder))
    known = {verb: meant for verb, meant in seeds().items() if verb in net.shares}
    if options:
        found = {verb: meaning(verb, net, known) for verb in known}
        listed = [verb for verb, meant in found.items() if meant]
        right = sum(found[verb] == known[verb] for verb in listed)
        print(f"{len(listed)} of {len(known)} are told, {right / len(listed):.3f} of them rightly")
        return
    groups = defaultdict[str, list[str]](list)
    for verb in sorted(net.shares):
        plain = verb.isalpha() and verb not in known and verb not in lexicon.PLAIN_WORDS
        if plain and (meant := meaning(verb, net, known)):
            groups[meant].append(verb)
    said = [f"{verb}: {' '.join(groups[verb])}" for verb in sorted(groups)]
    TARGET.write_text("\n".join((net.notice, *said, "")), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
