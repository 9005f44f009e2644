"""What the results of one plan say of the difference of two means.

A *contrast* estimates μ_b − μ_c without bias as a weighted sum of the plan's results. Its weights
depend on what was fixed before the results (the arms, their blocks, the noise as it seemed), never
on the results themselves; that is all the proofs of `increments` need of it. There are four:

=========  ===================================================================================
`Own`      averages of the two arms' own results
`Linear`   least squares on features, as means are linear in them
`Within`   results of a block share an unknown level: least squares with a level for every block,
           on features or arm by arm
`Paired`   the same where noise differs from arm to arm: every block gives one difference
=========  ===================================================================================

Rounding. Offsets that drop out of a contrast are subtracted before anything is added up, and
`rounding` bounds what is left of the errors. Evidence lowers d by it in both directions, so that
a difference that floating-point numbers cannot hold counts for neither arm.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from shortlist.arrays import Integers, Mask, Reals

TINY = 1e-300
EPS = float(np.finfo(float).eps)
#: A direction whose singular value is a smaller share of the largest one counts as unknown.
SINGULAR = 1e-8
#: Numbers in the largest table that is made at once.
TABLE = 2_000_000


class Cells(NamedTuple):
    """Where a plan has results: an arm, or an arm on a block; only those that have some."""

    arms: Integers
    blocks: Integers  # 0, 1, 2, … in the plan; 0 everywhere without blocks
    counts: Integers
    of_result: Integers  # the cell of every result

    @classmethod
    def of(cls, arms: Integers, blocks: Integers | None) -> Cells:
        """The cells of results of these arms, on these blocks."""
        if blocks is None:
            seen, of_result, counts = np.unique(arms, return_inverse=True, return_counts=True)
            return cls(seen, np.zeros(len(seen), dtype=np.int64), counts, of_result)
        place = np.unique(blocks, return_inverse=True)[1]
        many = int(place.max(initial=-1)) + 1
        cell, of_result, counts = np.unique(
            arms * many + place, return_inverse=True, return_counts=True
        )
        return cls(cell // max(many, 1), cell % max(many, 1), counts, of_result)

    def sums(self, values: Reals) -> Reals:
        """The sum of the values of each cell."""
        return sums_of(self.of_result, values, len(self.counts))

    def split(self, values: Reals) -> list[Reals]:
        """The values of each cell."""
        order = np.argsort(self.of_result, kind="stable")
        return np.split(values[order], np.cumsum(self.counts)[:-1])


class Contrasts(Protocol):
    """What a plan says of pairs of arms; every method takes arrays of arms b and c."""

    cells: Cells

    def estimates(self, b: Integers, c: Integers) -> tuple[Reals, Reals]:
        """An unbiased estimate d of μ_b − μ_c, and its information 1/v, v the variance that it was
        to have by the noise as it seemed. Both are 0 where the plan says nothing of the pair.
        """
        ...

    def rounding(self, b: Integers, c: Integers) -> Reals:
        """How far rounding errors may move the estimates."""
        ...

    def weights(self, b: Integers, c: Integers) -> Reals:
        """k, pairs × cells: Σ k · (the sum of the results of a cell) is d. A row is 0 where the plan
        says nothing; where there are blocks, Σ k · (the count of a cell) is 0 within each.
        """
        ...

    def spread(self, b: Integers, c: Integers) -> tuple[Reals, Reals]:
        """The variance of d by the plan's own results, and its degrees of freedom."""
        ...

    @property
    def left(self) -> tuple[float, float]:
        """What the plan's residuals make of σ², in units of the noise as it seemed, if that is the
        same for all arms up to one unknown factor; and its degrees of freedom.
        """
        ...


