"""Small networks, their states one by one, and the network of the paper."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path

import numpy as np

from paths import DATA
from shortlist.repurposing.networks.formats import read
from shortlist.repurposing.networks.network import BooleanNetwork
from shortlist.repurposing.networks.states import known_values

SWITCH = BooleanNetwork({"A": "B", "B": "A"})

RING = BooleanNetwork({"A": "!B", "B": "A"})

Bits = tuple[int, ...]


def image(network: BooleanNetwork, state: Bits) -> Bits:
    return tuple(network.image(known_values(network, state)).values())


def successors(network: BooleanNetwork, state: Bits) -> list[Bits]:
    target = image(network, state)
    movable = [i for i in range(len(state)) if state[i] != target[i]]
    return [(*state[:i], target[i], *state[i + 1 :]) for i in movable]


def every_state(network: BooleanNetwork) -> list[Bits]:
    return list(itertools.product((0, 1), repeat=len(network)))


def rows(states: np.ndarray) -> list[Bits]:
    return [tuple(row) for row in states.tolist()]


@cache
def paper_network() -> BooleanNetwork:
    return read(Path(str(DATA)) / "report_model1_solution.net")


def logged(what: str) -> list[str]:
    lines = (Path(str(DATA)) / "rewards_cosine_10drugs_18samples.txt").read_text().splitlines()
    return [line.split("\t")[0] for line in lines if line.endswith("\t" + what)]
