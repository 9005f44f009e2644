"""All algorithms by their names."""

from __future__ import annotations

from shortlist.catalog import gifa, tracking
from shortlist.catalog.gifa import ALIASES, GIFA
from shortlist.errors import InvalidSetting, unknown_name
from shortlist.plans import guess_and_verify, phased, racing, uniform
from shortlist.plans.algorithm import Planned
from shortlist.plans.budget import Budgeted
from shortlist.plans.guide import Guided
from shortlist.plans.mislid.algorithm import MisLid
from shortlist.plans.pairs_in_doubt import PairsInDoubt
from shortlist.rules.registry import AUTO

Algorithm = GIFA | Planned | Guided | MisLid | Budgeted
WITH_BUDGET: dict[str, type[Budgeted]] = {each.name: each for each in (PairsInDoubt,)}
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

    MisLid is not among them, since it needs a c: use ``shortlist.MisLid``. Nor is
    ``shortlist.Guided``, which may have a model of yours.

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
            "an algorithm must be a name or an algorithm object (GIFA, Planned, MisLid, Guided, "
            f"{', '.join(each.__name__ for each in WITH_BUDGET.values())}), got "
            f"{type(choice).__name__}."
        )
    if choice == MisLid.__name__:
        raise InvalidSetting(
            "MisLid must be told how far from linear the means may be, and there is no default: "
            "pass algorithm=shortlist.MisLid(misspecification=…), or write misspecification = … in "
            "a screen.toml."
        )
    if choice == Guided.__name__:
        raise InvalidSetting(
            "Guided is selected with trust='guide': pass that to Study, write "
            'trust = "guide" in a screen.toml, or pass shortlist.Guided() to compare.'
        )
    if choice in WITH_BUDGET:
        raise InvalidSetting(
            f"{choice} needs a budget: pass budget=… to Study, or "
            f"shortlist.{WITH_BUDGET[choice].__name__}(budget=…) to compare."
        )
    name = ALIASES.get(choice, choice)
    if name not in ALGORITHMS:
        published = "published" in choice
        likely = [known for known in ALGORITHMS if known.endswith("(as published)") == published]
        raise unknown_name("algorithm", choice, [AUTO, *likely])
    return ALGORITHMS[name]
