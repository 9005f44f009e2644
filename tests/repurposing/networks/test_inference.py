"""Network inference: against brute force, against planted truths, and on the paper's experiments."""

from __future__ import annotations

import itertools
import random
import sys
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from paths import DATA, needs_data
from shortlist.errors import (
    InferenceFailed,
    InferenceTimeout,
    InvalidNetwork,
    InvalidSetting,
    UnknownName,
    Unsatisfiable,
)
from shortlist.repurposing import (
    AbstractNetwork,
    BooleanNetwork,
    Experiment,
    edge_distances,
    infer,
    read_abstract,
    read_experiments,
    replay,
)
from shortlist.repurposing.networks.abstract_network import PossibleEdge
from shortlist.repurposing.networks.formats.rein import parse_experiments
from shortlist.repurposing.networks.inference import OutOfTime, Solver, answer_set_program
from shortlist.repurposing.networks.logic import evaluate, truth_table


def explains(
    network: BooleanNetwork, experiment: Experiment, steps: int, synchronous: bool
) -> bool:
    """Whether some trajectory shows all that was observed, by following every one of them."""
    genes = network.genes

    def image(state: tuple[int, ...]) -> tuple[int, ...]:
        values = dict(zip(genes, state, strict=True))
        return tuple(
            experiment.clamps.get(g, evaluate(network.functions[g], values)) for g in genes
        )

    def fits(state: tuple[int, ...], step: int) -> bool:
        seen = experiment.observations.get(step, {})
        values = dict(zip(genes, state, strict=True))
        return (
            all(values[g] == v for g, v in seen.items())
            and all(values[g] == v for g, v in experiment.clamps.items())
            and (step not in experiment.fixed_points or image(state) == state)
        )

    now = {state for state in itertools.product((0, 1), repeat=len(genes)) if fits(state, 0)}
    for step in range(1, steps):
        after = set()
        for state in now:
            to = image(state)
            if synchronous or to == state:
                after.add(to)
                continue
            after |= {
                (*state[:i], to[i], *state[i + 1 :]) for i in range(len(genes)) if to[i] != state[i]
            }
        now = {state for state in after if fits(state, step)}
    return bool(now)


def depends(network: BooleanNetwork, source: str, target: str) -> bool:
    for state in itertools.product((0, 1), repeat=len(network)):
        values = dict(zip(network.genes, state, strict=True))
        flipped = {**values, source: 1 - values[source]}
        function = network.functions[target]
        if evaluate(function, values) != evaluate(function, flipped):
            return True
    return False


Edges = frozenset[tuple[str, str, int]]


def every_network(candidate: AbstractNetwork) -> list[tuple[Edges, BooleanNetwork]]:
    """All networks that ignore none of their edges, with these."""
    optional = [edge[:3] for edge in candidate.edges if edge.optional]
    required = [edge[:3] for edge in candidate.edges if not edge.optional]
    found = []
    for chosen in itertools.product((False, True), repeat=len(optional)):
        edges = list(itertools.compress(optional, chosen))
        for rules in itertools.product(*candidate.rules.values()):
            network = candidate.network(dict(zip(candidate.genes, rules, strict=True)), edges)
            if all(depends(network, s, t) for s, t, _ in edges):
                found.append((frozenset([*edges, *required]), network))
    return found


def every_solution(
    networks: list[tuple[Edges, BooleanNetwork]],
    experiments: list[Experiment],
    steps: int,
    synchronous: bool,
) -> set[Edges]:
    """The edges of all of these networks that explain the experiments."""
    found: set[Edges] = set()
    for edges, network in networks:
        if edges not in found and all(
            explains(network, each, steps, synchronous) for each in experiments
        ):
            found.add(edges)
    return found


class Puzzle(NamedTuple):
    candidate: AbstractNetwork
    networks: list[tuple[Edges, BooleanNetwork]]
    experiments: list[Experiment]
    steps: int