class Own:
    """Averages of the arms' own results: d = ȳ_b − ȳ_c."""

    def __init__(self, arms: Integers, values: Reals, noise: Reals) -> None:
        self.cells = Cells.of(arms, None)
        K, seen, counts = len(noise), self.cells.arms, self.cells.counts
        offset = float(np.median(values)) if len(values) else 0.0
        values = values - offset
        means = self.cells.sums(values) / counts
        spread = self.cells.sums((values - means[self.cells.of_result]) ** 2)
        sizes = self.cells.sums(np.abs(values)) / counts
        self.counts, self.means, self.errors = np.zeros(K), np.zeros(K), np.zeros(K)
        self.variances, self.squares = np.full(K, np.inf), np.zeros(K)
        self.counts[seen], self.means[seen] = counts, means
        self.variances[seen] = noise[seen] / counts
        self.squares[seen] = spread / np.maximum(counts - 1, 1) / counts
        self.errors[seen] = EPS * (abs(offset) + (counts + 2.0) * sizes)
        self.left = per_degree((spread / noise[seen]).sum(), (counts - 1).sum())

    def estimates(self, b: Integers, c: Integers) -> tuple[Reals, Reals]:
        """The difference of two averages, and its information."""
        information = 1.0 / (self.variances[b] + self.variances[c])
        information[b == c] = 0.0
        return (self.means[b] - self.means[c]) * (information > 0.0), information

    def rounding(self, b: Integers, c: Integers) -> Reals:
        """Those of two sums and of their difference."""
        return self.errors[b] + self.errors[c]

    def weights(self, b: Integers, c: Integers) -> Reals:
        """1/n of the results of b, −1/n of those of c."""
        place = places(self.cells.arms, len(self.counts))
        return signs(place[b], place[c], len(self.cells.arms)) / self.cells.counts

    def spread(self, b: Integers, c: Integers) -> tuple[Reals, Reals]:
        """The sum of the variances of two averages, and the lesser of their degrees of freedom."""
        degrees = np.minimum(self.counts[b], self.counts[c]) - 1.0
        return self.squares[b] + self.squares[c], degrees


