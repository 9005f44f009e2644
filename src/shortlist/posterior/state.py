"""The arrays behind a posterior."""

from __future__ import annotations

from dataclasses import dataclass

from shortlist.numerics.records import Integer, Integers, Reals, Record, Table

REGULARIZATION, SHIFT, LOG_DET, PRIOR_LOG_DET, FLOOR = 0, 1, 2, 3, 4
OBSERVED, NEXT_REFRESH, READY, TICK, ASIDE, LEVEL, NEXT_CLIMB = 0, 1, 2, 3, 4, 5, 6
REFRESHED = 7
# How much of G is kept: all of it, or some rows.
WHOLE, ROWS = 0, 1
STEP = 4.0  # from one shift of a grid to the next
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
    arm a's row is, or −1. The least recently used row makes room for another.
    """

    slots: Integers
    owners: Integers
    used: Integers
    inverse: Table


@dataclass(frozen=True, eq=False)
class State(Record):
    """The arrays behind a posterior; compiled code reads and writes them in place.

    ``layout`` says how much of G is kept: WHOLE, and ``rows`` is G; or ROWS, and ``kept`` says which;
    with WHOLE it is ABSENT.
    ``shifted`` is (shift·I + A)⁻¹, kept for a shift that is neither zero nor the regularisation. Where a
    pilot is set aside, its pulls are in it; ``prior`` are its means ν, ``lean`` is Σ x_a (y − ν_a) since.
    ``scalars[FLOOR]`` is the least ‖x_i − x_j‖² that exceeds rounding errors (see ``LEAST_SHARE``).
    ``noise[a]`` is the variance of arm a's noise in units of σ²: wherever an evaluation of the arm is
    summed up, it counts 1/noise[a] times.
    """

    layout: Integer
    features: Table
    pulls: Integers
    sums: Reals
    means: Reals
    variances: Reals
    rows: Table
    shifted: Table
    factor: Table
    arm_scratch: Reals
    scratch: Reals
    pilot: Integers
    pilot_sums: Reals
    prior: Reals
    lean: Reals
    scalars: Reals
    clock: Integers
    noise: Reals
    kept: KeptRows