@cache
def puzzles() -> list[Puzzle]:
    """Small candidates, each with two experiments that some of them can explain."""
    made = []
    for seed in range(60):
        draw = random.Random(seed)
        genes = ["A", "B", "C"]
        rules = {g: tuple(sorted(draw.sample(range(20), draw.choice((1, 2, 3))))) for g in genes}
        pairs = draw.sample(list(itertools.product(genes, genes)), 5)
        edges = tuple(
            PossibleEdge(s, t, draw.choice((1, 1, -1)), draw.random() < 0.85) for s, t in pairs
        )
        steps = draw.choice((2, 3, 4))
        experiments = []
        for name in ("one", "two"):
            seen = {
                step: {g: draw.randint(0, 1) for g in genes if draw.random() < 0.45}
                for step in {0, steps - 2, steps - 1}
            }
            held = {draw.choice(genes): draw.randint(0, 1)} if draw.random() < 0.4 else {}
            ends = (steps - 1,) if draw.random() < 0.6 else ()
            experiments.append(Experiment(name, seen, held, ends))
        candidate = AbstractNetwork(rules, edges)
        made.append(Puzzle(candidate, every_network(candidate), experiments, steps))
    return made


# Against brute force


@pytest.mark.slow
@pytest.mark.parametrize("update", ["asynchronous", "synchronous"])
def test_all_solutions_are_those_of_brute_force(update: str) -> None:
    synchronous = update == "synchronous"
    satisfiable = counted = 0
    for seed, (candidate, networks, experiments, steps) in enumerate(puzzles()):
        truth = every_solution(networks, experiments, steps, synchronous)
        if not truth:
            with pytest.raises(Unsatisfiable) as raised:
                infer(candidate, experiments, steps=steps, update=update)
            alone = {
                e.name for e in experiments if not every_solution(networks, [e], steps, synchronous)
            }
            assert len(raised.value.conflict) == (1 if alone else 2), seed
            assert not alone or set(raised.value.conflict) <= alone, seed
            continue
        found = infer(
            candidate, experiments, solutions=1000, distance=1, steps=steps, update=update
        )
        assert {frozenset(tuple(edge) for edge in one.edges) for one in found} == truth, seed
        assert len(found) == len(truth), seed
        for one in found:
            for e in experiments:
                assert replay(one.network, e, one.trajectories[e.name], update=update) == []
        satisfiable += 1
        counted += len(truth)
    # The puzzles are worth something: some have solutions, some have none, some have many.
    assert 15 <= satisfiable <= 50
    assert counted > 2 * satisfiable


@pytest.mark.slow
def test_no_edge_is_chosen_that_its_rule_ignores() -> None:
    nothing = [Experiment("nothing seen", {})]
    for rule, signs in itertools.product(range(20), itertools.product((1, -1), repeat=3)):
        edges = tuple(PossibleEdge(s, "B", v, True) for s, v in zip("ACD", signs, strict=True))
        candidate = AbstractNetwork({"A": (18,), "B": (rule,), "C": (18,), "D": (18,)}, edges)
        found = infer(candidate, nothing, steps=1, solutions=100, distance=1)
        assert {frozenset(map(tuple, one.edges)) for one in found} == every_solution(
            every_network(candidate), nothing, 1, False
        ), (rule, signs)


def planted() -> tuple[AbstractNetwork, BooleanNetwork, list[Experiment]]:
    """Ten genes, a network within 30 possible edges, and what it does in three experiments."""
    draw = random.Random(7)
    genes = [f"G{i}" for i in range(10)]
    pairs = draw.sample([p for p in itertools.product(genes, genes) if p[0] != p[1]], 30)
    edges = tuple(PossibleEdge(s, t, draw.choice((1, 1, -1)), True) for s, t in pairs)
    candidate = AbstractNetwork({g: tuple(range(18)) for g in genes}, edges)
    rules = {g: draw.randrange(18) for g in genes}
    truth = candidate.network(rules, [edge[:3] for edge in edges if draw.random() < 0.5])
    experiments: list[Experiment] = []
    while len(experiments) < 3:
        held = {genes[len(experiments)]: len(experiments) % 2}
        moving = truth.clamped(held)
        state = {g: draw.randint(0, 1) for g in genes} | held
        start = dict(state)
        for _ in range(11):
            image = moving.image(state)
            restless = [g for g in genes if image[g] != state[g]]
            if restless:
                gene = draw.choice(restless)
                state[gene] = image[gene]
        if moving.is_fixed_point(state) and state != start:
            seen = {g: v for g, v in state.items() if draw.random() < 0.7}
            name = f"E{len(experiments)}"
            experiments.append(Experiment(name, {0: start, 10: seen, 11: seen}, held, (11,)))
    return candidate, truth, experiments


