"""LinGame, which shares the pulls out by a game against the closest alternative (Degenne et al. 2020)."""

from __future__ import annotations

import math
from dataclasses import replace

from shortlist.arrays import Reals
from shortlist.catalog.gifa import GIFA
from shortlist.gifa.rules import rule
from shortlist.gifa.thresholds import THRESHOLDS, Known, published_regularization

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


@rule("threshold", traits=("heuristic",))
def unscaled(t: int, log_det: Reals, known: Known) -> float:
    """The heuristic threshold over σ: the statistic without its 1/σ² is as good as that."""
    return math.sqrt(2.0 * math.log((1.0 + math.log(t)) / known.delta)) / known.sigma


UNSCALED = replace(THRESHOLDS["heuristic"], rule=unscaled)
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

ALGORITHMS: dict[str, GIFA] = {each.name: each for each in (LINGAME, AS_PUBLISHED)}
