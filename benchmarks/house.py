"""The size and the shape of the source: lines, files, imports, and the files that a call passes.

    python benchmarks/house.py                                  this version
    python benchmarks/house.py --beside e7942e7                 and another, in its own column
    python benchmarks/house.py --rooms --importers              lists behind the counts

The other version is a commit of this repository, or the folder of a checkout.
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import shortlist
from beside import in_a_process, options_of, versions

# From the ground up: a room imports only from those before it.
ROOMS = (
    *(
        "_version",
        "references",
        "arrays",
        "printable",
        "advice",
        "notebook",
        "errors",
        "seeds",
        "linalg",
        "files",
        "features",
    ),
    *(
        "noise",
        "blocks",
        "rewards",
        "problem",
        "aim",
        "guarantee",
        "relation",
        "designs",
        "theory",
        "engine",
    ),
    *(
        "proof",
        "gifa",
        "plans",
        "catalog",
        "storage",
        "study",
        "simulation",
        "plot",
        "data",
        "repurposing",
        "report",
    ),
    *("optuna", "sklearn", "serve", "cli", "testing", "__main__"),
)
PACKAGE = str(Path(shortlist.__file__).parent)
KINDS = ("code", "docstring", "comment", "blank")
CALLS = ("Study()", "ask", "tell", "compare")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Source:
    """The modules of a version of the package, and which of them import which."""

    def __init__(self, package: Path) -> None:
        self.package = package
        self.modules = {self._name(path): path for path in sorted(package.rglob("*.py"))}
        self.packages = {n for n, path in self.modules.items() if path.name == "__init__.py"}

    def _name(self, path: Path) -> str:
        parts = path.relative_to(self.package).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def imported(self, path: Path) -> Iterator[str]:
        """The modules of ours that a file imports anywhere in it, without ``shortlist.``."""
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                first, *rest = name.split(".")
                while first == "shortlist" and rest and ".".join(rest) not in self.modules:
                    rest.pop()  # what is imported is a name in that module
                if first == "shortlist" and rest:
                    yield ".".join(rest)

    def graph(self) -> dict[str, set[str]]:
        """What every module imports; typing counts, and so do imports within functions."""
        return {name: set(self.imported(path)) for name, path in self.modules.items() if name}

    def folders(self) -> dict[str, int]:
        """The number of modules in every folder."""
        return Counter(str(path.parent.relative_to(self.package)) for path in self.modules.values())

    def lines(self) -> dict[str, Counter[str]]:
        """Lines by room and by kind."""
        rooms: dict[str, Counter[str]] = defaultdict(Counter)
        for name, path in self.modules.items():
            rooms[name.split(".")[0] or "__init__"] += lines_by_kind(path.read_text())
        return rooms


def lines_by_kind(text: str) -> Counter[str]:
    """How many lines are code, docstring, comment alone, and blank.

    A blank line within a docstring is one of the docstring.
    """
    kinds = ["code" if line.strip() else "blank" for line in text.splitlines()]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip():
            kinds[token.start[0] - 1] = "comment"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            assert first.end_lineno is not None
            for line in range(first.lineno - 1, first.end_lineno):
                kinds[line] = "docstring"
    return Counter(kinds)


def upward(graph: dict[str, set[str]]) -> list[str]:
    """The imports of a module in a room further up."""
    place = {room: rank for rank, room in enumerate(ROOMS)}
    return [
        f"{name} imports {other}"
        for name, others in graph.items()
        for other in others
        if place[other.split(".")[0]] > place[name.split(".")[0]]
    ]


def circles(graph: dict[str, set[str]], packages: set[str]) -> list[list[str]]:
    """The groups of modules that import each other.

    A package is loaded with its modules: one that offers their names lazily is no circle.
    """
    names = list(graph)
    edges = [(names.index(n), names.index(o)) for n in names for o in graph[n] - packages]
    table = coo_array((np.ones(len(edges)), np.array(edges).T), shape=(len(names), len(names)))
    _, groups = connected_components(table, connection="strong")
    large = np.flatnonzero(np.bincount(groups) > 1)
    found = [[names[place] for place in np.flatnonzero(groups == group)] for group in large]
    return found + [[name] for name in names if name in graph[name] - packages]


def importers(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The modules that import each one."""
    found: dict[str, set[str]] = {name: set() for name in graph}
    for name, others in graph.items():
        for other in others:
            found[other].add(name)
    return found