# A planted truth


def test_a_planted_network_is_explained_and_replayed() -> None:
    candidate, _, experiments = planted()
    [found] = infer(candidate, experiments, steps=12)
    assert set(found.edges) <= {edge[:3] for edge in candidate.edges}
    assert found.network.genes == candidate.genes
    for e in experiments:
        walked = found.trajectories[e.name]
        assert walked.shape == (12, 10)
        assert replay(found.network, e, walked) == []
        last = dict(zip(candidate.genes, walked[-1].tolist(), strict=True))
        assert found.network.clamped(e.clamps).is_fixed_point(last)


def test_the_planted_network_itself_is_a_solution() -> None:
    candidate, truth, experiments = planted()
    rules = {g: (truth.regulations[g].rule,) for g in truth.genes}
    fixed = tuple(PossibleEdge(*edge, False) for edge in truth.edges())
    [found] = infer(AbstractNetwork(rules, fixed), experiments, steps=12)
    assert found.network.functions == truth.functions
    assert candidate.rules.keys() == rules.keys()


def test_solutions_are_apart_and_repeatable() -> None:
    candidate, _, experiments = planted()
    found = infer(candidate, experiments, steps=12, solutions=3, distance=8, seed=1)
    distances = edge_distances(found)
    assert len(found) == 3
    assert distances[~np.eye(3, dtype=bool)].min() >= 8
    for i, j in itertools.combinations(range(3), 2):
        assert distances[i, j] == len(set(found[i].edges) ^ set(found[j].edges))
    again = infer(candidate, experiments, steps=12, solutions=3, distance=8, seed=1)
    assert [one.edges for one in again] == [one.edges for one in found]
    assert all(
        np.array_equal(one.trajectories[e.name], other.trajectories[e.name])
        for one, other in zip(found, again, strict=True)
        for e in experiments
    )
    default = infer(candidate, experiments, steps=12, solutions=2)
    assert edge_distances(default)[0, 1] >= 3  # a tenth of 30


def test_fewer_solutions_than_asked_for_are_all() -> None:
    edges = (PossibleEdge("A", "B", 1, True), PossibleEdge("C", "B", 1, True))
    candidate = AbstractNetwork({"A": (18,), "B": (8,), "C": (18,)}, edges)
    seen = Experiment("E", {0: {"A": 1, "B": 0, "C": 1}, 1: {"B": 1}}, fixed_points=(1,))
    found = infer(candidate, [seen], steps=2, solutions=9, distance=1)
    assert sorted(len(one.edges) for one in found) == [1, 1, 2]
    assert len(infer(candidate, [seen], steps=2, solutions=9, distance=3)) == 1  # of 2 edges


def switch() -> AbstractNetwork:
    """B may follow A, or do the opposite; C is free."""
    edges = (PossibleEdge("A", "B", 1, True), PossibleEdge("A", "B", -1, True))
    return AbstractNetwork({"A": (18,), "B": tuple(range(18)), "C": (18,)}, edges)


# What cannot be explained


def test_the_experiments_in_conflict_are_named() -> None:
    experiments = [
        Experiment("idle", {0: {"C": 1}}),
        Experiment("up and on", {3: {"B": 1}}, {"A": 1}, (3,)),
        Experiment("down and off", {3: {"B": 0}}, {"A": 0}, (3,)),
        Experiment("up and off", {3: {"B": 0}}, {"A": 1}, (3,)),
    ]
    with pytest.raises(Unsatisfiable) as raised:
        infer(switch(), experiments, steps=4)
    assert raised.value.conflict == ("up and on", "up and off")
    assert raised.value.smallest
    assert "the experiments up and on and up and off together" in str(raised.value)
    assert infer(switch(), experiments[:3], steps=4)


def gate(rules: tuple[int, ...]) -> AbstractNetwork:
    """A and C may activate or repress B."""
    edges = tuple(PossibleEdge(s, "B", sign, True) for s in "AC" for sign in (1, -1))
    return AbstractNetwork({"A": (18,), "B": rules, "C": (18,)}, edges)


