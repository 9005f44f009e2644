"""The paper's instances, the rows that were run on them, and the figures the authors logged."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import shortlist
from reproduction.errata import errata
from reproduction.experiment import (
    AS_WRITTEN,
    CORRECTED,
    ONE_THRESHOLD,
    SIGMA,
    Panel,
    PaperRow,
    Published,
)

# The random instance of the appendix: a line an arm, K = 10, N = 5, θ = e_1. The authors made it:
# github.com/clreda/linear-top-m, file Data/generated_matrix_N=5_K=10.csv (MIT, © 2021 Clémence Réda).
# The numbers define the experiment.
RANDOM_FEATURES = Path(__file__).with_name("random_instance.csv")


def classic(K: int, m: int, omega: float) -> Any:
    """The classic instance."""
    return shortlist.instances.classic(K=K, m=m, omega=omega, sigma=SIGMA)


def random_instance(m: int, sigma: float = SIGMA) -> Any:
    """The random instance of the appendix."""
    features, theta = np.loadtxt(RANDOM_FEATURES, delimiter=","), np.eye(5)[0]
    return shortlist.instances.from_arrays(features, theta=theta, m=m, sigma=sigma)


def drugs(columns: str) -> Any:
    """The drugs of the paper; needs the public data set."""
    return shortlist.data.drug_instance(columns=columns, m=5, sigma=SIGMA)


def with_the_text(*rows: PaperRow, **of_lucb: Any) -> tuple[PaperRow, ...]:
    """Each row, and after it the same with the settings of the text where these differ.

    ``of_lucb`` are fields of LUCB as Algorithm 1 says.
    """
    both: list[PaperRow] = []
    for row in rows:
        both.append(row)
        if errata(row):
            kind = CORRECTED if row.algorithm == "LinGame" else AS_WRITTEN
            more = of_lucb if row.algorithm == "LUCB" else {}
            both.append(replace(row, kind=kind, **more))
    return tuple(both)


# algorithm, selection rule, threshold, then the mean, standard deviation and error rate of 500 runs
# fmt: off
PI_6 = Panel(
    "pi-6", "classic, K = 4, m = 2, ω = π/6", partial(classic, 4, 2, math.pi / 6), with_the_text(
    PaperRow("LUCB", "largest variance", "lucb1", Published(10444.254, 2505.508, 0.0)),
    PaperRow("UGapE", "largest variance", "lucb1", Published(14003.226, 1894.326, 0.0)),
    PaperRow("LinGIFA (individual)", "largest variance", "frequentist",
        Published(8915.65, 1560.81, 0.0)),
    PaperRow("LinGIFA", "largest variance", "frequentist", Published(4086.566, 1087.425, 0.0)),
    PaperRow("LinGIFA", "greedy", "frequentist", Published(3019.552, 829.701, 0.0)),
    PaperRow("LinGIFA (tau LUCB)", "largest variance", "frequentist",
        Published(4234.688, 1073.005, 0.0)),
    PaperRow("LinGIFA (tau LUCB)", "greedy", "frequentist", Published(2948.018, 797.171, 0.0)),
    PaperRow("m-LinGapE", "greedy", "frequentist", Published(2941.792, 819.63, 0.0)),
    PaperRow("m-LinGapE", "optimized", "frequentist", Published(3014.42, 847.495, 0.0)),
))
PI_3 = Panel(
    "pi-3", "classic, K = 4, m = 2, ω = π/3", partial(classic, 4, 2, math.pi / 3), with_the_text(
    PaperRow("LUCB", "largest variance", "lucb1", Published(737.482, 140.195, 0.0)),
    PaperRow("UGapE", "largest variance", "lucb1", Published(762.132, 134.908, 0.0)),
    PaperRow("LinGIFA (individual)", "largest variance", "frequentist", Published(534.792, 98.55, 0.0)),
    PaperRow("LinGIFA", "largest variance", "frequentist", Published(257.95, 73.394, 0.0)),
    PaperRow("LinGIFA", "greedy", "frequentist", Published(213.422, 62.655, 0.0)),
    PaperRow("LinGIFA (tau LUCB)", "largest variance", "frequentist", Published(245.594, 69.876, 0.0)),
    PaperRow("LinGIFA (tau LUCB)", "greedy", "frequentist", Published(204.52, 59.185, 0.0)),
    PaperRow("m-LinGapE", "greedy", "frequentist", Published(198.422, 61.263, 0.0)),
    PaperRow("m-LinGapE", "optimized", "frequentist", Published(209.81, 56.268, 0.0)),
))
OMEGA_01 = Panel("omega-0.1", "classic, K = 3, m = 1, ω = 0.1", partial(classic, 3, 1, 0.1), (
    *with_the_text(
        PaperRow("LUCB", "largest variance", "lucb1", Published(235470.704, 185873.66, 0.018)),
        PaperRow("LUCB", "both arms", "lucb1", Published(245384.164, 200423.706, 0.02)),
        PaperRow("LinGame", "D-tracking", "heuristic", Published(7138.32, 2459.993, 0.0)),
        PaperRow("LinGIFA", "greedy", "frequentist", Published(3847.62, 1356.62, 0.0)),
        PaperRow("m-LinGapE", "greedy", "frequentist", Published(3263.374, 2119.15, 0.044)),
        expected=1.1e7, share=0.1,  # runs of LUCB are very long: a tenth of them is made
    ),
    # LinGame was run with the heuristic threshold, the others with another.
    PaperRow("LinGIFA", "greedy", "heuristic", None, ONE_THRESHOLD, expected=1e3),
    PaperRow("m-LinGapE", "greedy", "heuristic", None, ONE_THRESHOLD, expected=1e3),
))
_DRUGS = with_the_text(
    PaperRow("LUCB", "both arms", "heuristic", Published(14816.544, 272.43, 0.0)),
    PaperRow("LUCB", "largest variance", "heuristic", Published(15005.688, 305.406, 0.0)),
    PaperRow("LinGIFA", "largest variance", "heuristic", Published(7616.556, 207.839, 0.0)),
    PaperRow("LinGIFA", "greedy", "heuristic", Published(7623.59, 210.454, 0.0)),
    PaperRow("m-LinGapE", "greedy", "heuristic", Published(7581.818, 207.783, 0.0)),
    PaperRow("m-LinGapE", "optimized", "heuristic", Published(7586.508, 206.382, 0.0)),
)
DRUGS_AS_PUBLISHED = Panel("drugs-as-published", "epilepsy, K = 10, m = 5, columns as published",
                           partial(drugs, "published"), _DRUGS)
DRUGS = Panel("drugs", "epilepsy, K = 10, m = 5, each drug with its own rewards",
              partial(drugs, "own"), _DRUGS, counted=False)
RANDOM_3 = Panel(
    "random-3", "random, K = 10, N = 5, m = 3", partial(random_instance, 3), with_the_text(
    PaperRow("LinGIFA", "largest variance", "heuristic", Published(1100.106, 773.496, 0.006)),
    PaperRow("m-LinGapE", "optimized", "heuristic", Published(1017.518, 545.126, 0.002)),
))
RANDOM_8 = Panel(
    "random-8", "random, K = 10, N = 5, m = 8", partial(random_instance, 8), with_the_text(
    PaperRow("LinGIFA", "largest variance", "heuristic", Published(14141.246, 8084.68, 0.006)),
    PaperRow("m-LinGapE", "optimized", "heuristic", Published(11094.532, 6741.893, 0.014)),
))
# fmt: on
PANELS = (PI_6, PI_3, OMEGA_01, DRUGS_AS_PUBLISHED, DRUGS, RANDOM_3, RANDOM_8)
