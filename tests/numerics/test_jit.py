"""Machine code: made when it pays, kept until the code changes, and the same bits as the interpreter's."""

from __future__ import annotations

import ast
import copy
import os
import pickle
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numba
import numpy as np
import pytest
from shortlist.posterior.posterior import Posterior

import shortlist
from forks import program
from shortlist.errors import UnknownName
from shortlist.numerics import cache, jit
from shortlist.numerics.jit import Function, compile_at_once, compiled, notice
from shortlist.numerics.random import fill_seeds
from shortlist.numerics.records import (
    REAL,
    Address,
    Integer,
    Mask,
    Real,
    Reals,
    Record,
    Table,
    record_type,
)
from shortlist.simulation import precompilation

RESULTS = 90
X = np.random.default_rng(3).standard_normal((7, 3))
MEANS = X @ [1.0, 0.5, -0.4]
ALGORITHMS = ["m-LinGapE", "LinGIFA", "LUCB", "LinGame", "Guess-and-verify"]


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> Any:
    """As on a machine where nothing was compiled yet; gives what has been interpreted."""
    monkeypatch.setattr(Function, "is_kept", lambda self, **_: False)
    monkeypatch.setattr(jit, "PATIENCE", 1e9)
    monkeypatch.setattr(jit._interpreted, "seconds", 0.0)
    return jit._interpreted


def followed(algorithm: Any, change_over: int) -> tuple[list[int], str, bool]:
    """The arms of a study that is interpreted up to a number of results, and all it has learnt."""
    noise = np.random.default_rng(0).standard_normal(RESULTS)
    study = shortlist.Study(X, m=2, sigma=1.0, seed=5, algorithm=algorithm, audit=False)
    arms = []
    for t in range(RESULTS):
        if t == change_over:
            compile_at_once()
        trial = study.ask()
        arms.append(trial.arm)
        study.tell(trial, float(MEANS[trial.arm] + noise[t]))
    return arms, study._log.model.digest(), study.done


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_young_study_is_interpreted_and_nobody_sees_it(patience: Any, algorithm: Any) -> None:
    monkey_limit, jit.PATIENCE = jit.PATIENCE, 0.0
    machine = followed(algorithm, 0)
    jit.PATIENCE = monkey_limit
    patience.seconds = 0.0
    interpreted = followed(algorithm, RESULTS)
    assert 0.0 < patience.seconds < jit.PATIENCE
    patience.seconds = 0.0
    assert interpreted == machine
    assert followed(algorithm, RESULTS // 2) == machine


def test_interpreting_ends_when_it_has_cost_as_much_as_compiling(patience: Any) -> None:
    seeds = np.zeros(3, np.uint64)
    fill_seeds.sparing(60)(np.uint64(1), 0, seeds)
    assert patience.seconds > 0.0
    assert fill_seeds.sparing(60) == fill_seeds._interpret_timed
    assert fill_seeds.sparing(1e20) is fill_seeds
    compile_at_once()
    assert fill_seeds.sparing(60) is fill_seeds


def test_what_would_give_other_last_digits_is_not_interpreted(patience: Any) -> None:
    from shortlist.posterior.least_squares import observe_rows, observe_whole
    from shortlist.posterior.passes import products

    assert products.sparing(1) is products
    assert observe_rows.sparing(1) is observe_rows  # it calls products
    assert observe_whole.sparing(1) is not observe_whole


@pytest.mark.slow
def test_no_compiled_function_takes_a_small_power() -> None:
    """Numba multiplies, and NumPy calls pow: their last bits differ."""
    found = []
    for path in Path(shortlist.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef):
                continue
            names = [ast.unparse(each) for each in node.decorator_list]
            if any(name.startswith(("compiled(", "rule(")) for name in names):
                found += [
                    (path.name, node.name)
                    for each in ast.walk(node)
                    if isinstance(each, ast.BinOp)
                    and isinstance(each.op, ast.Pow)
                    and isinstance(each.right, ast.Constant)
                    and isinstance(each.right.value, int)
                ]
    assert not found


# Where machine code is kept


def names_of_compiled_functions(tree: ast.Module) -> set[str]:
    """All names that compiled functions of a file use."""
    functions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and any(
            ast.unparse(each).startswith(("compiled(", "rule(")) for each in node.decorator_list
        )
    ]
    return {node.id for each in functions for node in ast.walk(each) if isinstance(node, ast.Name)}


