"""Error rates that are shown to stay below a bound, with no more runs than that takes."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.special import betaln

MOST, BATCH = 1000, 8  # runs


def rather_below(
    bound: float, errors_in: Callable[[int, int], int], risk: float = 0.01, times: float = 3.0
) -> None:
    """Fail if errors come at three ``times`` a bound rather than at the bound: Wald's sequential test.

    A rate of ``bound`` or less fails with at most the probability ``risk``, and so does one of three
    times as much pass. As many runs as would tell the two apart by their number of errors alone,
    with the same risks, are 1,000 at a bound of 1 %; here 230 are enough if there is no error.
    """
    for_success = math.log((1.0 - bound) / (1.0 - times * bound))
    enough = math.log((1.0 - risk) / risk)
    evidence = runs = errors = seed = 0
    while evidence < enough:
        more = math.ceil((enough - evidence) / for_success)
        found = errors_in(more, seed)
        evidence += (more - found) * for_success - found * math.log(times)
        runs, errors, seed = runs + more, errors + found, seed + 1
        assert evidence > -enough, f"{errors} errors in {runs} runs: more than {bound}"


def shown_below(
    bound: float, errors_in: Callable[[int, int], int], confidence: float = 0.95
) -> None:
    """Fail unless a rate of errors is shown to be below ``bound``.

    ``errors_in(runs, seed)`` counts the errors in that many runs. The likelihood of all outcomes
    at a tenth of the bound over that at the bound is a supermartingale while the rate is the bound
    or more, so it then exceeds 1/(1 − confidence) at some time with at most the probability
    1 − confidence, whenever one looks (Ville). Without an error 65 runs are enough at a bound of 5 %
    and 95 %. If each of several rates is shown so, then all are, at the same confidence. A test that
    asks whether a rate is refuted would let most rates a little above the bound pass.
    """
    tenth = bound / 10.0
    for_success, for_error = math.log((1.0 - tenth) / (1.0 - bound)), math.log(tenth / bound)
    missing = -math.log(1.0 - confidence)
    runs = errors = seed = 0
    while missing > 0.0:
        more = math.ceil(missing / for_success)
        assert runs + more <= MOST, f"{errors} errors in {runs} runs: not shown to be below {bound}"
        found = errors_in(more, seed)
        missing -= (more - found) * for_success + found * for_error
        runs, errors, seed = runs + more, errors + found, seed + 1


def shown_above(
    bound: float, errors_in: Callable[[int, int], int], improbable: float = 1e-6
) -> None:
    """Fail unless a rate of errors is shown to be above ``bound``, as what is broken must be.

    The likelihood at a rate drawn evenly from 0 to 1, over that at the bound, exceeds 1/``improbable``
    at some time with at most that probability where the rate is the bound (Ville).
    """
    runs = errors = seed = 0
    evidence = 0.0
    while errors <= bound * runs or evidence < -math.log(improbable):
        assert runs < MOST, f"{errors} errors in {runs} runs: not shown to be above {bound}"
        errors += errors_in(BATCH, seed)
        runs, seed = runs + BATCH, seed + 1
        right = runs - errors
        evidence = betaln(errors + 1, right + 1)
        evidence -= errors * math.log(bound) + right * math.log(1.0 - bound)
