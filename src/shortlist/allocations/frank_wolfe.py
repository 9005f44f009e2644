"""z_t: the shares of a round by one Frank–Wolfe step (FWS; Wang, Tzeng and Proutière 2021).

The aim is the w that maximises F(w) = min_p f_p(w), f_p(w) = (g_p + ε)₊²/(2σ²‖y_p‖²_{V(w)⁻¹}), over
the pairs p of a candidate and another arm. F has edges, so the step considers all pieces f_p that
are within r_t of the least: z_t = argmax_z min_p ⟨z − w, ∇f_p(w)⟩. ∂f_p/∂w_a is
(x_aᵀ(θ̂ − λ_p))²/(2σ²) (over n_a where the arms' noise differs), λ_p the closest alternative, and
⟨w, ∇f_p(w)⟩ = f_p(w), since f_p is of degree 1 in w.

z_t is the solution of a matrix game, pieces against arms. It is exact up to ACCURACY: the game is
solved over few pieces, and the piece of least payoff for its solution joins until none is below the
value. Mostly one piece is enough, and z_t is the arm of its largest gradient. The game's linear
program is that of the player of the rows, who can start from doing nothing: maximise Σ_p u_p with
Σ_p u_p B_pa ≤ 1 for every column a, u ≥ 0 and B the payoffs made positive. Its prices are the
shares of the columns.

r_t is the paper's, and satisfies what its Theorem 1 asks for: its average goes to 0, t r_t does
not. So is the forced exploration, of all arms while there are at most four per dimension; with
more, arms that span explore for all. The sum of the z_t is tracked by differences, there by ratios.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shortlist.allocations.alternative import Pairs, displace, nearest_pair, whiten
from shortlist.numerics.jit import compiled
from shortlist.numerics.records import (
    Integers,
    Mask,
    Reals,
    Record,
    Table,
)
from shortlist.posterior.state import State

ACCURACY = 1e-9  # of F: how much better than the value found the best z may be
ROUNDING = 1e-12
PIVOTS = 50  # a row: far more than were ever seen, in case rounding makes it cycle
FLAT, CROWDED = 0, -1


@dataclass(frozen=True, eq=False)
class Pieces(Record):
    """Scratch of the matrix game: one row per piece, one column per arm."""

    payoffs: Table
    tableau: Table
    row_names: Integers
    column_names: Integers
    support: Integers


def make_pieces(arms: int, room: int) -> Pieces:
    """Memory for a game of up to ``room`` pieces."""
    names = {"row_names": room, "column_names": arms, "support": arms}
    return Pieces.zeros(payoffs=(room, arms), tableau=(room + 1, arms + 1), **names)


@compiled(typed=True)
def is_forced(t: int, spanners: int) -> bool:
    """Whether round t is one of the forced exploration by n arms: ⌊t/n⌋ is a square."""
    turns = t // spanners
    root = int(math.sqrt(turns))
    return root * root == turns


@compiled(typed=True)
def reach_at(t: int, arms: int) -> float:
    """r_t = t^(−0.9)/K: how near to the least a piece must be to count, as in the paper."""
    return t ** (-0.9) / arms


@compiled(typed=True)
def least_payoff(
    state: State, epsilon: float, within: float, pairs: Pairs, support: Integers, shares: Reals
) -> tuple[int, float]:
    """The piece below ``within`` of least ⟨z − w, ∇f_p⟩ for the shares z, and that product."""
    means, noise = state.means, state.noise
    sides, distances, whitened = pairs.sides, pairs.distances, pairs.whitened
    m, others = distances.shape
    count = 0
    for a in range(m + others):
        if shares[a] > 0.0:
            support[count] = a
            count += 1
    worst, least = 0, np.inf
    for k in range(m):
        i = sides[k]
        for n in range(others):
            distance = distances[k, n]
            if distance < within:
                j = sides[m + n]
                total = 0.0
                for s in range(count):
                    a = support[s]
                    inner = 0.0
                    for d in range(whitened.shape[1]):
                        inner += whitened[a, d] * (whitened[i, d] - whitened[j, d])
                    total += shares[a] / noise[a] * inner * inner
                step = distance / (means[i] - means[j] + epsilon)
                payoff = step * step * total - distance
                if payoff < least:
                    worst, least = k * others + n, payoff
    return worst, least


@compiled(typed=True)
def frank_wolfe(
    state: State,
    inside: Mask,
    weights: Reals,
    reach: float,
    epsilon: float,
    pairs: Pairs,
    pieces: Pieces,
    shares: Reals,
) -> int:
    """Write the z of all pieces within ``reach`` of the least into ``shares``.

    ``reach`` is in units of 1/(2σ²). Returns how many pieces decided, FLAT where none tells arms
    apart (F is 0, or infinite since all pairs have equal features), CROWDED where there are more
    pieces than there is room for.
    """
    means, distances = state.means, pairs.distances
    arms, others = means.shape[0], distances.shape[1]
    whiten(state, weights, 0.0, pairs.whitened)
    piece = nearest_pair(means, inside, epsilon, pairs)
    least = distances[piece // others, piece % others]
    if not 0.0 < least < np.inf:
        return FLAT
    count = 0
    while True:
        if count == pieces.payoffs.shape[0]:
            return CROWDED
        displace(means, piece, epsilon, pairs)
        for a in range(arms):
            gain = pairs.shift[a] * pairs.shift[a] / state.noise[a]
            pieces.payoffs[count, a] = gain - distances[piece // others, piece % others]
        count += 1
        names = pieces.row_names, pieces.column_names
        value = solve_game(pieces.payoffs, count, pieces.tableau, names[0], names[1], shares)
        piece, payoff = least_payoff(state, epsilon, least + reach, pairs, pieces.support, shares)
        # The second clause ends what rounding might keep going.
        if not payoff < value - ACCURACY * least or count == distances.size:
            return count


@compiled(typed=True)
def exchange(tableau: Table, rows: int, row: int, column: int) -> None:
    """Exchange row and column: a pivot of the simplex method, in its condensed form."""
    columns = tableau.shape[1]
    pivot = 1.0 / tableau[row, column]
    for p in range(rows):
        if p != row:
            scale = tableau[p, column] * pivot
            for a in range(columns):
                if a != column:
                    tableau[p, a] -= scale * tableau[row, a]
            tableau[p, column] = scale
    for a in range(columns):
        tableau[row, a] *= -pivot
    tableau[row, column] = pivot


@compiled(typed=True)
def solve_game(
    payoffs: Table,
    rows: int,
    tableau: Table,
    row_names: Integers,
    column_names: Integers,
    shares: Reals,
) -> float:
    """Write the shares of the columns that maximise the least payoff of the first rows; its value.

    Exact except for rounding, by the simplex method with Bland's rule, which does not cycle.
    ``tableau`` has a row and a column more than the payoffs. The names are the variables: ``p`` for
    row p, ``rows + a`` for column a.
    """
    columns = shares.shape[0]
    low, high = np.inf, -np.inf
    for p in range(rows):
        for a in range(columns):
            low, high = min(low, payoffs[p, a]), max(high, payoffs[p, a])
    span = high - low if high > low else 1.0
    for p in range(rows):
        row_names[p] = p
        tableau[p, columns] = -1.0
        for a in range(columns):
            tableau[p, a] = 1.0 + (payoffs[p, a] - low) / span
    for a in range(columns):
        column_names[a] = rows + a
        tableau[rows, a] = 1.0
        shares[a] = 0.0
    tableau[rows, columns] = 0.0
    for _ in range(PIVOTS * (rows + 1)):
        row, column = -1, -1
        for p in range(rows):
            if tableau[p, columns] < -ROUNDING and (row < 0 or row_names[p] < row_names[row]):
                row = p
        if row < 0:
            break
        least = np.inf
        for a in range(columns):
            if tableau[row, a] > ROUNDING:
                ratio = tableau[rows, a] / tableau[row, a]
                tied = ratio == least and column_names[a] < column_names[column]
                if ratio < least or tied:
                    column, least = a, ratio
        if column < 0:
            break
        exchange(tableau, rows + 1, row, column)
        row_names[row], column_names[column] = column_names[column], row_names[row]
    total = 0.0
    for p in range(rows):
        if row_names[p] >= rows:
            shares[row_names[p] - rows] = max(tableau[p, columns], 0.0)
            total += max(tableau[p, columns], 0.0)
    for a in range(columns):
        shares[a] /= total
    return float(low + span * (1.0 / total - 1.0))