class Linear:
    """Least squares on features x, results weighted by 1/noise: d = (x_b − x_c)·θ̂.

    A pair of which the plan says nothing, as it lacks a direction of x_b − x_c, has information 0.
    """

    def __init__(self, arms: Integers, values: Reals, noise: Reals, features: Reals) -> None:
        self._fit(Cells.of(arms, None), values, noise, features)

    def _fit(self, cells: Cells, values: Reals, noise: Reals, features: Reals) -> None:
        self.cells, self.noise = cells, noise[cells.arms]
        scale = np.sqrt((features**2).sum(axis=0))
        self.x = features / np.where(scale > 0.0, scale, 1.0)
        precision = cells.counts / self.noise
        rows = self._centred(self.x[self._row(cells.arms)], precision)
        self.root, self.null = rooted(np.sqrt(precision)[:, None] * rows)
        white = rows @ self.root
        self.at_cells = white / self.noise[:, None]
        sums = cells.sums(values)
        found = self.at_cells.T @ sums
        residuals = sums - cells.counts * (white @ found)
        self.found = found + self.at_cells.T @ residuals  # once refined: offsets are large
        away = values - self._levels(values, cells.counts / self.noise)
        away = away - (white @ self.found)[cells.of_result]
        free = len(values) - self.root.shape[1] - self._number_of_levels
        self.left = per_degree((away**2 / self.noise[cells.of_result]).sum(), free)
        means = cells.sums(away) / cells.counts
        away = away - means[cells.of_result]
        #: Of every cell: n · (variance of its results), for `spread`.
        self.squares = cells.sums(away**2) * cells.counts / np.maximum(cells.counts - 1, 1)
        self.errors = 4.0 * EPS * (np.abs(self.x) @ np.abs(self.root @ self.found))
        self.size = float(np.sqrt((values**2 / self.noise[cells.of_result]).sum()))

    _number_of_levels = 0

    def _row(self, arms: Integers) -> Integers:
        """The rows of x of these arms."""
        return arms

    def _centred(self, rows: Reals, precision: Reals) -> Reals:
        """The rows of the cells less what a level of their block takes up."""
        return rows

    def _levels(self, values: Reals, precision: Reals) -> Reals:
        """The levels of the blocks of the results."""
        return np.zeros(len(values))

    def _apart(self, b: Integers, c: Integers) -> Iterator[tuple[slice, Reals]]:
        """(x_b − x_c)·root of some pairs after the other; 0 where the plan says nothing."""
        known = self._row(b), self._row(c)
        for some in chunks(len(b), self.x.shape[1]):
            gap = self.x[known[0][some]] - self.x[known[1][some]]
            apart = gap @ self.root
            if self.null.shape[1]:
                apart[~self._estimable(gap)] = 0.0
            yield some, apart

    def _estimable(self, gap: Reals) -> Mask:
        size = np.sqrt((gap**2).sum(axis=1))
        return np.asarray(np.abs(gap @ self.null).max(axis=1) <= 1e-7 * size)

    def estimates(self, b: Integers, c: Integers) -> tuple[Reals, Reals]:
        """(x_b − x_c)·θ̂ and its information."""
        d, v = np.zeros(len(b)), np.zeros(len(b))
        for some, apart in self._apart(b, c):
            d[some], v[some] = apart @ self.found, (apart**2).sum(axis=1)
        return d, np.where(v > 0.0, 1.0 / np.maximum(v, TINY), 0.0)

    def rounding(self, b: Integers, c: Integers) -> Reals:
        """Those of features times coefficients, and of the coefficients."""
        errors = self.errors[self._row(b)] + self.errors[self._row(c)]
        for some, apart in self._apart(b, c):
            errors[some] += 4.0 * EPS * self.size * np.sqrt((apart**2).sum(axis=1))
        return errors

    def weights(self, b: Integers, c: Integers) -> Reals:
        """(x_b − x_c)ᵀ (Σ x xᵀ/noise)⁺ x/noise."""
        k = np.zeros((len(b), len(self.noise)))
        for some, apart in self._apart(b, c):
            k[some] = apart @ self.at_cells.T
        return k

    def spread(self, b: Integers, c: Integers) -> tuple[Reals, Reals]:
        """Σ k² n s², s² the variance of an arm's own results; the least degrees of those arms."""
        seen, degrees = np.zeros(len(b)), np.zeros(len(b))
        for some in chunks(len(b), len(self.noise)):
            k = self.weights(b[some], c[some])
            seen[some] = k**2 @ self.squares
            degrees[some] = np.where(k != 0.0, self.cells.counts, np.inf).min(
                axis=1, initial=np.inf
            )
        return seen, np.where(np.isfinite(degrees), degrees - 1.0, 0.0)


class Within(Linear):
    """Least squares with an unknown level for every block, on features or (None) arm by arm."""

    def __init__(
        self, arms: Integers, values: Reals, noise: Reals, blocks: Integers, features: Reals | None
    ) -> None:
        cells = Cells.of(arms, blocks)
        self._place: Integers | None = None
        if features is None:
            seen = np.unique(arms)
            self._place = places(seen, len(noise))  # arms without results: a row of zeros
            features = np.eye(len(seen) + 1, len(seen))
        self._blocks = cells.blocks
        self._number_of_levels = int(cells.blocks.max(initial=-1)) + 1
        self._of_result = cells.blocks[cells.of_result]
        offset = per_block(self._of_result, np.ones(len(values)), values)
        self._fit(cells, values - offset[self._of_result], noise, features)
        self.size = max(self.size, float(np.sqrt((values**2 / noise[arms]).sum())))

    def _row(self, arms: Integers) -> Integers:
        return arms if self._place is None else self._place[arms]

    def _centred(self, rows: Reals, precision: Reals) -> Reals:
        return np.asarray(rows - per_block(self._blocks, precision, rows)[self._blocks])

    def _levels(self, values: Reals, precision: Reals) -> Reals:
        p = (precision / self.cells.counts)[self.cells.of_result]
        return per_block(self._of_result, p, values)[self._of_result]

    def _estimable(self, gap: Reals) -> Mask:
        ok = super()._estimable(gap)
        if self._place is not None:
            ok &= gap.sum(axis=1) == 0.0  # else one of the two has no result
        return ok

    def spread(self, b: Integers, c: Integers) -> tuple[Reals, Reals]:
        """By the residuals, as if noise were known up to one factor."""
        information = self.estimates(b, c)[1]
        left, degrees = self.left
        seen = np.where(information > 0.0, left / np.maximum(information, TINY), 0.0)
        return seen, np.full(len(b), degrees)


