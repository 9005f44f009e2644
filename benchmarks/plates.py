"""Plates that are shifted: what blocks="shift" costs; ``near_ties.py`` attacks it.

    python benchmarks/plates.py price [RUNS]     evaluations beside those without blocks and shifts
    python benchmarks/plates.py controls [RUNS]  the same with controls on every plate
    python benchmarks/plates.py health [RUNS]    how often health finds a plate effect where there is none
    python benchmarks/plates.py unknown [RUNS]   the same where σ is not known
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
from shortlist.plans.noises import Common, Known, NoiseModel, Unknown
from shortlist.plans.question import Question, Shared
from shortlist.plans.search import Search
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

    def question(self, noise: NoiseModel | float, *, shared: bool = True) -> Question:
        """As searches are given it; a number is a σ that is known."""
        arms, own = len(self.means), len(self.features.T) == len(self.means)
        model = noise if isinstance(noise, NoiseModel) else Known(np.full(arms, noise))
        wells = self.controls.wells
        return Question(
            *(arms, self.m, model, 0.05, 0.0, np.ones(arms)),
            out=~self.controls.listable(arms),
            features=None if own else self.features,
            shared=Shared(requested=True, controls=wells) if shared else None,
        )


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


def plates_to_stop(
    question: Question, case: Case, noise: Noise, shift: Shift, seed: int
) -> tuple[int, bool]:
    """How many plates until the stop, and whether the answer is wrong."""
    rng, search, plate = np.random.default_rng([seed, 1]), Search(question, seed), 0
    while not search.stopped:
        order, values = search.slots.arms, []
        controls = case.controls.places(case.wells, plate, seed)
        room = case.wells - len(controls)
        others = np.resize(order, -(-len(order) // room) * room).reshape(-1, room)
        for arms in (plates := np.zeros((len(others), case.wells), np.int64)):
            controls = case.controls.places(case.wells, plate + len(values), seed)
            arms[list(controls)] = list(controls.values())
            arms[np.setdiff1d(np.arange(case.wells), list(controls))] = others[len(values)]
            means = case.means[arms]
            values.append(noise(means, rng) + shift(plate + len(values), means, rng))
        blocks = plate + np.repeat(np.arange(len(others)), case.wells)
        plate += len(others)
        search.take(plates.ravel(), blocks, np.concatenate(values))
    return plate, bool((search.inside != case.best).any())


def shown(plates: list[int], wrong: int) -> str:
    """Average, standard error, and wrong answers in brackets."""
    return f"{np.mean(plates):.1f} ± {np.std(plates) / np.sqrt(len(plates)):.1f} ({wrong})"


def shifted(plate: int, means: Reals, rng: np.random.Generator) -> float:
    """A normal shift of standard deviation 1."""
    return float(rng.standard_normal())


def several(question: Question, case: Case, shift: Shift, runs: int) -> tuple[str, float]:
    """What so many runs take, in words, and the average."""
    found = [plates_to_stop(question, case, normal(case.sigma), shift, run) for run in range(runs)]
    plates = [each for each, _ in found]
    return shown(plates, sum(wrong for _, wrong in found)), float(np.mean(plates))


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
        alone = {"shared": False}
        ways = (
            (each.question(each.sigma, **alone), none),
            (each.question(each.sigma), none),
            (each.question(each.sigma), shifted),
            (each.question(float(raw), **alone), shifted),
            (each.question(float(minus), **alone), corrected),
        )
        found = [several(question, each, shift, runs) for question, shift in ways]
        first, *others = (average for _, average in found)
        words = "".join(f"{each:>22}" for each, _ in found)
        name = f"{each.name}, {each.wells} wells"
        print(f"{name:38}{words}{others[0] / first:>8.2f}{others[1] / first:>9.2f}", flush=True)


def controls(runs: int) -> None:
    """Print what controls cost where labs want them."""
    print(f"δ = 0.05, {runs} runs, shifted: plates until the stop, {CONTROLS} wells for a control")
    for each in CASES[:5]:
        words = ""
        for one in (each, each.with_control(0)):
            words += f"{several(one.question(one.sigma), one, shifted, runs)[0]:>22}"
        print(f"{f'{each.name}, {each.wells} wells':38}{words}", flush=True)


def unknown(runs: int) -> None:
    """Print what it costs not to know σ, one of all arms or one of each."""
    print(
        f"δ = 0.05, {runs} runs, shifted: plates until the stop, σ known, one unknown, one of each arm"
    )
    for each in CASES:
        words = ""
        for noise in (each.sigma, Common(), Unknown()):
            words += f"{several(each.question(noise), each, shifted, runs)[0]:>22}"
        print(f"{f'{each.name}, {each.wells} wells':38}{words}", flush=True)


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
        "controls": (controls, 30),
        "health": (health, 400),
        "unknown": (unknown, 12),
        "remaining": (remaining, 12),
    }
    kinds[what][0](count or kinds[what][1])
