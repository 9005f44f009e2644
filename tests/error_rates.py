"""Error rates that are shown to stay below a bound, with no more runs than that takes."""

from __future__ import annotations

import math
from collections.abc import Callable

MOST = 1000  # runs


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
