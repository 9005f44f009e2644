"""The works behind the algorithms and the thresholds: what to cite.

An algorithm names its works by their keys in ``works.toml``, or brings a ``Work`` of its own. The
source of a threshold is a text, and the works that it names are cited.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from shortlist._version import __version__


@dataclass(frozen=True)
class Work:
    """A work, as it is named in a sentence, in a list and in BibTeX."""

    short: str
    full: str
    bibtex: str


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
PAPER = "reda"  # the key of the paper that this software implements


def work(key: str | Work) -> Work:
    """The work with this key; a work is returned as it is.

    Examples
    --------
    >>> work("xu").short
    'Xu, Honda and Sugiyama 2018'
    """
    return key if isinstance(key, Work) else _works()[key]


def named_in(source: str) -> list[Work]:
    """The works that a text names.

    Examples
    --------
    >>> [work.short for work in named_in("after Karnin 2016 and Robbins 1970")]
    ['Karnin 2016', 'Robbins 1970']
    """
    return [_works()[key] for name, key in names().items() if name in source]


@cache
def names() -> dict[str, str]:
    """The key of each work by each name that texts have for it."""
    return {
        name: key
        for key, entry in _entries().items()
        for name in (entry["short"], *entry.get("named", ()))
    }


@cache
def _works() -> dict[str, Work]:
    return {
        key: Work(entry["short"], entry["full"].strip(), entry["bibtex"].strip())
        for key, entry in _entries().items()
    }


@cache
def _entries() -> dict[str, dict[str, str]]:
    text = files("shortlist.engine").joinpath("works.toml").read_text("utf-8")
    entries: dict[str, dict[str, str]] = tomllib.loads(text)
    return entries
