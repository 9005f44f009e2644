"""Why the loop could not go on: a singular design, or a user's rule out of bounds."""

from __future__ import annotations

from collections.abc import Mapping

from shortlist.algorithms.round import ARM, Round
from shortlist.algorithms.signals import BAD_AMBIGUOUS, BAD_CANDIDATES, BAD_SELECTION, SINGULAR
from shortlist.core.rule import Rule
from shortlist.errors import InvalidSetting, SingularDesign


def check(status: int, now: Round, rules: Mapping[str, Rule], m: int) -> None:
    """Raise where the loop could not go on."""
    if status == SINGULAR:
        raise SingularDesign("the initial pulls do not span the features.")
    if status == BAD_CANDIDATES:
        raise InvalidSetting(
            f"the candidates rule {rules['candidates'].name!r} marked "
            f"{int(now.inside.sum())} arms where m = {m} are wanted."
        )
    if status == BAD_AMBIGUOUS:
        raise InvalidSetting(
            f"the ambiguous rule {rules['ambiguous'].name!r} returned an arm that is not "
            "among the candidates: it must return a j with inside[j]."
        )
    if status == BAD_SELECTION:
        raise InvalidSetting(
            f"the selection rule {rules['selection'].name!r} returned "
            f"{int(now.pair[ARM])}: it must return an arm from 0 to {len(now.inside) - 1}."
        )
