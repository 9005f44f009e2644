"""FWS: pulls by one Frank–Wolfe step a round towards w* (Wang, Tzeng and Proutière 2021)."""

from __future__ import annotations

from shortlist.algorithms.gifa import GIFA

# Its stop is that of LinGame. The paper proves asymptotic optimality, for δ → 0 and where there is
# one right answer, and checks its assumptions for the best arm of a linear bandit: m > 1 and ε > 0
# have no such proof.
FWS = GIFA(
    selection="tracking",
    allocation="frank_wolfe",
    name="FWS",
    summary="Wang et al. 2021, for any m; pulls by one Frank–Wolfe step a round",
)
ALGORITHMS: dict[str, GIFA] = {FWS.name: FWS}
