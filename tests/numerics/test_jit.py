"""Machine code: made when it pays, kept until the code changes, and the same bits as the interpreter's."""

from __future__ import annotations

import ast
import copy
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

import shortlist
from forks import program, python
from shortlist.errors import UnknownName
from shortlist.numerics import cache, jit
from shortlist.numerics.cache import MachineCode, Unstable, fingerprint
from shortlist.numerics.jit import Function, compile_at_once, compiled, notice
from shortlist.numerics.random import fill_seeds
from shortlist.numerics.records import (
    INTEGER,
    REAL,
    REALS,
    Address,
    Integer,
    Mask,
    Real,
    Reals,
    Record,
    Table,
    record_type,
)
from shortlist.plans import pairs_in_doubt, racing
from shortlist.posterior.posterior import Posterior

RESULTS = 90
X = np.random.default_rng(3).standard_normal((7, 3))
MEANS = X @ [1.0, 0.5, -0.4]
ALGORITHMS = ["m-LinGapE", "LinGIFA", "LUCB", "LinGame", "FWS", "Phased", "Uniform", "Racing"]


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


@pytest.mark.parametrize(
    "algorithm", [*ALGORITHMS, shortlist.MisLid(misspecification=0.2)], ids=str
)
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


# The stamp

SCALE = 2.0


@compiled(REAL(REAL))
def scaled(x: float) -> float:
    return SCALE * x


@compiled(REAL(REALS))
def total(values: np.ndarray) -> float:
    sum_of = 0.0
    for k in range(values.shape[0]):
        sum_of += scaled(values[k])
    return sum_of


def test_the_stamp_sees_what_a_callee_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint(total.py_func)
    assert fingerprint(total.py_func) == before
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3.0)
    with_constant = fingerprint(total.py_func)
    monkeypatch.undo()
    assert fingerprint(total.py_func) == before

    @compiled(REAL(REAL))
    def other(x: float) -> float:
        return SCALE + x

    monkeypatch.setattr(sys.modules[__name__], "scaled", other)
    with_code = fingerprint(total.py_func)
    monkeypatch.undo()
    scaled.py_func.__doc__ = "Other words."
    with_words = fingerprint(total.py_func)
    scaled.py_func.__doc__ = None
    assert len({before, with_constant, with_code}) == 3
    assert with_words == before
    assert fingerprint(total.py_func, "another CPU") != before


@pytest.mark.slow
def test_the_stamp_is_the_same_at_every_start(tmp_path: Path) -> None:
    (tmp_path / "stamp.py").write_text(
        "from shortlist.engine.follow import follow\n"
        "from shortlist.engine.many_arms.round import decide_skipping\n"
        "from shortlist.numerics.cache import fingerprint\n"
        "from shortlist.allocations.allocation import allocate\n"
        "print([fingerprint(each) for each in (follow, decide_skipping, allocate)])\n"
    )
    stamps = {run(tmp_path, "stamp.py", PYTHONHASHSEED=str(seed)) for seed in (1, 2)}
    assert len(stamps) == 1


def test_the_stamp_tells_apart_what_reads_alike() -> None:
    """Each pair differs in one thing only, and in no character of its description."""
    pairs: list[tuple[Any, Any]] = [
        (lambda x: x * 1.0 + 23.0, lambda x: x * 1.02 + 3.0),
        (lambda x: (x, 3, 45), lambda x: (x, 34, 5)),
        (lambda x, y=1.0: x + y, lambda x, y=2.0: x + y),
        (lambda x, *, y=1.0: x + y, lambda x, *, y=2.0: x + y),
        (_adding(1.0), _adding(2.0)),
        (lambda x: called(x), lambda x: called_fast(x)),
        (lambda x: called(x), lambda x: called_otherwise(x)),
    ]
    for one, other in pairs:
        other.__qualname__ = one.__qualname__
        assert fingerprint(one) != fingerprint(other)


def _adding(more: float) -> Callable[[float], float]:
    return lambda x: x + more


def _same(x: float) -> float:
    return x


called = Function(_same, REAL(REAL))
called_fast = Function(_same, REAL(REAL), fast=True)
called_otherwise = Function(_same, INTEGER(INTEGER))


def test_the_stamp_sees_the_constants_of_other_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    def far(x: float) -> float:
        return jit.STEP * x

    before = fingerprint(far)
    monkeypatch.setattr(jit, "STEP", 4e-7)
    assert fingerprint(far) != before


class Nameless:
    """Has its address in its description."""


NAMELESS = Nameless()


def test_what_has_no_lasting_description_is_not_kept(tmp_path: Path) -> None:
    def strange(x: float) -> float:
        return x if NAMELESS else 0.0

    with pytest.raises(Unstable):
        fingerprint(strange)
    kept = MachineCode(strange, "python")
    assert not kept.holds(REAL(REAL))
    kept.save_overload(REAL(REAL), None)


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
        "from shortlist.posterior.least_squares import cost_of_level\n"
        "compile_at_once()\n"
        "os.environ.pop('HOME', None)\n"
        "for place in ('/proc/none', 'relative', 'closed'):\n"
        "    if os.fork() == 0:\n"
        "        os.environ['NUMBA_CACHE_DIR'] = place\n"
        "        cost_of_level(1)\n"
        "        os.chdir('/')\n"
        "        print(cost_of_level(2) > 0.0, len(run_seeds(1, 2)), flush=True)\n"
        "        os._exit(0)\n"
        "    assert os.wait()[1] == 0\n"
    )
    assert run(tmp_path, "use.py").splitlines() == ["True 2"] * 3


