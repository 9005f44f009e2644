"""A strategy whose plans are cells, arms on blocks: filled with results from outside or in simulation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import NO_ARM, NO_BLOCK, Integers, Mask
from shortlist.blocks import Cell
from shortlist.engine.contract import PLANS, Runs, Setup
from shortlist.engine.follow import DECIDE, REOPEN, TAKE, Position, Steps
from shortlist.engine.round import Decision
from shortlist.numerics.random import seed_stream
from shortlist.numerics.records import Reals
from shortlist.plans.engine import PlanEngine
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import Strategy
from shortlist.posterior.posterior import Posterior
from shortlist.rules import rewards
from shortlist.rules.rule import Rule

SALT = 0x726F7773  # the blocks of a simulated run are drawn by other numbers than its decisions


class CellStrategy(Strategy):
    """A strategy that plans cells.

    It is given the results of all cells of a plan at once. What is told of other cells is kept until
    a plan names them, or takes them in beside its own; no plan depends on it before.

    Attributes
    ----------
    cells : list of Cell
        What the plan consists of, in the order in which it is asked for. Empty if every cell of a
        pool is known.
    """

    cells: list[Cell]

    @property
    @abstractmethod
    def is_exact(self) -> bool:
        """Whether the answer follows from the results that are known, whatever the others are."""

    @property
    @abstractmethod
    def unknown(self) -> float:
        """How many cells of a pool were not taken in yet; infinite where blocks have no end."""

    @abstractmethod
    def take_beside(self, told: Mapping[Cell, float]) -> Collection[Cell]:
        """Be given results on the blocks of the plan that nobody asked for; those that ``decide`` uses."""

    @abstractmethod
    def know(self, pulls: Integers, sums: Reals) -> bool:
        """Know the numbers and sums of all results; whether they alone settle the answer."""

    @abstractmethod
    def show(self, told: Mapping[Cell, float]) -> None:
        """Show the list that all results suggest, those among them that no plan has taken yet."""

    @abstractmethod
    def complete(self, told: Mapping[Cell, float]) -> None:
        """Answer by the results of all cells of a pool; these were not taken in yet."""

    @abstractmethod
    def begin(self, seed: int) -> None:
        """Know the seed of the study, from which the order of the blocks is made."""

    @abstractmethod
    def leave_out(self, blocks: Iterable[int]) -> None:
        """Let the ε that is chosen next have no part in these blocks: who chooses it may know them."""

    @abstractmethod
    def beyond(self) -> Iterator[Cell]:
        """What to evaluate where the whole plan is under way and still more is wanted."""


class CellProgress:
    """A strategy before the results of its plan, and what was told of it or of other cells.

    ``met`` are the blocks of all results and of all trials that failed. It ``lacks_some`` if others
    know more of these than it was told: where arms are left out, or trials failed. ``unasked`` are the
    cells whose result nobody asked for.
    """

    def __init__(self, strategy: CellStrategy) -> None:
        self.strategy = strategy
        self.told: dict[Cell, float] = {}
        self.unasked: set[Cell] = set()
        self.met: set[int] = set()
        self.lacks_some = False

    @property
    def uncounted(self) -> int:
        """How many results nobody asked for and no plan has taken."""
        return len(self.unasked.intersection(self.told))

    @property
    def inside(self) -> Mask:
        """The m arms that would be answered now."""
        return self.strategy.inside

    @property
    def missing(self) -> list[Cell]:
        """The cells of the plan without a result."""
        return [cell for cell in self.strategy.cells if cell not in self.told]

    @property
    def until_decision(self) -> int:
        """How many results the plan still lacks."""
        return len(self.missing)

    def decision(self, *, stop: bool) -> Decision:
        """What was decided: the pair, and the cell to evaluate next."""
        first = next(iter(self.missing), Cell(NO_ARM))
        strategy = self.strategy
        statistic = float(strategy.statistic)
        return Decision(
            stop=stop,
            arm=first.arm,
            queued=None,
            b=int(strategy.b),
            c=int(strategy.c),
            threshold=float(strategy.threshold),
            gap=statistic,
            statistic=statistic,
            block=first.block,
        )

    def copy(self) -> CellProgress:
        """An independent copy."""
        twin = type(self)(self.strategy.copy())
        twin.told, twin.met, twin.lacks_some = dict(self.told), set(self.met), self.lacks_some
        twin.unasked = set(self.unasked)
        return twin

    @property
    def foreseen(self) -> set[int]:
        """The blocks that who chooses something now may know, though their turn may still come."""
        return self.met if self.lacks_some else {cell.block for cell in self.told}

    @property
    def needs_plan(self) -> bool:
        """Whether all results of the plan are in, and another is to be made."""
        cells = self.strategy.cells
        return bool(cells) and len(self.told) >= len(cells) and not self.missing

    @property
    def is_complete(self) -> bool:
        """Whether every cell of a pool has its result: then nothing is random any more."""
        return len(self.told) >= self.strategy.unknown

    def complete(self) -> None:
        """Answer by all of them; if it is interrupted, all is as before."""
        after = self.strategy.copy()
        after.complete(self.told)
        self.strategy.__dict__, self.told = vars(after), {}

    def decide(self, seed: int) -> None:
        """Give the strategy the results of its plan; if it is interrupted, all is as before."""
        given, after = self.strategy.cells, self.strategy.copy()
        arms, blocks = np.array(given, np.int64).T
        values = np.array([self.told[cell] for cell in given])
        taken, turns = set(given), set(blocks.tolist())
        if not self.unasked.isdisjoint(self.told):
            beside = {
                cell: value
                for cell, value in self.told.items()
                if cell.block in turns and cell in self.unasked and cell not in taken
            }
            taken.update(after.take_beside(beside))
        after.decide(PlanResults.of(len(after.plan), arms, values, blocks), seed)
        left = {cell: value for cell, value in self.told.items() if cell not in taken}
        # It stays the same object, as those who hold it expect.
        self.strategy.__dict__, self.told = vars(after), left


class CellEngine(PlanEngine):
    """A strategy of cells on its problem; implements ``AnyEngine``."""

    @property
    def setup(self) -> Setup:
        """What it was made for; the initial pulls are its first plan."""
        problem, first = self.problem, self._first
        return Setup(
            features=problem.features,
            m=problem.m,
            sigma=problem.sigma,
            epsilon=problem.epsilon,
            noise=problem.noise_of_arms,
            initial=np.repeat(np.arange(len(first.plan)), first.plan),
            aim=self.aim,
            pace=PLANS,
        )

    def round(self) -> Any:
        """The strategy before its first result."""
        return CellProgress(self._first.copy())  # type: ignore[arg-type]

    def ahead(
        self, posterior: Posterior, now: Any, seed: int
    ) -> Callable[[list[Cell], Collection[int]], Decision | None]:
        """Decides as if results were in: each call is given the cells supposed since the last."""
        now.strategy.begin(seed)
        under_way = set(now.told)
        decision = now.decision(stop=False)
        beyond = iter(now.strategy.beyond())
        wanted = list(now.strategy.cells)
        lacking = {cell.arm for cell in now.missing}

        def decide(supposing: list[Cell], set_aside: Collection[int]) -> Decision | None:
            if lacking and lacking.issubset(set_aside):  # more blocks would not end the plan
                return None
            under_way.update(supposing)
            free = (c for c in wanted if c not in under_way and c.arm not in set_aside)
            found = next(free, None)
            while found is None:
                cell = next(beyond, None)
                if cell is None:
                    return None
                if cell not in under_way and cell.arm not in set_aside:
                    found = cell
            return decision._replace(arm=found.arm, block=found.block)

        return decide

    def follow(
        self, posterior: Posterior, now: Any, seed: int, steps: Steps, position: Position
    ) -> Any:
        """Take steps from ``position`` to the next stop or to their end."""
        now.strategy.begin(seed)
        late = bool(position.is_stopped[0])  # what comes after a stop decides nothing
        while position.next[0] < len(steps.kinds):
            step = int(position.next[0])
            position.next[0] += 1
            if steps.blocks[step] != NO_BLOCK:
                now.met.add(int(steps.blocks[step]))
                now.lacks_some |= bool(steps.kinds[step] == DECIDE)
            if steps.kinds[step] == REOPEN:
                position.is_stopped[0] = 0
            elif steps.kinds[step] == TAKE:
                arm, value = int(steps.arms[step]), float(steps.values[step])
                posterior.observe(arm, value)
                # Of two results of a cell the first counts, or who tells could choose between them.
                cell = Cell(arm, int(steps.blocks[step]))
                if steps.unasked[step] and cell not in now.told:
                    now.unasked.add(cell)
                now.told.setdefault(cell, value)
                if position.is_stopped[0] and not now.is_complete:
                    continue
                late = False
                state = posterior.state
                settled = bool(now.unasked) and now.strategy.know(state.pulls, state.sums)
                decides = now.needs_plan or now.is_complete
                if decides:
                    self._decide(now, seed)
                if (decides or settled) and not position.is_initialized[0]:
                    posterior.refresh_if_spanning()
                    position.is_initialized[0] = 1
                if self.stops(now.strategy):
                    position.is_stopped[0] = 1
                    break
        if now.unasked and not position.is_stopped[0]:
            now.strategy.show(now.told)
        # What is to be evaluated next depends on every result.
        if position.is_initialized[0] and not (late and position.is_stopped[0]):
            position.decided_at[0] = posterior.observed
        return now

    def widen(
        self, posterior: Posterior, now: Any, seed: int, position: Position, *, held: bool
    ) -> Any:
        """Widen ε; who chose it may have seen later blocks."""
        now.strategy.begin(seed)
        now.strategy.leave_out(now.foreseen)
        return super().widen(posterior, now, seed, position, held=held)

    def _decide(self, now: CellProgress, seed: int) -> None:
        """Decide on a plan whose results are in, and on those that follow and are in already.

        A pool of which everything is known needs no plan.
        """
        if now.is_complete:
            now.complete()
            return
        now.decide(seed)
        while now.needs_plan and not self.stops(now.strategy):
            now.decide(seed)

    def replicate(
        self, reward: Rule, parameters: Reals, seeds: NDArray[np.uint64], max_samples: int
    ) -> Runs:
        """One run for each seed, from the first cell to the stop."""
        runs = [self._simulated(reward, parameters, int(seed), max_samples) for seed in seeds]
        inside, stopped, pulls, sums = (np.array(each) for each in zip(*runs, strict=True))
        only = sums[0] if len(seeds) == 1 else None
        return Runs(seeds, pulls.sum(axis=1), stopped, inside, pulls, only)

    def _simulated(
        self, reward: Rule, parameters: Reals, seed: int, most: int
    ) -> tuple[Mask, bool, NDArray[np.int64], Reals]:
        """Simulate to the stop, or to ``most`` results: the answer, whether it stopped, pulls, sums."""
        now, draw = self.round(), self._drawn(reward, parameters, seed)
        now.strategy.begin(seed)
        pulls, sums = np.zeros((2, len(now.strategy.plan)))
        while (missing := now.missing) and not self.stops(now.strategy):
            for cell in missing[: most - int(pulls.sum())]:
                value = now.told[cell] = draw(cell)
                pulls[cell.arm] += 1
                sums[cell.arm] += value
            if now.missing:
                break
            self._decide(now, seed)
        return now.inside, self.stops(now.strategy), pulls.astype(np.int64), sums

    def _drawn(self, reward: Rule, parameters: Reals, seed: int) -> Callable[[Cell], float]:
        """The result of a cell in a simulated run.

        Of recorded rewards a block is a row: each in a pool, and any, drawn by the block's number,
        where blocks are drawn afresh. Other rewards are drawn for every cell by itself.
        """
        if reward is not rewards.recorded:
            stream = np.zeros(4, np.uint64)
            with np.errstate(over="ignore"):
                seed_stream(np.uint64(seed), stream)

            def draw(cell: Cell) -> float:
                with np.errstate(over="ignore"):
                    return float(reward(cell.arm, parameters, stream))

            return draw
        rows = len(parameters)
        if self.problem.blocks.number is not None:
            return lambda cell: float(parameters[cell.block, cell.arm])
        generator, drawn = np.random.default_rng([SALT, seed]), list[int]()

        def drawn_row(cell: Cell) -> float:
            while len(drawn) <= cell.block:
                drawn.extend(generator.integers(rows, size=1024).tolist())
            return float(parameters[drawn[cell.block], cell.arm])

        return drawn_row