class Paired:
    """Every block of which an arm's results are known gives one difference: d is their average.

    With features a block's difference is Σ k_a y_a with k by least squares, as if every arm of the plan
    were on it once; blocks that lack an arm of the contrast are left out.
    """

    def __init__(
        self, arms: Integers, values: Reals, noise: Reals, blocks: Integers, features: Reals | None
    ) -> None:
        seen, row = np.unique(arms, return_inverse=True)
        place = np.unique(blocks, return_inverse=True)[1]
        many = int(place.max(initial=-1)) + 1
        level = per_block(place, np.ones(len(values)), values)
        self.table = np.full((len(seen) + 1, many), np.nan)  # the last row: arms without results
        self.table[row[::-1], place[::-1]] = (values - level[place])[::-1]  # the first of several
        self.known = ~np.isnan(self.table)
        self.table[~self.known] = 0.0
        self.noise, self.place = noise, places(seen, len(noise))
        self.cells = Cells(seen, np.zeros_like(seen), np.ones_like(seen), row)
        self.fit: Within | None = None
        if features is not None and len(seen):
            once = np.zeros(len(seen))
            self.fit = Within(seen, once, noise, np.zeros(len(seen), dtype=np.int64), features)
        self.largest = float(np.abs(values).max(initial=0.0))

    def weights(self, b: Integers, c: Integers) -> Reals:
        """k, pairs × arms that have results, of the results of one block."""
        if self.fit is not None:
            k = self.fit.weights(b, c)
            k[np.abs(k) <= 1e-12 * np.abs(k).max(axis=1, initial=0.0)[:, None]] = 0.0
            return k
        return signs(self.place[b], self.place[c], len(self.cells.arms))

    def sizes(self, b: Integers, c: Integers) -> tuple[Reals, Reals]:
        """Σ |k| and Σ k² · noise."""
        if self.fit is None:
            return np.full(len(b), 2.0), self.noise[b] + self.noise[c]
        k = self.weights(b, c)
        return np.abs(k).sum(axis=1), k**2 @ self.noise[self.cells.arms]

    def differences(self, b: Integers, c: Integers) -> tuple[Reals, Mask]:
        """What each block makes of the pairs, pairs × blocks, and whether it has all that it needs."""
        if self.fit is None:
            p, q = self.place[b], self.place[c]
            has = self.known[p] & self.known[q] & (p != q)[:, None]
            return np.where(has, self.table[p] - self.table[q], 0.0), has
        k = self.weights(b, c)
        used = k != 0.0
        has = used.astype(float) @ ~self.known[:-1] == 0.0
        has &= used.any(axis=1)[:, None]
        return np.where(has, k @ self.table[:-1], 0.0), has

    def expected(self, b: Integers, c: Integers, means: Reals) -> Reals:
        """What a block was expected to make of the pairs, by such means of the arms."""
        if self.fit is None:
            return np.asarray(means[b] - means[c])
        return np.asarray(self.weights(b, c) @ means[self.cells.arms])

    def _summed(self, b: Integers, c: Integers) -> tuple[Reals, Reals, Reals]:
        """The average of the differences, how many they are, and their spread around it."""
        d, n, squares = np.zeros((3, len(b)))
        for some in chunks(len(b), sum(self.table.shape)):
            told, has = self.differences(b[some], c[some])
            n[some] = has.sum(axis=1)
            d[some] = told.sum(axis=1) / np.maximum(n[some], 1.0)
            squares[some] = (has * (told - d[some][:, None]) ** 2).sum(axis=1)
        return d, n, squares

    def estimates(self, b: Integers, c: Integers) -> tuple[Reals, Reals]:
        """The average of the blocks' differences, and its information."""
        d, n, _ = self._summed(b, c)
        return d, np.where(n > 0.0, n / np.maximum(self.sizes(b, c)[1], TINY), 0.0)

    def rounding(self, b: Integers, c: Integers) -> Reals:
        """Those of blocks' levels and differences."""
        return 8.0 * EPS * self.largest * self.sizes(b, c)[0]

    def spread(self, b: Integers, c: Integers) -> tuple[Reals, Reals]:
        """The variance of the average, by the differences of the blocks."""
        _, n, squares = self._summed(b, c)
        return squares / np.maximum(n * (n - 1.0), 1.0), np.maximum(n - 1.0, 0.0)

    left = 0.0, 0.0  # where arms are alike, blocks have levels


