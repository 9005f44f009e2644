"""A small zero-sum game, solved: the mixture of columns whose least payoff over rows is largest.

The linear program is that of the player of the rows, for whom doing nothing is a vertex to start
from: maximise Σ_p u_p with Σ_p u_p B_pa ≤ 1 for every column a, u ≥ 0 and B the payoffs made
positive. Its prices are the shares of the columns.
"""

from __future__ import annotations

import numpy as np

from shortlist.core.jit import compiled
from shortlist.core.records import (
    INTEGER,
    INTEGERS,
    REAL,
    REALS,
    TABLE,
    VOID,
    Integers,
    Reals,
    Table,
)

ROUNDING = 1e-12
PIVOTS = 50  # a row: far more than were ever seen, in case rounding goes in circles


@compiled(VOID(TABLE, INTEGER, INTEGER, INTEGER))
def exchange(tableau: Table, rows: int, row: int, column: int) -> None:
    """Row and column change places: a pivot of the simplex method, in its condensed form."""
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


@compiled(REAL(TABLE, INTEGER, TABLE, INTEGERS, INTEGERS, REALS))
def best_mixture(
    payoffs: Table,
    rows: int,
    tableau: Table,
    row_names: Integers,
    column_names: Integers,
    shares: Reals,
) -> float:
    """The shares of the columns that make the least payoff of the first ``rows`` largest, and it.

    Exact but for rounding, by the simplex method with Bland's rule, which does not go in circles.
    ``tableau`` has a row and a column more than the payoffs; the names say who stands where: row p
    is p, column a is ``rows`` + a.
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
