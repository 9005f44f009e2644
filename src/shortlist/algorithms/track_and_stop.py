"""Lazy track-and-stop: the pulls follow w* of the means (Jedra and Proutière 2020)."""

from __future__ import annotations

from shortlist.algorithms.gifa import GIFA

# Its stop is that of LinGame. The paper proves for m = 1, where there is one best arm, that its number
# of pulls matches the lower bound as δ → 0, however rarely w* is solved: m > 1 and ε > 0 are
# extensions without a theorem.
LAZY = GIFA(
    selection="tracking",
    allocation="lazy",
    name="lazy track-and-stop",
    summary="Jedra and Proutière 2020 for any m; pulls by w*; the stop is proven; ε > 0 is a relaxation",
)
ALGORITHMS: dict[str, GIFA] = {LAZY.name: LAZY}
