"""Time the Boolean network of the paper: walks to a fixed point, fixed points, percolation."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from shortlist import data
from shortlist.errors import DataUnavailable
from shortlist.repurposing import (
    BooleanNetwork,
    Dynamics,
    Regulation,
    all_fixed_points,
    module_attractors,
    reachable_fixed_points,
    read,
)

REPEATS = 7
WALKS = 50_000
DRUGS, PATIENTS, REPLICATES = 509, 18, 100


def least(action: Callable[[], object], repeats: int = REPEATS) -> float:
    """Seconds, the least of many tries: the machine is noisy, and only adds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def random_network() -> BooleanNetwork:
    """As many genes and edges as the paper's network has, for machines without the data."""
    rng = np.random.default_rng(0)
    genes = [f"g{i}" for i in range(101)]
    edges = {tuple(map(int, rng.integers(101, size=2))) for _ in range(84)}
    regulations = {}
    for i, gene in enumerate(genes):
        sources = sorted(genes[a] for a, b in edges if b == i)
        regulations[gene] = Regulation(tuple(sources), (), int(rng.integers(18)))
    return BooleanNetwork.from_regulations(regulations)


def problem() -> tuple[str, BooleanNetwork, np.ndarray]:
    """A network, and partial initial states of as many drugs and patients as the paper has."""
    try:
        network = read(data.path("report_model1_solution.net"))
        lines = data.path("rewards_cosine_10drugs_18samples.txt").read_text().splitlines()
    except (DataUnavailable, ImportError):
        network = random_network()
        states = np.random.default_rng(1).integers(-1, 2, size=(DRUGS * PATIENTS, len(network)))
        return "a random network (the paper's is not at hand)", network, states
    value = {"0": 0, "1": 1, "|": -1}
    rows = [line.split("\t")[0] for line in lines if line.endswith("\tmasked")]
    place = [network.genes.index(gene) for gene in sorted(network.genes)]
    masked = np.empty((len(rows), len(network)), dtype=np.int8)
    masked[:, place] = [[value[c] for c in row] for row in rows]
    return "the paper's network", network, np.resize(masked, (DRUGS * PATIENTS, len(network)))


def main() -> None:
    words, network, masked = problem()
    dynamics = Dynamics(network)
    free = np.full((1, len(network)), -1, dtype=np.int8)
    print(f"On {words}: {len(network)} genes, {len(network.edges())} edges")
    print(f"{'what':64}{'measured':>16}  asked")

    def row(what: str, figure: str, asked: str = "") -> None:
        print(f"{what:64}{figure:>16}  {asked}")

    dynamics.simulate(free, repeats=100)
    for label, cases, repeats in (
        ("all genes free", free, WALKS),
        ("the masked states", masked, 6),
    ):
        seconds = least(lambda c=cases, r=repeats: dynamics.simulate(c, repeats=r))
        walks = dynamics.simulate(cases, repeats=repeats)
        assert walks.reached.all()
        count = walks.steps.size
        row(
            f"walks to a fixed point a second, {label}",
            f"{count / seconds:,.0f}",
            "≥ 20,000",
        )
        row("  moves a walk, mean", f"{walks.steps.mean():.1f}")
    screen = least(lambda: dynamics.simulate(masked, repeats=REPLICATES), repeats=2)
    row(
        f"{DRUGS} drugs × {PATIENTS} patients × {REPLICATES} walks",
        f"{screen:.1f} s",
        "< 60 s",
    )
    row("percolation and modules", f"{least(network.split) * 1e3:.1f} ms")
    points = all_fixed_points(network)
    row(
        f"all {len(points):,} fixed points",
        f"{least(lambda: all_fixed_points(network)):.2f} s",
        "about 0.5 s",
    )
    row(
        "fixed points reachable from one masked state",
        f"{least(lambda: reachable_fixed_points(network, masked[0])):.2f} s",
    )
    row("all attractors, exactly, by modules", f"{least(lambda: module_attractors(network)):.2f} s")


if __name__ == "__main__":
    main()
