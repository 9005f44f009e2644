"""Elimination, for any algorithm with gap indices (Tirinzoni and Degenne 2022).

The bounds behind the indices hold at all times at once, with probability 1 − δ. So the least B_ij seen
so far is a bound too, and takes its place: a pair once certified, B_ij ≤ ε, is certified for good. It
is not examined again, whatever later results do to its index, and the search stops when every pair of
a candidate and another arm has been certified at some time, not all of them at the same time.
"""

from __future__ import annotations

from dataclasses import replace

from shortlist.algorithms import frank_wolfe, game, gifa, track_and_stop
from shortlist.algorithms.gifa import ELIMINATION, GIFA


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
    )


_PLAIN: tuple[GIFA, ...] = (
    *(gifa.ALGORITHMS[name] for name in ("LUCB", "LinGapE", "m-LinGapE", "LinGIFA")),
    *(game.LINGAME, frank_wolfe.FWS, track_and_stop.LAZY),
)
ALGORITHMS: dict[str, GIFA] = {each.name: each for each in map(eliminating, _PLAIN)}
