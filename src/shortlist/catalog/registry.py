"""All algorithms by their names, found where they are defined."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from shortlist import plans
from shortlist.catalog import gifa
from shortlist.catalog.gifa import ALIASES
from shortlist.engine.algorithm import Algorithm
from shortlist.errors import InvalidSetting, unknown_name
from shortlist.gifa.thresholds import AUTO


def _found() -> dict[str, Algorithm]:
    """Those of Table 1, LinGame, and what each module of ``plans`` has to offer."""
    found: dict[str, Algorithm] = {**gifa.ALGORITHMS}
    for module in pkgutil.walk_packages(plans.__path__, f"{plans.__name__}."):
        found |= getattr(import_module(module.name), "ALGORITHMS", {})
    return found


ALGORITHMS: dict[str, Algorithm] = _found()
# Those that need more than their names, by the name that is listed.
NEEDING: dict[str, type[Algorithm]] = {
    kind.kind_name(): kind for kind in Algorithm.kinds.values() if kind.needs is not None
}


# Those that a person would choose among; the others are variants.
USUAL = (
    *("Guess-and-verify", "Guess-and-verify (own results)", "m-LinGapE", "LinGIFA"),
    *("LinGame", "LUCB", "UGapE"),
)


def algorithms(*, all: bool = False) -> dict[str, str]:  # noqa: A002
    """The names of the algorithms to choose among, with a line about each.

    ``shortlist.Guided`` is not among them: ``trust="guide"`` takes it.

    Parameters
    ----------
    all : bool
        Whether to list their variants too.

    Examples
    --------
    >>> algorithms()["m-LinGapE"]
    'Réda et al. 2021; LinGapE for any m; pulls by greedy'
    >>> len(algorithms()), len(algorithms(all=True)) > 12
    (7, True)
    """
    return {name: ALGORITHMS[name].summary for name in (ALGORITHMS if all else USUAL)}


def find_algorithm(choice: str | Algorithm) -> Algorithm:
    """The algorithm of that name; an algorithm object is returned as it is.

    Examples
    --------
    >>> find_algorithm("m-LinGapE greedy").name
    'm-LinGapE'
    """
    if isinstance(choice, Algorithm):
        return choice
    if not isinstance(choice, str):
        raise InvalidSetting(
            "an algorithm must be a name or an algorithm object (GIFA, Planned, Guided, "
            f"PairsInDoubt), got {type(choice).__name__}."
        )
    for name, kind in NEEDING.items():
        if choice in (name, kind.__name__) and kind.needs is not None:
            raise InvalidSetting(kind.needs.words)
    name = ALIASES.get(choice, choice)
    if name not in ALGORITHMS:
        raise unknown_name("algorithm", choice, [AUTO, *ALGORITHMS])
    return ALGORITHMS[name]