def test_a_copy_of_a_record_has_arrays_of_its_own() -> None:
    posterior = Posterior(np.eye(3), regularization=1.0)
    posterior.observe(0, 1.0)
    assert posterior.state._address
    for twin in (copy.deepcopy(posterior), pickle.loads(pickle.dumps(posterior))):
        twin.observe(1, 2.0)
        assert twin.pulls.tolist() == [1, 1, 0]
        assert posterior.pulls.tolist() == [1, 0, 0]


@pytest.mark.slow
def test_no_old_machine_code_after_an_edit(tmp_path: Path) -> None:
    """Of the file that is called, which Numba's own cache would not notice."""
    (tmp_path / "called.py").write_text(
        "from shortlist.numerics.jit import compiled\n"
        "from shortlist.numerics.records import REAL\n"
        "@compiled(REAL(REAL))\ndef called(x):\n    return x + 1.0\n"
    )
    (tmp_path / "caller.py").write_text(
        "from called import called\n"
        "from shortlist.numerics.jit import compiled\n"
        "from shortlist.numerics.records import REAL\n"
        "@compiled(REAL(REAL))\ndef caller(x):\n    return 2.0 * called(x)\n"
        "print(caller(1.0), caller.is_kept())\n"
    )
    assert run(tmp_path, "caller.py", python()) == "4.0 True"
    assert run(tmp_path, "caller.py", python()) == "4.0 True"
    text = (tmp_path / "called.py").read_text()
    # Of another length: within a second, Python would not notice either.
    (tmp_path / "called.py").write_text(text.replace("x + 1.0", "x + 20.0"))
    assert run(tmp_path, "caller.py", python()) == "42.0 True"


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


# Where machine code is kept


def test_a_folder_that_cannot_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the user's own cache is used, and code that stands in the folder all the same."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    package = tmp_path / "package"
    package.mkdir()
    (package / "__pycache__").write_text("a file, where a folder cannot be made")
    for known in (cache.places, cache.writable):
        known.cache_clear()
    try:
        own = cache.writable(package)
        assert own is not None
        assert own.is_relative_to(tmp_path / "home")
        (package / "__pycache__").unlink()
        (package / "__pycache__").mkdir()
        assert cache.places(package)[0] == package / "__pycache__"
        monkeypatch.setattr(cache, "places", lambda beside: (package / "__pycache__",))
        cache.writable.cache_clear()
        made = MachineCode(total, "python")
        monkeypatch.setattr(cache, "writable", lambda beside: None)
        blocked = MachineCode(total, "python")
        with blocked.alone():
            blocked.save_overload(total.signature, None)  # nowhere: says nothing
        assert not blocked.holds(total.signature)
        assert made._writable == package / "__pycache__"
    finally:
        monkeypatch.undo()
        for known in (cache.places, cache.writable):
            known.cache_clear()


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
def test_plain_numba_compiles_the_same(tmp_path: Path) -> None:
    """Without the private classes of Numba, for as much of the code as takes seconds."""
    (tmp_path / "plain.py").write_text(
        "import numpy as np\n"
        "from shortlist.numerics import lowering as parts\n"
        "from shortlist.posterior.posterior import Posterior\n"
        "from shortlist.numerics.jit import compile_at_once\n"
        "compile_at_once()\n"
        "assert not parts.AVAILABLE\n"
        "posterior = Posterior(np.eye(3) + 0.1, regularization=1.0)\n"
        "for t in range(50):\n"
        "    posterior.observe(t % 3, 0.1 * t)\n"
        "print(posterior.means.tolist(), posterior.variances.tolist())\n"
    )
    kept = str(tmp_path / "kept")
    posterior = Posterior(np.eye(3) + 0.1, regularization=1.0)
    for t in range(50):
        posterior.observe(t % 3, 0.1 * t)
    expected = f"{posterior.means.tolist()} {posterior.variances.tolist()}"
    assert run(tmp_path, "plain.py", SHORTLIST_PLAIN_NUMBA="1", NUMBA_CACHE_DIR=kept) == expected


@pytest.mark.slow
def test_compile_names_what_it_did() -> None:
    """Where all is compiled already, as before these tests, it takes what is kept."""
    command = [*program(), "compile", "classical", "budgets"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["budgets: compiled", "classical: compiled"]
    assert racing.simulate.is_kept()
    assert pairs_in_doubt.choose_pulls.is_kept()


def test_compile_leaves_no_threshold_to_the_first_study(monkeypatch: pytest.MonkeyPatch) -> None:
    from shortlist.rules.thresholds import THRESHOLDS
    from shortlist.simulation import precompilation

    used: list[Any] = []
    made: list[Any] = []
    monkeypatch.setattr(precompilation, "_use", lambda *algorithms: used.extend(algorithms))
    monkeypatch.setattr(Function, "compile", lambda self: made.append(self))
    precompilation.KINDS["thresholds"]()
    assert made == [each.rule.function for each in THRESHOLDS.values()]
    special = {name for name, each in THRESHOLDS.items() if {"pilot", "levels"} & each.rule.traits}
    assert {each.threshold.name for each in used} == special


def test_compile_refuses_what_it_does_not_know() -> None:
    from shortlist.simulation.precompilation import precompile

    with pytest.raises(UnknownName, match=r"unknown kind of study 'fewer'.*few"):
        list(precompile(["fewer"]))


# Records


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
        _ = Pair(values=np.zeros((2, 2)).T[0], count=1)._address
    with pytest.raises(TypeError, match=r"Pair.values must be .* not list"):
        _ = Pair(values=[1.0], count=1)._address  # type: ignore[arg-type]


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
