"""What to cite: the works behind the algorithms and the thresholds, read from ``works.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files

from shortlist._version import __version__


@dataclass(frozen=True)
class Work:
    """A work, as it is named in a sentence, in a list and in BibTeX."""

    short: str
    full: str
    bibtex: str
    adapted: bool = False

    @property
    def credit(self) -> str:
        """Whose algorithm it is, for a sentence."""
        return f"this software's, after {self.short}" if self.adapted else self.short


SOFTWARE = Work(
    short=f"shortlist {__version__}",
    full="The shortlist authors. shortlist: the m best of K candidates, with a guaranteed "
    f"confidence, from few noisy evaluations. Version {__version__}, 2026.",
    bibtex=f"""\
@software{{shortlist,
  author  = {{{{The shortlist authors}}}},
  title   = {{shortlist: the m best of K candidates, with a guaranteed confidence,
             from few noisy evaluations}},
  version = {{{__version__}}},
  year    = {{2026}}
}}""",
)
_ENTRIES = tomllib.loads(files("shortlist.report").joinpath("works.toml").read_text("utf-8"))
_WORKS = {
    key: Work(each["short"], each["full"], each["bibtex"], each.get("adapted", False))
    for key, each in _ENTRIES.items()
}
REDA = _WORKS["reda"]
# What spends a budget was published by nobody; these are the nearest algorithms that were.
NEAREST = {
    "PairsInDoubt": (_WORKS["you"], _WORKS["russo"]),
}
ALGORITHMS = {name: _WORKS[key] for key in _WORKS for name in _ENTRIES[key].get("algorithms", ())}
NAMES = {
    name: _WORKS[key]
    for key in _WORKS
    for name in (_WORKS[key].short, *_ENTRIES[key].get("named", ()))
}


def algorithm_work(name: str) -> Work:
    """The work that introduced an algorithm.

    Examples
    --------
    >>> algorithm_work("LUCB both").short
    'Kalyanakrishnan, Tewari, Auer and Stone 2012'
    """
    return ALGORITHMS.get(name.split(" ")[0], REDA)


def works(algorithm: str, source: str) -> list[Work]:
    """The works that a study rests on, this software and the paper first, each once.

    ``source`` is that of the threshold: the works that it names are cited.

    Examples
    --------
    >>> [work.short for work in works("m-LinGapE", "Jedra and Proutière 2020")[1:]]
    ['Réda, Kaufmann and Delahaye-Duriez 2021', 'Jedra and Proutière 2020']
    """
    named = [work for name, work in NAMES.items() if name in source]
    found = [SOFTWARE, REDA, algorithm_work(algorithm), *named]
    if algorithm.endswith(" elimination"):
        found.append(_WORKS["tirinzoni"])
    return list(dict.fromkeys(found))