def files_passed(call: Callable[..., Any], *given: Any, **named: Any) -> tuple[list[str], Any]:
    """The file of every Python function of this package that a call runs, and what it returns."""
    files: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            files.append(frame.f_code.co_filename.removeprefix(PACKAGE))

    sys.setprofile(note)
    try:
        returned = call(*given, **named)
    finally:
        sys.setprofile(None)
    return files, returned


def trace() -> dict[str, list[str]]:
    """The files passed by the calls of ``CALLS``, with everything loaded."""
    x = np.random.default_rng(0).standard_normal((20, 5))
    instance = shortlist.instances.classic(K=4, m=2, omega=np.pi / 6, sigma=0.5)
    traced: dict[str, list[str]] = {}
    for _ in range(2):  # the first time loads
        traced["Study()"], _ = files_passed(shortlist.Study, x, m=5, sigma=50.0, seed=1)
        study = shortlist.Study(x, m=5, sigma=50.0, seed=1, algorithm="m-LinGapE")
        for _ in range(300):  # far from any stop, and no look of the audit is due
            study.tell(study.ask(), 0.5)
        traced["ask"], trial = files_passed(study.ask)
        traced["tell"], _ = files_passed(study.tell, trial, 0.5)
        traced["compare"], _ = files_passed(
            shortlist.compare, ["m-LinGapE"], instance, runs=10, seed=0, progress=False
        )
    return traced


def measured(source: Path) -> dict[str, float]:
    """The figures of a version, by what they are."""
    made = Source(source / "shortlist")
    graph, kinds = made.graph(), sum(made.lines().values(), Counter[str]())
    alone = [n for n, by in importers(graph).items() if len(by) == 1 and n not in made.packages]
    known = {name.split(".")[0] for name in graph} <= set(ROOMS)
    figures: dict[str, float] = {"lines": kinds.total()}
    figures |= {f"  {kind}": kinds[kind] for kind in KINDS}
    figures |= {
        "files": len(made.modules),
        "  of less than 60 lines": sum(
            len(path.read_text().splitlines()) < 60 for path in made.modules.values()
        ),
        "  imported by one other": len(alone),
        "folders": len(made.folders()),
        "  files of the fullest": max(made.folders().values()),
        "imports upwards": len(upward(graph)) if known else float("nan"),  # other rooms, no order
        "groups that import each other": len(circles(graph, made.packages)),
    }
    passed = in_a_process(source, __file__, "--trace")
    for place, call in enumerate(CALLS):
        figures[f"files passed by {call}"] = passed[2 * place]
        figures[f"  Python calls of {call}"] = passed[2 * place + 1]
    return figures


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("--rooms", action="store_true", help="lines and files of every room")
    options.add_argument("--importers", action="store_true", help="modules that one other imports")
    options.add_argument("--passed", action="store_true", help="the files that each call passes")
    options.add_argument("--trace", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.trace or given.passed:
        for call, files in trace().items():
            shown = "".join(f"\n  {n:4} {file}" for file, n in Counter(files).items())
            print(f"{call}{shown}" if given.passed else f"{len(set(files))} {len(files)}")
        return
    with versions(given.beside) as sources:
        columns = [measured(source) for source in sources]
        names = ["now"] if given.beside is None else [given.beside[-12:], "now"]
        print(f"{'':32}" + "".join(f"{name:>14}" for name in names))
        for title in columns[-1]:
            shown = "".join(f"{figures[title]:14,.0f}" for figures in columns)
            print(f"{title:32}{shown.replace('nan', '  –')}")
        made = Source(sources[-1] / "shortlist")
    if given.rooms:
        print(f"\n{'room':16}{'files':>8}{'lines':>8}" + "".join(f"{kind:>11}" for kind in KINDS))
        files = Counter(name.split(".")[0] or "__init__" for name in made.modules)
        for room, kinds in sorted(made.lines().items(), key=lambda item: -item[1].total()):
            shown = "".join(f"{kinds[kind]:11,}" for kind in KINDS)
            print(f"{room:16}{files[room]:8}{kinds.total():8,}{shown}")
    if given.importers:
        print("\nimported by one other")
        for name, by in importers(made.graph()).items():
            if len(by) == 1 and name not in made.packages:
                print(f"  {name}, by {next(iter(by))}")


if __name__ == "__main__":
    main()