def per_degree(squares: float, degrees: float) -> tuple[float, float]:
    """What residuals make of σ², and their degrees of freedom."""
    return float(squares) / max(float(degrees), 1.0), float(degrees)


def places(seen: Integers, arms: int) -> Integers:
    """Where each arm is among those that were seen; how many these are if it is not."""
    found = np.full(arms, len(seen))
    found[seen] = np.arange(len(seen))
    return found


def signs(b: Integers, c: Integers, many: int) -> Reals:
    """1 at the place of b and −1 at that of c, pairs × so many places; 0 where one of them has none."""
    k, some = np.zeros((len(b), many)), np.flatnonzero((np.maximum(b, c) < many) & (b != c))
    k[some, b[some]], k[some, c[some]] = 1.0, -1.0
    return k


def chunks(pairs: int, width: int, most: int = TABLE) -> Iterator[slice]:
    """Slices of so many pairs, so that no table of this width has more numbers than that."""
    step = max(1, most // max(width, 1))
    return (slice(begin, begin + step) for begin in range(0, pairs, step))


def sums_of(places: Integers, values: Reals, many: int) -> Reals:
    """The sum of the values at each of so many places."""
    return np.asarray(np.bincount(places, values, many), dtype=np.float64)


def per_block(block: Integers, p: Reals, y: Reals) -> Reals:
    """Averages of blocks 0, 1, … with these weights, along the first axis; 0 where there is nothing."""
    total = np.maximum(np.bincount(block, p), TINY)
    if y.ndim == 1:
        return np.asarray(np.bincount(block, p * y) / total)
    order = np.argsort(block, kind="stable")
    here, begins = np.unique(block[order], return_index=True)
    found = np.zeros((len(total), y.shape[1]))
    found[here] = np.add.reduceat((p[:, None] * y)[order], begins, axis=0)
    return np.asarray(found / total[:, None])


def rooted(rows: Reals) -> tuple[Reals, Reals]:
    """R with R·Rᵀ = (Σ row rowᵀ)⁺, and the directions, as columns, of which the rows tell nothing."""
    if not len(rows):
        return np.zeros((rows.shape[1], 0)), np.eye(rows.shape[1])
    _, sizes, vectors = np.linalg.svd(np.linalg.qr(rows, mode="r"))
    good = np.zeros(len(vectors), dtype=bool)
    good[: len(sizes)] = sizes > SINGULAR * max(float(sizes.max(initial=0.0)), TINY)
    return vectors[good].T / sizes[good[: len(sizes)]], vectors[~good].T
