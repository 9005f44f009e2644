"""Lazy track-and-stop: the pulls follow w* of the means, solved now and then (Jedra and Proutière 2020)."""

from __future__ import annotations

from shortlist.algorithms.gifa import GIFA

# Its stop is that of LinGame. The paper proves asymptotic optimality, for δ → 0 and the best arm
# (m = 1): m > 1 and ε > 0 have no such proof.
LAZY = GIFA(
    selection="tracking",
    allocation="lazy",
    name="lazy track-and-stop",
    summary="Jedra and Proutière 2020, for any m; pulls by w* of the means, solved at t = 2^k",
)
ALGORITHMS: dict[str, GIFA] = {LAZY.name: LAZY}
