"""Simulated runs of an algorithm of gap indices: many at once, in NumPy or compiled."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from shortlist.arrays import Integers, Mask
from shortlist.engine.contract import Runs
from shortlist.engine.fits import Fits, fits_of, next_refresh
from shortlist.engine.rewards import Rewards
from shortlist.engine.seeds import Words, generator_of
from shortlist.errors import InvalidSetting, SingularDesign
from shortlist.gifa.round import EVERY_PAIR_UP_TO, Memory, Recipe, decide

AT_ONCE = 2**18  # entries of G of all runs that advance together: fastest of 2¹⁶ to 2¹⁹ at K = 50
AT_ONCE_COMPILED = 2**21  # there a run advances by itself, so that only memory counts
MOST_AT_ONCE = 512


def simulated(
    recipe: Recipe,
    floor: float,
    rewards: Rewards,
    seeds: Words,
    most: int,
    compiled: bool | None = None,
) -> Runs:
    """One run for each seed, to its stop or to ``most`` results.

    ``compiled`` says whether Numba is to make the rounds, where it can; None: where it is installed. The pulls
    are the same.
    """
    arms, count = len(recipe.setup.features), len(seeds)
    kernel = None if compiled is False else _kernel()
    if compiled and kernel is None:
        raise InvalidSetting("compiled=True needs Numba: pip install 'shortlist[fast]'.")
    fits = _fits(recipe, floor, 0)
    if kernel is not None and not kernel.serves(recipe, fits, rewards):
        kernel = None
    entries = AT_ONCE if kernel is None else AT_ONCE_COMPILED
    at_once = int(np.clip(entries // arms**2, 1, MOST_AT_ONCE))
    if arms > EVERY_PAIR_UP_TO:
        at_once = 1
    found = Runs(
        seeds=seeds,
        samples=np.zeros(count, np.int64),
        stopped=np.zeros(count, np.bool_),
        recommended=np.zeros((count, arms), np.bool_),
        pulls=np.zeros((count, arms), np.int64),
        by="NumPy" if kernel is None else "compiled",
    )
    for ids in np.array_split(np.arange(count), max(1, -(-count // at_once))):  # alike in size
        _Batch(recipe, floor, rewards, most, found, ids, kernel).simulate()
    return found


def _kernel() -> ModuleType | None:
    """The compiled rounds, where Numba is installed and has a place for what it compiles."""
    try:
        from shortlist.gifa import kernel
    except (ImportError, RuntimeError):
        return None
    return kernel


def _fits(recipe: Recipe, floor: float, runs: int) -> Fits:
    setup = recipe.setup
    return fits_of(
        setup.features, runs, regularization=setup.regularization, shift=setup.shift, noise=setup.noise,
        floor=floor,
    )  # fmt: skip


class _Batch:
    """Runs that advance together.

    The n-th draw of a run is for its n-th pull, so that it is the same run among any others. Draws are made up
    to the next refresh, where all estimates are computed anew.
    """

    def __init__(
        self,
        recipe: Recipe,
        floor: float,
        rewards: Rewards,
        most: int,
        found: Runs,
        ids: Integers,
        kernel: ModuleType | None,
    ) -> None:
        self.recipe, self.rewards, self.most, self.found, self.ids = (
            recipe,
            rewards,
            most,
            found,
            ids,
        )
        self.seeds = found.seeds[ids]
        self.generators = [generator_of(seed) for seed in self.seeds]
        self.fits, self.memory = _fits(recipe, floor, len(ids)), Memory(recipe, len(ids))
        self.draws, self.used = np.zeros((len(ids), 0)), 0
        self.kernel = kernel
        self.law = None if kernel is None else kernel.law_of(recipe, self.fits, rewards)

    def simulate(self) -> None:
        """All rounds of all runs."""
        fits, initial = self.fits, self.recipe.setup.initial
        for arm in initial[: self.most].tolist():
            self._pull(np.full(len(self.ids), arm))
        if not (fits.ready or fits.refresh_if_spanning()):
            raise SingularDesign("the initial pulls do not span the features.")
        while len(self.ids):
            decided = decide(self.recipe, fits, self.seeds, self.memory)
            if decided.stop.any():
                self._end(decided.stop, np.full(len(self.ids), fits.observed), stopped=True)
            if not len(self.ids) or fits.observed == self.most:
                break
            last = self.memory.last
            assert last is not None
            for arms in (last.arm, last.c)[: 1 + self.recipe.pulls_both]:
                if fits.observed < self.most:
                    self._pull(arms)
            if self.kernel is not None:
                self._advance(self.kernel)
        every = np.ones(len(self.ids), np.bool_)
        self._end(every, np.full(len(self.ids), fits.observed), stopped=False)

    def _pull(self, arms: Integers) -> None:
        """One pull of every run."""
        fits = self.fits
        if self.used == self.draws.shape[1]:
            size = next_refresh(fits.observed) - fits.observed
            self.draws = np.array([self.rewards.draws(each, size) for each in self.generators])
            self.draws, self.used = self.draws.reshape(len(self.ids), size), 0
        fits.observe(arms, self.rewards.values(arms, self.draws[:, self.used]))
        self.used += 1

    def _advance(self, kernel: ModuleType) -> None:
        """The compiled rounds up to the next refresh."""
        fits, end = self.fits, self.used + self.most - self.fits.observed
        draws = np.ascontiguousarray(self.draws[:, self.used : end])
        if not draws.size:
            return
        stopped, is_halfway = kernel.advance(
            self.recipe, self.law, fits, self.seeds, self.memory, draws
        )
        samples = fits.observed + stopped
        self._end(stopped >= 0, samples, stopped=True)
        fits.observed, self.used = fits.observed + draws.shape[1], self.used + draws.shape[1]
        if fits.observed == next_refresh(fits.observed - 1):
            fits.refresh_some(slice(None))
        if is_halfway and fits.observed < self.most:
            assert self.memory.last is not None
            self._pull(self.memory.last.c)

    def _end(self, over: Mask, samples: Integers, *, stopped: bool) -> None:
        """Write down what came of some runs, and go on without them."""
        fits, last, found, rows = self.fits, self.memory.last, self.found, self.ids[over]
        if not len(rows):
            return
        found.stopped[rows], found.samples[rows] = stopped, samples[over]
        found.pulls[rows] = fits.pulls[over]
        if last is not None:
            found.recommended[rows] = last.inside[over]
        left: Mask = ~over
        self.ids, self.seeds, self.draws = self.ids[left], self.seeds[left], self.draws[left]
        self.generators = [each for each, stays in zip(self.generators, left, strict=True) if stays]
        fits.keep(left)
        self.memory.keep(left)