def test_a_conflict_of_three_needs_all_three() -> None:
    experiments = [
        Experiment(name, {2: {"B": b}}, {"A": int(name[0]), "C": int(name[1])}, (2,))
        for name, b in (("00", 0), ("10", 1), ("01", 1), ("11", 0))
    ]  # exclusive or
    for two in itertools.combinations(experiments[1:], 2):
        assert infer(gate((0, 8)), two, steps=3)
    with pytest.raises(Unsatisfiable) as raised:
        infer(gate((0, 8)), experiments, steps=3)
    assert raised.value.conflict == ("10", "01", "11")  # and "00" has no part in it
    # With A and C on both sides, rule 6 (some on, not all) is the exclusive or.
    [found] = infer(gate(tuple(range(18))), experiments, steps=3)
    table = truth_table(found.network.functions["B"], ["A", "C"])
    assert table == (0, 1, 1, 0)
    alone = Experiment("alone", {0: {"A": 0, "B": 0, "C": 0}, 2: {"B": 1}}, fixed_points=(2,))
    with pytest.raises(Unsatisfiable, match="experiment alone, even alone") as raised:
        infer(AbstractNetwork({"A": (18,), "B": (8,), "C": (18,)}, ()), [alone], steps=3)
    assert raised.value.conflict == ("alone",)


def test_what_no_network_could_do_is_said_at_once() -> None:
    held = Experiment("held", {2: {"B": 1}}, {"B": 0})
    with pytest.raises(Unsatisfiable, match="B is held at 0 and is 1 at step 2") as raised:
        infer(switch(), [held], steps=3)
    assert raised.value.conflict == ("held",)
    rushed = Experiment("rushed", {0: {"A": 0, "B": 0}, 1: {"A": 1, "B": 1}})
    with pytest.raises(Unsatisfiable, match="2 genes change from step 0 to step 1"):
        infer(switch(), [rushed], steps=3)
    loose = AbstractNetwork({"A": (9,), "B": (9,), "C": (9,)}, ())
    assert infer(loose, [rushed], steps=3, update="synchronous")


# Under a clock


@pytest.mark.slow
def test_a_time_limit_ends_the_search_and_keeps_what_was_found() -> None:
    candidate, _, experiments = planted()
    with pytest.raises(InferenceTimeout, match="0 of 1 solutions") as raised:
        infer(candidate, experiments, steps=12, time_limit=1e-6)
    assert raised.value.found == []
    assert isinstance(raised.value, TimeoutError)
    started = time.monotonic()
    with pytest.raises(InferenceTimeout, match=r"time limit of 1 s .* of 1000000 sol") as raised:
        infer(candidate, experiments, steps=12, solutions=1_000_000, distance=1, time_limit=1)
    assert time.monotonic() - started < 5
    assert 0 < len(raised.value.found) < 1_000_000


def test_a_conflict_that_is_not_shown_to_be_smallest_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = Solver.find

    def find(search: Solver) -> object:
        if search.experiments < 2:
            raise OutOfTime(0)
        return whole(search)

    monkeypatch.setattr(Solver, "find", find)
    up = [Experiment(f"B is {v}", {3: {"B": v}}, {"A": 1}, (3,)) for v in (0, 1)]
    with pytest.raises(Unsatisfiable, match="The time limit ended") as raised:
        infer(switch(), up, steps=4)
    assert not raised.value.smallest
    assert raised.value.conflict == ("B is 0", "B is 1")


# At the door


