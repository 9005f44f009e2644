"""The 20 regulation rules of RE:IN (Yordanov et al. 2016).

A rule tells the value of a gene from its activators A and repressors R: whether all, some or none
of them are on (rules 0 to 17), or how many (18 and 19).
"""

from __future__ import annotations

from dataclasses import dataclass

from shortlist.errors import InvalidNetwork
from shortlist.repurposing.networks.logic import (
    FALSE,
    Expression,
    Gene,
    all_of,
    any_of,
    at_least,
    genes_of,
    negation,
    parse,
    replace,
    truth_table,
)

# all_A: A is not empty and all of A are on; some_A: one of A is on; no_R, all_R likewise.
RULES = tuple(
    parse(text)
    for text in (
        "all_A & no_R",  # 0
        "some_A & no_R",
        "all_A & !all_R",
        "no_R & some_A | !all_R & all_A",
        "all_A",
        "all_A | no_R & some_A",  # 5
        "some_A & !all_R",
        "some_A & !all_R | all_A",
        "some_A",
        "no_R",
        "no_R | !all_R & all_A",  # 10
        "no_R | some_A & !all_R",
        "!all_R",
        "no_R | all_A",
        "no_R | all_A | !all_R & some_A",
        "!all_R | all_A",  # 15
        "no_R | some_A",
        "!all_R | some_A",
        "more_A | as_many & itself",  # 18: a tie leaves the gene as it is
        "more_A",  # 19
    )
)
THRESHOLD_RULES = (18, 19)
MAX_INPUTS = 12


@dataclass(frozen=True)
class Regulation:
    """Who regulates a gene, and by which rule.

    With activators alone rules 0 to 17 also ask that one of them is on; with repressors alone they
    are also met when none of these is on. Without regulators rules 0 to 8 and 19 give 0, rules 9
    to 17 give 1, and rule 18 leaves the gene as it is.

    Parameters
    ----------
    activators, repressors : tuple of str
        A gene may stand in both.
    rule : int
        0 to 19.

    Examples
    --------
    >>> print(Regulation(("A", "B"), ("C",), 0).function("X"))
    A & B & !C
    >>> print(Regulation(("A",), ("C",), 18).function("X"))
    A & !C | (A | !C) & X
    >>> Regulation((), (), 20)
    Traceback (most recent call last):
    ...
    shortlist.errors.InvalidNetwork: regulation rule must be a number from 0 to 19, got 20.
    """

    activators: tuple[str, ...]
    repressors: tuple[str, ...]
    rule: int

    def __post_init__(self) -> None:
        check_rule(self.rule)

    def function(self, gene: str) -> Expression:
        """The rule as an expression for ``gene``."""
        active = [Gene(name) for name in self.activators]
        quiet = [negation(Gene(name)) for name in self.repressors]
        # #A on > #R on just where #A on + #R off > |R|: a threshold over literals.
        terms = {
            "all_A": all_of(active) if active else FALSE,
            "some_A": any_of(active),
            "no_R": all_of(quiet),
            "all_R": negation(any_of(quiet)) if quiet else FALSE,
            "more_A": at_least(len(quiet) + 1, [*active, *quiet]),
            "as_many": at_least(len(quiet), [*active, *quiet]),
            "itself": Gene(gene),
        }
        function = replace(RULES[self.rule], terms.__getitem__)
        if self.rule in THRESHOLD_RULES:
            return function
        if active and not quiet:
            return all_of([function, terms["some_A"]])
        if quiet and not active:
            return any_of([function, terms["no_R"]])
        return function


def check_rule(rule: int) -> None:
    """Raise unless this is the number of a rule."""
    if not 0 <= rule < len(RULES):
        raise InvalidNetwork(
            f"regulation rule must be a number from 0 to {len(RULES) - 1}, got {rule}."
        )


def find_regulation(gene: str, function: Expression) -> Regulation:
    """The first rule that gives a function, with its activators and repressors.

    Raises
    ------
    InvalidNetwork
        If no rule does: a rule treats all activators alike and all repressors alike.

    Examples
    --------
    >>> find_regulation("X", parse("(A | B) & !C"))
    Regulation(activators=('A', 'B'), repressors=('C',), rule=1)
    >>> find_regulation("X", parse("A & B | C"))
    Traceback (most recent call last):
    ...
    shortlist.errors.InvalidNetwork: no regulation rule of RE:IN gives the function of gene X, A & B | C: ...
    """
    inputs = genes_of(function)
    if len(inputs) > MAX_INPUTS:
        raise InvalidNetwork(
            f"gene {gene} has {len(inputs)} regulators; a rule is looked for among functions of at "
            f"most {MAX_INPUTS}: write this network to .bnet or SBML."
        )
    wanted = truth_table(function, inputs)
    changes = {}  # how the values change as one input goes from 0 to 1
    for i, name in enumerate(reversed(inputs)):
        rows = [row for row in range(len(wanted)) if not row >> i & 1]
        changes[name] = {wanted[row | 1 << i] - wanted[row] for row in rows} - {0}
    active = tuple(name for name in inputs if changes[name] == {1})
    quiet = tuple(name for name in inputs if changes[name] == {-1})
    # Under rule 18 a gene looks at itself without being its own activator.
    others = tuple(name for name in active if name != gene)
    for activators, rules in ((active, range(len(RULES))), (others, THRESHOLD_RULES)):
        for rule in rules:
            regulation = Regulation(activators, quiet, rule)
            candidate = regulation.function(gene)
            if set(genes_of(candidate)) <= set(inputs) and truth_table(candidate, inputs) == wanted:
                return regulation
    raise InvalidNetwork(
        f"no regulation rule of RE:IN gives the function of gene {gene}, {function}: write this "
        "network to .bnet or SBML."
    )
