"""Random numbers: seeds of runs and trials, generators of results, and who wins a tie."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import Integers

Words = NDArray[np.uint64]

_GOLDEN, _WORD = 0x9E3779B97F4A7C15, 2**64 - 1
_STEP = np.uint64(_GOLDEN)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _ONE = (np.uint64(s) for s in (27, 30, 31, 1))


def mix(words: Words) -> Words:
    """SplitMix64's finaliser: a bijection of 64 bits that scatters neighbours (Steele 2014).

    Examples
    --------
    >>> [hex(word) for word in mix(np.array([1, 2], np.uint64)).tolist()]
    ['0x5692161d100b05e5', '0xdbd238973a2b148a']
    """
    words = (words ^ (words >> _S30)) * _MIX_1
    words = (words ^ (words >> _S27)) * _MIX_2
    return words ^ (words >> _S31)


def run_seeds(seed: int, runs: int, first: int = 0) -> Words:
    """The seeds of ``runs`` replicates, or of ``runs`` trials from ``first`` on.

    Examples
    --------
    >>> run_seeds(0, 3)[:2].tolist() == run_seeds(0, 2).tolist()
    True
    """
    numbers = np.arange(first + 1, first + runs + 1).astype(np.uint64)
    return mix(np.uint64(seed) ^ mix(numbers * _STEP))


def words(seeds: Words, first: int, count: int) -> Words:
    """The words ``first``, ``first`` + 1, … of each seed's own stream, SplitMix64: a row a word.

    Examples
    --------
    >>> stream = words(run_seeds(0, 3), 0, 5)
    >>> (stream[2:, :2] == words(run_seeds(0, 2), 2, 3)).all()
    np.True_
    """
    numbers = np.arange(first + 1, first + count + 1).astype(np.uint64)
    return mix(seeds + (numbers * _STEP)[:, np.newaxis])


def generator_of(seed: int) -> np.random.Generator:
    """The generator of the results of a run.

    Examples
    --------
    >>> round(float(generator_of(0).standard_normal()), 4)
    0.1257
    """
    return np.random.default_rng(int(seed))


def priorities(seeds: Words, t: int, purpose: int, arms: Integers) -> Words:
    """A row of priorities for each seed: of arms that tie, the one of largest priority wins.

    Parameters
    ----------
    seeds : array of uint64
        Those of the runs.
    t : int
        How many results are known.
    purpose : int
        Which of the choices of a round it is, 0 to 3, so that they are independent.
    arms : array of int
        One row for all runs, or one for each.
    """
    keys = mix(seeds + np.uint64((_GOLDEN * (4 * t + purpose + 1)) & _WORD))
    return mix(keys[:, None] + (arms.astype(np.uint64) + _ONE) * _STEP)