def test_bad_tasks_are_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    fine = Experiment("E", {0: {"A": 1}})
    for settings, message in (
        ({"solutions": 0}, "solutions must be at least 1"),
        ({"distance": 0}, "distance must be at least 1"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"time_limit": 0.0}, "time_limit must be a positive"),
        ({"time_limit": float("nan")}, "time_limit must be a positive"),
        ({"rules": [0, 1]}, r"gene A may have none .* \(18\)"),
        ({"seed": -1}, "seed must be"),
    ):
        with pytest.raises(InvalidSetting, match=message):
            infer(switch(), [fine], **settings)
    with pytest.raises(UnknownName, match="asynchronous"):
        infer(switch(), [fine], update="async")
    with pytest.raises(InvalidSetting, match="at least one experiment"):
        infer(switch(), [])
    with pytest.raises(InvalidSetting, match="two experiments are called 'E'"):
        infer(switch(), [fine, fine])
    with pytest.raises(InvalidSetting, match="step 25, but trajectories of 20 states end at"):
        infer(switch(), [Experiment("late", {25: {"A": 1}})])
    with pytest.raises(InvalidNetwork, match="'Z', which is not one of the candidate's 3 genes"):
        infer(switch(), [Experiment("E", {0: {"Z": 1}})])
    with pytest.raises(InvalidNetwork, match="A → Z names a gene"):
        infer(AbstractNetwork({"A": (1,)}, (PossibleEdge("A", "Z", 1, True),)), [fine])
    with pytest.raises(InvalidNetwork, match="must have the sign 1 or -1, got 0"):
        infer(AbstractNetwork({"A": (1,)}, (PossibleEdge("A", "A", 0, True),)), [fine])
    with pytest.raises(InvalidNetwork, match="gene A must be 0, 1 or missing in step 0 of E"):
        Experiment("E", {0: {"A": 0.5}})  # type: ignore[dict-item]
    with pytest.raises(InvalidNetwork, match="whole number from 0 on, got -1"):
        Experiment("E", {}, fixed_points=(-1,))
    monkeypatch.setitem(sys.modules, "clingo", None)
    with pytest.raises(ImportError, match=r"pip install 'shortlist\[networks\]'"):
        infer(switch(), [fine])


def test_the_candidates_directives_are_the_defaults() -> None:
    rushed = Experiment("rushed", {0: {"A": 0, "B": 0}, 1: {"A": 1, "B": 1}})
    synchronous = AbstractNetwork(
        {"A": (9,), "B": (9,)}, (), directives={"updates": "sync", "length": "2"}
    )
    [found] = infer(synchronous, [rushed])
    assert found.trajectories["rushed"].tolist() == [[0, 0], [1, 1]]
    odd = AbstractNetwork({"A": (9,), "B": (9,)}, (), directives={"length": "long"})
    with pytest.raises(InvalidSetting, match="'long', not a number: pass steps"):
        infer(odd, [rushed])


# The replay


def test_a_wrong_answer_of_the_solver_does_not_get_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    candidate = AbstractNetwork({"A": (9,)}, ())  # A is constantly 1
    resting = Experiment("resting", {0: {"A": 0}}, fixed_points=(0,))
    with pytest.raises(Unsatisfiable):
        infer(candidate, [resting], steps=1)
    constraint = ":- fixed_point(E,T), wants(E,G,T)."
    assert constraint in answer_set_program()
    weaker = answer_set_program().replace(constraint, "")
    monkeypatch.setattr(
        "shortlist.repurposing.networks.inference.answer_set_program", lambda: weaker
    )
    with pytest.raises(InferenceFailed, match=r"does not replay \(step 0 should be a fixed"):
        infer(candidate, [resting], steps=1)


def paper() -> tuple[AbstractNetwork, list[Experiment]]:
    folder = Path(str(DATA))
    return read_abstract(folder / "model1.net"), read_experiments(folder / "observations1.spec")


# The paper's experiments


@needs_data
def test_the_papers_other_two_experiments_cannot_be_explained() -> None:
    # They are defined in the file and not used there.
    text = (Path(str(DATA)) / "observations1.spec").read_text(encoding="utf-8-sig")
    for k, reason in (
        (4, "31 genes change from step 0 to step 18"),
        (5, "gene SYT1 is held at 0 and is 1 at step 18"),
    ):
        text += f"#E{k}[0] |= $KnockDown{k}; #E{k}[0] |= $Initial{k}; #E{k}[18] |= $Final{k};\n"
        *_, last = parse_experiments(text)
        assert last.name == f"E{k}"
        assert reason in str(last.contradiction())


@pytest.mark.slow
@needs_data
def test_a_network_is_inferred_from_the_papers_experiments() -> None:
    candidate, experiments = paper()
    experiments = experiments[:2]  # all three take ten times as long: benchmarks/inference.py
    [found] = infer(candidate, experiments, time_limit=120)
    assert found.seconds < 120
    assert set(found.edges) <= {edge[:3] for edge in candidate.edges}
    for e in experiments:
        walked = found.trajectories[e.name]
        assert walked.shape == (20, 101)
        assert replay(found.network, e, walked) == []
