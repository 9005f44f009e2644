"""Walks of a Boolean network, compiled: one gene at a time, or all at once."""

from __future__ import annotations

import numpy as np
from numba import types

from shortlist.numerics.jit import compiled
from shortlist.numerics.random import next_word, run_seed, seed_stream, uniform
from shortlist.numerics.records import BOOLEAN, INTEGER, INTEGERS, KEY, KEYS, MASK, VOID
from shortlist.repurposing.program import AT_LEAST, NEGATE, PUSH_GENE

BIT = types.uint8
BITS = types.Array(types.uint8, 1, "C")
BIT_TABLE = types.Array(types.uint8, 2, "C")
PARTIAL = types.Array(types.int8, 1, "C")
PARTIAL_TABLE = types.Array(types.int8, 2, "C")
CODE = types.Array(types.int64, 2, "C")
END = types.Tuple((INTEGER, BOOLEAN))

ASYNCHRONOUS = 0
SYNCHRONOUS = 1
FREE = -1
_ONE = np.uint64(1)


@compiled(BIT(INTEGER, INTEGERS, CODE, BITS, BITS))
def value_of(
    gene: int, start: np.ndarray, code: np.ndarray, state: np.ndarray, stack: np.ndarray
) -> int:
    """What the function of ``gene`` says in ``state``."""
    top = 0
    for i in range(start[gene], start[gene + 1]):
        what = code[i, 0]
        if what == PUSH_GENE:
            stack[top] = state[code[i, 1]] ^ code[i, 2]
            top += 1
        elif what == AT_LEAST:
            bottom = top - code[i, 2]
            on = 0
            for k in range(bottom, top):
                on += stack[k]
            stack[bottom] = 1 if on >= code[i, 1] else 0
            top = bottom + 1
        elif what == NEGATE:
            stack[top - 1] ^= 1
        else:
            stack[top] = code[i, 1]
            top += 1
    return stack[0]


@compiled(VOID(INTEGERS, CODE, BIT_TABLE, BIT_TABLE, BITS))
def fill_images(
    start: np.ndarray, code: np.ndarray, states: np.ndarray, images: np.ndarray, stack: np.ndarray
) -> None:
    """What every function says in each of many states."""
    for i in range(states.shape[0]):
        for gene in range(states.shape[1]):
            images[i, gene] = value_of(gene, start, code, states[i], stack)


@compiled(
    END(INTEGERS, CODE, INTEGERS, INTEGERS, PARTIAL, INTEGER, BITS, KEYS, INTEGERS, INTEGERS, BITS)
)
def walk_asynchronously(
    start: np.ndarray,
    code: np.ndarray,
    first_target: np.ndarray,
    targets: np.ndarray,
    clamps: np.ndarray,
    max_steps: int,
    state: np.ndarray,
    stream: np.ndarray,
    unstable: np.ndarray,
    place: np.ndarray,
    stack: np.ndarray,
) -> tuple[int, bool]:
    """Move one gene at a time, drawn uniformly among those that would change.

    Only the functions that name the gene that moved can have changed, so only these are looked at.
    ``unstable`` lists the genes that would change, ``place`` says where in it each stands.
    """
    count = 0
    for gene in range(len(state)):
        place[gene] = -1
        if clamps[gene] == FREE and value_of(gene, start, code, state, stack) != state[gene]:
            place[gene] = count
            unstable[count] = gene
            count += 1
    steps = 0
    while count > 0 and steps < max_steps:
        moved = unstable[int(uniform(stream) * count)]
        state[moved] ^= 1
        steps += 1
        for i in range(first_target[moved], first_target[moved + 1]):
            gene = targets[i]
            if clamps[gene] != FREE:
                continue
            if value_of(gene, start, code, state, stack) != state[gene]:
                if place[gene] < 0:
                    place[gene] = count
                    unstable[count] = gene
                    count += 1
            elif place[gene] >= 0:
                count -= 1
                last = unstable[count]
                unstable[place[gene]] = last
                place[last] = place[gene]
                place[gene] = -1
    return steps, count == 0


@compiled(END(INTEGERS, CODE, PARTIAL, INTEGER, BITS, INTEGERS, BITS))
def walk_synchronously(
    start: np.ndarray,
    code: np.ndarray,
    clamps: np.ndarray,
    max_steps: int,
    state: np.ndarray,
    unstable: np.ndarray,
    stack: np.ndarray,
) -> tuple[int, bool]:
    """Move all genes that would change at once, as often as there are any."""
    steps = 0
    while True:
        count = 0
        for gene in range(len(state)):
            if clamps[gene] == FREE and value_of(gene, start, code, state, stack) != state[gene]:
                unstable[count] = gene
                count += 1
        if count == 0 or steps == max_steps:
            return steps, count == 0
        for i in range(count):
            state[unstable[i]] ^= 1
        steps += 1


@compiled(VOID(PARTIAL, PARTIAL, KEYS, BITS))
def draw_state(
    initial: np.ndarray, clamps: np.ndarray, stream: np.ndarray, state: np.ndarray
) -> None:
    """The initial state: clamps first, then what is given, then a fair coin."""
    word = np.uint64(0)
    left = 0
    for gene in range(len(state)):
        value = clamps[gene] if clamps[gene] != FREE else initial[gene]
        if value == FREE:
            if left == 0:
                word = next_word(stream)
                left = 64
            value = 1 if word & _ONE else 0
            word >>= _ONE
            left -= 1
        state[gene] = value


@compiled(
    VOID(
        INTEGER, INTEGERS, CODE, INTEGERS, INTEGERS, PARTIAL_TABLE, PARTIAL_TABLE, INTEGER,
        INTEGER, KEY, INTEGER, INTEGER, BIT_TABLE, INTEGERS, MASK, INTEGERS, INTEGERS, BITS, KEYS,
    )
)  # fmt: skip
def walk_many(
    update: int,
    start: np.ndarray,
    code: np.ndarray,
    first_target: np.ndarray,
    targets: np.ndarray,
    initials: np.ndarray,
    clamps: np.ndarray,
    repeats: int,
    max_steps: int,
    seed: np.uint64,
    first: int,
    last: int,
    states: np.ndarray,
    steps: np.ndarray,
    reached: np.ndarray,
    unstable: np.ndarray,
    place: np.ndarray,
    stack: np.ndarray,
    stream: np.ndarray,
) -> None:
    """Runs ``first`` to ``last`` − 1, of which each case has ``repeats``, each with its own seed."""
    for run in range(first, last):
        case = run // repeats
        seed_stream(run_seed(seed, run), stream)
        draw_state(initials[case], clamps[case], stream, states[run])
        if update == SYNCHRONOUS:
            steps[run], reached[run] = walk_synchronously(
                start, code, clamps[case], max_steps, states[run], unstable, stack
            )
        else:
            steps[run], reached[run] = walk_asynchronously(
                start,
                code,
                first_target,
                targets,
                clamps[case],
                max_steps,
                states[run],
                stream,
                unstable,
                place,
                stack,
            )
