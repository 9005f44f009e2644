"""Plates that are shifted: what blocks="shift" costs, and whether shifts can make it wrong.

    python benchmarks/plates.py price [RUNS]     evaluations beside those without blocks and shifts
    python benchmarks/plates.py attack [RUNS]    errors near ties, with shifts chosen against us
    python benchmarks/plates.py controls [RUNS]  the same two with controls on every plate
    python benchmarks/plates.py health [RUNS]    how often health finds a plate effect where there is none
    python benchmarks/plates.py unknown [RUNS]   sigma="estimate": coverage, errors near ties, price
    python benchmarks/plates.py remaining [RUNS] what study.remaining() says against what it then takes

All evaluations are asked for in whole plates, without blocks too. In ``price`` the shifts of plates are
normal with the standard deviation of the means. Beside it is what a lab does today: results as they are,
or each minus the average of the plate's controls (two of the wells, which are not counted), with a σ
that covers what that leaves.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shortlist.arrays import Mask, Reals
from shortlist.noise import Noise as Known
from shortlist.noise.estimated import DEGREES, SHARE, inflation
from shortlist.noise.replicates import FirstResults
from shortlist.plans.blocks.shifted import Shifted
from shortlist.plans.engine import PlanProgress
from shortlist.plans.guess_and_verify import GuessAndVerify
from shortlist.plans.results import PlanResults, add_result
from shortlist.plans.strategy import ReducedProblem, Strategy
from shortlist.problem import NO_CONTROLS, Controls

Shift = Callable[
    [int, Reals, np.random.Generator], float
]  # of a plate's number and its wells' means
Noise = Callable[[Reals, np.random.Generator], Reals]  # results of wells with these means
CONTROLS = 2  # wells of a plate, for what labs do today and for controls that are never listed


class Case(NamedTuple):
    """Arms to compare on plates."""

    name: str
    features: Reals
    means: Reals
    m: int
    sigma: float
    wells: int
    controls: Controls = NO_CONTROLS

    @property
    def best(self) -> Mask:
        """The m best arms that are not controls."""
        listable = self.controls.listable(len(self.means))
        return listable & (self.means >= np.sort(self.means[listable])[-self.m])

    def with_control(self, arm: int) -> Case:
        """The same with a control, on every plate and never listed, whose mean is that of this arm."""
        features = np.eye(len(self.means) + 1)
        if len(self.features.T) < len(self.means):  # the control has an indicator of its own
            features = np.zeros((len(self.means) + 1, len(self.features.T) + 1))
            features[:-1, :-1], features[-1, -1] = self.features, 1.0
        return self._replace(
            features=features,
            means=np.append(self.means, self.means[arm]),
            controls=Controls((*[0] * len(self.means), CONTROLS)),
        )

    def problem(self, delta: float, sigma: float) -> ReducedProblem:
        """As strategies are given it."""
        basis = np.linalg.qr(self.features)[0]
        listable = self.controls.listable(len(self.means))
        return ReducedProblem(basis, self.m, sigma, delta, 0.0, listable=listable)


def case(arms: int, dimension: int | None, m: int, wells: int, gap: float, seed: int) -> Case:
    """Normal means of standard deviation 1 and noise of ½, with a gap between the ranks m and m + 1."""
    rng = np.random.default_rng(seed)
    if dimension is None:
        means = rng.standard_normal(arms)
        means[np.argsort(-means)[:m]] += gap - np.diff(np.sort(means))[-m]
        return Case(f"{arms} arms, m = {m}", np.eye(arms), means, m, 0.5, wells)
    while True:
        others = rng.standard_normal((arms, dimension - 1))
        features = np.column_stack([np.ones(arms), others])
        means = others @ rng.standard_normal(dimension - 1)
        means /= means.std()
        if 0.9 * gap < np.diff(np.sort(means))[-m] < 1.1 * gap:
            name = f"{arms} arms, {dimension} features, m = {m}"
            return Case(name, features, means, m, 0.5, wells)


CASES = [
    case(20, None, 3, 24, 0.3, 1),
    case(48, None, 5, 24, 0.3, 2),
    case(96, None, 5, 24, 0.3, 3),
    case(96, None, 5, 96, 0.3, 4),
    case(20, 4, 3, 24, 0.1, 5),
    case(96, 6, 5, 24, 0.1, 6),
    case(96, 6, 5, 96, 0.1, 7),
]


def normal(sigma: float) -> Noise:
    """Normal noise."""
    return lambda means, rng: means + sigma * rng.standard_normal(len(means))


class Estimating:
    """Plates where σ is not known: what a study does with the results of the first plan.

    ``known`` is the noise as it is known by now, and ``strategy`` has that σ.
    """

    def __init__(self, case: Case, delta: float) -> None:
        self._case, self._delta = case, delta
        self._once = Shifted(case.problem(delta, np.nan)).plan
        self.known = Known.of("estimate").within_blocks()
        self.strategy = self._made()

    def _made(self) -> Shifted:
        count = len(self._once)
        pulls = self.known.initial_pulls(np.repeat(np.arange(count), self._once), 1, count)
        reduced = self._case.problem(self.known.left_of(self._delta), self.known.sigma)
        return Shifted(reduced._replace(first=np.bincount(pulls, minlength=count)))

    def learn(self, results: PlanResults) -> Shifted:
        """The strategy with what the results of the first plan say of σ."""
        arms, blocks, values = results.singles
        ends = np.arange(len(arms)) == len(arms) - 1
        wanted = self.strategy.plan
        known = self.known.known_by(FirstResults(arms, blocks, values, ends, wanted), self._delta)
        assert known is not None
        self.known = known
        self.strategy = self._made()
        return self.strategy


def plates_to_stop(
    strategy: Strategy | Estimating,
    case: Case,
    noise: Noise,
    shift: Shift,
    seed: int,
    most: int = 10**6,
    *,
    failing: float = 0.0,
    first_only: bool = False,
) -> tuple[int, Mask | None]:
    """How many plates until the stop, and the answer; None if ``most`` evaluations did not do.

    Of the wells this share fails at random.
    """
    estimating = strategy if isinstance(strategy, Estimating) else None
    strategy = strategy if estimating is None else estimating.strategy
    rng, now, plate = np.random.default_rng([seed, 1]), PlanProgress(strategy), 0
    now.strategy.arrange(seed)
    while plate * case.wells < most:
        beyond, arms = now.copy(), np.zeros(case.wells, np.int64)
        controls = case.controls.places(case.wells, plate, seed)
        for well in range(case.wells):
            if well in controls:
                arms[well] = controls[well]
                continue
            if beyond.needs_plan:
                beyond.suppose(np.zeros(len(case.means)))
            arms[well] = beyond.next_arm()
            beyond.suppose_pull(int(arms[well]))
        means = case.means[arms]
        values = noise(means, rng) + shift(plate, means, rng)
        fails = rng.random(case.wells) < failing if failing else np.zeros(case.wells, np.bool_)
        plate += 1
        now.results, all_count = now.results.with_room(case.wells), strategy.counts_all
        for well, arm in enumerate(arms.tolist(), 1):
            wanted = all_count or now.results.pulls[arm] < now.strategy.plan[arm]
            if wanted and not fails[well - 1]:
                add_result(now.results, arm, float(values[well - 1]), plate)
            while estimating is not None and well == case.wells and now.needs_plan:
                now.strategy = estimating.learn(now.results)
                now.strategy.arrange(seed)
                if not estimating.known.awaits_estimate:
                    if first_only:
                        return plate, None
                    estimating = None
            if now.needs_plan and (well == case.wells or not all_count):
                now.decide(seed)
                if now.strategy.statistic <= 0.0:
                    return plate, now.strategy.inside
    return plate, None


def price(runs: int) -> None:
    """Print evaluations until the stop."""
    print(
        f"δ = 0.05, {runs} runs: plates until the stop (± standard error), wrong answers in brackets"
    )
    heading = ("no shifts: no blocks", "blocks", "shifted: blocks", "raw", "minus controls")
    print(f"{'':38}" + "".join(f"{each:>22}" for each in heading) + f"{'price':>8}{'shifted':>9}")
    for each in CASES:
        size = float(each.means.std())

        def none(plate: int, means: Reals, rng: np.random.Generator) -> float:
            return 0.0

        def shifted(plate: int, means: Reals, rng: np.random.Generator, s: float = size) -> float:
            return s * float(rng.standard_normal())

        def corrected(
            plate: int, means: Reals, rng: np.random.Generator, s: float = each.sigma
        ) -> float:
            return s * CONTROLS**-0.5 * float(rng.standard_normal())

        # σ for results of which those of a plate share a part, as if they did not.
        raw, minus = np.hypot(each.sigma, size), each.sigma * np.sqrt(1.0 + 1.0 / CONTROLS)
        ways = (
            (GuessAndVerify, each.sigma, none),
            (Shifted, each.sigma, none),
            (Shifted, each.sigma, shifted),
            (GuessAndVerify, float(raw), shifted),
            (GuessAndVerify, float(minus), corrected),
        )
        shown, averages = "", []
        for kind, sigma, shift in ways:
            plates, wrong = [], 0
            for run in range(runs):
                problem = each.problem(0.05, sigma)
                found = plates_to_stop(kind(problem), each, normal(each.sigma), shift, run)
                plates.append(found[0])
                wrong += found[1] is None or not (found[1] == each.best).all()
            averages.append(np.mean(plates))
            error = np.std(plates) / np.sqrt(runs)
            shown += f"{averages[-1]:>10.1f} ± {error:<4.1f} ({wrong})"
            shown += " " * (22 - len(f"{averages[-1]:>10.1f} ± {error:<4.1f} ({wrong})"))
        name = f"{each.name}, {each.wells} wells"
        print(f"{name:38}{shown}{averages[1] / averages[0]:>8.2f}{averages[2] / averages[0]:>9.2f}")


def against(plate: int, means: Reals, rng: np.random.Generator) -> float:
    """A large shift by the side of the plate that has more wells: it makes the lesser look better."""
    return 100.0 * float(np.sign((means < means.max()).mean() - 0.5)) * (plate % 7 - 2)


def controls(runs: int) -> None:
    """Print what controls cost where labs want them, and errors near ties with a control among them."""
    print(f"δ = 0.05, {runs} runs, shifted: plates until the stop, {CONTROLS} wells for a control")
    for each in CASES[:5]:
        shown = ""
        for one in (each, each.with_control(0)):
            plates, wrong = [], 0
            for run in range(runs):
                shift = lambda plate, means, rng: float(rng.standard_normal())  # noqa: E731
                strategy = Shifted(one.problem(0.05, one.sigma))
                found = plates_to_stop(strategy, one, normal(one.sigma), shift, run)
                plates.append(found[0])
                wrong += found[1] is None or not (found[1] == one.best).all()
            shown += f"{np.mean(plates):>10.1f} ± {np.std(plates) / np.sqrt(runs):<4.1f} ({wrong})"
        print(f"{f'{each.name}, {each.wells} wells':38}{shown}")
    attack(5 * runs, controls=True)


def attack(runs: int, *, controls: bool = False) -> None:
    """Print how often an answer is wrong where two arms are nearly alike."""
    print(f"wrong answers in {runs} runs of at most 1,000 evaluations, shifts of up to 400 σ")
    line = np.column_stack([np.ones(8), np.linspace(-1.0, 1.0, 8)])

    def coins(means: Reals, rng: np.random.Generator) -> Reals:
        return (rng.random(len(means)) < means).astype(np.float64)

    def skewed(means: Reals, rng: np.random.Generator) -> Reals:
        high = rng.random(len(means)) < 0.1  # 0.9 above the mean, else 0.1 below
        return np.where(high, means + 0.9, means - 0.1)

    near = np.array([0.5, 0.5 - 1e-9, 0.3])
    kinds: list[tuple[str, Case, Noise]] = [
        ("normal", Case("", np.eye(3), near, 1, 0.5, 12), normal(0.5)),
        ("coins", Case("", np.eye(3), near, 1, 0.5, 12), coins),
        ("skewed two-point", Case("", np.eye(3), near, 1, 0.5, 8), skewed),
        ("normal, with features", Case("", line, 1e-9 * line[:, 1], 4, 0.5, 12), normal(0.5)),
    ]
    for name, each, noise in kinds:
        each = each.with_control(0) if controls else each
        wrong = []
        for delta in (0.05, 0.3, 0.8):
            count = 0
            for run in range(runs):
                strategy = Shifted(each.problem(delta, each.sigma))
                found = plates_to_stop(strategy, each, noise, against, run, most=1000)[1]
                count += found is not None and not (found == each.best).all()
            wrong.append(f"δ = {delta:g}: {count / runs:.3f}")
        print(f"{name:24}" + "   ".join(wrong))


def unknown(runs: int) -> None:
    """Print coverage, errors and price where σ is estimated from differences within plates."""
    line = np.column_stack([np.ones(8), np.linspace(-1.0, 1.0, 8)])
    near = np.array([0.5, 0.5 - 1e-9, 0.3])
    kinds = [
        (f"{name}, {wells} wells", features, means, m, wells)
        for name, features, means, m in (
            ("own means", np.eye(3), near, 1),
            ("features", line, 1e-9 * line[:, 1], 4),
        )
        for wells in (8, 24)
    ]
    deltas = 0.05, 0.3, 0.8
    draws = 20 * runs
    print(
        f"σ̄ < σ in {draws} first plans, a tenth of wells failed, shifts of up to 400 σ (in brackets: 0.2 δ)"
    )
    for name, features, means, m, wells in kinds:
        one = Case(name, features, means, m, 0.5, wells)
        ratios, degrees = [], []
        for run in range(draws):
            estimating = Estimating(one, 0.05)
            plates_to_stop(estimating, one, normal(0.5), against, run, failing=0.1, first_only=True)
            found = estimating.known.found
            ratios.append(found.spread / 0.5)
            degrees.append(found.degrees)
        # The spread does not depend on δ.
        factors = {d: {n: inflation(n, SHARE * d) for n in set(degrees)} for d in deltas}
        below = [
            np.mean([r * factors[d][n] < 1.0 for r, n in zip(ratios, degrees, strict=True)])
            for d in deltas
        ]
        shown = "   ".join(
            f"{rate:.4f} ({SHARE * d:g})" for rate, d in zip(below, deltas, strict=True)
        )
        print(f"{name:24}{shown}   degrees {min(degrees)} to {max(degrees)} of about {DEGREES}")
    print(f"wrong answers in {runs} runs of at most 1,000 evaluations, as above")
    for name, features, means, m, wells in kinds:
        one, wrong = Case(name, features, means, m, 0.5, wells), []
        for delta in deltas:
            count = answers = 0
            for run in range(runs):
                given = Estimating(one, delta), one, normal(0.5), against, run
                found = plates_to_stop(*given, most=1000, failing=0.1)[1]
                answers += found is not None
                count += found is not None and not (found == one.best).all()
            wrong.append(f"δ = {delta:g}: {count / runs:.3f} ({answers} answers)")
        print(f"{name:24}" + "   ".join(wrong))
    print("δ = 0.05, a twentieth as many runs, shifted: plates until the stop, σ known and not")
    for each in CASES:
        shown = ""
        for estimates in (False, True):
            plates, wrong_ones = [], 0
            for run in range(max(runs // 20, 1)):
                shift = lambda plate, means, rng: float(rng.standard_normal())  # noqa: E731
                known = Shifted(each.problem(0.05, each.sigma))
                strategy = Estimating(each, 0.05) if estimates else known
                found = plates_to_stop(strategy, each, normal(each.sigma), shift, run)
                plates.append(found[0])
                wrong_ones += found[1] is None or not (found[1] == each.best).all()
            average, error = np.mean(plates), np.std(plates) / np.sqrt(len(plates))
            shown += f"{average:>10.1f} ± {error:<4.1f} ({wrong_ones})"
        print(f"{f'{each.name}, {each.wells} wells':38}{shown}")


def health(runs: int) -> None:
    """Print how often a plate or day effect is found where there is none, and where there is."""
    from shortlist import Study

    warnings.simplefilter("ignore")
    for size in (0.0, 0.5, 1.0):
        tested = fired = 0
        for run in range(runs):
            rng = np.random.default_rng(run)
            arms = int(rng.integers(5, 13))
            features = np.column_stack([np.ones(arms), rng.standard_normal((arms, 2))])
            means = features @ rng.standard_normal(3)
            known = {"features": features} if run % 2 else {"arms": [f"a{k}" for k in range(arms)]}
            study = Study(**known, m=2, sigma=1.0, epsilon=0.3, seed=run, audit=False)
            for _ in range(20):
                if study.done:
                    break
                trials, shift = study.ask(int(rng.integers(4, 17))), size * rng.standard_normal()
                study.tell_many(
                    (trial, means[trial.arm] + shift + rng.standard_normal()) for trial in trials
                )
            found = [each for each in study.health() if each.name == "shift"]
            tested += len(found)
            fired += any(each.level == "warning" for each in found)
        print(f"shifts of {size:g} σ: a plate or day effect in {fired} of {tested} studies")


def remaining(runs: int) -> None:
    """Print how ``study.remaining()`` compares with what a study then takes, after plates of it."""
    from shortlist import Study

    warnings.simplefilter("ignore")
    fractions = (0.1, 0.25, 0.5, 0.75)
    print(f"{runs} runs: projected total over the true one (quartiles), range held the truth")
    for each in (CASES[0], CASES[2], CASES[5], CASES[6]):
        found: dict[float, list[tuple[float, bool]]] = {fraction: [] for fraction in fractions}
        for run in range(runs):
            rng, own = np.random.default_rng([run, 5]), len(each.features.T) == len(each.means)
            given = {} if own else {"features": each.features[:, 1:]}
            arms = [f"a{k}" for k in range(len(each.means))]
            settings = {"m": each.m, "sigma": each.sigma, "blocks": "shift", "seed": run}
            study, said = Study(**given, arms=arms, **settings), []
            while not study.done:
                shift = rng.standard_normal()
                study.tell_many(
                    (t, each.means[t.arm] + shift + each.sigma * rng.standard_normal())
                    for t in study.ask(each.wells)
                )
                said.append((study.evaluations, study.remaining()))
            total = study.evaluations
            for fraction in fractions:
                told, ahead = min(said, key=lambda each: abs(each[0] - fraction * total))
                if told == total or ahead.evaluations is None:
                    continue
                most = np.inf if ahead.high is None else ahead.high
                held = told + ahead.low <= total <= told + most
                found[fraction].append(((told + ahead.evaluations) / total, held))
        print(f"{each.name}, {each.wells} wells")
        for fraction, points in found.items():
            if points:
                ratios, held = np.array(points).T
                quartiles = ", ".join(f"{q:.2f}" for q in np.quantile(ratios, [0.25, 0.5, 0.75]))
                print(f"  at {fraction:4.0%} of {len(points)} runs: {quartiles}; {held.mean():.0%}")


if __name__ == "__main__":
    what, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    kinds = {
        "price": (price, 30),
        "attack": (attack, 200),
        "controls": (controls, 30),
        "health": (health, 400),
        "unknown": (unknown, 240),
        "remaining": (remaining, 12),
    }
    kinds[what][0](count or kinds[what][1])
