"""Where the published code departs from the text, and the algorithm that is run for a row."""

from __future__ import annotations

from typing import NamedTuple

import shortlist
from reproduction.experiment import AS_PUBLISHED, CORRECTED, SIGMA, PaperRow
from reproduction.published import LINGAME, PUBLISHED


class Erratum(NamedTuple):
    """A departure of the published code from the text: in a few words, and in sentences."""

    short: str
    sentence: str


LAGGED = Erratum(
    "lagged stop",
    "Lagged stop: the published runs test τ_LUCB on the pair that was chosen before the last pull, "
    "so a lucky pull can end a run too early. Algorithm 1 tests the pair of the moment.",
)
MIXED = Erratum(
    "threshold not valid as coded",
    "Threshold not valid as coded: the published m-LinGapE computes its threshold with "
    "λ_V = (σ/20)² while its posterior has λ_V = 1. As Algorithm 1 says, both have (σ/20)².",
)
RIDGE = Erratum(
    "λ_V = 1",
    "λ_V = 1: the published m-LinGapE has it in the posterior where the text says λ = σ/20. As "
    "Algorithm 1 says, λ_V is (σ/20)².",
)
UNSCALED = Erratum(
    "1/σ² missing",
    "1/σ² missing: the published LinGame leaves it out of the GLR statistic, so that it stops "
    "about four times too late at σ = 0.5. Its opponent answers the counts instead of the player's "
    "weights, it takes sqrt(‖x‖) where ‖x‖ is meant, and it tracks t·w_t, the last weights alone, "
    "instead of their sum Σ w_s (D-tracking).",
)
HEURISTIC = (
    "The heuristic threshold sqrt(2 ln((1 + ln t)/δ)) has no proof and does not hold in general."
)


def errata(row: PaperRow) -> tuple[Erratum, ...]:
    """The errata that touch a row, which is then run both ways.

    Examples
    --------
    >>> [erratum.short for erratum in errata(PaperRow("LUCB", "both arms", "lucb1"))]
    ['lagged stop']
    """
    match row.algorithm:
        case "LUCB" | "LinGIFA (tau LUCB)":
            return (LAGGED,)
        case "m-LinGapE":
            return (LAGGED, RIDGE if row.threshold == "heuristic" else MIXED)
        case "LinGame":
            return (UNSCALED,)
        case _:
            return ()


# Table 1: the rules for candidates, b_t and the stop, and the indices.
TABLE_1 = {
    "LUCB": ("top_means", "largest_gap", "lucb", "individual"),
    "UGapE": ("smallest_gap", "largest_gap", "ugape", "individual"),
    "m-LinGapE": ("top_means", "largest_gap", "lucb", "paired"),
    "LinGIFA": ("smallest_gap", "mth_gap", "ugape", "paired"),
    "LinGIFA (individual)": ("smallest_gap", "mth_gap", "ugape", "individual"),
    "LinGIFA (tau LUCB)": ("smallest_gap", "mth_gap", "lucb", "paired"),
    "LinGame": ("top_means", "largest_gap", "lucb", "paired"),
}
CLASSICAL = ("LUCB", "UGapE")  # these know no features
EACH_FIRST = (*CLASSICAL, "m-LinGapE", "LinGame")  # these pull every arm once first
RIDGE_OF_THE_TEXT = (SIGMA / 20.0) ** 2


def algorithm_of(row: PaperRow) -> tuple[shortlist.GIFA, str | None]:
    """The algorithm that is run for a row, and the threshold in the place of its own, if any.

    Examples
    --------
    >>> algorithm_of(PaperRow("LUCB", "both arms", "lucb1"))[0].name
    'LUCB both arms (as published)'
    """
    if row.kind == CORRECTED:
        return LINGAME, row.threshold
    if row.kind == AS_PUBLISHED:
        # The presets' own threshold is the published one, slips included, but for `heuristic`.
        swap = row.threshold == "heuristic" and row.algorithm != "LinGame"
        return PUBLISHED[f"{row.label} (as published)"], "heuristic" if swap else None
    candidates, ambiguous, stopping, indices = TABLE_1[row.algorithm]
    classical = row.algorithm in CLASSICAL
    return shortlist.GIFA(
        candidates=candidates,
        ambiguous=ambiguous,
        selection=row.selection.replace(" ", "_"),
        stopping=stopping,
        indices=indices,
        threshold=row.threshold,
        regularization=0.0 if classical else RIDGE_OF_THE_TEXT,
        initialization="each" if row.algorithm in EACH_FIRST else None,
        classical=classical,
        name=row.title,
    ), None


def settings_in_words(row: PaperRow) -> str:
    """Rules, regularisation, threshold and initial pulls, in a line."""
    published = row.kind == AS_PUBLISHED
    _, _, stopping, indices = TABLE_1[row.algorithm]
    stop = "τ_LUCB" if stopping == "lucb" else "τ_UGapE"
    if published and stopping == "lucb" and row.algorithm != "LinGame":
        stop += " on the last pair"
    ridge, threshold = f"λ_V = {RIDGE_OF_THE_TEXT:.3g}", row.threshold
    if row.algorithm in CLASSICAL:
        ridge = "no features"
    elif row.kind == CORRECTED:  # left to the threshold, and `heuristic` wants none
        ridge = "no regularisation"
    elif published and row.algorithm == "m-LinGapE":
        threshold += "" if threshold == "heuristic" else f" with {ridge}"
        ridge = "λ_V = 1"
    each = row.algorithm in EACH_FIRST
    pulled = "every arm pulled once first" if each else "no initial pulls"
    return f"{indices} indices, {stop}, {ridge}, {pulled}, threshold {threshold}"
