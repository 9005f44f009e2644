"""The arrays behind a posterior."""

from __future__ import annotations

from dataclasses import dataclass

from shortlist.numerics.records import Integer, Integers, Real, Reals, Record, Table

# Arrays of one number: compiled code changes arrays in place, and cannot change a number.
OneInteger = Integers
OneReal = Reals

# How much of G is kept: all of it, or some rows.
WHOLE, ROWS = 0, 1
FIRST_REFRESH, REFRESH_EVERY = 1024, 8192
STEEPEST = 1e5
# What ‖x_i − x_j‖² is at least, in units of ‖x_i‖² + ‖x_j‖². It is a difference of entries of G, and the
# entries are off by rounding: at most 2e-13 of their size was seen in orthonormal columns, when a
# thousand results had been processed since the last refresh. A width below that would be noise.
LEAST_SHARE = 1e-12


@dataclass(frozen=True, eq=False)
class KeptRows(Record):
    """Which rows of G are kept, and the V⁻¹ that others are made from.

    ``State.rows[s]`` is the row of arm ``owners[s]``, last used at tick ``used[s]``; ``slots[a]`` is where
    arm a's row is, or −1. The least recently used row makes room for another. ``tick`` counts the uses.
    """

    slots: Integers
    owners: Integers
    used: Integers
    inverse: Table
    tick: OneInteger


@dataclass(frozen=True, eq=False)
class State(Record):
    """The arrays behind a posterior; compiled code reads and writes them in place.

    ``layout`` says how much of G is kept: WHOLE, and ``rows`` is G; or ROWS, and ``kept`` says which;
    with WHOLE it is ABSENT.
    ``noise[a]`` is the variance of arm a's noise in units of σ²: wherever an evaluation of the arm is
    summed up, it counts 1/noise[a] times. ``floor`` is the least ‖x_i − x_j‖² that exceeds rounding errors
    (see ``LEAST_SHARE``). ``observed`` is the number of evaluations; the estimates are defined once
    ``ready`` is 1, and computed anew at ``next_refresh`` evaluations; ``refreshes`` counts how often.

    ``log_det`` is ln det(I + A/shift). ``shifted`` is (shift·I + A)⁻¹, where ``keeps_shifted`` is 1: for a
    shift that is neither zero nor the regularisation.
    """

    layout: Integer
    regularization: Real
    floor: Real
    features: Table
    noise: Reals
    pulls: Integers
    sums: Reals
    means: Reals
    variances: Reals
    rows: Table
    kept: KeptRows
    factor: Table
    arm_scratch: Reals
    scratch: Reals
    observed: OneInteger
    ready: OneInteger
    next_refresh: OneInteger
    refreshes: OneInteger
    keeps_shifted: Integer
    shifted: Table
    shift: Real
    log_det: OneReal
