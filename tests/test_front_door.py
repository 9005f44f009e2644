"""What a newcomer meets: the names, the imports, the README."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

import shortlist
from report_pages import undrawn
from shortlist.catalog.registry import ALGORITHMS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "shortlist"


def test_names_are_sorted_and_there() -> None:
    assert sorted(shortlist.__all__) == shortlist.__all__
    for name in shortlist.__all__:
        assert getattr(shortlist, name) is not None
    assert set(shortlist.__all__) <= set(dir(shortlist))
    with pytest.raises(AttributeError, match="nonsense"):
        shortlist.nonsense  # noqa: B018


def python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout


def test_importing_loads_nothing_heavy() -> None:
    heavy = python(
        "import sys, shortlist; "
        "print([m for m in ('numba', 'matplotlib', 'scipy', 'pandas', 'rich', 'sqlalchemy') if m in sys.modules])"
    )
    assert heavy.strip() == "[]"


@pytest.mark.slow
def test_a_second_start_is_quick() -> None:
    code = (
        "import shortlist.catalog.gifa, sys, time, shortlist; "
        f"assert len(shortlist.algorithms(all=True)) == {len(ALGORITHMS)}; "  # still a function
        "i = shortlist.instances.classic(K=4, m=2, omega=1.0); "
        "shortlist.compare('m-LinGapE', i, runs=10, progress=False); "
        "assert not {'matplotlib', 'sqlalchemy'} & sys.modules.keys(); "
        "print(time.process_time())"
    )
    assert any(float(python(code)) <= 3.0 for _ in range(3))  # the first may have to compile


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


# A block of Python, and the block of text that follows it at once, if one does: what it prints.
BLOCK = r"^```python\n(.*?)^```(?:\n\n```text\n(.*?)^```)?"


class Tracker:
    """Stands for a tracker of experiments that is not installed: takes every call, and keeps it."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[object, ...]]] = []

    def __getattr__(self, name: str) -> Callable[..., AbstractContextManager[None]]:
        def call(*words: object, **named: object) -> AbstractContextManager[None]:
            self.calls.append((name, words))
            return nullcontext()

        return call


def unpainted(figure: object, place: str, **_: object) -> None:
    """In the place of ``savefig``: how pictures are painted is tested with pictures."""
    Path(place).touch(exist_ok=False)


@pytest.mark.slow
@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_python_on_a_page_runs_and_prints_what_the_page_says(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    blocks = re.findall(BLOCK, page.read_text(), flags=re.M | re.S)
    if page.name in {"README.md", "quickstart.md", "extending.md"}:
        assert blocks, f"{page.name} has no example"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", unpainted)
    tracker = Tracker()
    monkeypatch.setitem(sys.modules, "mlflow", tracker)  # type: ignore[arg-type]
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block, output in blocks:
        capsys.readouterr()
        with undrawn():  # what reports look like is tested with reports
            exec(compile(block, str(page), "exec"), namespace)
        if output:  # the page breaks long lines
            assert capsys.readouterr().out.split() == output.split()
    if page.name == "other-tools.md":
        assert sum(what == "log_metric" for what, _ in tracker.calls) > 2
        assert ("log_text", "guarantee.txt") in [
            (what, words[-1]) for what, words in tracker.calls if words
        ]


def test_readme_names_what_exists() -> None:
    text = (ROOT / "README.md").read_text()
    assert "make demo" in text
    assert "make test" in text
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`make ([\w-]+)`", text):
        assert re.search(rf"^{target}:", makefile, flags=re.M), target
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", text):
        assert (ROOT / link).exists(), link


@pytest.mark.parametrize("printed", ["2", "3"])
def test_a_page_with_an_old_output_is_found(
    printed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```python\nprint(1 + 1)\n```\n\n```text\n{printed}\n```\n")
    expected = nullcontext() if printed == "2" else pytest.raises(AssertionError)
    with expected:
        test_python_on_a_page_runs_and_prints_what_the_page_says(
            page, tmp_path, monkeypatch, capsys
        )


def test_the_readme_and_the_pages_show_outputs() -> None:
    shown = [re.findall(BLOCK, page.read_text(), flags=re.M | re.S) for page in pages()]
    assert sum(bool(output) for blocks in shown for _, output in blocks) >= 15