def test_the_folder_is_named_by_all_that_compiled_functions_are_made_of() -> None:
    rooms = [cache.PACKAGE / room for room in cache.ROOMS]
    assert all(room.exists() for room in rooms)
    compiled_files, outside = 0, []
    for path in cache.PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        used = names_of_compiled_functions(tree)
        compiled_files += bool(used)
        if used and not any(path.is_relative_to(room) for room in rooms):
            outside.append(path)
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(
                "shortlist"
            ):
                continue
            if used & {each.asname or each.name for each in node.names}:
                file = cache.PACKAGE.parent / (node.module or "").replace(".", "/")
                if not any(file.is_relative_to(room.with_suffix("")) for room in rooms):
                    outside.append(file)
    assert compiled_files > 20
    assert not outside


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A place of one's own for machine code; nothing is known of what is in it."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    cache.folder.cache_clear()
    yield tmp_path / f"shortlist-{os.getuid()}"
    cache.folder.cache_clear()


def test_an_edit_has_a_folder_of_its_own(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "package"
    (package / "rules").mkdir(parents=True)
    (package / "rules" / "one.py").write_text("SCALE = 2.0")
    monkeypatch.setattr(cache, "PACKAGE", package)
    monkeypatch.setattr(cache, "ROOMS", ("rules",))
    first = cache.folder()
    assert first is not None
    (first / "kept").touch()
    cache.folder.cache_clear()
    assert cache.folder() == first
    (package / "rules" / "one.py").write_text("SCALE = 3.0")
    cache.folder.cache_clear()
    second = cache.folder()
    assert second is not None
    assert second != first
    assert not first.exists()  # nobody will ask for it any more


def test_only_the_user_can_write_where_machine_code_is_kept(place: Path) -> None:
    found = cache.folder()
    assert found is not None
    assert found.is_relative_to(place)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


@pytest.mark.usefixtures("place")
def test_a_compilation_that_fails_deletes_no_other_machine_code() -> None:
    def make(function: Callable[..., Any], *, fails: bool) -> Path:
        with suppress(MemoryError), cache.keeping(function, "python"):
            code = Path(numba.config.CACHE_DIR) / "code.nbc"
            code.parent.mkdir(parents=True, exist_ok=True)
            code.touch()
            if fails:
                raise MemoryError
        return code

    good, bad = fill_seeds.py_func, compile_at_once
    of_good = make(good, fails=False)
    of_bad = make(bad, fails=True)
    assert of_good.exists()
    assert cache.is_kept(good, "python")
    assert not of_bad.exists()  # it may be damaged
    assert not cache.is_kept(bad, "python")
    assert make(bad, fails=False).exists()
    assert cache.is_kept(bad, "python")


@pytest.mark.parametrize("wrong", ["another's", "writable", "link", "file"])
def test_a_folder_that_others_could_have_written_to_is_refused(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    if wrong == "link":
        (tmp_path / "elsewhere").mkdir()
        place.symlink_to(tmp_path / "elsewhere")
    elif wrong == "file":
        place.touch()
    else:
        place.mkdir()
        place.chmod(0o770 if wrong == "writable" else 0o700)
    if wrong == "another's":
        own = place.stat().st_uid
        monkeypatch.setattr(os, "getuid", lambda: own + 1)
        place.rename(tmp_path / f"shortlist-{own + 1}")
    if wrong == "file":
        assert cache.folder() is None
        return
    with pytest.warns(UserWarning, match="not a folder of yours that only you can write to"):
        assert cache.folder() is None


@pytest.mark.slow
def test_damaged_machine_code_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(
        "import os\n"
        "from pathlib import Path\n"
        "import numpy as np\n"
        "from shortlist.numerics.jit import compile_at_once\n"
        "from shortlist.numerics.random import fill_seeds\n"
        "compile_at_once()\n"
        "kept = Path('kept')\n"
        "kinds = ('', b''), ('*.nbc', b'cut'), ('*.nbi', b''), ('*.nbc', b''), ('*.nbi', b'cut')\n"
        "for pattern, content in kinds:\n"
        "    for file in kept.rglob(pattern) if pattern else ():\n"
        "        file.write_bytes(content)\n"
        "    if os.fork() == 0:\n"  # a process that has not read the machine code yet
        "        seeds = np.zeros(2, np.uint64)\n"
        "        fill_seeds(np.uint64(7), 0, seeds)\n"
        "        print(seeds.tolist(), flush=True)\n"
        "        os._exit(0)\n"
        "    assert os.wait()[1] == 0\n"
        "    sizes = [file.stat().st_size for file in kept.rglob('*.nb[ic]')]\n"
        "    assert sizes and min(sizes) > 100\n"
    )
    lines = run(tmp_path, "use.py", NUMBA_CACHE_DIR=str(tmp_path / "kept")).splitlines()
    assert len(lines) == 5
    assert len(set(lines)) == 1


@pytest.mark.slow
def test_a_cache_that_cannot_be_used_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "closed").write_text("a file, not a folder")
    (tmp_path / "use.py").write_text(
        "import os\n"
        "from shortlist.numerics.jit import compile_at_once\n"
        "from shortlist.numerics.random import run_seeds\n"
        "from shortlist.posterior.least_squares import log_of\n"
        "compile_at_once()\n"
        "os.environ.pop('HOME', None)\n"
        "for place in ('/proc/none', 'relative', 'closed'):\n"
        "    if os.fork() == 0:\n"
        "        os.environ['NUMBA_CACHE_DIR'] = place\n"
        "        log_of(2.0)\n"
        "        os.chdir('/')\n"
        "        print(log_of(3.0) > 0.0, len(run_seeds(1, 2)), flush=True)\n"
        "        os._exit(0)\n"
        "    assert os.wait()[1] == 0\n"
    )
    assert run(tmp_path, "use.py").splitlines() == ["True 2"] * 3


def test_a_copy_of_a_record_has_arrays_of_its_own() -> None:
    posterior = Posterior(np.eye(3), regularization=1.0)
    posterior.observe(0, 1.0)
    assert posterior.state.address
    for twin in (copy.deepcopy(posterior), pickle.loads(pickle.dumps(posterior))):
        twin.observe(1, 2.0)
        assert twin.pulls.tolist() == [1, 1, 0]
        assert posterior.pulls.tolist() == [1, 0, 0]


def run(
    folder: Path, script: str, begins: tuple[str, ...] = (sys.executable,), **environment: str
) -> str:
    known = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [*begins, script],
        cwd=folder,
        env={**known, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_several_processes_that_start_at_once_compile_once(tmp_path: Path) -> None:
    (tmp_path / "start.py").write_text(
        "import os\n"
        "import numpy as np\n"
        "from numba.core import event\n"
        "from shortlist.numerics import jit\n"
        "from shortlist.numerics.random import fill_seeds\n"
        "compiled = []\n"
        "class Note(event.Listener):\n"
        "    def on_start(self, event): compiled.append(event)\n"
        "    def on_end(self, event): pass\n"
        "event.register('numba:compile', Note())\n"
        "jit.compile_at_once()\n"
        "for _ in range(3):\n"
        "    if os.fork() == 0:\n"
        "        seeds = np.zeros(2, np.uint64)\n"
        "        fill_seeds(np.uint64(7), 0, seeds)\n"
        "        os.write(1, f'{len(compiled) > 0} {seeds.tolist()}\\n'.encode())\n"
        "        os._exit(0)\n"
        "assert [os.wait()[1] for _ in range(3)] == [0, 0, 0]\n"
    )
    said = run(tmp_path, "start.py", NUMBA_CACHE_DIR=str(tmp_path / "kept")).splitlines()
    assert sorted(line.split()[0] for line in said) == ["False", "False", "True"]
    assert len({line.partition(" ")[2] for line in said}) == 1


SCRIPT = """
import numpy as np
import shortlist
x = np.random.default_rng(3).standard_normal((7, 3))
study = shortlist.Study(x, m=2, sigma=1.0, seed=5, algorithm="m-LinGapE", audit=False)
noise = np.random.default_rng(0).standard_normal(90)
arms = []
for t in range(90):
    trial = study.ask()
    arms.append(trial.arm)
    study.tell(trial, float((x @ [1.0, 0.5, -0.4])[trial.arm] + noise[t]))
print(arms, study._log.model.digest())
"""


@pytest.mark.slow
def test_numba_may_be_switched_off(tmp_path: Path) -> None:
    (tmp_path / "study.py").write_text(SCRIPT)
    arms, digest, _ = followed("m-LinGapE", 0)
    assert run(tmp_path, "study.py", NUMBA_DISABLE_JIT="1") == f"{arms} {digest}"


@pytest.mark.slow
def test_compile_names_what_it_did() -> None:
    """Where all is compiled already, as before these tests, it takes what is kept."""
    done = subprocess.run([*program(), "compile", "budgets"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["budgets: compiled"]
    asked = "from shortlist.plans import pairs_in_doubt as p; print(p.choose_pulls.is_kept())"
    # Not forked: the process that is forked may have looked at what is kept before.
    known = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True)
    assert known.stdout.split() == ["True"], known.stderr


def test_several_kinds_are_compiled_by_processes_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(precompilation, "precompile_kind", made.append)
    # With threads: a process that is started anew knows nothing of the line above.
    pool = lambda workers, **_: ThreadPoolExecutor(workers)  # noqa: E731
    monkeypatch.setattr(precompilation, "ProcessPoolExecutor", pool)
    assert sorted(precompilation.precompile(["few", "budgets"])) == ["budgets", "few"]
    assert sorted(made) == ["budgets", "few"]


def test_compile_leaves_no_threshold_to_the_first_study(monkeypatch: pytest.MonkeyPatch) -> None:
    from shortlist.rules.thresholds import THRESHOLDS

    made: list[Any] = []
    monkeypatch.setattr(Function, "compile", lambda self: made.append(self))
    precompilation.KINDS["thresholds"]()
    assert made == [each.rule.function for each in THRESHOLDS.values()]


def test_compile_refuses_what_it_does_not_know() -> None:
    with pytest.raises(UnknownName, match=r"unknown kind of study 'fewer'.*few"):
        list(precompilation.precompile(["fewer"]))


# Records


SCALE = 2.0


@compiled(REAL(REAL))
def scaled(x: float) -> float:
    return SCALE * x


@dataclass(frozen=True, eq=False)
class Pair(Record):
    values: Reals
    count: Integer


@dataclass(frozen=True, eq=False)
class Family(Record):
    factor: Real
    pair: Pair
    table: Table
    mask: Mask
    apply: Annotated[Callable[..., float], Address(REAL(REAL))]


PAIR, FAMILY = record_type(Pair), record_type(Family)


@compiled(REAL(FAMILY))
def read(family: Family) -> float:
    """Something of every attribute; writes where it may."""
    family.pair.values[0] += 1.0
    corner = family.table[family.table.shape[0] - 1, family.table.shape[1] - 1]
    one = 1.0 if family.mask[1] else 0.0
    return family.apply(family.factor) + family.pair.count + corner + one + family.pair.values[0]


def test_a_record_is_read_as_it_is_written() -> None:
    pair = Pair(values=np.array([0.5, 7.0]), count=100)
    family = Family(0.25, pair, np.arange(6.0).reshape(2, 3), np.array([False, True]), scaled)
    assert read(family) == 0.5 + 100 + 5.0 + 1.0 + 1.5
    assert pair.values[0] == 1.5
    assert read.interpret(family) == 0.5 + 100 + 5.0 + 1.0 + 2.5
    other = family.replace(pair=pair.replace(count=-100))
    assert read(other) == 0.5 - 100 + 5.0 + 1.0 + 3.5
    apart = family.mapped(np.copy)
    read(apart)
    assert pair.values[0] == 3.5


def test_a_record_refuses_other_arrays() -> None:
    with pytest.raises(TypeError, match=r"Pair.values must be a C-contiguous array of float64"):
        _ = Pair(values=np.zeros((2, 2)).T[0], count=1).address
    with pytest.raises(TypeError, match=r"Pair.values must be .* not list"):
        _ = Pair(values=[1.0], count=1).address  # type: ignore[arg-type]


# --- telling whoever waits


def test_what_is_soon_done_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with notice("waiting for something", after=60.0):
        pass
    assert capsys.readouterr().err == ""


def test_what_takes_long_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        with notice("waiting for something", after=0.0):
            time.sleep(0.2)
    assert capsys.readouterr().err == "shortlist: waiting for something\n" * 2


def test_what_is_said_once_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        with notice("waiting once", after=0.0, once=True):
            time.sleep(0.2)
    assert capsys.readouterr().err == "shortlist: waiting once\n"
