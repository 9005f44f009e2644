"""All algorithms by their names."""

from __future__ import annotations

from shortlist.catalog import gifa, tracking
from shortlist.catalog.gifa import ALIASES, GIFA
from shortlist.errors import InvalidSetting, unknown_name
from shortlist.plans import guess_and_verify, phased, racing, uniform
from shortlist.plans.algorithm import Planned
from shortlist.plans.halving import NAME as WITH_BUDGET
from shortlist.plans.halving import XYHalving
from shortlist.plans.mislid.algorithm import MisLid

Algorithm = GIFA | Planned | MisLid | XYHalving
ALGORITHMS: dict[str, Algorithm] = {
    **gifa.ALGORITHMS,
    **tracking.ALGORITHMS,
    **phased.ALGORITHMS,
    **guess_and_verify.ALGORITHMS,
    **uniform.ALGORITHMS,
    **racing.ALGORITHMS,
}


def algorithms() -> dict[str, str]:
    """The names of all algorithms, with a line about each.

    MisLid is not among them, since it needs a c: use ``shortlist.MisLid``.

    Examples
    --------
    >>> algorithms()["m-LinGapE"]
    'Réda et al. 2021; LinGapE for any m; pulls by greedy'
    """
    return {name: algorithm.summary for name, algorithm in ALGORITHMS.items()}


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
            "an algorithm is a name, a shortlist.GIFA or a shortlist.MisLid, got "
            f"{type(choice).__name__}."
        )
    if choice == MisLid.__name__:
        raise InvalidSetting(
            "MisLid must be told how far from linear the means may be, and there is no default: "
            "pass algorithm=shortlist.MisLid(misspecification=…), or write misspecification = … in "
            "a screen.toml."
        )
    if choice == WITH_BUDGET:
        raise InvalidSetting(
            f"{WITH_BUDGET} needs a budget: pass budget=… to Study, or "
            "shortlist.XYHalving(budget=…) to compare."
        )
    name = ALIASES.get(choice, choice)
    if name not in ALGORITHMS:
        published = "published" in choice
        likely = [known for known in ALGORITHMS if known.endswith("(as published)") == published]
        raise unknown_name("algorithm", choice, likely)
    return ALGORITHMS[name]
