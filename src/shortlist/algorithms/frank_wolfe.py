"""FWS: pulls by one Frank–Wolfe step a round towards w* (Wang, Tzeng and Proutière 2021)."""

from __future__ import annotations

from shortlist.algorithms.gifa import GIFA

# Its stop is that of LinGame. The paper's Theorem 1 proves that as δ → 0 it needs no more than
# necessary, for every question with one right answer whose alternatives are finitely many convex
# sets, under conditions on gradient and curvature that it checks for the best arm of a linear bandit
# and for the m best without features. The m best of a linear bandit have pieces of the same form,
# but nobody has written that down: an extension without a theorem, and so is ε > 0.
FWS = GIFA(
    selection="tracking",
    allocation="frank_wolfe",
    name="FWS",
    summary="Wang et al. 2021 for any m; pulls by Frank–Wolfe steps; the stop is proven; ε > 0 is a relaxation",
)
ALGORITHMS: dict[str, GIFA] = {FWS.name: FWS}
