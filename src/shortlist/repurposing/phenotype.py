"""``phenotype_prediction`` of the paper, with its choices spelt out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlist.errors import InvalidNetwork, InvalidSetting, unknown_name
from shortlist.repurposing.networks.dynamics import MAX_STEPS, Dynamics
from shortlist.repurposing.networks.network import BooleanNetwork
from shortlist.repurposing.networks.states import FREE, UPDATES, state_vector

FREE_GENES = ("uniform", "zero")
MASKS = ("initial", "clamp")
UNSETTLED = ("error", "last")


@dataclass(frozen=True)
class Semantics:
    """What a prediction means.

    Among several attractors that can be reached, it is the one that a walk comes to: each has the
    probability that the walk ends in it.

    An initial condition rarely gives every gene a value, and from one state several attractors may
    be reached. The paper leaves open what happens then, and its published code takes the first
    answer that an SMT solver returns. That answer depends on the solver, its version and the order
    of the genes; its distribution does not model a cell. Asked with no patient and no drug at
    all, the solver returns a state whose score is that of half of the stored rewards of
    antiepileptics. So it is not offered here: every option below has an explicit definition.

    Parameters
    ----------
    free : "uniform", "zero" or mapping of str to int
        The initial value of a gene that has none: a fair coin, 0, or as given (then for all that
        are free).
    mask : "initial" or "clamp"
        What a drug does to the genes of its signature: it sets them at the start, after which they
        move as any other (the paper), or it holds them for good.
    update : "asynchronous" or "synchronous"
        Whether one of the genes that would change, drawn uniformly, moves (the paper's networks),
        or all of them do.
    unsettled : "error" or "last"
        Where a walk meets no fixed point in ``max_steps``, as around a cyclic attractor: raise, or
        take its last state.
    max_steps : int
        How long a walk goes on.

    Examples
    --------
    >>> Semantics(free="random")
    Traceback (most recent call last):
    ...
    shortlist.errors.UnknownName: unknown value for free genes 'random'. Known: ...
    """

    free: str | Mapping[str, int] = "uniform"
    mask: str = "initial"
    update: str = "asynchronous"
    unsettled: str = "error"
    max_steps: int = MAX_STEPS

    def __post_init__(self) -> None:
        if not isinstance(self.free, Mapping) and self.free not in FREE_GENES:
            raise unknown_name("value for free genes", self.free, FREE_GENES)
        for what, value, known in (
            ("effect of a mask", self.mask, MASKS),
            ("update", self.update, UPDATES),
            ("treatment of unsettled walks", self.unsettled, UNSETTLED),
        ):
            if value not in known:
                raise unknown_name(what, value, known)

    def start(
        self, network: BooleanNetwork, initial: Any, mask: Any = None
    ) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """The initial state and the clamps, −1 where a coin or nothing decides.

        This is ``initial ⋊ mask`` in the paper's notation, and what ``Dynamics.simulate`` takes.
        """
        state = state_vector(network, initial, "the initial state")
        drug = state_vector(network, mask, "the mask")
        state = np.where(drug == FREE, state, drug)
        if self.free == "zero":
            state = np.where(state == FREE, 0, state).astype(np.int8)
        elif isinstance(self.free, Mapping):
            free = state_vector(network, self.free, "the values of free genes")
            state = np.where(state == FREE, free, state)
            left = np.flatnonzero(state == FREE)
            if left.size:
                raise InvalidNetwork(
                    f"{left.size} genes are free and have no value, {network.genes[left[0]]} among "
                    "them: name them in Semantics(free=...), or choose 'uniform' or 'zero'."
                )
        return state, drug if self.mask == "clamp" else np.full_like(drug, FREE)


def predict_phenotype(
    network: BooleanNetwork,
    initial: Any,
    *,
    mask: Any = None,
    clamps: Mapping[str, int] | None = None,
    semantics: Semantics | None = None,
    seed: int = 0,
) -> pd.Series[int]:
    """The state to which a network comes from an initial condition: one draw, by its seed.

    Where several attractors can be reached, or genes are free, the prediction is a random variable
    and this is one draw of it. Draw with several seeds, or with ``Dynamics.simulate``, before
    drawing conclusions; ``reachable_fixed_points`` lists all that can come out.

    Parameters
    ----------
    network : BooleanNetwork
        Genes and functions.
    initial : mapping, Series or array
        Gene → 0 or 1, for example a patient's binarized profile; missing or NaN is free.
    mask : mapping, Series or array, optional
        A drug's binary signature: overrides the initial value where it has one.
    clamps : mapping of str to int, optional
        Genes knocked down (0) or over-expressed (1), held for good whatever the mask says.
    semantics : Semantics, optional
        What is drawn; by default free genes by a fair coin, the mask at the start only, and one
        asynchronous walk.
    seed : int
        The prediction depends on it and on nothing else.

    Returns
    -------
    Series
        Gene → 0 or 1, in the network's order.

    Examples
    --------
    >>> network = BooleanNetwork({"A": "B", "B": "A", "C": "!A"})
    >>> predict_phenotype(network, {"A": 1, "B": 1}, mask={"A": 0, "B": 0}).to_dict()
    {'A': 0, 'B': 0, 'C': 1}
    """
    semantics = semantics or Semantics()
    state, clamped = semantics.start(network, initial, mask)
    dynamics = Dynamics(network, None, semantics.update)
    knocked = state_vector(network, clamps, "the clamps")
    walks = dynamics.simulate(
        state[np.newaxis],
        clamps=np.where(knocked == FREE, clamped, knocked)[np.newaxis],
        seed=seed,
        max_steps=semantics.max_steps,
    )
    if not walks.reached[0, 0] and semantics.unsettled == "error":
        raise InvalidSetting(
            f"the walk met no fixed point in {semantics.max_steps} steps, so there is no settled "
            "phenotype: look at attractors(network, initial), raise max_steps, or take the last "
            "state with Semantics(unsettled='last')."
        )
    return pd.Series(walks.states[0, 0].astype(np.int64), index=list(network.genes))
