"""Random numbers that travel with the state: keyed ones for ties, a stream for rewards."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shortlist.numerics.jit import compiled
from shortlist.numerics.records import Keys

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S11, _S17, _S19, _S23, _S27, _S30, _S31, _S41, _S45 = (
    np.uint64(s) for s in (11, 17, 19, 23, 27, 30, 31, 41, 45)
)
_LAYER = np.uint64(255)
_SIGN = np.uint64(256)
_UNIT = 1.0 / 9007199254740992.0  # 2⁻⁵³


@compiled(typed=True)
def mix(value: np.uint64) -> np.uint64:
    """SplitMix64's finaliser: a bijection of 64 bits that scatters neighbours (Steele 2014)."""
    value = (value ^ (value >> _S30)) * _MIX_1
    value = (value ^ (value >> _S27)) * _MIX_2
    return value ^ (value >> _S31)


@compiled(typed=True)
def round_key(seed: np.uint64, t: int, purpose: int) -> np.uint64:
    """The key of one purpose (0 to 3) in round ``t``; it is scattered only where a tie asks."""
    return seed + _GOLDEN * np.uint64(4 * t + purpose + 1)


@compiled(typed=True)
def priority(key: np.uint64, arm: int) -> np.uint64:
    """Who wins a tie: the arm of largest priority."""
    return mix(mix(key) + _GOLDEN * np.uint64(arm + 1))


@compiled(typed=True)
def run_seed(seed: np.uint64, run: int) -> np.uint64:
    """The seed of replicate ``run``."""
    return mix(seed ^ mix(_GOLDEN * np.uint64(run + 1)))


@compiled(typed=True)
def fill_seeds(seed: np.uint64, first: int, seeds: Keys) -> None:
    """The seeds of replicates from ``first`` on."""
    for k in range(seeds.shape[0]):
        seeds[k] = run_seed(seed, first + k)


def _layers(count: int, edge: float, area: float) -> np.ndarray:
    """Right ends of the ziggurat's layers of equal area under exp(−x²/2)."""
    ends = np.zeros(count + 1)
    height = math.exp(-0.5 * edge * edge)
    ends[0] = area / height
    ends[1] = edge
    for i in range(2, count):
        height += area / ends[i - 1]
        ends[i] = math.sqrt(-2.0 * math.log(height))
    return ends


_EDGE = 3.6541528853610088  # 256 layers of equal area (Marsaglia and Tsang 2000)
_ENDS = _layers(256, _EDGE, 4.92867323399e-3)
_HEIGHTS = np.exp(-0.5 * _ENDS * _ENDS)


@compiled(typed=True)
def seed_stream(seed: np.uint64, stream: Keys) -> None:
    """Fill the four words of a stream from one seed."""
    for i in range(4):
        seed = seed + _GOLDEN
        stream[i] = mix(seed)


@compiled(typed=True, inline=True)
def next_word(s: Keys) -> np.uint64:
    """xoshiro256++ (Blackman and Vigna 2019)."""
    total = s[0] + s[3]
    word = ((total << _S23) | (total >> _S41)) + s[0]
    shifted = s[1] << _S17
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= shifted
    s[3] = (s[3] << _S45) | (s[3] >> _S19)
    return word


@compiled(typed=True, inline=True)
def uniform(stream: Keys) -> float:
    """A number in [0, 1)."""
    return float(next_word(stream) >> _S11) * _UNIT


@compiled(typed=True, inline=True)
def standard_normal(stream: Keys) -> float:
    """A standard normal number, by the ziggurat (Marsaglia and Tsang 2000)."""
    while True:
        word = next_word(stream)
        layer = int(word & _LAYER)
        sign = 1.0 if (word & _SIGN) == np.uint64(0) else -1.0
        x = float(word >> _S11) * _UNIT * _ENDS[layer]
        if x < _ENDS[layer + 1]:
            return sign * x
        if layer == 0:
            while True:
                tail = -math.log(1.0 - uniform(stream)) / _EDGE
                if -2.0 * math.log(1.0 - uniform(stream)) >= tail * tail:
                    return sign * (_EDGE + tail)
        low, high = _HEIGHTS[layer], _HEIGHTS[layer + 1]
        if low + uniform(stream) * (high - low) < math.exp(-0.5 * x * x):
            return sign * x


def run_seeds(seed: int, runs: int, first: int = 0) -> NDArray[np.uint64]:
    """The seeds of ``runs`` replicates, or of ``runs`` trials from ``first`` on.

    Examples
    --------
    >>> run_seeds(0, 3)[:2].tolist() == run_seeds(0, 2).tolist()
    True
    """
    seeds = np.zeros(runs, np.uint64)
    with np.errstate(over="ignore"):
        fill_seeds.sparing(20 * runs)(np.uint64(seed), first, seeds)
    return seeds
