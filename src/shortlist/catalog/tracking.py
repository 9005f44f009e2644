"""Algorithms that track an allocation, and elimination for any algorithm with gap indices.

LinGame shares the pulls out by a game against the closest alternative (Degenne et al. 2020), FWS by
one Frank–Wolfe step in each round towards w* (Wang, Tzeng and Proutière 2021), lazy track-and-stop
by the w* of the means (Jedra and Proutière 2020).

Elimination (Tirinzoni and Degenne 2022): the bounds behind the indices hold at all times at once,
with probability 1 − δ. So the least B_ij seen so far is a bound too, and takes its place: a pair
once certified, B_ij ≤ ε, is certified for good. It is not examined again, whatever later results do
to its index, and the search stops when every pair of a candidate and another arm has been certified
at some time, not all of them at the same time.
"""

from __future__ import annotations

import math
from dataclasses import replace

from shortlist.catalog import gifa
from shortlist.catalog.gifa import ELIMINATION, GIFA
from shortlist.rules.thresholds import THRESHOLDS, published_regularization

# Its stop, Z > C²/2 with Z the generalised likelihood ratio, is τ_LUCB with paired indices. The
# paper proves that as δ → 0 it needs no more than necessary where there is one right answer (the
# best arm is its example), with wider gains and a threshold of its own: with those here, and with
# ε > 0, it is an extension without a theorem.
LINGAME = GIFA(
    selection="tracking",
    allocation="game",
    name="LinGame",
    works=("degenne",),
    summary="Degenne et al. 2020 for any m; pulls by a game; the stop is proven; ε > 0 is a relaxation",
)
# The statistic without its 1/σ² is as good as a threshold with 1/σ.
UNSCALED = replace(
    THRESHOLDS["heuristic"], formula=lambda s, ridge: [math.log(1.0 / s.delta), 1.0 / s.sigma]
)
AS_PUBLISHED = replace(
    LINGAME,
    allocation="game_as_published",
    threshold=UNSCALED,
    regularization=published_regularization,
    initialization="each",
    only_m=1,
    name="LinGame (as published)",
    summary="LinGame with the slips of the published runs; to reproduce them only",
)


# Its stop is that of LinGame. The paper's Theorem 1 proves that as δ → 0 it needs no more than
# necessary, for every question with one right answer whose alternatives are finitely many convex
# sets, under conditions on gradient and curvature that it checks for the best arm of a linear
# bandit and for the m best without features. The m best of a linear bandit have pieces of the same
# form, but nobody has written that down: an extension without a theorem, and so is ε > 0.
FWS = GIFA(
    selection="tracking",
    allocation="frank_wolfe",
    name="FWS",
    works=("wang",),
    summary="Wang et al. 2021 for any m; pulls by Frank–Wolfe steps; the stop is proven; ε > 0 is a relaxation",
)


# Its stop is that of LinGame. The paper proves for m = 1, where there is one best arm, that its
# number of pulls matches the lower bound as δ → 0, however rarely w* is solved: m > 1 and ε > 0 are
# extensions without a theorem.
LAZY = GIFA(
    selection="tracking",
    allocation="lazy",
    name="lazy track-and-stop",
    works=("jedra",),
    summary="Jedra and Proutière 2020 for any m; pulls by w*; the stop is proven; ε > 0 is a relaxation",
)


def eliminating(algorithm: GIFA) -> GIFA:
    """The same algorithm with elimination.

    Examples
    --------
    >>> eliminating(GIFA(name="mine")).name
    'mine with elimination'
    """
    return replace(
        algorithm,
        elimination=True,
        name=algorithm.name + ELIMINATION,
        summary=f"Tirinzoni and Degenne 2022: {algorithm.name}, every bound remembered",
        works=(*algorithm.works, "tirinzoni"),
    )


_PLAIN: tuple[GIFA, ...] = (
    *(gifa.ALGORITHMS[name] for name in ("LUCB", "LinGapE", "m-LinGapE", "LinGIFA")),
    *(LINGAME, FWS, LAZY),
)
ALGORITHMS: dict[str, GIFA] = {
    each.name: each for each in (LINGAME, AS_PUBLISHED, FWS, LAZY, *map(eliminating, _PLAIN))
}
