"""Components of a directed graph, given by the successors of each node."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def strong_components(successors: Mapping[Node, Iterable[Node]]) -> list[tuple[Node, ...]]:
    """Strongly connected components, those without a way out first (Tarjan 1972).

    Without recursion, so that a long chain does no harm. Nodes keep the mapping's order within a
    component.

    Examples
    --------
    >>> strong_components({"A": "B", "B": "CA", "C": "D", "D": ""})
    [('D',), ('C',), ('A', 'B')]
    """
    order: dict[Node, int] = {}
    low: dict[Node, int] = {}
    waiting: dict[Node, None] = {}
    position = {node: i for i, node in enumerate(successors)}
    components = []
    for root in successors:
        if root in order:
            continue
        order[root] = low[root] = len(order)
        waiting[root] = None
        path = [(root, iter(successors[root]))]
        while path:
            node, ways = path[-1]
            for next_node in ways:
                if next_node not in order:
                    order[next_node] = low[next_node] = len(order)
                    waiting[next_node] = None
                    path.append((next_node, iter(successors[next_node])))
                    break
                if next_node in waiting:
                    low[node] = min(low[node], order[next_node])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == order[node]:
                    component = []
                    while node in waiting:
                        component.append(waiting.popitem()[0])
                    components.append(tuple(sorted(component, key=position.__getitem__)))
    return components


def terminal_components(successors: Mapping[Node, Iterable[Node]]) -> list[tuple[Node, ...]]:
    """The strong components that nothing leaves.

    Examples
    --------
    >>> terminal_components({"A": "B", "B": "CA", "C": "D", "D": ""})
    [('D',)]
    """
    found = []
    for component in strong_components(successors):
        inside = set(component)
        if all(next_node in inside for node in component for next_node in successors[node]):
            found.append(component)
    return found


def weak_components(successors: Mapping[Node, Iterable[Node]]) -> list[tuple[Node, ...]]:
    """Components of the graph without directions, in the order of their first nodes.

    Examples
    --------
    >>> weak_components({"A": "", "B": "A", "C": ""})
    [('A', 'B'), ('C',)]
    """
    both: dict[Node, list[Node]] = {node: list(ways) for node, ways in successors.items()}
    for node, ways in successors.items():
        for next_node in ways:
            both[next_node].append(node)
    components = strong_components(both)
    position = {node: i for i, node in enumerate(successors)}
    return sorted(components, key=lambda component: position[component[0]])
