"""The evaluations of a plan, in the order in which they are asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortlist.arrays import NO_BLOCK, Integers


@dataclass(frozen=True, eq=False)
class Slots:
    """Single evaluations: an arm each, and a block where the plan names one, else ``NO_BLOCK``.

    Attributes
    ----------
    arms, blocks : array of int
        In the order in which they are asked for.
    """

    arms: Integers
    blocks: Integers

    @classmethod
    def in_turn(cls, pulls: Integers) -> Slots:
        """So that every part of it is like the whole.

        Examples
        --------
        >>> Slots.in_turn(np.array([2, 0, 4])).arms.tolist()
        [0, 2, 2, 0, 2, 2]
        """
        arms, earlier = _counted(pulls)
        missing = (pulls[arms] - earlier) / pulls[arms]
        return cls.anywhere(arms[np.argsort(-missing, kind="stable")])

    @classmethod
    def anywhere(cls, arms: Integers) -> Slots:
        """On no block, or on whichever is asked for."""
        return cls(arms, np.full(len(arms), NO_BLOCK))

    @classmethod
    def on_blocks(
        cls, turns: Integers, first: int, rng: np.random.Generator, *, named: bool
    ) -> Slots:
        """Every arm once on each of its number of blocks, block by block.

        These are the ones from ``first`` on, if they are ``named``, else those that are asked for.

        Examples
        --------
        >>> plan = Slots.on_blocks(np.array([1, 0, 2]), 7, np.random.default_rng(0), named=True)
        >>> sorted(zip(plan.blocks.tolist(), plan.arms.tolist()))
        [(7, 0), (7, 2), (8, 2)]
        """
        arms, turn = _counted(turns)
        order = np.lexsort((rng.random(len(arms)), turn))
        arms, turn = arms[order], turn[order]
        return cls(arms, first + turn) if named else cls.anywhere(arms)

    @classmethod
    def samples(cls, pulls: Integers, size: int, rng: np.random.Generator) -> Slots:
        """For whole blocks of ``size``, each as like the plan as it can be, in random order.

        Where the size is not known, every part of it is like the whole.
        """
        if not size:
            rounds = int(np.gcd.reduce(pulls))
            return cls.anywhere(
                np.concatenate([cls._sample(pulls // rounds, 1, rng) for _ in range(rounds)])
            )
        total = max(1, round(pulls.sum() / size)) * size
        exact = pulls * (total / pulls.sum())
        whole = np.floor(exact).astype(np.int64)
        whole[np.argsort(whole - exact, kind="stable")[: total - whole.sum()]] += 1
        return cls.anywhere(cls._sample(whole, size, rng))

    @staticmethod
    def _sample(pulls: Integers, size: int, rng: np.random.Generator) -> Integers:
        arms, earlier = _counted(pulls)
        places = (earlier + rng.random(len(pulls))[arms]) / pulls[arms]
        part = np.empty(len(arms), np.int64)
        part[np.argsort(places, kind="stable")] = np.arange(len(arms)) // size
        return np.asarray(arms[np.lexsort((rng.random(len(arms)), part))])


def turns_of(pulls: Integers, least: int, *, own: bool, room: int) -> Integers:
    """On how many blocks every arm of a plan is, once on each.

    With their ``own`` results arms are on as many as they were given, else all of the plan on the same.
    Where a block has ``room`` for some only, they are those with most evaluations.

    Examples
    --------
    >>> turns_of(np.array([4, 0, 2]), 3, own=True, room=0).tolist()
    [4, 0, 3]
    >>> turns_of(np.array([4, 0, 2]), 2, own=False, room=0).tolist()
    [3, 0, 3]
    """
    used = np.flatnonzero(pulls)
    if room and len(used) > room:
        used = used[np.argsort(-pulls[used], kind="stable")[:room]]
    turns = np.zeros(len(pulls), np.int64)
    turns[used] = pulls[used] if own else -(-int(pulls.sum()) // len(used))
    turns[used] = np.maximum(turns[used], least)
    return turns


def _counted(pulls: Integers) -> tuple[Integers, Integers]:
    """The arms of some evaluations, and how many earlier ones are of the same arm."""
    arms = np.repeat(np.arange(len(pulls)), pulls)
    return arms, np.arange(len(arms)) - np.repeat(np.cumsum(pulls) - pulls, pulls)
