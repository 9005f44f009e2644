"""Refutations on a pool: how often they err just above the bar, and what does not change them."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest

from shortlist.arrays import Mask, Reals
from shortlist.proof.refuting import Refutation, share_at

N, RUNS = 60, 400
ALL = np.ones(N, np.bool_)


def rows(kind: str, rng: np.random.Generator) -> tuple[Reals, Reals]:
    """A row of numbers in [0, 1], and a control."""
    hard = rng.random(N)
    if kind == "coins":
        return (rng.random(N) < 0.6).astype(float), (rng.random(N) < 0.6).astype(float)
    if kind == "skewed":
        return (rng.random(N) < 0.95).astype(float), np.ones(N)
    if kind == "rare":
        return (rng.random(N) < 0.05).astype(float), hard**4
    if kind == "alike":
        return np.clip(hard + rng.normal(0, 0.05, N), 0, 1), hard
    return 1.0 - hard, hard  # opposite


def begun(seen: int, bar: float, rng: np.random.Generator) -> Refutation:
    """After some numbers were seen."""
    order, first = rng.permutation(N), rng.permutation(N)[:seen]
    return Refutation(order[~np.isin(order, first)], first, bar)


@pytest.mark.parametrize("kind", ["coins", "skewed", "rare", "alike", "opposite"])
@pytest.mark.parametrize("seen", [0, 12])
def test_a_mean_above_the_bar_is_rarely_refuted(kind: str, seen: int) -> None:
    rng, peaks = np.random.default_rng(7), []
    for _ in range(RUNS):
        row, control = rows(kind, rng)
        bar = row.mean() - 1e-9
        each = begun(seen, bar, rng)
        each.after(row, ALL, control, bar)
        peaks.append(each.peak)
    for risk in (0.05, 0.3, 0.8):
        wrong = np.mean(np.array(peaks) >= -np.log(risk))
        assert wrong <= risk + 2.5 * np.sqrt(risk * (1 - risk) / RUNS)


def test_a_bet_that_was_made_for_another_bar_errs_as_rarely() -> None:
    rng, peaks = np.random.default_rng(8), []
    for _ in range(RUNS):
        row, control = rows("coins", rng)
        each = begun(10, rng.choice([0.1, 0.5, 0.9]), rng)
        each.after(row, ALL, control, row.mean() - 1e-9)
        peaks.append(each.peak)
    assert np.mean(np.array(peaks) >= -np.log(0.3)) <= 0.3


def test_it_is_refuted_when_it_is_far_below() -> None:
    rng = np.random.default_rng(9)
    row, control = rows("coins", rng)
    each = begun(10, 0.95, rng)
    each.after(row, ALL, control, 0.95)
    assert each.peak > 5.0


def part(order: Refutation, number: int) -> Mask:
    """The first of an order, and what was seen before."""
    known = np.zeros(N, np.bool_)
    known[order.seen], known[order.order[:number]] = True, True
    return known


def test_what_comes_early_waits_for_its_turn() -> None:
    rng = np.random.default_rng(10)
    row, control = rows("alike", rng)
    plain = begun(10, 0.6, rng)
    early = copy(plain)
    known = part(plain, 20)
    plain.after(row, known, control, 0.6)
    known[plain.order[25:]] = True
    early.after(row, known, control, 0.6)
    assert (early.done, early.peak) == (plain.done, plain.peak) == (20, plain.peak)


def test_it_does_not_matter_how_many_come_at_once() -> None:
    rng = np.random.default_rng(11)
    row, control = rows("coins", rng)
    plain = begun(10, 0.7, rng)
    steps = copy(plain)
    plain.after(row, ALL, control, 0.7)
    for number in (3, 4, 20, 50):
        steps.after(row, part(plain, number), control, 0.7)
    np.testing.assert_allclose(steps.peak, plain.peak)
    assert steps.done == plain.done == 50


def test_wealth_grows_with_the_bar() -> None:
    rng = np.random.default_rng(12)
    row, control = rows("coins", rng)
    each, peaks = begun(10, 0.65, rng), []
    for bar in np.linspace(0.3, 1.0, 40):
        each.after(row, part(each, 30), control, bar)
        peaks.append(each.peak)
    assert (np.diff(peaks) >= -1e-12).all()
    least = each.least_bar(row, control, 2.0, 0.0, 1.0)
    assert (np.array(peaks) >= 2.0).tolist() == (np.linspace(0.3, 1.0, 40) >= least).tolist()


def test_shares_add_up_to_one() -> None:
    found = [share_at(i, j) for i in range(60) for j in range(60)]
    assert 0.99 < sum(found) <= 1.0
    assert all(share_at(i, j) > share_at(i, j + 1) for i in range(5) for j in range(5))
