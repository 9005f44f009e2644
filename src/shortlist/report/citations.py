"""What to cite: the works behind the algorithms and the thresholds, read from ``works.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Work:
    """A work, as it is named in a sentence, in a list and in BibTeX."""

    short: str
    full: str
    bibtex: str


_ENTRIES = tomllib.loads(files("shortlist.report").joinpath("works.toml").read_text("utf-8"))
_WORKS = {key: Work(each["short"], each["full"], each["bibtex"]) for key, each in _ENTRIES.items()}
REDA = _WORKS["reda"]
# What spends a budget was published by nobody; these are the nearest algorithms that were.
NEAREST = {
    "XYHalving": (_WORKS["yang"], _WORKS["azizi"], _WORKS["katz"]),
    "TopTwo": (_WORKS["russo"],),
}
ALGORITHMS = {name: _WORKS[key] for key in _WORKS for name in _ENTRIES[key].get("algorithms", ())}
SOURCES = {name: _WORKS[key] for key in _WORKS for name in _ENTRIES[key].get("sources", ())}


def algorithm_work(name: str) -> Work:
    """The work that introduced an algorithm.

    Examples
    --------
    >>> algorithm_work("LUCB both").short
    'Kalyanakrishnan, Tewari, Auer and Stone 2012'
    """
    return ALGORITHMS.get(name.split(" ")[0], REDA)


def works(algorithm: str, source: str) -> list[Work]:
    """The works that a study rests on, the paper first, each once.

    Examples
    --------
    >>> [work.short for work in works("m-LinGapE", "Jedra and Proutière 2020")]
    ['Réda, Kaufmann and Delahaye-Duriez 2021', 'Jedra and Proutière 2020']
    """
    found = [REDA, algorithm_work(algorithm), SOURCES.get(source, REDA)]
    if algorithm.endswith(" elimination"):
        found.append(_WORKS["tirinzoni"])
    return list(dict.fromkeys(found))
