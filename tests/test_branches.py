"""A distinction is an object that is asked: how often the source still asks which one it is.

Counted outside the rooms where a distinction lives. A number may only fall: where it has, lower it
here. Names in docstrings and comments do not count.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from paths import ROOT

PACKAGE = ROOT / "src" / "shortlist"
# Where a distinction lives: files, or folders if they end in a slash.
ROOMS = {
    "budget is": ("aim.py", "plans/", "study/budget.py"),
    "kind of noise": ("noise.py", "noise/"),
    "reward_range": ("noise.py", "noise/"),
    "class of algorithm": ("plans/",),
    "makes_plans": (),
}
MOST = {
    "budget is": 2,
    "kind of noise": 0,
    "reward_range": 13,
    "class of algorithm": 1,
    "makes_plans": 2,
}


def last_name(node: ast.AST) -> str:
    """The name of a variable or an attribute; empty for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def is_mention(node: ast.AST, name: str) -> bool:
    """Whether it reads, passes or declares something of this name."""
    if isinstance(node, ast.arg | ast.keyword):
        return node.arg == name
    return last_name(node) == name


def is_identity_test(node: ast.AST, name: str) -> bool:
    """Whether it is ``… name is …`` or ``… name is not …``."""
    return (
        isinstance(node, ast.Compare)
        and isinstance(node.ops[0], ast.Is | ast.IsNot)
        and last_name(node.left) == name
    )


def of_noise(node: ast.AST) -> bool:
    """Whether ``node`` is an attribute of a noise."""
    return isinstance(node, ast.Attribute) and last_name(node.value) == "noise"


def asks_kind_of_noise(node: ast.AST) -> bool:
    """Whether it asks which kind of noise there is."""
    if isinstance(node, ast.Compare) and of_noise(node.left):
        return any(is_identity_test(node, name) for name in ("each", "range"))
    if of_noise(node) and last_name(node) == "kind":
        return True
    return last_name(node) == "is_estimated"


def asks_class(node: ast.AST, classes: set[str]) -> bool:
    """Whether it is an ``isinstance`` of one of these classes."""
    if not (isinstance(node, ast.Call) and last_name(node.func) == "isinstance"):
        return False
    return any(last_name(each) in classes for each in ast.walk(node.args[1]))


def parsed(package: Path) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(package.rglob("*.py")):
        yield path.relative_to(package).as_posix(), ast.parse(path.read_text())


def branches(package: Path) -> dict[str, Counter[str]]:
    """For every distinction, how often each file outside its rooms asks which one it is."""
    trees = dict(parsed(package))

    def classes(*places: str) -> set[str]:
        defined = (ast.walk(tree) for file, tree in trees.items() if file.startswith(places))
        return {n.name for nodes in defined for n in nodes if isinstance(n, ast.ClassDef)}

    noises, aims = classes("noise.py", "noise/"), classes("aim.py")
    algorithms = classes("catalog/", "plans/")
    asks: dict[str, Callable[[ast.AST], bool]] = {
        "budget is": lambda node: is_identity_test(node, "budget") or asks_class(node, aims),
        "kind of noise": lambda node: asks_kind_of_noise(node) or asks_class(node, noises),
        "reward_range": lambda node: is_mention(node, "reward_range"),
        "class of algorithm": lambda node: asks_class(node, algorithms),
        "makes_plans": lambda node: isinstance(node, ast.Attribute) and node.attr == "makes_plans",
    }
    found = {distinction: Counter[str]() for distinction in asks}
    for file, tree in trees.items():
        for distinction, asked in asks.items():
            if not any(file.startswith(room) for room in ROOMS[distinction]):
                found[distinction][file] += sum(map(asked, ast.walk(tree)))
    return {distinction: +counts for distinction, counts in found.items()}


@pytest.fixture(scope="module")
def found() -> dict[str, Counter[str]]:
    return branches(PACKAGE)


@pytest.mark.parametrize("distinction", MOST)
def test_branches_only_become_fewer(distinction: str, found: dict[str, Counter[str]]) -> None:
    files, most = found[distinction], MOST[distinction]
    where = ", ".join(f"{file} {times}" for file, times in sorted(files.items()))
    assert files.total() <= most, (
        f"{distinction}: {files.total()}, and {most} before ({where}). Ask the object what is "
        "wanted of it, not which one it is."
    )
    assert files.total() == most, f"{distinction}: {files.total()}. Lower the number in MOST."


def test_branches_are_seen_and_words_about_them_are_not(tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "one.py").write_text("class One: pass\n")
    (tmp_path / "other.py").write_text(
        '"""budget is None, noise.kind, isinstance(x, One)."""\n'
        "def f(study, x, reward_range=None):  # pace.makes_plans\n"
        "    if study.budget is not None or study.noise.kind == 'given':\n"
        "        return study.problem.noise.each is None and isinstance(x, (int, One))\n"
        "    return study.pace.makes_plans or x.budget == 3\n"
    )
    counts = {distinction: files.total() for distinction, files in branches(tmp_path).items()}
    assert counts == {
        "budget is": 1,
        "kind of noise": 2,
        "reward_range": 1,
        "class of algorithm": 1,
        "makes_plans": 1,
    }
