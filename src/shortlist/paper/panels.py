"""The paper's instances, the rows that were run on them, and the figures the authors logged."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from shortlist.errors import DataUnavailable
from shortlist.paper.errata import errata
from shortlist.paper.experiment import (
    AS_WRITTEN,
    CORRECTED,
    ONE_THRESHOLD,
    Panel,
    PaperRow,
    Published,
)

if TYPE_CHECKING:
    from shortlist.simulation.instances import Instance

SIGMA = 0.5
# The random instance of the appendix: K = 10 arms, N = 5 features, θ = e_1. A row is a feature and
# a column an arm. The authors made it: github.com/clreda/linear-top-m, file
# Data/generated_matrix_N=5_K=10.csv (MIT, © 2021 Clémence Réda). The numbers define the experiment.
# fmt: off
RANDOM_FEATURES = (
    (
        0.18764220001502016, -0.027321912990044404, -0.1147641729701034, 0.059557392884837135,
        -0.15324524696351874, -0.12808546287042777, -0.2033910008222999, -0.18218843451273684,
        -0.01590106106811226, 0.3347164835233111,
    ),
    (
        0.21931815397328608, -0.13946815367116167, 0.22870230782812323, 0.08103856289205806,
        -0.043155221641394674, 0.07396210940452538, -0.29483414055364, 0.4600660655727445,
        -0.49793114863386684, -0.09691078124568413,
    ),
    (
        0.08369792252035531, -0.2791713360369012, -0.5510650454283732, 0.0015095171762796878,
        0.010517857563047609, 0.12711732057203004, 0.2095707345338997, -0.18937607320349018,
        -0.26275369385444647, -0.42329703886893094,
    ),
    (
        -0.15280373307518755, 0.10698858127258969, -0.3494146972168906, 0.027315480442680437,
        -0.23478710247949602, 0.035264642075284694, -0.07594939638564001, 0.2816452443993362,
        0.18729473801740606, 0.2986533515969576,
    ),
    (
        0.0007039226382497498, 0.4024914238314083, 0.12453200832172681, 0.06903439699222123,
        0.0639178930563243, 0.13537006222718223, 0.05955834419153234, -0.09707515555690037,
        -0.1307721959646391, 0.4914566173410335,
    ),
)
# fmt: on


def classic(K: int, m: int, omega: float) -> Instance:
    """The classic instance."""
    from shortlist.simulation import instances

    return instances.classic(K=K, m=m, omega=omega, sigma=SIGMA)


def random_instance(m: int, sigma: float = SIGMA) -> Instance:
    """The random instance of the appendix."""
    import numpy as np

    from shortlist.simulation import instances

    features = np.array(RANDOM_FEATURES).T
    theta, label = np.eye(5)[0], f"random K=10 N=5 m={m}"
    return instances.from_arrays(features, theta=theta, m=m, sigma=sigma, label=label)


def drugs(columns: str) -> Instance:
    """The drug instance, which needs the public data set."""
    from shortlist.data import drug_instance

    try:
        return drug_instance(columns=columns, m=5, sigma=SIGMA)
    except ImportError as error:  # the fetcher is an extra: without it there is no data
        raise DataUnavailable(str(error)) from None


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
        PaperRow("LUCB", "both", "lucb1", Published(245384.164, 200423.706, 0.02)),
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
    PaperRow("LUCB", "both", "heuristic", Published(14816.544, 272.43, 0.0)),
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
